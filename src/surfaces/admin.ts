/** The admin listener: health, metrics, and what a control-plane token may ask for. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type FlatHeaders, sendError, sendJson } from "../http/respond.ts";
import { type GatewayError, reject } from "../plugin/index.ts";
import { type HealthReport, serveHealth } from "./health.ts";

export interface AdminContext {
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  /** Control-plane tokens of the configuration in use. */
  tokens(): readonly { readonly name: string; readonly hash: string }[];
  reload(): Promise<AdminReload>;
}

interface AdminReload {
  readonly ok: boolean;
  readonly changed: boolean;
  readonly generation: number;
  readonly needsRestart: readonly string[];
  readonly errors: readonly {
    readonly code: string;
    readonly message: string;
    readonly file: string;
    readonly line: number;
    readonly column: number;
    readonly path: string;
  }[];
}

export function adminPlane(
  health: HealthReport,
  ctx: AdminContext,
): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    const path = (req.url ?? "/").split("?", 1)[0] ?? "/";
    const headers: FlatHeaders = ["X-Request-Id", health.uuid()];
    if (serveHealth(req, res, path, health)) return;
    if (path === "/metrics" && req.method === "GET") return serveMetrics(req, res, ctx, headers);
    if (path === "/admin/reload") return serveReload(req, res, ctx, headers);
    sendError(req, res, reject("not_found", {}), headers);
  };
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
  const refusal = refusedToken(req, ctx);
  if (refusal !== undefined) return sendError(req, res, refusal, headers);
  if (req.method !== "POST") {
    const error = reject("method_not_allowed", { method: req.method ?? "" }, { headers: { Allow: "POST" } });
    return sendError(req, res, error, headers);
  }
  ctx.reload().then(
    ({ ok, changed, generation, needsRestart, errors }) => {
      const shown = errors.map(({ code, message, file, line, column, path }) => ({
        code,
        message,
        file,
        line,
        column,
        path,
      }));
      const body = { ok, changed, generation, needs_restart: needsRestart, errors: shown };
      sendJson(res, ok ? 200 : 422, JSON.stringify(body), headers);
    },
    (cause: unknown) => sendError(req, res, reject("internal", {}, { cause }), headers),
  );
}

/** Control-plane tokens only; those of projects have no business here. */
function refusedToken(req: IncomingMessage, ctx: AdminContext): GatewayError | undefined {
  const token = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? "")?.[1];
  if (token === undefined) return reject("missing_bearer", {});
  const digest = createHash("sha256").update(token).digest();
  const known = ctx.tokens().some(({ hash }) => timingSafeEqual(Buffer.from(hash.slice(7), "hex"), digest));
  return known ? undefined : reject("token_invalid", {});
}
