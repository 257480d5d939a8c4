/**
 * Authentication on the admin listener: a control-plane token as a bearer, or the cookie of a session that was begun with
 * one, and what a route of it is given. A session ends with its token. Sessions are kept in this process only.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { CallHistory } from "../../history/history.ts";
import type { FlatHeaders } from "../../http/respond.ts";
import type { RequestHandler } from "../../http/server.ts";
import { bearerToken, type Clock, type GatewayError, type MaybePromise, reject } from "../../plugin/index.ts";
import type { AuditStore } from "../../plugin/store.ts";
import type { Deliveries } from "../../webhooks/deliveries.ts";
import type { AuthFailures } from "../auth-failures.ts";
import { type ControlToken, controlTokenOf, isExpired, sha256 } from "../control-tokens.ts";
import type { OperatorRoute, Reload, ReviewedChange } from "../shared-routes.ts";
import type { Overview } from "./v1/overview-schema.ts";
import type { Usage } from "./v1/usage-schema.ts";

export interface AdminContext {
  /** Address that the listener is bound to. */
  readonly host: string;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };
  /** Hash of the token that `/metrics` requires; null: none. */
  readonly metricsToken: string | null;
  /** Control-plane tokens of the configuration in use. */
  tokens(): readonly ControlToken[];
  readonly failures: AuthFailures;
  /** Answers `POST /api/control`; undefined: that is on the public listener. */
  control(): RequestHandler | undefined;
  /** `reviewed`: refuses to apply any other change. */
  reload(reviewed?: ReviewedChange): Promise<Reload>;
  overview(): MaybePromise<Overview>;
  usage(): MaybePromise<Usage>;
  /** JSON of the configuration in use, as git has it; undefined before the first and after the last one. */
  config(): MaybePromise<Uint8Array | undefined>;
  readonly records: AdminRecords;
  /** Recent calls and time series. */
  readonly history: Pick<CallHistory, "recent" | "series">;
}

/** What is shown of the past, and what sign-ins are recorded with. */
export interface AdminRecords {
  readonly clock: Clock;
  readonly audit: AuditStore;
  readonly deliveries: Deliveries;
  /** The client's address, according to `server.trusted_proxies`. */
  clientAddress(req: IncomingMessage): string;
}

export interface AdminRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Of the response. */
  readonly headers: FlatHeaders;
  readonly access: AdminAccess;
  /** The part of the path that `{name}` of the route stands for, decoded; "" where it has none. */
  readonly param: string;
  /** undefined: the route does not require a control-plane token. */
  readonly caller: ControlToken | undefined;
}

export interface AdminRoute extends OperatorRoute {
  handler(ctx: AdminContext, request: AdminRequest): MaybePromise<void>;
}

interface Session {
  readonly token: ControlToken;
  readonly expiresAtMs: number;
}

export const SESSION_MS = 8 * 60 * 60 * 1000;
/** The oldest go first: only who has a token can begin one. */
export const SESSIONS_MAX = 1000;
const COOKIE = "sluice_session";

export class AdminAccess {
  readonly #nowMs: () => number;
  readonly #tokens: () => readonly ControlToken[];
  /** By the SHA-256 of the cookie's value, so that a lookup gives no value away by its time. Oldest first. */
  readonly #sessions = new Map<string, Session>();

  /** `tokens`: those of the configuration in use, asked for each time. */
  constructor(tokens: () => readonly ControlToken[], nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#tokens = tokens;
  }

  /** The token behind a request, or the refusal. */
  caller(req: IncomingMessage): ControlToken | GatewayError {
    const bearer = bearerToken(req.headers.authorization);
    if (bearer !== undefined) return this.#tokenOf(bearer) ?? reject("token_invalid", {});
    const cookie = cookieOf(req);
    if (cookie === undefined) return reject("missing_bearer", {});
    return this.#session(cookie)?.token ?? reject("token_invalid", {});
  }

  /** Begins a session: the `Set-Cookie` to answer with, undefined when there is no such token. */
  signIn(req: IncomingMessage, secret: string): string | undefined {
    const token = this.#tokenOf(secret);
    if (token === undefined) return undefined;
    const value = randomBytes(32).toString("base64url");
    this.#sessions.set(sha256(value).toString("hex"), {
      token,
      expiresAtMs: this.#nowMs() + SESSION_MS,
    });
    if (this.#sessions.size > SESSIONS_MAX) this.#sessions.delete(this.#sessions.keys().next().value ?? "");
    return cookieText(req, value, SESSION_MS / 1000);
  }

  /** Ends the request's session, if there is one; the `Set-Cookie` that takes the cookie back. */
  signOut(req: IncomingMessage): string {
    const cookie = cookieOf(req);
    if (cookie !== undefined) this.#sessions.delete(sha256(cookie).toString("hex"));
    return cookieText(req, "", 0);
  }

  #session(cookie: string): Session | undefined {
    const key = sha256(cookie).toString("hex");
    const session = this.#sessions.get(key);
    if (session === undefined) return undefined;
    const { name, hash } = session.token;
    const known = this.#tokens().find((token) => token.hash === hash && token.name === name);
    if (known !== undefined && !isExpired(known, this.#nowMs()) && this.#nowMs() < session.expiresAtMs)
      return session;
    this.#sessions.delete(key);
    return undefined;
  }

  #tokenOf(secret: string): ControlToken | undefined {
    return controlTokenOf(this.#tokens(), secret, this.#nowMs());
  }
}

/** Whether a request carries the cookie of a session. */
export function hasSession(req: IncomingMessage): boolean {
  return cookieOf(req) !== undefined;
}

function cookieOf(req: IncomingMessage): string | undefined {
  for (const pair of (req.headers.cookie ?? "").split(";")) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === COOKIE && value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** `Secure` behind a proxy that terminates TLS. A client that forges the header affects only its own cookie. */
function cookieText(req: IncomingMessage, value: string, maxAgeSeconds: number): string {
  const secure = req.headers["x-forwarded-proto"] === "https" ? "; Secure" : "";
  return `${COOKIE}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}
