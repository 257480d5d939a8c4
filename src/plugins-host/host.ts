/** What is handed to each plugin at setup, made from the gateway's platform: the same for built-in and third-party ones. */

import type { AuditTrail } from "../audit/audit.ts";
import { compileSchema } from "../base/json-schema.ts";
import type { GuardedHttp } from "../net/guarded.ts";
import type { JsonSchema } from "../plugin/chat.ts";
import type { HttpFailure, Logger, Metrics, Random, RequestLog, SchemaCheck } from "../plugin/host.ts";
import type { Clock, Exchange, Hooks, Host, StateStore } from "../plugin/index.ts";
import { guarded, type PluginGuard, type PluginSite } from "../plugin-guard/guard.ts";
import { NO_SLICE } from "../state/slice-table.ts";
import { OWN_SESSIONS } from "../state/tables.ts";

/** What the gateway offers its plugins; one object for the life of the process. */
export interface Platform {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: StateStore;
  readonly metrics: Metrics;
  readonly requestLog: RequestLog;
  readonly http: Pick<GuardedHttp, "fetch">;
  /** A finish hook of every endpoint's calls: a guardrail's block is an audit event. */
  readonly auditBlocks?: NonNullable<Hooks["finish"]>;
  /** A finish hook of every call, for recent calls and time series. `shown`: how texts are kept; undefined: not at all. */
  readonly history?: (shown: ((text: string) => string) | undefined) => NonNullable<Hooks["finish"]>;
  /** What providers get as `traceparent`, and a finish hook of every call where traces are exported. */
  readonly traces?: {
    traceparent(x: Exchange): string | undefined;
    readonly finish: NonNullable<Hooks["finish"]>;
  };
  /** Told of bytes of a provider's answer that are kept until the call ends. */
  readonly received?: (x: Exchange, bytes: number) => void;
  /** Where OAuth connections say how they fare. */
  readonly audit?: Pick<AuditTrail, "record">;
}

/** Equal schemas share one check, across reloads as well. */
export function compiled(schema: JsonSchema): SchemaCheck {
  const outcome = compileSchema(schema);
  if (!outcome.ok) throw new Error(`the schema does not compile: ${outcome.message}`);
  return outcome.check;
}

export interface HostNeeds {
  readonly platform: Platform;
  readonly plugin: string;
  readonly kind: PluginSite["kind"];
  readonly builtIn: boolean;
  readonly redact: (text: string) => string;
}

export function makeHost({ platform, plugin, kind, builtIn, redact }: HostNeeds): Host {
  const { store, log } = platform;
  const site: PluginSite = { kind, plugin, hook: "clock.after" };
  const scope = builtIn ? OWN_SESSIONS : `plugin:${plugin}/`;
  return Object.freeze({
    plugin,
    log: builtIn ? log : named(log, plugin),
    clock: guardedClock(platform.clock, { site, log, recover: () => undefined }),
    random: platform.random,
    schemas: { compile: compiled },
    sessions: {
      open: (owner, id, ttlMs, caller) => store.sessions.open(scope + owner, id, ttlMs, caller),
      historyCharacters: (owner, id) => store.sessions.historyCharacters(scope + owner, id),
      delete: (owner, id) => store.sessions.delete(scope + owner, id),
    },
    metrics: platform.metrics,
    requestLog: platform.requestLog,
    redact,
    fetch: async (url, request) => namingAllow(await platform.http.fetch(url, request)),
    store: store.slice?.(`plugin:${plugin}`) ?? NO_SLICE,
  } satisfies Host);
}

/** An error in a plugin's timer would otherwise be uncaught. */
function guardedClock(clock: Clock, guard: PluginGuard<void>): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, run) => clock.after(delayMs, guarded(guard, run)),
  };
}

/** What an author or operator can do about an address that the SSRF guard refuses. */
function namingAllow<Answer extends object>(answer: Answer | HttpFailure): Answer | HttpFailure {
  if (!("failed" in answer) || answer.failed !== "blocked") return answer;
  return { failed: "blocked", detail: `${answer.detail}; \`network.allow\` can permit it` };
}

function named(log: Logger, plugin: string): Logger {
  return {
    debug: (fields, message) => log.debug({ plugin, ...fields }, message),
    info: (fields, message) => log.info({ plugin, ...fields }, message),
    warn: (fields, message) => log.warn({ plugin, ...fields }, message),
    error: (fields, message) => log.error({ plugin, ...fields }, message),
  };
}
