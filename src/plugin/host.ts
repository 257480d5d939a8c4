/**
 * What is handed to a plugin at setup. Plugins reach nothing else: no clock, random source, socket, file or
 * environment of their own, so that tests can replace them all and reloads can close them.
 */
import type { JsonSchema, Message } from "./chat.ts";
import type { MaybePromise } from "./contract.ts";

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
}

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

export interface Clock {
  /** Unix milliseconds, never going back. */
  nowMs(): number;
  /** Milliseconds with fractions, for durations. */
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
   * `busy`; `unavailable`: the store is lost). `id` undefined makes a new one. `owner`: whoever may resume it; another owner finds nothing. `caller`: the
   * exchange it is opened for, so that a client that leaves gives its place in the queue up.
   */
  open(
    owner: string,
    id: string | undefined,
    ttlMs: number,
    caller?: Cancellable,
  ): MaybePromise<OpenSession | "missing" | "busy" | "unavailable">;
  /** Code units of the stored history, 0 when there is none: for estimates, without holding it. */
  peekCharacters(owner: string, id: string): MaybePromise<number>;
  /** True when there was one. */
  delete(owner: string, id: string): MaybePromise<boolean>;
}

/** Whoever may lose interest; every Exchange is one. */
export interface Cancellable {
  /** Runs `run` at most once, when the interest is gone; undefined takes it back. */
  onCancel(run: (() => void) | undefined): void;
}

export interface OpenSession {
  readonly id: string;
  readonly history: readonly Message[];
  /** Stores the conversation as it now stands and renews its idle time. At most once. */
  save(history: readonly Message[]): MaybePromise<void>;
  /** Lets the next call on this conversation go on. Idempotent; a new conversation that was never saved is gone. */
  close(): void;
}

/** Counters for `/metrics`. Label values must be bounded: configured names, statuses; never ids or texts of calls. */
export interface Metrics {
  counter(name: string, help: string, labels: readonly string[]): MetricFamily;
  histogram(name: string, help: string, labels: readonly string[], buckets: readonly number[]): MetricFamily;
}

export interface MetricFamily {
  /** A series; keep it, looking it up costs more than using it. */
  series(...labelValues: readonly string[]): (value: number) => void;
}
