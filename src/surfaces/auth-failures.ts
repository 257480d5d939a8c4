/**
 * Refused tokens: counted in a metric, logged and audited within bounds, and throttled by address. A valid token is never
 * throttled: many clients can share the address of a proxy or NAT, and one that guesses must not lock the others out.
 */
import { LRUCache } from "lru-cache";
import { type AuditTrail, GATEWAY_WIDE } from "../audit/audit.ts";
import { networkOf } from "../http/client-address.ts";
import type { ProjectRef } from "../plugin/exchange.ts";
import type { Logger, Metrics } from "../plugin/host.ts";
import type { Clock, GatewayError, MaybePromise } from "../plugin/index.ts";
import { andThen, isPromise, reject } from "../plugin/index.ts";

/** Refusals of a token that was sent. A request without one is not an attempt to guess. */
const TOKEN_REFUSALS: ReadonlySet<string> = new Set(["token_invalid", "token_format"]);

/** Where a token was refused. The first three protect the gateway's administration. */
export type AuthSurface = "admin" | "control" | "metrics" | "api";

/** Failures of one address in a window that are answered 401; from then on an invalid token gets 429. */
export const FAILURES_MAX = 5;
/** The same for tokens of projects: clients retry with a revoked token more often than operators do. */
export const API_FAILURES_MAX = 100;
export const FAILURE_WINDOW_MS = 60_000;
/** Failures that are logged and audited in a window: of one address, and in total. */
export const RECORDED_MAX = FAILURES_MAX;
export const RECORDED_IN_ALL_MAX = 100;
/** Addresses remembered; the least recently seen go first. */
const ADDRESSES_MAX = 10_000;

export interface AuthFailuresOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "counter">;
  readonly trail: Pick<AuditTrail, "record">;
}

export interface FailedAttempt {
  readonly surface: AuthSurface;
  /** The client's. */
  readonly address: string;
  /** The project that the path names; absent: none that exists. */
  readonly project?: ProjectRef | undefined;
}

interface Window {
  count: number;
  /** Failures of this window and of the one before that were not recorded. */
  unrecorded: number;
  endsMs: number;
}

export class AuthFailures {
  readonly #options: AuthFailuresOptions;
  readonly #windows = new LRUCache<string, Window>({ max: ADDRESSES_MAX });
  readonly #inAll: Window = { count: 0, unrecorded: 0, endsMs: 0 };
  readonly #count: (surface: AuthSurface, answer: "refused" | "throttled") => void;

  constructor(options: AuthFailuresOptions) {
    this.#options = options;
    const total = options.metrics.counter(
      "sluice_auth_failures_total",
      "Refused tokens by surface (admin, control, metrics, api) and answer (refused: 401, throttled: 429)",
      ["surface", "answer"],
    );
    this.#count = (surface, answer) => total.series(surface, answer)(1);
  }

  /**
   * Counts a refused token, records it, then calls `send` with the refusal, or with 429 when the address has failed too
   * often. Refusals for other reasons are sent unchanged.
   */
  refuse(attempt: FailedAttempt, error: GatewayError, send: (error: GatewayError) => void): void {
    if (!TOKEN_REFUSALS.has(error.code)) return send(error);
    const { surface, address } = attempt;
    const isApi = surface === "api";
    const nowMs = this.#options.clock.monotonicMs();
    const window = this.#windowOf(`${isApi ? "api" : "operator"} ${networkOf(address)}`, nowMs);
    window.count++;
    const isThrottled = window.count > (isApi ? API_FAILURES_MAX : FAILURES_MAX);
    this.#count(surface, isThrottled ? "throttled" : "refused");
    const retryAfterSeconds = Math.max(1, Math.ceil((window.endsMs - nowMs) / 1000));
    const throttled = reject("rate_limited", {}, { scope: "minute", retryAfterSeconds });
    andThen(this.#record(attempt, error, window), () => send(isThrottled ? throttled : error));
  }

  #windowOf(key: string, nowMs: number): Window {
    let window = this.#windows.get(key);
    if (window === undefined) this.#windows.set(key, (window = { count: 0, unrecorded: 0, endsMs: 0 }));
    return renewed(window, nowMs);
  }

  /** No part of the token is recorded. */
  #record(attempt: FailedAttempt, error: GatewayError, window: Window): MaybePromise<void> {
    const { clock, log, trail } = this.#options;
    const inAll = renewed(this.#inAll, clock.monotonicMs());
    if (window.count > RECORDED_MAX || inAll.count >= RECORDED_IN_ALL_MAX) {
      window.unrecorded++;
      return undefined;
    }
    inAll.count++;
    const { surface, address, project = GATEWAY_WIDE } = attempt;
    const unrecorded: Readonly<Record<string, number>> =
      window.unrecorded > 0 ? { unrecorded: window.unrecorded } : {};
    window.unrecorded = 0;
    const fields = { surface, client: address, project: project.uuid, code: error.code, ...unrecorded };
    log.warn(fields, "token rejected");
    const kept = trail.record({
      event: "auth.login_failed",
      severity: "warn",
      actor: "unknown",
      project,
      target: surface,
      metadata: { reason: "unknown token", ...unrecorded },
      ipAddress: address,
    });
    if (!isPromise(kept)) return kept;
    return kept.catch((thrown: unknown) => log.error({ err: thrown }, "audit of a rejected token failed"));
  }
}

/** Starts a new window when the previous one has ended. */
function renewed(window: Window, nowMs: number): Window {
  if (nowMs >= window.endsMs) {
    window.count = 0;
    window.endsMs = nowMs + FAILURE_WINDOW_MS;
  }
  return window;
}
