/** Which surface a path belongs to. By slicing, since a URL parser costs forty times as much on every call. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type FlatHeaders, sendError, sendErrorAs } from "../http/respond.ts";
import { reject } from "../plugin/index.ts";
import { errorBodyFor, type Route, type SurfaceContext, Visit } from "./arrival.ts";
import { serveChat } from "./chat/chat.ts";
import { serveListing } from "./chat/listing.ts";
import { deleteSession } from "./chat/sessions.ts";
import type { HealthReport } from "./health.ts";
import { serveHealth } from "./health.ts";
import { serveMcp } from "./mcp/mcp.ts";
import { serveModels } from "./openai/models.ts";
import { serveCompletions, serveEmbeddings } from "./openai/openai.ts";
import { serveProxy } from "./proxy/proxy.ts";

const API = "/api/";
const CONTROL = "/api/control";
const WRAPPER = "v1/";
const SESSIONS = "sessions/";
/** With a slug behind it, and perhaps more. */
const PROXY = /^proxy\/([^/]+)(.*)$/s;

/** The data plane's request handler. */
export function dataPlane(
  ctx: SurfaceContext,
  health: HealthReport,
): (req: IncomingMessage, res: ServerResponse) => void {
  const bare = { readiness: () => health.readiness(), uuid: () => health.uuid(), details: false };
  return (req, res) => {
    const path = pathOf(req.url ?? "/");
    if (path.startsWith(API)) return serveApi(ctx, req, res, path);
    if (serveHealth(req, res, path, bare)) return;
    refuseBare(ctx, req, res, reject("not_found", {}));
  };
}

/** `/api/{project_uuid}/…` and the control plane; anything else under /api is not served. */
function serveApi(ctx: SurfaceContext, req: IncomingMessage, res: ServerResponse, path: string): void {
  const control = path === CONTROL ? ctx.control : undefined;
  if (control !== undefined) {
    if (allowed(ctx, req, res, "POST")) control(req, res);
    return;
  }
  const slash = path.indexOf("/", API.length);
  const rest = slash < 0 ? "" : path.slice(slash + 1);
  // A UUID is the same in either case; configs keep it in lower case.
  const projectUuid = path.slice(API.length, slash < 0 ? undefined : slash).toLowerCase();
  if (rest === "" || projectUuid === "") return refuseBare(ctx, req, res, reject("not_found", {}));

  if (rest === "endpoints") {
    const route: Route = { surface: "listing", scope: "admin", projectUuid, path };
    if (allowed(ctx, req, res, "GET")) serveListing(new Visit(ctx, req, res, route));
    return;
  }
  if (rest.startsWith(SESSIONS)) {
    const id = rest.slice(SESSIONS.length);
    const route: Route = { surface: "chat", scope: "chat", projectUuid, path };
    if (allowed(ctx, req, res, "DELETE")) deleteSession(new Visit(ctx, req, res, route), id);
    return;
  }
  if (rest === "mcp") {
    const route: Route = { surface: "mcp", scope: "mcp", projectUuid, path };
    if (allowed(ctx, req, res, "POST")) serveMcp(new Visit(ctx, req, res, route));
    return;
  }
  if (rest.startsWith(WRAPPER)) return serveV1(ctx, req, res, { projectUuid, path });
  const [, proxied, below = ""] = PROXY.exec(rest) ?? [];
  if (proxied !== undefined) {
    const route: Route = { surface: "proxy", scope: "proxy", projectUuid, path };
    return serveProxy(new Visit(ctx, req, res, route), proxied, below);
  }
  const isDispatcher = rest === "chat/completions";
  if (!isDispatcher && rest.includes("/")) return refuseBare(ctx, req, res, reject("not_found", {}));
  const route: Route = { surface: "chat", scope: "chat", projectUuid, path };
  if (allowed(ctx, req, res, "POST"))
    serveChat(new Visit(ctx, req, res, route), isDispatcher ? undefined : rest);
}

/** OpenAI's paths, under the project's. */
function serveV1(
  ctx: SurfaceContext,
  req: IncomingMessage,
  res: ServerResponse,
  at: { readonly projectUuid: string; readonly path: string },
): void {
  const rest = at.path.slice(at.path.indexOf("/", API.length) + 1 + WRAPPER.length);
  const [family, ...model] = rest.split("/");
  if (family === "models") {
    const alias = model.length === 0 ? undefined : decoded(model.join("/"));
    if (alias === "") return refuseBare(ctx, req, res, reject("not_found", {}));
    const route: Route = { surface: "wrapper", scope: "models", ...at };
    if (allowed(ctx, req, res, "GET")) serveModels(new Visit(ctx, req, res, route), alias);
    return;
  }
  const serve =
    rest === "chat/completions" ? serveCompletions : rest === "embeddings" ? serveEmbeddings : undefined;
  if (serve === undefined) return refuseV1(ctx, req, res, at.projectUuid);
  const route: Route = { surface: "wrapper", scope: "chat", ...at };
  if (allowed(ctx, req, res, "POST")) serve(new Visit(ctx, req, res, route));
}

/** "" for what is no percent-encoded text. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function allowed(ctx: SurfaceContext, req: IncomingMessage, res: ServerResponse, method: string): boolean {
  if (req.method === method) return true;
  const error = reject("method_not_allowed", { method: req.method ?? "" }, { headers: { Allow: method } });
  refuseBare(ctx, req, res, error);
  return false;
}

/** A refusal outside of any project: it is no call, so it is answered and not recorded. */
function refuseBare(
  ctx: SurfaceContext,
  req: IncomingMessage,
  res: ServerResponse,
  error: ReturnType<typeof reject>,
): void {
  const headers: FlatHeaders = ["X-Request-Id", ctx.random.uuid()];
  sendError(req, res, error, headers);
}

/** Refuses a path under OpenAI's that does not exist, in the format of the project's errors. */
function refuseV1(ctx: SurfaceContext, req: IncomingMessage, res: ServerResponse, projectUuid: string): void {
  const error = reject("not_found", {});
  const generation = ctx.acquire();
  const body = errorBodyFor(generation, projectUuid, req)(error);
  generation.release();
  sendErrorAs(req, res, error, { headers: ["X-Request-Id", ctx.random.uuid()], body });
}

/** The path without its query; an absolute-form target (a proxy's request line) loses its origin. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  const whole = query < 0 ? target : target.slice(0, query);
  if (whole.startsWith("/")) return whole;
  const scheme = whole.indexOf("://");
  const slash = scheme < 0 ? -1 : whole.indexOf("/", scheme + 3);
  return slash < 0 ? "/" : whole.slice(slash);
}
