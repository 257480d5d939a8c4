/**
 * What is handed to a plugin at setup. Plugins reach nothing else: no clock, random source, socket, file or
 * environment of their own, so that tests can replace them all and reloads can close them.
 */
import type { JsonSchema, JsonValue, Message } from "./chat.ts";
import type { MaybePromise } from "./maybe-promise.ts";

/** What a plugin is handed at `setup`. @since 0.1.0 */
export interface Host {
  /** Name of the plugin it was made for. */
  readonly plugin: string;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly schemas: SchemaCompiler;
  readonly sessions: Sessions;
  readonly metrics: Metrics;
  readonly requestLog: RequestLog;
  /** Leaves out personal data, by the built-in PII filter in mask mode. */
  redact(text: string): string;
  /**
   * Asks a service over HTTP. Private addresses are refused unless `network.allow` lets them through; redirects are
   * not followed; connections are kept. Never rejects.
   */
  fetch(url: string, request?: HttpRequest): Promise<HttpAnswer | HttpFailure>;
  /** What this plugin keeps between calls, over reloads and, where the state driver does so, over restarts. */
  readonly store: StoreSlice;
}

export interface HttpRequest {
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the call to the last byte. Default 10,000, at most 60,000; of a guardrail, at most its `timeout_ms`. */
  readonly timeoutMs?: number;
  /** Longest answer. Default 1 MiB, at most 16 MiB. */
  readonly bytesMax?: number;
}

/** Any status, redirects too. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case; a repeated header is joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Read as UTF-8. */
  readonly text: string;
}

export interface HttpFailure {
  /** `blocked`: by the SSRF guard. `busy`: too many requests are open. */
  readonly failed: "blocked" | "timeout" | "unreachable" | "too_large" | "busy";
  /** In short, for the log. */
  readonly detail: string;
}

/**
 * A small store of one plugin's own: bounded, the oldest entries go first. Where the state driver has none, or the
 * store is lost, nothing is found and nothing is kept.
 */
export interface StoreSlice {
  get(key: string): MaybePromise<JsonValue | undefined>;
  /** False: not kept. `key`: at most 256 characters; `value`: at most 65,536 bytes as JSON; `ttlSeconds`: above 0. */
  set(key: string, value: JsonValue, ttlSeconds: number): MaybePromise<boolean>;
  /** True when there was one. */
  delete(key: string): MaybePromise<boolean>;
  /**
   * Adds `by` to a number, in one step, and returns the sum. One that is not there, or no number, counts as 0 and
   * lasts `ttlSeconds` from then; later additions do not prolong it. undefined: not kept.
   */
  increment(key: string, by: number, ttlSeconds: number): MaybePromise<number | undefined>;
}

/** Bounds of a `StoreSlice`. */
export const SLICE_KEY_MAX = 256;
export const SLICE_VALUE_BYTES_MAX = 65_536;
export const SLICE_ENTRIES_MAX = 10_000;

/** One line a call. */
export interface RequestLog {
  /** False when `log.level` is above info: no line need be made. */
  readonly enabled: boolean;
  /** `line` is JSON without its newline. Buffered; never throws. */
  write(line: string): void;
}

/** JSON lines on stdout. A level below `log.level` costs nothing. Never pass secrets or texts of calls. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Time and timers, which tests turn. @since 0.1.0 */
export interface Clock {
  /**
   * Unix milliseconds, for dates. It does not go back, except where the machine's clock is set back by more than an hour
   * and stays there; and it may jump forward. For durations, windows and timeouts use `monotonicMs`.
   */
  nowMs(): number;
  /** Milliseconds with fractions, for durations: it runs evenly whatever the machine's date is set to. */
  monotonicMs(): number;
  /** Calls `run` once, after `delayMs`. The timer keeps no process alive. */
  after(delayMs: number, run: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export interface Random {
  /** Random (version 4) UUID. */
  uuid(): string;
  /** 0 to below 1. Not for secrets. */
  fraction(): number;
}

export interface SchemaCompiler {
  /** Compiles a schema once (equal schemas share). Throws when it is not a valid one: config validation did check. */
  compile(schema: JsonSchema): SchemaCheck;
}

/** Returns undefined when `value` is valid, else the first errors, as `path message`. */
export type SchemaCheck = (value: unknown) => readonly string[] | undefined;

/** Conversations kept between calls. Bounded by `state.max_sessions`, least recently used first out. */
export interface Sessions {
  /**
   * Opens a conversation for one call and holds it until `close`: a second call on it waits (8 may, the next is
   * `busy`; `unavailable`: the store is lost). `id` undefined makes a new one. `owner`: who may resume it; another owner finds nothing. `caller`: the
   * exchange it is opened for, so that a client that leaves gives its place in the queue up.
   */
  open(
    owner: string,
    id: string | undefined,
    ttlMs: number,
    caller?: Cancellable,
  ): MaybePromise<OpenSession | "missing" | "busy" | "unavailable">;
  /** Code units of the stored history, 0 when there is none: for estimates, without holding it. */
  historyCharacters(owner: string, id: string): MaybePromise<number>;
  /** True when there was one. */
  delete(owner: string, id: string): MaybePromise<boolean>;
}

/** What may be canceled; every Exchange is one. */
export interface Cancellable {
  /** Aborted when the client disconnects or the call times out. */
  readonly signal: AbortSignal;
}

/** A conversation that one call holds. @since 0.1.0 */
export interface OpenSession {
  readonly id: string;
  readonly history: readonly Message[];
  /** Stores the conversation as it now stands and renews its idle time. At most once. */
  save(history: readonly Message[]): MaybePromise<void>;
  /** True after a `save` that a lost store did not keep, where the configuration says to refuse calls then. */
  readonly isUnsaved?: boolean;
  /** Lets the next call on this conversation go on. Idempotent; a new conversation that was never saved is gone. */
  close(): void;
}

/** Numbers for `/metrics`. Label values must be bounded: configured names, statuses; never ids or texts of calls. */
export interface Metrics {
  /** What its series are given is added up; USD of a name that ends in `_usd_total` exactly, to the nano-dollar. */
  counter(name: string, help: string, labels: readonly string[]): MetricFamily;
  histogram(name: string, help: string, labels: readonly string[], buckets: readonly number[]): MetricFamily;
  /** A series shows what it was given last. */
  gauge(name: string, help: string, labels: readonly string[]): MetricFamily;
}

/** A metric of one name, with a series for each combination of label values. @since 0.1.0 */
export interface MetricFamily {
  /** A series; keep it, looking it up costs more than using it. */
  series(...labelValues: readonly string[]): (value: number) => void;
}
