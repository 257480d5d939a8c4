/** The admin listener: health, metrics, and what a control-plane token may ask for. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { GuardedHandler } from "../../http/handler-guard.ts";
import { refusedOrigin } from "../../http/origin-check.ts";
import { type FlatHeaders, sendError, sendJson } from "../../http/respond.ts";
import type { RequestHandler } from "../../http/server.ts";
import type { Clock, GatewayError } from "../../plugin/index.ts";
import { bearerToken, isGatewayError, reject } from "../../plugin/index.ts";
import type { AuditStore } from "../../plugin/store.ts";
import type { Deliveries } from "../../webhooks/deliveries.ts";
import type { AuthFailures, AuthSurface } from "../auth-failures.ts";
import { type ControlToken, isPlaintextOf } from "../control-tokens.ts";
import { type HealthReport, serveHealth } from "../health.ts";
import { type Reload, reloadFields } from "../reload-answer.ts";
import { auditSurface, deliveriesSurface } from "./records.ts";
import { AdminAccess, hasSession } from "./session.ts";
import { type ServeAdmin, signInSurface } from "./sign-in.ts";

export interface AdminContext {
  /** Address that the listener is bound to. */
  readonly host: string;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  /** Hash of the token that `/metrics` asks for; null: none is needed. */
  readonly metricsToken: string | null;
  /** Control-plane tokens of the configuration in use. */
  tokens(): readonly ControlToken[];
  readonly failures: AuthFailures;
  /** Answers `POST /api/control` where that is this listener's; undefined: it is the data plane's. */
  control(): RequestHandler | undefined;
  reload(): Promise<Reload>;
  /** What sign-ins are written to, and records are read from. */
  readonly records: AdminRecords;
}

export interface AdminRecords {
  readonly clock: Clock;
  readonly audit: AuditStore;
  readonly deliveries: Deliveries;
  /** The client's address, as `server.trusted_proxies` has it. */
  clientAddress(req: IncomingMessage): string;
}

export function adminPlane(health: HealthReport, ctx: AdminContext): GuardedHandler {
  const { records } = ctx;
  const gate = new AdminGate(ctx);
  const signIn = signInSurface({
    ...{ access: gate.access, clock: records.clock, failures: ctx.failures },
    clientAddress: (req) => records.clientAddress(req),
    caller: (req, res, headers) => gate.caller(req, res, headers),
  });
  /** Behind a control-plane token. */
  const guarded = new Map<string, Guarded>([
    ["/admin/reload", { method: "POST", serve: (req, res, headers) => serveReload(req, res, ctx, headers) }],
    ["/admin/audit", { method: "GET", serve: auditSurface(records.audit) }],
    ["/admin/deliveries", { method: "GET", serve: deliveriesSurface(records.deliveries) }],
  ]);
  const detailed = { readiness: () => health.readiness(), uuid: () => health.uuid(), details: true };
  return (req, res) => {
    const path = (req.url ?? "/").split("?", 1)[0] ?? "/";
    if (serveHealth(req, res, path, detailed)) return;
    const headers: FlatHeaders = ["X-Request-Id", health.uuid()];
    const control = path === "/api/control" ? ctx.control() : undefined;
    if (control !== undefined) {
      if (req.method === "POST") return control(req, res);
      return sendError(req, res, wrongMethod(req, "POST"), headers);
    }
    const foreign = gate.refusedOrigin(req, path === "/admin/session");
    if (foreign !== undefined) return sendError(req, res, foreign, headers);
    const unkept = [...headers, "Cache-Control", "no-store"];
    if (path === "/metrics" && req.method === "GET") {
      if (gate.mayRead(req, res, unkept)) serveMetrics(req, res, ctx, headers);
      return;
    }
    if (path === "/admin/session") return signIn(req, res, unkept);
    const route = guarded.get(path);
    if (route === undefined) return sendError(req, res, reject("not_found", {}), headers);
    if (gate.caller(req, res, unkept) === undefined) return;
    if (req.method === route.method) return route.serve(req, res, unkept);
    sendError(req, res, wrongMethod(req, route.method), unkept);
  };
}

function wrongMethod({ method = "" }: IncomingMessage, allowed: string): GatewayError {
  return reject("method_not_allowed", { method }, { headers: { Allow: allowed } });
}

/** Who may pass, for all paths of the listener alike. What it refuses it answers. */
class AdminGate {
  readonly access: AdminAccess;
  readonly #ctx: AdminContext;

  constructor(ctx: AdminContext) {
    this.#ctx = ctx;
    this.access = new AdminAccess(
      () => ctx.tokens(),
      () => ctx.records.clock.nowMs(),
    );
  }

  refusedOrigin(req: IncomingMessage, isSignIn: boolean): GatewayError | undefined {
    const { host: ownHost, records } = this.#ctx;
    const client = records.clientAddress(req);
    return refusedOrigin(req, { client, ownHost, byCookie: isSignIn || hasSession(req) });
  }

  caller(req: IncomingMessage, res: ServerResponse, headers: FlatHeaders): ControlToken | undefined {
    const caller = this.access.caller(req);
    if (!isGatewayError(caller)) return caller;
    this.#refuse(req, "admin", caller, (error) => sendError(req, res, error, headers));
    return undefined;
  }

  /** Whether `/metrics` is shown: to its own token, or to a control-plane token. */
  mayRead(req: IncomingMessage, res: ServerResponse, headers: FlatHeaders): boolean {
    const { metricsToken: hash } = this.#ctx;
    const secret = bearerToken(req.headers.authorization);
    if (hash === null || (secret !== undefined && isPlaintextOf(hash, secret))) return true;
    const caller = this.access.caller(req);
    if (!isGatewayError(caller)) return true;
    this.#refuse(req, "metrics", caller, (error) => sendError(req, res, error, headers));
    return false;
  }

  /** The cookie of a session that has ended is no guess of a token. */
  #refuse(
    req: IncomingMessage,
    surface: AuthSurface,
    error: GatewayError,
    send: (error: GatewayError) => void,
  ): void {
    const { failures, records } = this.#ctx;
    if (bearerToken(req.headers.authorization) === undefined) send(error);
    else failures.refuse({ surface, address: records.clientAddress(req) }, error, send);
  }
}

interface Guarded {
  readonly method: "GET" | "POST";
  readonly serve: ServeAdmin;
}

function serveMetrics(
  req: IncomingMessage,
  res: ServerResponse,
  ctx: AdminContext,
  headers: FlatHeaders,
): void {
  ctx.metrics.text().then(
    (text) => {
      res.writeHead(200, ["Content-Type", ctx.metrics.contentType, ...headers]);
      res.end(text);
    },
    (cause: unknown) => sendError(req, res, reject("internal", {}, { cause }), headers),
  );
}

function serveReload(
  req: IncomingMessage,
  res: ServerResponse,
  ctx: AdminContext,
  headers: FlatHeaders,
): void {
  ctx.reload().then(
    (reload) => sendJson(res, reload.ok ? 200 : 422, JSON.stringify(reloadFields(reload)), headers),
    (cause: unknown) => sendError(req, res, reject("internal", {}, { cause }), headers),
  );
}
