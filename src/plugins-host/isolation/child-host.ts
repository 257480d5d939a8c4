/**
 * The host of a guardrail in a process of its own. Clock, randomness and schemas are the process's own; everything else
 * is asked of the gateway. Bounded, so that a plugin that asks or logs in an endless loop cannot flood the gateway.
 */
import { randomUUID } from "node:crypto";
import { systemClock } from "../../base/clock.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { HttpAnswer, HttpFailure, MetricFamily } from "../../plugin/host.ts";
import type { Host } from "../../plugin/index.ts";
import {
  type ChildMessage,
  type HostQuestion,
  LOG_FIELDS_CHARACTERS_MAX,
  LOG_LINES_MAX,
  type LogLine,
  MEASUREMENTS_MAX,
  type Measurement,
  QUESTIONS_MAX,
  readChildMessage,
  TEXT_CHARACTERS_MAX,
} from "./messages.ts";

const BUSY: HttpFailure = { failed: "busy", detail: `${QUESTIONS_MAX} questions are open` };

/** The process's side of questions, log lines and measurements. */
export class HostLine {
  readonly #post: (message: ChildMessage) => void;
  readonly #open = new Map<number, (value: unknown) => void>();
  #questions = 0;
  #logLines = LOG_LINES_MAX;
  #measurements = MEASUREMENTS_MAX;
  #droppedLines = 0;

  constructor(post: (message: ChildMessage) => void) {
    this.#post = post;
  }

  /** undefined: too many are open, or there is no answer. */
  ask(what: HostQuestion["what"], ...args: readonly unknown[]): Promise<unknown> {
    if (this.#open.size >= QUESTIONS_MAX) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const number = ++this.#questions;
      this.#post({ kind: "ask", number, what, args });
      this.#open.set(number, resolve);
    });
  }

  replied(number: number, value: unknown): void {
    this.#open.get(number)?.(value);
    this.#open.delete(number);
  }

  log(level: LogLine["level"], fields: unknown, message: unknown): void {
    if (this.#logLines <= 0) {
      this.#droppedLines++;
      return;
    }
    this.#logLines--;
    const text = String(message).slice(0, TEXT_CHARACTERS_MAX);
    this.#post({ kind: "log", level, fields: fieldsAsJson(fields), message: text });
  }

  /** One that the gateway would not accept is dropped. */
  measure(measurement: Measurement): void {
    if (this.#measurements <= 0 || readChildMessage(measurement) === undefined) return;
    this.#measurements--;
    this.#post(measurement);
  }

  judgementBegins(): void {
    this.#measurements = MEASUREMENTS_MAX;
  }

  secondPassed(): void {
    this.#measurements = MEASUREMENTS_MAX;
    this.#logLines = LOG_LINES_MAX;
    if (this.#droppedLines === 0) return;
    const dropped = this.#droppedLines;
    this.#droppedLines = 0;
    this.log("warn", { dropped }, `log lines dropped: more than ${LOG_LINES_MAX} in a second`);
  }
}

function fieldsAsJson(fields: unknown): string {
  try {
    const json = JSON.stringify(fields, (_key, value: unknown) =>
      value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value,
    );
    return json.length <= LOG_FIELDS_CHARACTERS_MAX ? json : '{"fields":"dropped: too long"}';
  } catch {
    // A circle, or a value that JSON does not have: the line is written without its fields.
    return "{}";
  }
}

export function childHost(plugin: string, line: HostLine, schemas: Host["schemas"]): Host {
  const family = (shape: Omit<Measurement, "kind" | "values" | "value">): MetricFamily => ({
    series:
      (...values) =>
      (value) =>
        line.measure({ kind: "measure", ...shape, values, value }),
  });
  return {
    plugin,
    log: {
      debug: (fields, message) => line.log("debug", fields, message),
      info: (fields, message) => line.log("info", fields, message),
      warn: (fields, message) => line.log("warn", fields, message),
      error: (fields, message) => line.log("error", fields, message),
    },
    clock: systemClock(),
    random: { uuid: () => randomUUID(), fraction: () => Math.random() },
    schemas,
    // Conversations are held by calls, which stay in the gateway.
    sessions: { open: () => "unavailable", historyCharacters: () => 0, delete: () => false },
    metrics: {
      counter: (name, help, labels) => family({ type: "counter", name, help, labels, buckets: [] }),
      histogram: (name, help, labels, buckets) => family({ type: "histogram", name, help, labels, buckets }),
      gauge: (name, help, labels) => family({ type: "gauge", name, help, labels, buckets: [] }),
    },
    requestLog: { enabled: false, write() {} },
    redact: () => "[REDACTED]",
    // The gateway answers in the types of its own host.
    fetch: async (url, request) =>
      ((await line.ask("fetch", url, request)) as HttpAnswer | HttpFailure | undefined) ?? BUSY,
    store: {
      get: (key) => line.ask("get", key) as Promise<JsonValue | undefined>,
      set: async (key, value, ttlSeconds) => (await line.ask("set", key, value, ttlSeconds)) === true,
      delete: async (key) => (await line.ask("delete", key)) === true,
      increment: (key, by, ttlSeconds) =>
        // As above: a number or undefined.
        line.ask("increment", key, by, ttlSeconds) as Promise<number | undefined>,
    },
  };
}
