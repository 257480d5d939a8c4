/**
 * One OAuth connection: an access token for upstreams, asked for once for all who wait, kept until shortly before its
 * end. Callers sign with it; no message contains it, nor any other secret.
 */

import { withoutAddress } from "../../base/without-address.ts";
import type { HttpAnswer, HttpFailure, HttpRequest } from "../../plugin/host.ts";
import type { Clock, MaybePromise } from "../../plugin/index.ts";
import { parseObject } from "../../provider-kit/index.ts";

export interface OAuthSettings {
  readonly token_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly grant: "client_credentials" | "refresh_token";
  readonly refresh_token: string | null;
  readonly scopes: readonly string[];
}

/** On whose behalf a token is asked for, for the audit log. */
export interface OAuthCause {
  readonly actor: string;
  readonly ipAddress: string;
}

export interface OAuthEvent {
  readonly event: "connected" | "refresh_failed";
  /** Nothing secret. */
  readonly detail: string;
  readonly cause: OAuthCause;
}

export interface OAuthFailure {
  /** For the client: nothing secret. */
  readonly failed: string;
}

export interface OAuthConnection {
  /** The access token of now. Never rejects. */
  token(cause: OAuthCause): MaybePromise<string | OAuthFailure>;
  /** The upstream takes this token no more: the next call asks for another. */
  refused(token: string): void;
}

export interface OAuthOptions {
  readonly settings: OAuthSettings;
  readonly clock: Clock;
  /** Past the SSRF guard, bounded. */
  readonly fetch: (url: string, request?: HttpRequest) => Promise<HttpAnswer | HttpFailure>;
  /** Hears of the first token, of a failure, and of the first token after one. */
  readonly changed: (event: OAuthEvent) => void;
}

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES_MAX = 65_536;
/** For an answer without `expires_in`. */
const LIFE_SECONDS = 300;
const LIFE_SECONDS_MAX = 86_400;
/** A token is used no more when so much of its life is left: 30 s, of a short one a tenth. */
const MARGIN_SECONDS = 30;
const MARGIN_SHARE = 0.1;
/** While refreshes go on failing, the audit log hears of it so often. */
const FAILURES_APART_MS = 60_000;
/** More characters than RFC 6750 allows after `Bearer`, since servers do not comply; only characters of headers. */
const BEARER_TOKEN = /^[\x21-\x7e]+$/;
/** An error code that can be shown; descriptions could hold anything. */
const ERROR_CODE = /^[a-z_]{1,64}$/;

interface Granted {
  readonly token: string;
  readonly lifeSeconds: number;
  readonly refreshToken: string | undefined;
}

export function oauthConnection(options: OAuthOptions): OAuthConnection {
  return new TokenSource(options);
}

class TokenSource implements OAuthConnection {
  readonly #options: OAuthOptions;
  #token: string | undefined;
  /** Monotonic. */
  #usableUntilMs = 0;
  #refreshToken: string | null;
  /** How the client authenticates: as RFC 6749 requires every server to support, until one has refused that. */
  #inBody = false;
  #pending: Promise<string | OAuthFailure> | undefined;
  #state: "new" | "connected" | "failing" = "new";
  #failureToldMs = 0;

  constructor(options: OAuthOptions) {
    this.#options = options;
    this.#refreshToken = options.settings.refresh_token;
  }

  token(cause: OAuthCause): MaybePromise<string | OAuthFailure> {
    if (this.#token !== undefined && this.#options.clock.monotonicMs() < this.#usableUntilMs)
      return this.#token;
    this.#pending ??= this.#refresh(cause).finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  refused(token: string): void {
    if (token === this.#token) this.#token = undefined;
  }

  async #refresh(cause: OAuthCause): Promise<string | OAuthFailure> {
    this.#token = undefined;
    const granted = await this.#ask();
    const nowMs = this.#options.clock.monotonicMs();
    if (typeof granted === "string") return this.#failed(granted, nowMs, cause);
    const { token, lifeSeconds, refreshToken } = granted;
    const margin = Math.min(MARGIN_SECONDS, lifeSeconds * MARGIN_SHARE);
    this.#token = token;
    this.#usableUntilMs = nowMs + (lifeSeconds - margin) * 1000;
    this.#refreshToken = refreshToken ?? this.#refreshToken;
    if (this.#state !== "connected") this.#options.changed({ event: "connected", detail: "", cause });
    this.#state = "connected";
    return token;
  }

  #failed(detail: string, nowMs: number, cause: OAuthCause): OAuthFailure {
    if (this.#state !== "failing" || nowMs >= this.#failureToldMs + FAILURES_APART_MS) {
      this.#failureToldMs = nowMs;
      this.#options.changed({ event: "refresh_failed", detail, cause });
    }
    this.#state = "failing";
    return { failed: detail };
  }

  /** A token, or in words why there is none. */
  async #ask(): Promise<Granted | string> {
    let answer = await this.#post();
    if ("failed" in answer) return failureText(answer);
    const isStranger = answer.status === 401 || errorOf(answer) === "invalid_client";
    if (isStranger && this.#state !== "connected") {
      // Some servers read the client's secret from the body alone. What has worked is kept to.
      this.#inBody = !this.#inBody;
      const other = await this.#post();
      if ("failed" in other) return failureText(other);
      if (other.status === 200) answer = other;
      else this.#inBody = !this.#inBody;
    }
    return granted(answer);
  }

  #post(): Promise<HttpAnswer | HttpFailure> {
    const { token_url, client_id, client_secret, grant, scopes } = this.#options.settings;
    const form = new URLSearchParams({ grant_type: grant });
    if (grant === "refresh_token") form.set("refresh_token", this.#refreshToken ?? "");
    if (scopes.length > 0) form.set("scope", scopes.join(" "));
    const headers: Record<string, string> = {
      accept: "application/json",
      "content-type": "application/x-www-form-urlencoded",
    };
    if (this.#inBody) {
      form.set("client_id", client_id);
      form.set("client_secret", client_secret);
    } else {
      const pair = `${formEncoded(client_id)}:${formEncoded(client_secret)}`;
      headers["authorization"] = `Basic ${Buffer.from(pair).toString("base64")}`;
    }
    const limits = { timeoutMs: TIMEOUT_MS, bytesMax: ANSWER_BYTES_MAX };
    return this.#options.fetch(token_url, { method: "POST", headers, body: form.toString(), ...limits });
  }
}

/** RFC 6749, section 2.3.1: both halves are form-encoded before they are joined. */
function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function failureText({ failed, detail }: HttpFailure): string {
  if (failed === "blocked") return `token endpoint blocked by the SSRF guard: ${withoutAddress(detail)}`;
  return `token endpoint ${failed === "timeout" ? "timed out" : "unreachable"}: ${detail}`;
}

function granted(answer: HttpAnswer): Granted | string {
  if (answer.status !== 200) {
    const error = errorOf(answer);
    return `token endpoint answered ${answer.status}${error === undefined ? "" : ` ${error}`}`;
  }
  const fields = fieldsOf(answer);
  const token = fields["access_token"];
  if (typeof token !== "string" || !BEARER_TOKEN.test(token))
    return "token endpoint answered no access token";
  const type = fields["token_type"];
  if (typeof type === "string" && type.toLowerCase() !== "bearer")
    return "token endpoint answered a token that is no bearer";
  const refreshToken = fields["refresh_token"];
  return {
    token,
    lifeSeconds: lifeSeconds(fields["expires_in"]),
    refreshToken: typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
  };
}

/** Some servers write the number as text. */
function lifeSeconds(expiresIn: unknown): number {
  const seconds = typeof expiresIn === "string" ? Number.parseInt(expiresIn, 10) : expiresIn;
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) return LIFE_SECONDS;
  return Math.min(Math.max(seconds, 0), LIFE_SECONDS_MAX);
}

function errorOf(answer: HttpAnswer): string | undefined {
  const { error } = fieldsOf(answer);
  return typeof error === "string" && ERROR_CODE.test(error) ? error : undefined;
}

function fieldsOf({ text }: HttpAnswer): Readonly<Record<string, unknown>> {
  return parseObject(text) ?? {};
}
