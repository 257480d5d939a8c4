/**
 * `/admin/session`: begins a session with a control-plane token, tells whose it is, ends it. A failed sign-in is
 * recorded before it is answered, and wrong tokens of an address that keeps failing are throttled.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseJsonObject, readBytesWithin } from "../../http/body.ts";
import { type FlatHeaders, sendError, sendJson } from "../../http/respond.ts";
import type { Clock, MaybePromise } from "../../plugin/index.ts";
import { isGatewayError, reject } from "../../plugin/index.ts";
import type { AuthFailures } from "../auth-failures.ts";
import type { ControlToken } from "../control-tokens.ts";
import type { AdminAccess } from "./session.ts";

const BODY_BYTES_MAX = 4096;
const BODY_TIMEOUT_MS = 10_000;

export interface SignInContext {
  readonly access: AdminAccess;
  readonly clock: Clock;
  readonly failures: AuthFailures;
  /** Whose request it is; undefined: nobody's, and that has been answered. */
  caller(req: IncomingMessage, res: ServerResponse, headers: FlatHeaders): ControlToken | undefined;
  /** As `server.trusted_proxies` has it. */
  clientAddress(req: IncomingMessage): string;
}

export type ServeAdmin = (
  req: IncomingMessage,
  res: ServerResponse,
  headers: FlatHeaders,
) => MaybePromise<void>;

export function signInSurface(ctx: SignInContext): ServeAdmin {
  return (req, res, headers) => {
    if (req.method === "POST") return signIn(ctx, { req, res, headers });
    if (req.method === "GET") {
      const caller = ctx.caller(req, res, headers);
      if (caller === undefined) return undefined;
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
    res.writeHead(204, [...headers, "Set-Cookie", ctx.access.signOut(req)]).end();
  };
}

interface SignInRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly headers: FlatHeaders;
}

function signIn(ctx: SignInContext, { req, res, headers }: SignInRequest): void {
  const limits = { bytesMax: BODY_BYTES_MAX, timeoutMs: BODY_TIMEOUT_MS, clock: ctx.clock };
  readBytesWithin(req, res, limits, (bytes) => {
    const body = isGatewayError(bytes) ? bytes : parseJsonObject(bytes);
    if (isGatewayError(body)) return sendError(req, res, body, headers);
    const { token } = body;
    if (typeof token !== "string") {
      const error = reject("invalid_field", { field: "token", expected: "a string" });
      return sendError(req, res, error, headers);
    }
    const cookie = ctx.access.signIn(req, token);
    if (cookie !== undefined) return void res.writeHead(204, [...headers, "Set-Cookie", cookie]).end();
    const attempt = { surface: "admin", address: ctx.clientAddress(req) } as const;
    ctx.failures.refuse(attempt, reject("token_invalid", {}), (error) => sendError(req, res, error, headers));
  });
}
