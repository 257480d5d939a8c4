/**
 * What the gateway and the thread of an isolated guardrail say to each other, and how verdicts and what is known of a
 * text get across: as plain values, rebuilt on the other side. Nothing of the other side is believed unseen.
 */
import type { PluginModule } from "../config/model.ts";
import type { Edit, Exchange, RefusalExtras, TextAbout, Verdict } from "../plugin/index.ts";
import { refuse } from "../plugin/index.ts";

/** What a thread is started with, as its `workerData`. */
export interface ThreadStart {
  /** Where the guardrail comes from; undefined: it is built in. */
  readonly module: PluginModule | undefined;
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** One Int32: the number of the judgement begun last. */
  readonly begun: SharedArrayBuffer;
  /** Heap and buffers that the thread may hold on to, in bytes. */
  readonly heldBytesMax: number;
}

export type ToThread =
  | { readonly judge: number; readonly text: string; readonly about: PlainAbout }
  | { readonly reply: number; readonly value: unknown }
  | { readonly close: true };

export type FromThread =
  /** It is set up; what its guardrail says of itself. */
  | {
      readonly ready: number | "whole";
      readonly subject: "text" | "call";
      readonly cacheable: boolean;
      readonly joinsTexts: boolean;
    }
  /** It could not be set up. */
  | { readonly unusable: string }
  | { readonly judged: number; readonly verdict: PlainVerdict }
  | { readonly failed: number; readonly message: string }
  | { readonly ask: number; readonly what: Asked; readonly args: readonly unknown[] }
  | { readonly tell: Told; readonly args: readonly unknown[] };

/** What the thread may ask of the guardrail's host. */
export type Asked = "fetch" | "get" | "set" | "delete" | "increment";
/** What it may say to the host without waiting for a reply. */
export type Told = "debug" | "info" | "warn" | "error" | "counter" | "histogram" | "gauge";

/** `args` of a counter, histogram or gauge. */
export type Measurement = readonly [
  name: string,
  help: string,
  labels: readonly string[],
  buckets: readonly number[],
  values: readonly string[],
  value: number,
];

/** Questions of one thread that may be open; further ones are answered as if nothing could be had. */
export const ASKS_MAX = 100;

/** What of an exchange gets across. */
const KEPT = [
  "requestId",
  "surface",
  "startedAtMs",
  "method",
  "path",
  "stream",
  "sessionId",
  "project",
  "endpoint",
] as const;

type PlainExchange = Pick<Exchange, (typeof KEPT)[number]> & {
  readonly token: Pick<Exchange["token"], "id" | "name" | "projectUuid" | "scopes">;
};

export interface PlainAbout extends Omit<TextAbout, "exchange"> {
  readonly exchange: PlainExchange;
}

export function plainAbout({ exchange, ...about }: TextAbout): PlainAbout {
  const { requestId, surface, startedAtMs, method, path, stream, sessionId, project, endpoint } = exchange;
  const { id, name, projectUuid, scopes } = exchange.token;
  const token = { id, name, projectUuid, scopes };
  return {
    ...about,
    exchange: { requestId, surface, startedAtMs, method, path, stream, sessionId, project, endpoint, token },
  };
}

/** On the thread's side: fields that did not get across throw when they are read, in words for the author. */
export function aboutFrom(plain: PlainAbout): TextAbout {
  const exchange = new Proxy(plain.exchange, {
    get(target, key) {
      if (Object.hasOwn(target, key)) return Reflect.get(target, key);
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
      throw new Error(`with \`isolate\` the exchange has no \`${key}\`: it has ${KEPT.join(", ")} and token`);
    },
  });
  // What is missing cannot be read: see above.
  return { ...plain, exchange: exchange as unknown as Exchange };
}

/** A verdict without its error's class, which a thread's messages lose. */
export type PlainVerdict =
  | undefined
  | { readonly verdict: "block"; readonly error: PlainError; readonly reason: string }
  | {
      readonly verdict: "replace";
      readonly edits: readonly Edit[];
      readonly reason: string;
      readonly restore: boolean;
    };

interface PlainError {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly extras: Omit<RefusalExtras, "cause">;
}

export function plainVerdict(verdict: Verdict): PlainVerdict {
  if (verdict === undefined) return undefined;
  const { reason } = verdict;
  if (verdict.verdict === "replace") {
    const edits = verdict.edits.map(({ start, end, text }) => ({ start, end, text }));
    return { verdict: "replace", edits, reason, restore: verdict.restore === true };
  }
  const { code, status, message } = verdict.error;
  const { cause: _stays, ...extras } = verdict.error.extras;
  // Through JSON, since an author may have put in what no message can carry.
  return {
    verdict: "block",
    error: { code, status, message, extras: JSON.parse(JSON.stringify(extras)) },
    reason,
  };
}

/** Throws when it is no verdict: the guardrail has failed then. */
export function verdictFrom(plain: PlainVerdict): Verdict {
  if (plain === undefined) return undefined;
  const reason = String(plain.reason);
  if (plain.verdict === "replace") {
    return { verdict: "replace", edits: plain.edits, reason, restore: plain.restore };
  }
  if (plain.verdict !== "block") throw new Error("the verdict is neither block nor replace");
  const { code, status, message, extras } = plain.error;
  return { verdict: "block", error: refuse(status, code, message, extras), reason };
}
