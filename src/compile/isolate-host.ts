/**
 * The host of a guardrail that has a thread of its own: what it can have there it has, the rest it asks the gateway's
 * thread for. Bounded, so that a plugin that asks or logs in an endless loop drowns nobody.
 */
import { randomUUID } from "node:crypto";
import { systemClock } from "../base/clock.ts";
import type { Host, HttpAnswer, HttpFailure, JsonValue, MetricFamily } from "../plugin/index.ts";
import { compiled } from "./host.ts";
import { ASKS_MAX, type Asked, type FromThread, type Told } from "./isolate-messages.ts";

/** Log lines and measurements between two judgements, or in a second. */
const TELLS_MAX = 100;
const BUSY: HttpFailure = { failed: "busy", detail: `${ASKS_MAX} questions are open` };

/** What the thread has of the line to the gateway's thread. */
export class HostLine {
  readonly #post: (message: FromThread) => void;
  readonly #open = new Map<number, (value: unknown) => void>();
  #asked = 0;
  #tells = TELLS_MAX;

  constructor(post: (message: FromThread) => void) {
    this.#post = post;
  }

  /** undefined: too many are open, or the other side could not say. */
  ask(what: Asked, ...args: readonly unknown[]): Promise<unknown> {
    if (this.#open.size >= ASKS_MAX) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const ask = ++this.#asked;
      this.#post({ ask, what, args });
      this.#open.set(ask, resolve);
    });
  }

  tell(what: Told, ...args: readonly unknown[]): void {
    if (this.#tells <= 0) return;
    this.#tells--;
    try {
      this.#post({ tell: what, args });
    } catch {
      // A field that no message can carry: the line goes without its fields.
      this.#post({ tell: what, args: [{}, String(args[1])] });
    }
  }

  /** A reply to a question has come. */
  replied(ask: number, value: unknown): void {
    this.#open.get(ask)?.(value);
    this.#open.delete(ask);
  }

  /** A judgement begins, or a second is over. */
  refill(): void {
    this.#tells = TELLS_MAX;
  }
}

export function threadHost(plugin: string, line: HostLine): Host {
  const family = (what: "counter" | "histogram" | "gauge", ...about: readonly unknown[]): MetricFamily => ({
    series:
      (...values) =>
      (value) =>
        line.tell(what, ...about, values, value),
  });
  return {
    plugin,
    log: {
      debug: (fields, message) => line.tell("debug", fields, message),
      info: (fields, message) => line.tell("info", fields, message),
      warn: (fields, message) => line.tell("warn", fields, message),
      error: (fields, message) => line.tell("error", fields, message),
    },
    clock: systemClock(),
    random: { uuid: () => randomUUID(), fraction: () => Math.random() },
    schemas: { compile: compiled },
    // Conversations are held by calls, and no call gets across.
    sessions: { open: () => "unavailable", peekCharacters: () => 0, delete: () => false },
    metrics: {
      counter: (name, help, labels) => family("counter", name, help, labels, []),
      histogram: (name, help, labels, buckets) => family("histogram", name, help, labels, buckets),
      gauge: (name, help, labels) => family("gauge", name, help, labels, []),
    },
    requestLog: { enabled: false, write() {} },
    redact: () => "[REDACTED]",
    // The other side answers in the types of its own host.
    fetch: async (url, request) =>
      ((await line.ask("fetch", url, request)) as HttpAnswer | undefined) ?? BUSY,
    store: {
      get: (key) => line.ask("get", key) as Promise<JsonValue | undefined>,
      set: async (key, value, ttlSeconds) => (await line.ask("set", key, value, ttlSeconds)) === true,
      delete: async (key) => (await line.ask("delete", key)) === true,
      increment: (key, by, ttlSeconds) =>
        // As above: a number or nothing.
        line.ask("increment", key, by, ttlSeconds) as Promise<number | undefined>,
    },
  };
}
