/**
 * Who is asking on the admin listener: a control-plane token as a bearer, or the cookie of a session that was begun
 * with one. A session ends with its token. Sessions are this process's own: they are kept in no store.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { GatewayError } from "../plugin/index.ts";
import { refuse, reject } from "../plugin/index.ts";

/** A control-plane token of the configuration in use. */
export interface ControlToken {
  readonly name: string;
  /** `sha256:` and 64 hex digits. */
  readonly hash: string;
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

  /** The token behind a request, or the refusal: 401, or 403 for a cookie that another site's page has sent along. */
  caller(req: IncomingMessage): ControlToken | GatewayError {
    const bearer = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? "")?.[1];
    if (bearer !== undefined) return this.#tokenOf(bearer) ?? reject("token_invalid", {});
    const cookie = cookieOf(req);
    if (cookie === undefined) return reject("missing_bearer", {});
    return refusedOrigin(req) ?? this.#session(cookie)?.token ?? reject("token_invalid", {});
  }

  /** Begins a session: the `Set-Cookie` to answer with, undefined when there is no such token. */
  signIn(req: IncomingMessage, secret: string): string | undefined {
    const token = this.#tokenOf(secret);
    if (token === undefined) return undefined;
    const value = randomBytes(32).toString("base64url");
    this.#sessions.set(digest(value).toString("hex"), {
      token,
      expiresAtMs: this.#nowMs() + SESSION_MS,
    });
    if (this.#sessions.size > SESSIONS_MAX) this.#sessions.delete(this.#sessions.keys().next().value ?? "");
    return cookieText(req, value, SESSION_MS / 1000);
  }

  /** Ends the request's session, if there is one; the `Set-Cookie` that takes the cookie back. */
  signOut(req: IncomingMessage): string {
    const cookie = cookieOf(req);
    if (cookie !== undefined) this.#sessions.delete(digest(cookie).toString("hex"));
    return cookieText(req, "", 0);
  }

  #session(cookie: string): Session | undefined {
    const key = digest(cookie).toString("hex");
    const session = this.#sessions.get(key);
    if (session === undefined) return undefined;
    const { name, hash } = session.token;
    const isKnown = this.#tokens().some((token) => token.hash === hash && token.name === name);
    if (isKnown && this.#nowMs() < session.expiresAtMs) return session;
    this.#sessions.delete(key);
    return undefined;
  }

  #tokenOf(secret: string): ControlToken | undefined {
    const asked = digest(secret);
    return this.#tokens().find(({ hash }) => timingSafeEqual(Buffer.from(hash.slice(7), "hex"), asked));
  }
}

/**
 * Browsers say where a request that changes something comes from. A page of another origin, be it another port of this
 * machine (which `SameSite` lets pass), may not act with the user's cookie. Others than browsers say nothing.
 */
export function refusedOrigin(req: IncomingMessage): GatewayError | undefined {
  const { origin, host } = req.headers;
  if (req.method === "GET" || origin === undefined) return undefined;
  const isOwn = URL.canParse(origin) && new URL(origin).host === host;
  return isOwn ? undefined : refuse(403, "foreign_origin", "Requests from other origins are refused.");
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function cookieOf(req: IncomingMessage): string | undefined {
  for (const pair of (req.headers.cookie ?? "").split(";")) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === COOKIE && value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** `Secure` behind a proxy that speaks TLS; the listener itself does not. Who lies about it harms its own cookie alone. */
function cookieText(req: IncomingMessage, value: string, maxAgeSeconds: number): string {
  const secure = req.headers["x-forwarded-proto"] === "https" ? "; Secure" : "";
  return `${COOKIE}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}
