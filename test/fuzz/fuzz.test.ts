/** A small share of every fuzzer; `npm run fuzz` runs them for ten minutes. */
import test from "node:test";
import { runFuzzer } from "./run.ts";
import { FUZZ_TARGETS } from "./targets.ts";

for (const target of FUZZ_TARGETS) {
  test(`fuzz: ${target.description}`, async () => {
    await runFuzzer(target, { firstSeed: 1, cases: 100, durationMs: Number.POSITIVE_INFINITY });
  });
}
