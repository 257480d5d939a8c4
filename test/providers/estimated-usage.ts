/**
 * How far the gateway's estimates are from what vendors counted: recorded answers are played without their usage, behind
 * the requests that they belong to. The recordings lie outside the repository. `npm run estimates` prints the table.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseValue } from "../../src/provider-kit/index.ts";
import { fakeUpstream } from "../../src/testing/fake-upstream.ts";
import { at } from "../spec/kit/at.ts";
import { PROVIDER_KEY } from "../spec/kit/config.ts";
import type { Closer } from "../spec/kit/gateway.ts";
import { startWrapper } from "../surfaces/openai/kit.ts";
import { wrapperRequest } from "./recorded-requests.ts";

export const RECORDINGS = fileURLToPath(new URL("../../../shared/recordings", import.meta.url));
const FOLDERS = [
  ...["openai", "anthropic", "anthropic-messages", "google", "mistral", "groq", "together", "ollama"],
  "cohere",
];

/** Their vendor broke them off: nobody counted. */
const FAILED: ReadonlySet<string> = new Set(["groq/midstream_error_stream"]);

interface Recording {
  readonly name: string;
  readonly provider: string;
  readonly body: string;
  readonly streams: boolean;
  /** Undefined: not known, or not one that the wrapper can make. */
  readonly request: Readonly<Record<string, unknown>> | undefined;
}

/** Tokens as the vendor counted them and as they are estimated. */
export interface Pair {
  readonly told: number;
  readonly estimated: number;
}

export interface Measured {
  readonly name: string;
  readonly provider: string;
  /** Undefined: the request is not known, or the vendor added what nobody sees. */
  readonly prompt: Pair | undefined;
  /** Without thoughts that were not shown. Undefined: nothing was. */
  readonly completion: Pair | undefined;
}

export function recordings(): readonly Recording[] {
  return FOLDERS.filter((folder) => existsSync(`${RECORDINGS}/${folder}`)).flatMap((folder) =>
    readdirSync(`${RECORDINGS}/${folder}`)
      .filter((file) => !file.endsWith(".meta.json") && !file.startsWith("error_"))
      .map((file) => recording(folder, file)),
  );
}

function recording(folder: string, file: string): Recording {
  const name = `${folder}/${file.replace(/\.\w+$/, "")}`;
  const meta: unknown = JSON.parse(readFileSync(`${RECORDINGS}/${name}.meta.json`, "utf8"));
  const provider = folder === "anthropic-messages" ? "anthropic" : folder;
  const request: unknown = at(meta, "request");
  return {
    name,
    provider,
    body: readFileSync(`${RECORDINGS}/${folder}/${file}`, "utf8"),
    streams: !file.endsWith(".json"),
    request: request === null ? undefined : wrapperRequest(provider, request),
  };
}

const COUNTS = new Set([
  ...["usage", "usageMetadata", "x_groq", "amazon-bedrock-invocationMetrics"],
  ...["prompt_eval_count", "eval_count"],
]);

const COUNTED = /"(?:usage|usageMetadata)": ?\{|"eval_count"/;

/** The same answer from a vendor that counts nothing. */
function withoutUsage({ body, streams }: Recording): string {
  const bare = (json: string): string =>
    JSON.stringify(JSON.parse(json), (key, value: unknown) => (COUNTS.has(key) ? undefined : value));
  if (!streams) return bare(body);
  return body.replace(
    /^((?:data: ?)?)(\{.*\})[ \t\r]*$/gm,
    (_line, head: string, json: string) => head + bare(json),
  );
}

/** Plays each recording as it is and without its usage. */
export async function measure(t: Closer): Promise<readonly Measured[]> {
  const upstream = await fakeUpstream();
  t.after(() => upstream.close());
  const all = recordings();
  const providers = [...new Set(all.map(({ provider }) => provider))];
  const g = await startWrapper(
    t,
    {},
    {
      credentials: providers.map((provider) => {
        return { name: provider, provider, api_key: PROVIDER_KEY, base_url: upstream.url };
      }),
      aliases: providers.map((provider) => {
        return { alias: provider, provider, model: "recorded", credential: provider };
      }),
    },
  );
  const played = async (one: Recording, body: string): Promise<unknown> => {
    const kind = one.provider === "ollama" ? "application/x-ndjson" : "text/event-stream";
    const type = one.streams ? kind : "application/json";
    upstream.answer((response) => void response.writeHead(200, { "content-type": type }).end(body));
    const ask = { ...one.request, model: one.provider };
    if (!one.streams) return at((await g.ask(ask)).json, "usage");
    const events = await (await g.asStream({ ...ask, stream_options: { include_usage: true } })).rest();
    const usages = events.map((event) => at(typeof event === "string" ? parseValue(event) : event, "usage"));
    return usages.findLast((usage) => Object(usage) === usage);
  };
  const measured: Measured[] = [];
  for (const one of all) {
    if (FAILED.has(one.name)) continue;
    const told = await played(one, one.body);
    const estimated = await played(one, withoutUsage(one));
    assert.ok(Object(estimated) === estimated, `${one.name}: no answer`);
    measured.push(compared(one, told, estimated));
  }
  return measured;
}

function compared({ name, provider, body, request }: Recording, told: unknown, estimated: unknown): Measured {
  const count = (usage: unknown, ...path: string[]): number => Number(at(usage, ...path) ?? 0);
  // What is charged for: the rest is Cohere's own preamble.
  const billed = /"billed_units":\{"input_tokens":(\d+),"output_tokens":(\d+)\}/.exec(
    body.replace(/\s/g, ""),
  );
  const prompt = billed === null ? count(told, "prompt_tokens") : Number(billed[1]);
  const hidden = count(told, "completion_tokens_details", "reasoning_tokens");
  const completion = billed === null ? count(told, "completion_tokens") - hidden : Number(billed[2]);
  const isTold = COUNTED.test(body);
  return {
    name,
    provider,
    prompt:
      isTold && request !== undefined
        ? { told: prompt, estimated: count(estimated, "prompt_tokens") }
        : undefined,
    completion:
      isTold && completion > 0
        ? { told: completion, estimated: count(estimated, "completion_tokens") }
        : undefined,
  };
}

export interface Summary {
  readonly recordings: number;
  readonly told: number;
  readonly estimated: number;
  /** By how much the sum is off: 0.1 is ten percent too much. */
  readonly sum: number;
  /** The median of the recordings' deviations. */
  readonly median: number;
}

export function summary(pairs: readonly (Pair | undefined)[]): Summary {
  const known = pairs.filter((pair) => pair !== undefined);
  const told = known.reduce((sum, pair) => sum + pair.told, 0);
  const estimated = known.reduce((sum, pair) => sum + pair.estimated, 0);
  const off = known.map((pair) => pair.estimated / pair.told - 1).toSorted((a, b) => a - b);
  const middle = (off.length - 1) / 2;
  const median = ((off[Math.floor(middle)] ?? 0) + (off[Math.ceil(middle)] ?? 0)) / 2;
  return { recordings: known.length, told, estimated, sum: told === 0 ? 0 : estimated / told - 1, median };
}

/** A line for each recording, then sums and medians by provider and of all. */
export function table(measured: readonly Measured[]): string {
  const percent = (part: number): string => `${part >= 0 ? "+" : ""}${(part * 100).toFixed(0)} %`;
  const cell = (pair: Pair | undefined): string =>
    pair === undefined
      ? "-"
      : `${pair.estimated} of ${pair.told} (${percent(pair.estimated / pair.told - 1)})`;
  const whole = (pairs: readonly (Pair | undefined)[]): string => {
    const { recordings: n, told, estimated, sum, median } = summary(pairs);
    return n === 0 ? "-" : `${estimated} of ${told} (${percent(sum)}, median ${percent(median)}, n ${n})`;
  };
  const line = (name: string, prompt: string, completion: string): string =>
    `${name.padEnd(46)}${prompt.padEnd(52)}${completion}`;
  const lines = measured.map((one) => line(one.name, cell(one.prompt), cell(one.completion)));
  const groups = [...new Set(measured.map(({ provider }) => provider)), "all"];
  const totals = groups.map((group) => {
    const own = measured.filter(({ provider }) => group === "all" || provider === group);
    return line(
      group,
      whole(own.map(({ prompt }) => prompt)),
      whole(own.map(({ completion }) => completion)),
    );
  });
  return [line("estimated of reported", "prompt", "completion"), ...lines, "", ...totals].join("\n");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const closers: (() => Promise<void>)[] = [];
  const measured = await measure({ after: (close) => closers.push(close) });
  console.log(table(measured));
  for (const close of closers) await close();
}
