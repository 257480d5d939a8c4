/** The admin listener: health, metrics, and what a control-plane token may ask for. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { GuardedHandler } from "../http/handler-guard.ts";
import { type FlatHeaders, sendError, sendJson } from "../http/respond.ts";
import type { AuditStore, Clock } from "../plugin/index.ts";
import { isGatewayError, reject } from "../plugin/index.ts";
import type { AuditTrail } from "../record/audit.ts";
import type { Deliveries } from "../record/deliveries.ts";
import { auditSurface, deliveriesSurface } from "./admin-records.ts";
import { type Reload, reloadFields } from "./admin-reload.ts";
import { AdminAccess, type ControlToken } from "./admin-session.ts";
import { type ServeAdmin, signInSurface } from "./admin-sign-in.ts";
import { type HealthReport, serveHealth } from "./health.ts";

export interface AdminContext {
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  /** Control-plane tokens of the configuration in use. */
  tokens(): readonly ControlToken[];
  reload(): Promise<Reload>;
  /** What sign-ins are written to, and records are read from. */
  readonly records: AdminRecords;
}

export interface AdminRecords {
  readonly clock: Clock;
  readonly trail: AuditTrail;
  readonly audit: AuditStore;
  readonly deliveries: Deliveries;
  /** The client's address, as `server.trusted_proxies` has it. */
  clientAddress(req: IncomingMessage): string;
}

export function adminPlane(health: HealthReport, ctx: AdminContext): GuardedHandler {
  const { records } = ctx;
  const access = new AdminAccess(
    () => ctx.tokens(),
    () => records.clock.nowMs(),
  );
  const signIn = signInSurface({ ...records, access });
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
    if (path === "/metrics" && req.method === "GET") return serveMetrics(req, res, ctx, headers);
    const unkept = [...headers, "Cache-Control", "no-store"];
    if (path === "/admin/session") return signIn(req, res, unkept);
    const route = guarded.get(path);
    if (route === undefined) return sendError(req, res, reject("not_found", {}), headers);
    const caller = access.caller(req);
    if (isGatewayError(caller)) return sendError(req, res, caller, unkept);
    if (req.method === route.method) return route.serve(req, res, unkept);
    const allowed = { headers: { Allow: route.method } };
    sendError(req, res, reject("method_not_allowed", { method: req.method ?? "" }, allowed), unkept);
  };
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
