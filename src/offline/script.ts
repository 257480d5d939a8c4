/** What a case of an offline run says that providers answer: one entry for each request that is sent to one, in order. */
import type { FinishReason } from "../plugin/chat.ts";

/** One answer of a provider. Exactly one of the kinds. */
export type ScriptEntry =
  | ReplyEntry
  | { readonly json: unknown }
  | StatusEntry
  | { readonly timeout: true }
  | DisconnectEntry
  | RecordedEntry;

/** An answer in the chain's own terms, written in the wire format of the provider that is asked. */
export interface ReplyEntry {
  /** The answer's text; of a stream all of it in one event. */
  readonly reply?: string;
  /** The text in pieces: of a stream an event and a network read each. */
  readonly chunks?: readonly string[];
  readonly usage?: ScriptedUsage;
  /** Default: `tool_calls` with tool calls, else `stop`. */
  readonly finishReason?: FinishReason;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** The connection breaks off after this many pieces; a whole answer breaks off before its end. */
  readonly disconnectAfterChunks?: number;
}

export interface ScriptedUsage {
  readonly prompt: number;
  readonly completion: number;
  /** The part of `prompt` that was read from the provider's cache. */
  readonly cached?: number;
}

export interface ScriptedToolCall {
  readonly id?: string;
  readonly name: string;
  /** An object, or its JSON text. */
  readonly arguments: unknown;
}

/** An error, or any answer as it is. `body`: a text goes out as it is, anything else as JSON. */
export interface StatusEntry {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The connection ends before anything of an answer came. */
export interface DisconnectEntry {
  readonly disconnect: true;
}

/** Bytes as a provider sent them, of status 200. */
export interface RecordedEntry {
  readonly recording: Uint8Array;
}

/** What every provider answers where a case has no script. */
export const DEFAULT_ENTRY: ReplyEntry = Object.freeze({ reply: "ok" });

export function isReply(entry: ScriptEntry): entry is ReplyEntry {
  return "reply" in entry || "chunks" in entry || "toolCalls" in entry;
}

/** The pieces of a reply's text. */
export function piecesOf({ reply, chunks }: ReplyEntry): readonly string[] {
  if (chunks !== undefined) return chunks;
  return reply === undefined || reply === "" ? [] : [reply];
}

/** What an upstream of a proxy endpoint answers. */
export interface UpstreamAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or bytes go out as they are, anything else as JSON. Default: empty. */
  readonly body?: unknown;
}
