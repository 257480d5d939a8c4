/**
 * Feeds seeded hostile input to the gateway and checks that it neither exits, stalls, answers 500 nor leaks.
 *   npm run fuzz -- [TARGET…] [--seconds N] [--cases N] [--seed N]
 * Without a target all of them run, and share the time (default: 600 s).
 */
import { parseArgs } from "node:util";
import { runFuzzer } from "./run.ts";
import { FUZZ_TARGETS } from "./targets.ts";

/** A stall longer than this fails the run (other processes on the machine may add to it: repeat before you search). */
const STALL_MS_MAX = 200;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "600" },
    cases: { type: "string", default: "1000000000" },
    seed: { type: "string", default: "1" },
  },
});

const unknown = positionals.filter((name) => !FUZZ_TARGETS.some((target) => target.name === name));
if (unknown.length > 0) {
  const names = FUZZ_TARGETS.map((target) => `  ${target.name}  ${target.description}`).join("\n");
  process.stderr.write(`unknown fuzz target: ${unknown.join(", ")}\n${names}\n`);
  process.exit(64);
}

const chosen =
  positionals.length > 0 ? FUZZ_TARGETS.filter(({ name }) => positionals.includes(name)) : FUZZ_TARGETS;
const durationMs = (Number(values.seconds) * 1000) / chosen.length;
for (const target of chosen) {
  const report = await runFuzzer(target, {
    firstSeed: Number(values.seed),
    cases: Number(values.cases),
    durationMs,
  });
  const stall = report.longestStallMs.toFixed(0);
  process.stdout.write(`${target.name}: ${report.cases} cases, no failure, longest stall ${stall} ms\n`);
  if (report.longestStallMs > STALL_MS_MAX) process.exitCode = 1;
}
