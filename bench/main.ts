/**
 * The bench's command line: runs the scenarios asked for, one after another, prints a table, and writes the same as
 * JSON into bench/results. A missed goal is shown and is no failure; what cannot be measured is.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chooseCores, pinSelf } from "./cores.ts";
import { benchFile, Lab } from "./lab.ts";
import type { Bench, Sample } from "./measure.ts";
import { type Row, type Scenario, table } from "./result.ts";
import * as tests from "./scenarios/config-tests.ts";
import * as endpoints from "./scenarios/endpoints.ts";
import * as json from "./scenarios/json.ts";
import * as large from "./scenarios/large.ts";
import * as latency from "./scenarios/latency.ts";
import * as memory from "./scenarios/memory.ts";
import * as plan from "./scenarios/plan.ts";
import * as proxy from "./scenarios/proxy.ts";
import * as start from "./scenarios/start.ts";
import * as state from "./scenarios/state.ts";
import * as stream from "./scenarios/stream.ts";
import * as webhooks from "./scenarios/webhooks.ts";

const scenarios: Record<string, { title: string; run(bench: Bench): Promise<Row[]> }> = {
  json,
  large,
  stream,
  endpoints,
  latency,
  memory,
  proxy,
  state,
  webhooks,
  start,
  tests,
  plan,
};

const usage = `npm run bench -- [${Object.keys(scenarios).join("|")}]... [--rounds N] [--seconds S] [--output text|json] [--no-build]
npm run bench -- guardrails FOLDER
`;
const USAGE_ERROR = 64;

interface Options {
  readonly names: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly output: "text" | "json";
}

/** What the words ask for; an Error with what is wrong with them. */
function readArguments(): Options | Error {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: "string", default: "5" },
        seconds: { type: "string", default: "3" },
        output: { type: "string", default: "text" },
      },
    });
    const { output } = values;
    const rounds = Number(values.rounds);
    const seconds = Number(values.seconds);
    const unknown = positionals.find((name) => !Object.hasOwn(scenarios, name));
    if (unknown !== undefined) return new Error(`unknown scenario '${unknown}'`);
    if (!Number.isInteger(rounds) || rounds < 1) return new Error("--rounds is a whole number, at least 1");
    if (!(seconds > 0)) return new Error("--seconds is a number above 0");
    if (output !== "text" && output !== "json") return new Error("--output is text or json");
    return { names: positionals.length > 0 ? positionals : Object.keys(scenarios), rounds, seconds, output };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

async function runScenario(
  name: string,
  lab: Lab,
  { rounds, seconds }: Options,
): Promise<Scenario | undefined> {
  const scenario = scenarios[name];
  if (scenario === undefined) return undefined;
  const failures: string[] = [];
  const samples: Sample[] = [];
  progress(`${name}: ${scenario.title}`);
  const rows = await scenario.run({
    lab,
    rounds,
    seconds,
    progress,
    failed(reason) {
      failures.push(reason);
      progress(`  not measured: ${reason}`);
    },
    taken: (sample) => samples.push(sample),
  });
  return {
    name,
    title: scenario.title,
    rows: rows.filter((row) => row.samples.length > 0),
    failures,
    driverShare: Math.max(0, ...samples.map((sample) => sample.driverShare)),
    foreignCores: Math.max(0, ...samples.map((sample) => sample.foreignCores)),
  };
}

async function main(): Promise<number> {
  const options = readArguments();
  if (options instanceof Error) {
    progress(`bench: ${options.message}\n${usage}`);
    return USAGE_ERROR;
  }
  const choice = chooseCores();
  if ("refusal" in choice) {
    progress(`bench: ${choice.refusal}`);
    return 1;
  }
  if (choice.cores === undefined) progress("warning: processes cannot be pinned here, so figures are rough");
  else pinSelf(choice.cores.driver);
  const lab = new Lab(choice.cores);
  await lab.open();
  const results: Scenario[] = [];
  for (const name of options.names) {
    const result = await runScenario(name, lab, options);
    if (result !== undefined) results.push(result);
  }
  lab.close();
  report(results, options);
  return results.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

function report(scenarios: readonly Scenario[], { rounds, seconds, output }: Options): void {
  const at = new Date().toISOString();
  const setting = { at, node: process.version, processor: cpus()[0]?.model, rounds, seconds };
  const text = `${JSON.stringify({ ...setting, scenarios }, null, 2)}\n`;
  const file = join(benchFile("results"), `${at.replaceAll(/[:.]/g, "-")}.json`);
  mkdirSync(benchFile("results"), { recursive: true });
  writeFileSync(file, text);
  process.stdout.write(output === "json" ? text : `\n${table(scenarios)}`);
  progress(`written to ${file}`);
}

process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));
process.exit(await main());
