/** `provider:` and `upstream:` of a step as the script that the offline gateway plays. */
import { isPlainMap, type PlainMap } from "../config/read/tree.ts";
import type { ScriptEntry, ScriptedToolCall, ScriptedUsage, UpstreamAnswer } from "../offline/script.ts";
import type { FinishReason } from "../plugin/chat.ts";
import type { Fixtures } from "./fixtures.ts";
import { asListOf } from "./read.ts";

/** undefined: the step has no script. Throws a FixtureError for a recording that cannot be read. */
export function scriptOf(step: PlainMap, fixtures: Fixtures): readonly ScriptEntry[] | undefined {
  if (step["provider"] === undefined) return undefined;
  return asListOf(step["provider"]).map((entry) => entryOf(entry, fixtures));
}

export class FixtureError extends Error {
  readonly key: string;

  constructor(key: string, message: string) {
    super(message);
    this.key = key;
  }
}

function entryOf(entry: PlainMap, fixtures: Fixtures): ScriptEntry {
  if (entry["timeout"] === true) return { timeout: true };
  if (entry["disconnect"] === true) return { disconnect: true };
  if (typeof entry["recording"] === "string") return recorded(entry["recording"], fixtures);
  if (entry["json"] !== undefined && entry["status"] === undefined && entry["headers"] === undefined)
    return { json: entry["json"] };
  if (entry["json"] !== undefined || entry["status"] !== undefined) {
    const { json, body = json, status = 200 } = entry;
    return {
      status: Number(status),
      headers: textsOf(entry["headers"]),
      ...(body === undefined ? {} : { body }),
    };
  }
  return replyOf(entry);
}

function recorded(name: string, fixtures: Fixtures): ScriptEntry {
  const text = fixtures.read(name);
  if (typeof text !== "string") throw new FixtureError("recording", `${name} ${text.unusable}`);
  return { recording: Buffer.from(text) };
}

function replyOf(entry: PlainMap): ScriptEntry {
  const { reply, chunks, usage, finish_reason: finishReason, tool_calls: toolCalls, disconnect } = entry;
  const isEmpty = reply === undefined && chunks === undefined && toolCalls === undefined;
  const cut = isPlainMap(disconnect) ? disconnect["after_chunks"] : undefined;
  return {
    ...(isEmpty ? { reply: "ok" } : {}),
    ...(reply === undefined ? {} : { reply: String(reply) }),
    ...(chunks === undefined ? {} : { chunks: asTexts(chunks) }),
    // The file's schema has checked these.
    ...(usage === undefined ? {} : { usage: usageOf(usage as PlainMap) }),
    ...(finishReason === undefined ? {} : { finishReason: finishReason as FinishReason }),
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls as readonly ScriptedToolCall[] }),
    ...(cut === undefined ? {} : { disconnectAfterChunks: Number(cut) }),
  };
}

function usageOf({ prompt = 0, completion = 0, cached }: PlainMap): ScriptedUsage {
  return {
    prompt: Number(prompt),
    completion: Number(completion),
    ...(cached === undefined ? {} : { cached: Number(cached) }),
  };
}

export function upstreamOf({ upstream }: PlainMap): UpstreamAnswer | undefined {
  if (!isPlainMap(upstream)) return undefined;
  const { status, headers, body } = upstream;
  return {
    ...(status === undefined ? {} : { status: Number(status) }),
    ...(headers === undefined ? {} : { headers: textsOf(headers) }),
    ...(body === undefined ? {} : { body }),
  };
}

function textsOf(map: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(isPlainMap(map) ? map : {}).filter(([, value]) => value !== null);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function asTexts(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map(String) : [];
}
