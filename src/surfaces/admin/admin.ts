/** The admin listener: its routes, and the steps that they share: origin, path, access, method. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseJsonObject, readBytesWithin } from "../../http/body.ts";
import type { GuardedHandler } from "../../http/handler-guard.ts";
import { refusedOrigin } from "../../http/head-rules.ts";
import { type FlatHeaders, sendError, sendJson } from "../../http/respond.ts";
import {
  bearerToken,
  type GatewayError,
  isGatewayError,
  type MaybePromise,
  reject,
} from "../../plugin/index.ts";
import { isPlaintextOf } from "../control-tokens.ts";
import { pathOf, Router, wrongMethod } from "../router.ts";
import { type HealthReport, reloadFields, type Shared, serveShared } from "../shared-routes.ts";
import { AdminAccess, type AdminContext, type AdminRequest, type AdminRoute, hasSession } from "./access.ts";
import { audit, deliveries } from "./records.ts";
import { apiAdminRoutes } from "./v1/routes.ts";

const metrics: AdminRoute = {
  ...{ method: "GET", path: "/metrics", access: "metrics token" },
  summary: "Metrics in Prometheus' text format.",
  async handler({ metrics: registry }, { res, headers }) {
    const text = await registry.text();
    res.writeHead(200, ["Content-Type", registry.contentType, ...headers]).end(text);
  },
};

const reload: AdminRoute = {
  ...{ method: "POST", path: "/admin/reload", access: "control-plane token" },
  summary: "Reloads the configuration.",
  async handler(ctx, { res, headers }) {
    const outcome = await ctx.reload();
    sendJson(res, outcome.ok ? 200 : 422, JSON.stringify(reloadFields(outcome)), headers);
  },
};

const session: AdminRoute = {
  ...{ method: "GET", path: "/admin/session", access: "control-plane token" },
  summary: "Shows whose session it is.",
  handler(_ctx, { res, headers, caller }) {
    sendJson(res, 200, JSON.stringify({ ok: true, name: caller?.name }), headers);
  },
};

const signIn: AdminRoute = {
  ...{ method: "POST", path: "/admin/session", access: "anyone" },
  summary:
    "Begins a session with the control-plane token in `token`; its cookie is HttpOnly and SameSite=Strict.",
  handler: beginSession,
};

const signOut: AdminRoute = {
  ...{ method: "DELETE", path: "/admin/session", access: "anyone" },
  summary: "Ends the session.",
  handler(_ctx, { req, res, headers, access }) {
    res.writeHead(204, [...headers, "Set-Cookie", access.signOut(req)]).end();
  },
};

export const adminRoutes: readonly AdminRoute[] = [
  ...[metrics, reload, audit, deliveries],
  ...[session, signIn, signOut],
  ...apiAdminRoutes,
];

const SIGN_IN_BYTES_MAX = 4096;
const SIGN_IN_TIMEOUT_MS = 10_000;

/** What is no percent-encoding names nothing. */
function decodedParam(param: string): string {
  try {
    return decodeURIComponent(param);
  } catch {
    return "";
  }
}

/** A failed sign-in is recorded before it is answered, and an address that keeps failing is throttled. */
function beginSession(ctx: AdminContext, { req, res, headers, access }: AdminRequest): void {
  const { records } = ctx;
  const limits = { bytesMax: SIGN_IN_BYTES_MAX, timeoutMs: SIGN_IN_TIMEOUT_MS, clock: records.clock };
  readBytesWithin(req, res, limits, (bytes) => {
    const body = isGatewayError(bytes) ? bytes : parseJsonObject(bytes);
    if (isGatewayError(body)) return sendError(req, res, body, headers);
    const { token } = body;
    if (typeof token !== "string") {
      const error = reject("invalid_field", { field: "token", expected: "a string" });
      return sendError(req, res, error, headers);
    }
    const cookie = access.signIn(req, token);
    if (cookie !== undefined) return void res.writeHead(204, [...headers, "Set-Cookie", cookie]).end();
    const attempt = { surface: "admin", address: records.clientAddress(req) } as const;
    ctx.failures.refuse(attempt, reject("token_invalid", {}), (error) => sendError(req, res, error, headers));
  });
}

export function adminPlane(health: HealthReport, ctx: AdminContext): GuardedHandler {
  const plane = new AdminPlane(health, ctx);
  return (req, res) => plane.serve(req, res);
}

class AdminPlane {
  readonly #ctx: AdminContext;
  readonly #health: HealthReport;
  readonly #shared: Shared;
  readonly #access: AdminAccess;
  readonly #router = new Router(adminRoutes, "/");

  constructor(health: HealthReport, ctx: AdminContext) {
    this.#ctx = ctx;
    this.#health = health;
    this.#shared = { health, hasDetails: true, control: () => ctx.control() };
    this.#access = new AdminAccess(
      () => ctx.tokens(),
      () => ctx.records.clock.nowMs(),
    );
  }

  serve(req: IncomingMessage, res: ServerResponse): MaybePromise<void> {
    const path = pathOf(req.url ?? "/");
    if (serveShared(req, res, path, this.#shared)) return undefined;
    const plain: FlatHeaders = ["X-Request-Id", this.#health.uuid()];
    const foreign = this.#refusedOrigin(req, path);
    if (foreign !== undefined) return sendError(req, res, foreign, plain);
    const found = this.#router.find(path.slice(1));
    if (found === undefined) return sendError(req, res, reject("not_found", {}), plain);
    const headers = [...plain, "Cache-Control", "no-store"];
    const { method = "" } = req;
    const { routes, allow } = found.routes;
    const route = found.routes.of(method);
    // A path that always needs a token tells nothing of its methods without one.
    const needsToken = (route === undefined ? routes : [route]).every(({ access }) => access !== "anyone");
    const { access = "control-plane token" } = route ?? routes[0] ?? {};
    const caller = needsToken ? this.#caller(req, access) : undefined;
    if (isGatewayError(caller)) return this.#refuse(req, res, caller, { headers, access });
    if (route === undefined) return sendError(req, res, wrongMethod(method, allow), headers);
    return route.handler(this.#ctx, {
      ...{ req, res, headers, access: this.#access, caller },
      param: decodedParam(found.param),
    });
  }

  #refusedOrigin(req: IncomingMessage, path: string): GatewayError | undefined {
    const { host: ownHost, records } = this.#ctx;
    const byCookie = path === session.path || hasSession(req);
    return refusedOrigin(req, { client: records.clientAddress(req), ownHost, byCookie });
  }

  /** undefined: admitted without a control-plane token. */
  #caller(req: IncomingMessage, access: AdminRoute["access"]): ReturnType<AdminAccess["caller"]> | undefined {
    if (access === "metrics token") {
      const { metricsToken: hash } = this.#ctx;
      const secret = bearerToken(req.headers.authorization);
      if (hash === null || (secret !== undefined && isPlaintextOf(hash, secret))) return undefined;
    }
    return this.#access.caller(req);
  }

  /** The cookie of an expired session is not an attempt to guess a token. */
  #refuse(
    req: IncomingMessage,
    res: ServerResponse,
    refusal: GatewayError,
    { headers, access }: { readonly headers: FlatHeaders; readonly access: AdminRoute["access"] },
  ): void {
    const { failures, records } = this.#ctx;
    if (bearerToken(req.headers.authorization) === undefined) return sendError(req, res, refusal, headers);
    const surface = access === "metrics token" ? "metrics" : "admin";
    const attempt = { surface, address: records.clientAddress(req) } as const;
    failures.refuse(attempt, refusal, (error) => sendError(req, res, error, headers));
  }
}
