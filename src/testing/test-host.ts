/**
 * The host and the call that a plugin under test is handed: the gateway's own, on a clock that only the test turns, with
 * a store in memory, and with everything that the plugin logs and counts kept to be looked at.
 */

import { guardedHttp } from "../net/guarded.ts";
import type { CoreExchange } from "../plugin/exchange.ts";
import type { Logger, MetricFamily } from "../plugin/host.ts";
import type { Exchange, Host } from "../plugin/index.ts";
import { countCharacters } from "../plugin/index.ts";
import { makeHost } from "../plugins-host/host.ts";
import { memoryStore } from "../state/memory/memory.ts";
import { type VirtualClock, virtualClock } from "./virtual-clock.ts";

/** A line that a plugin logged. @since 0.1.0 */
export interface Logged {
  readonly level: keyof Logger;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A host on a clock that only the test turns, which keeps what the plugin logs and counts. @since 0.1.0 */
export interface TestHost extends Host {
  readonly clock: VirtualClock;
  /** Lines so far, oldest first. */
  readonly logged: readonly Logged[];
  /** Sums by name and label values: `acme_seen_total{input}`. A histogram's is of what it was given, a gauge's the last. */
  readonly counted: ReadonlyMap<string, number>;
}

/** How a test host differs from the usual one. @since 0.1.0 */
export interface TestHostOptions {
  /** Default `test`. */
  readonly plugin?: string;
  /** `network.allow` for `host.fetch`. Default: loopback, where fakes listen. */
  readonly allow?: readonly string[];
}

/** Makes a host with a store in memory. @since 0.1.0 */
export function testHost({ plugin = "test", allow = ["127.0.0.0/8"] }: TestHostOptions = {}): TestHost {
  const clock = virtualClock();
  const logged: Logged[] = [];
  const counted = new Map<string, number>();
  const family = (name: string): MetricFamily => ({
    series(...values) {
      const key = `${name}{${values.join(",")}}`;
      return (value) => void counted.set(key, (counted.get(key) ?? 0) + value);
    },
  });
  const shown = (name: string): MetricFamily => ({
    series:
      (...values) =>
      (value) =>
        void counted.set(`${name}{${values.join(",")}}`, value),
  });
  const log =
    (level: keyof Logger) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void logged.push({ level, fields, message });
  let ids = 0;
  const random = {
    uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
    fraction: () => 0.5,
  };
  const platform = {
    clock,
    random,
    log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    store: memoryStore({ clock, random, maxSessions: 100 }),
    metrics: { counter: family, histogram: family, gauge: shown },
    requestLog: { enabled: false, write() {} },
    http: guardedHttp({ clock, allow }),
  };
  // As a built-in one's, lines carry no name of a plugin; slices and sessions are this host's own anyway.
  const host = makeHost({ platform, plugin, kind: "stage", builtIn: true, redact: () => "[REDACTED]" });
  return { ...host, clock, logged, counted };
}

/**
 * A call as hooks see it. `fields`: what the test wants otherwise; `received` sets `messages` too.
 * @since 0.1.0
 */
export function testExchange(fields: Partial<Exchange> = {}): Exchange {
  const project = { uuid: "6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11", id: 1, name: "Test" };
  const received = fields.received ?? [];
  const verdicts = [...(fields.verdicts ?? [])];
  const exchange: CoreExchange = {
    requestId: "00000000-0000-4000-8000-00000000000c",
    surface: "chat",
    startedAtMs: 0,
    method: "POST",
    path: `/api/${project.uuid}/test`,
    headers: {},
    clientAddress: "127.0.0.1",
    scope: "chat",
    project,
    endpoint: { uuid: "1a9f3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11", slug: "test", name: "Test" },
    token: {
      id: "1",
      name: "test",
      projectUuid: project.uuid,
      scopes: ["chat"],
      monthlyCapNanoUsd: undefined,
      monthlyCapText: "",
    },
    body: {},
    stream: false,
    received,
    receivedCharacters: countCharacters(received),
    messages: received,
    options: undefined,
    sessionId: undefined,
    signal: new AbortController().signal,
    onCancel() {},
    ended: false,
    config: { hash: "", generation: 1, revision: "" },
    traceId: "00000000000040008000000000000000",
    guardrails: [],
    delivery: undefined,
    slots: new Map(),
    claim() {},
    verdict: (record) => void verdicts.push(record),
    replaceMessages(messages) {
      exchange.messages = messages;
    },
    ...fields,
    attempts: [...(fields.attempts ?? [])],
    verdicts,
  };
  return exchange;
}
