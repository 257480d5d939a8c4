/**
 * Plays recorded answers of real providers through the running gateway, whole and byte by byte, and compares what the
 * client gets with the facts noted beside each: `npm run recordings -- FOLDER`. The recordings are not ours to ship, so
 * this is no part of `npm test`. FOLDER/PROVIDER/NAME.{json,sse,ndjson} with NAME.meta.json (`http_status`, `expected`).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseValue } from "../../src/provider-kit/index.ts";
import {
  cutAnswer,
  type FakeUpstream,
  fakeUpstream,
  type ScriptedAnswer,
} from "../../src/testing/fake-upstream.ts";
import { at } from "../spec/kit/at.ts";
import { chunksOf, textOf } from "../spec/kit/event-stream.ts";
import { type Harness, startGateway } from "../spec/kit/gateway.ts";

interface Recording {
  readonly provider: string;
  readonly name: string;
  readonly body: string;
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly streams: boolean;
  readonly expected: unknown;
}

/** What a client can see of an answer, in the same words for all providers. */
interface Facts {
  readonly status: number;
  readonly text: string;
  readonly finish: unknown;
  readonly usage: readonly [prompt: unknown, completion: unknown] | undefined;
  readonly toolCalls: readonly { readonly name: unknown; readonly arguments: unknown }[];
  readonly error: string | undefined;
}

/** Folders of recordings; others hold formats that are no provider's chat. */
const PROVIDERS: ReadonlySet<string> = new Set([
  ...["openai", "anthropic", "google", "mistral", "groq", "together", "ollama", "cohere"],
]);

const LENGTH = /^(?:length|max_tokens|MAX_TOKENS|model_length|CONTINUATION|model_context_window_exceeded)$/;
const CALLS = /^(?:tool_calls|tool_use|TOOL_CALL|function_call)$/;
const STOP = /^(?:stop|end_turn|stop_sequence|STOP|eos|COMPLETE|STOP_SEQUENCE|pause_turn)$/;

const [folder] = process.argv.slice(2);
if (folder === undefined || !existsSync(folder)) {
  console.error("usage: npm run recordings -- FOLDER   (FOLDER/PROVIDER/NAME.json and NAME.meta.json)");
  process.exit(64);
}
const recordings = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && PROVIDERS.has(entry.name))
  .flatMap(({ name }) => recordingsOf(join(folder, name), name));
const closers: (() => Promise<void>)[] = [];
const upstream = await fakeUpstream();
const gateway = await startGateway(
  { after: (close) => closers.push(close) },
  configFor(recordings, upstream),
);
let faults = 0;
for (const recording of recordings) {
  const wanted = expectedOf(recording);
  for (const [how, answer] of waysToPlay(recording)) {
    upstream.answer(answer);
    const seen = await factsOf(gateway, recording);
    const wrong = differences(wanted, seen);
    faults += wrong.length;
    if (wrong.length > 0 || how === "whole") {
      console.log(`${wrong.length === 0 ? "ok  " : "FAIL"} ${recording.provider}/${recording.name} (${how})`);
      for (const text of wrong) console.log(`     ${text}`);
    }
  }
}
for (const close of closers) await close();
await upstream.close();
console.log(`${recordings.length} recordings, ${faults} faults`);
process.exitCode = faults === 0 ? 0 : 1;

function recordingsOf(path: string, provider: string): Recording[] {
  return readdirSync(path)
    .filter(
      (file) => /\.(?:json|sse|ndjson)$/.test(file) && existsSync(join(path, `${nameOf(file)}.meta.json`)),
    )
    .map((file) => {
      const name = nameOf(file);
      const meta: unknown = JSON.parse(readFileSync(join(path, `${name}.meta.json`), "utf8"));
      const headers = Object.entries(at(meta, "headers") ?? {}).filter(
        ([key]) =>
          !/^(?:transfer-encoding|content-length|connection|content-encoding|content-type)$/i.test(key),
      );
      return {
        provider,
        name,
        body: readFileSync(join(path, file), "utf8"),
        status: Number(at(meta, "http_status")),
        type: String(at(meta, "content_type") ?? "application/json"),
        headers: Object.fromEntries(headers.map(([key, value]) => [key, String(value)])),
        streams: !file.endsWith(".json"),
        expected: at(meta, "expected"),
      };
    });
}

function nameOf(file: string): string {
  return file.replace(/\.\w+$/, "");
}

function configFor(all: readonly Recording[], { url }: FakeUpstream): Parameters<typeof startGateway>[1] {
  const providers = [...new Set(all.map(({ provider }) => provider))];
  return {
    credentials: providers.map((provider) => ({
      name: provider,
      provider,
      api_key: "key-of-nobody",
      base_url: url,
    })),
    endpoints: providers.map((provider) => ({ name: provider, provider, model: "m", credential: provider })),
  };
}

function waysToPlay(recording: Recording): [how: string, answer: ScriptedAnswer][] {
  const { body, status, type, headers } = recording;
  const whole: ScriptedAnswer = (response) =>
    void response.writeHead(status, { "content-type": type, ...headers }).end(body);
  const cut =
    (bytes: number): ScriptedAnswer =>
    (response, request) => {
      response.statusCode = status;
      cutAnswer(body, bytes)(withStatus(response, status), request);
    };
  return [
    ["whole", whole],
    ["byte by byte", cut(1)],
    ["7 bytes at a time", cut(7)],
  ];
}

/** `cutAnswer` says 200 by itself. */
function withStatus(response: Parameters<ScriptedAnswer>[0], status: number): Parameters<ScriptedAnswer>[0] {
  const writeHead = response.writeHead.bind(response);
  response.writeHead = (_status: number, headers?: never) => writeHead(status, headers);
  return response;
}

async function factsOf({ call, stream }: Harness, { provider, streams }: Recording): Promise<Facts> {
  const ask = { message: "Hello" };
  if (streams) {
    const opened = await stream(ask, { slug: provider });
    const events = await opened.rest();
    if (opened.status === 200) return streamedFacts(events);
    return refused(opened.status, parseValue(opened.remainder));
  }
  const { status, json } = await call(ask, { slug: provider });
  if (status !== 200) return refused(status, json);
  return {
    status,
    text: String(at(json, "content")),
    finish: at(json, "finish_reason"),
    usage: [at(json, "usage", "prompt_tokens"), at(json, "usage", "completion_tokens")],
    toolCalls: listOf(at(json, "tool_calls")).map(functionOf),
    error: undefined,
  };
}

function refused(status: number, body: unknown): Facts {
  const error = String(at(body, "error"));
  return { status, text: "", finish: undefined, usage: undefined, toolCalls: [], error };
}

function streamedFacts(events: readonly string[]): Facts {
  const chunks = chunksOf(events);
  const failed = chunks.find((chunk) => at(chunk, "ok") === false);
  const calls: { name: string; arguments: string }[] = [];
  for (const chunk of chunks) {
    for (const delta of listOf(at(chunk, "choices", 0, "delta", "tool_calls"))) {
      const index = Number(at(delta, "index"));
      const call = (calls[index] ??= { name: "", arguments: "" });
      call.name += String(at(delta, "function", "name") ?? "");
      call.arguments += String(at(delta, "function", "arguments") ?? "");
    }
  }
  const usage = chunks.map((chunk) => at(chunk, "usage")).findLast((value) => value !== undefined);
  return {
    status: 200,
    text: textOf(events.filter((event) => !event.startsWith('{"ok":false'))),
    finish: chunks.map((chunk) => at(chunk, "choices", 0, "finish_reason")).findLast(Boolean),
    usage: [at(usage, "prompt_tokens"), at(usage, "completion_tokens")],
    toolCalls: calls.map((call) => ({ name: call.name, arguments: parsed(call.arguments) })),
    error: failed === undefined ? undefined : String(at(failed, "error")),
  };
}

function expectedOf({ provider, status, expected }: Recording): Facts {
  const calls = listOf(at(expected, "tool_calls"));
  const broken = at(expected, "midstream_error");
  const error = at(expected, "error") ?? broken;
  const raw = at(expected, "usage_raw");
  return {
    status: status === 200 && error === undefined ? 200 : 502,
    text: String(at(expected, "text") || (at(expected, "refusal") ?? "")),
    finish: finishOf(
      String(at(expected, "finish_raw")),
      calls.length > 0,
      at(expected, "refusal") !== undefined,
    ),
    usage: usageOf(provider, raw),
    toolCalls: calls.map((call) => ({ name: at(call, "name"), arguments: parsed(at(call, "arguments")) })),
    error: error === undefined ? undefined : messageOf(error),
  };
}

function finishOf(raw: string, hasCalls: boolean, isRefusal: boolean): string {
  if (isRefusal) return "error";
  if (LENGTH.test(raw)) return "length";
  if (CALLS.test(raw) || (STOP.test(raw) && hasCalls)) return "tool_calls";
  return STOP.test(raw) ? "stop" : "error";
}

function usageOf(provider: string, raw: unknown): Facts["usage"] {
  if (raw === undefined || raw === null) return undefined;
  const n = (...path: string[]): number => Number(at(raw, ...path) ?? 0);
  if (provider === "anthropic") {
    const cached = n("cache_creation_input_tokens") + n("cache_read_input_tokens");
    return [n("input_tokens") + cached, n("output_tokens")];
  }
  if (provider === "google") {
    const prompt = n("promptTokenCount") + n("toolUsePromptTokenCount");
    return [prompt, n("candidatesTokenCount") + n("thoughtsTokenCount")];
  }
  if (provider === "ollama") return [n("prompt_eval_count"), n("eval_count")];
  if (provider === "cohere") return [n("tokens", "input_tokens"), n("tokens", "output_tokens")];
  return [n("prompt_tokens"), n("completion_tokens")];
}

function differences(wanted: Facts, seen: Facts): string[] {
  const wrong: string[] = [];
  const same = (what: string, a: unknown, b: unknown): void => {
    if (!isDeepStrictEqual(a, b))
      wrong.push(`${what}: expected ${JSON.stringify(a)}, seen ${JSON.stringify(b)}`);
  };
  if (wanted.error !== undefined) {
    const said = seen.error ?? "";
    // What is told is one short line of it, credentials taken out.
    const start = wanted.error.split(/[\r\n*]/, 1)[0]?.slice(0, 60) ?? "";
    if (!said.includes(start)) wrong.push(`error: expected ${start}, seen ${said}`);
    return wrong;
  }
  same("status", wanted.status, seen.status);
  same("error", undefined, seen.error);
  same("text", wanted.text, seen.text);
  same("finish", wanted.finish, seen.finish);
  if (wanted.usage !== undefined) same("usage", wanted.usage, seen.usage);
  same("tool calls", wanted.toolCalls, seen.toolCalls);
  return wrong;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function functionOf(call: unknown): { name: unknown; arguments: unknown } {
  return { name: at(call, "function", "name"), arguments: parsed(at(call, "function", "arguments")) };
}

/** Arguments of nothing are an empty object. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (value === "" || value === "null") return {};
  // Arguments that are not JSON differ from every expectation.
  return parseValue(value) ?? { notJson: value };
}

function messageOf(error: unknown): string {
  const inner = at(error, "error");
  if (typeof inner === "string") return inner;
  return String(at(inner, "message") ?? at(error, "message") ?? at(error, "detail"));
}
