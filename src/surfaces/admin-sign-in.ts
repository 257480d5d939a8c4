/**
 * `/admin/session`: begins a session with a control-plane token, tells whose it is, ends it. A failed sign-in is
 * recorded before it is answered, and an address that keeps failing is held off.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { LRUCache } from "lru-cache";
import { parseJsonObject, readBytes } from "../http/body.ts";
import { networkOf } from "../http/client-address.ts";
import { type FlatHeaders, sendError, sendJson } from "../http/respond.ts";
import type { Clock, GatewayError, MaybePromise } from "../plugin/index.ts";
import { andThen, isGatewayError, reject } from "../plugin/index.ts";
import { type AuditTrail, GATEWAY_WIDE } from "../record/audit.ts";
import { type AdminAccess, refusedOrigin } from "./admin-session.ts";

/** Failures from one address within a window, before it has to wait for the window's end. */
export const FAILURES_MAX = 5;
const FAILURE_WINDOW_MS = 60_000;
/** Addresses remembered; the least recently seen go first. */
const ADDRESSES_MAX = 10_000;
const BODY_BYTES_MAX = 4096;
const BODY_TIMEOUT_MS = 10_000;

export interface SignInContext {
  readonly access: AdminAccess;
  readonly clock: Clock;
  readonly trail: AuditTrail;
  /** As `server.trusted_proxies` has it. */
  clientAddress(req: IncomingMessage): string;
}

export type ServeAdmin = (
  req: IncomingMessage,
  res: ServerResponse,
  headers: FlatHeaders,
) => MaybePromise<void>;

export function signInSurface(ctx: SignInContext): ServeAdmin {
  const throttle = new Throttle(ctx.clock);
  return (req, res, headers) => {
    if (req.method === "POST") return signIn(ctx, throttle, { req, res, headers });
    if (req.method === "GET") {
      const caller = ctx.access.caller(req);
      if (isGatewayError(caller)) return sendError(req, res, caller, headers);
      return sendJson(res, 200, JSON.stringify({ ok: true, name: caller.name }), headers);
    }
    if (req.method !== "DELETE") {
      const allowed = { headers: { Allow: "GET, POST, DELETE" } };
      return sendError(
        req,
        res,
        reject("method_not_allowed", { method: req.method ?? "" }, allowed),
        headers,
      );
    }
    const foreign = refusedOrigin(req);
    if (foreign !== undefined) return sendError(req, res, foreign, headers);
    res.writeHead(204, [...headers, "Set-Cookie", ctx.access.signOut(req)]).end();
  };
}

interface Visit {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly headers: FlatHeaders;
}

function signIn(ctx: SignInContext, throttle: Throttle, { req, res, headers }: Visit): void {
  const address = ctx.clientAddress(req);
  let answered = false;
  const refuseWith = (error: GatewayError): void => {
    if (answered) return;
    answered = true;
    sendError(req, res, error, headers);
  };
  const early = refusedOrigin(req) ?? throttle.refused(address);
  if (early !== undefined) return refuseWith(early);
  const tooSlow = ctx.clock.after(BODY_TIMEOUT_MS, () => {
    refuseWith(reject("body_too_slow", { ms: BODY_TIMEOUT_MS }));
  });
  res.on("close", () => tooSlow.cancel());
  readBytes(req, res, { maxBytes: BODY_BYTES_MAX, hold: () => undefined }, (bytes) => {
    tooSlow.cancel();
    if (answered) return;
    const body = isGatewayError(bytes) ? bytes : parseJsonObject(bytes);
    if (isGatewayError(body)) return refuseWith(body);
    const { token } = body;
    if (typeof token !== "string")
      return refuseWith(reject("invalid_field", { field: "token", expected: "a string" }));
    const cookie = ctx.access.signIn(req, token);
    if (cookie !== undefined) {
      answered = true;
      return void res.writeHead(204, [...headers, "Set-Cookie", cookie]).end();
    }
    throttle.failed(address);
    andThen(ctx.trail.record(failure(address)), () => refuseWith(reject("token_invalid", {})));
  });
}

/** No project's: the listener is the whole gateway's. The token is in no record, not even in part. */
function failure(ipAddress: string) {
  return {
    event: "auth.login_failed",
    severity: "warn",
    actor: "unknown",
    project: GATEWAY_WIDE,
    target: "admin",
    metadata: { reason: "unknown token" },
    ipAddress,
  } as const;
}

/** Counts failures by address, in windows that begin with the first one. */
class Throttle {
  readonly #clock: Clock;
  readonly #failures = new LRUCache<string, { count: number; readonly endsMs: number }>({
    max: ADDRESSES_MAX,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  refused(address: string): GatewayError | undefined {
    const failures = this.#failures.get(networkOf(address));
    const leftMs = (failures?.endsMs ?? 0) - this.#clock.monotonicMs();
    if (failures === undefined || leftMs <= 0 || failures.count < FAILURES_MAX) return undefined;
    return reject("rate_limited", {}, { scope: "minute", retryAfterSeconds: Math.ceil(leftMs / 1000) });
  }

  failed(address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const network = networkOf(address);
    const failures = this.#failures.get(network);
    if (failures !== undefined && failures.endsMs > nowMs) failures.count++;
    else this.#failures.set(network, { count: 1, endsMs: nowMs + FAILURE_WINDOW_MS });
  }
}
