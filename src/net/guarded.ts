/**
 * Requests to services that a configuration or a plugin names: past the SSRF guard, answers read whole and bounded, no
 * redirect followed. `fetch` for plugins and OAuth, `post` for webhooks and traces; both on the client of request.ts.
 */
import type { HttpAnswer, HttpFailure, HttpRequest } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { environmentProxies, type ProxyFor } from "./forward-proxy.ts";
import type {
  AnswerHeaders,
  HttpCall,
  HttpClient,
  HttpError,
  HttpHandler,
  OutboundRequest,
} from "./http-client.ts";
import { AnswerBody } from "./http1/answer-body.ts";
import type { PoolOptions } from "./pooled-client.ts";
import { createRequestClient } from "./request.ts";
import { checkUrl, type Resolve, SsrfError, ssrfAllow } from "./ssrf.ts";

export interface GuardedOptions {
  readonly clock: Clock;
  /** `network.allow`. */
  readonly allow: readonly string[];
  /** Default: the system's. */
  readonly resolve?: Resolve | undefined;
  /** Default: the environment's. */
  readonly proxyFor?: ProxyFor | undefined;
}

/** A client behind the SSRF guard, whose `network.allow` may change. */
export class GuardedClient {
  readonly #options: GuardedOptions & Omit<PoolOptions, "clock">;
  readonly #running = new Set<WholeAnswer>();
  /** Why a URL is refused, or that it is not: the same few are requested all the time. */
  readonly #refusals = new Map<string, string | undefined>();
  #allow: ReturnType<typeof ssrfAllow>;
  #entries: readonly string[];
  #client: HttpClient;
  #isClosed = false;

  constructor(options: GuardedOptions & Omit<PoolOptions, "clock">) {
    this.#options = options;
    this.#entries = options.allow;
    this.#allow = ssrfAllow(options.allow);
    this.#client = this.#connect();
  }

  get open(): number {
    return this.#running.size;
  }

  /** Why this URL may not be requested, as far as the URL alone says; a name is decided when it is resolved. */
  refusal(url: string): string | undefined {
    if (this.#refusals.has(url)) return this.#refusals.get(url);
    const checked = checkUrl(url, this.#allow);
    const refusal = typeof checked === "string" ? checked : undefined;
    if (this.#refusals.size >= REFUSALS_MAX) this.#refusals.clear();
    this.#refusals.set(url, refusal);
    return refusal;
  }

  /** One request whose answer is read whole, up to `bytesMax`. Never rejects. The URL has been checked. */
  whole(request: OutboundRequest, limits: WholeLimits): Promise<Whole> {
    if (this.#isClosed) return Promise.resolve(new Whole(CLOSED));
    return new Promise((settle) => {
      const answer = new WholeAnswer(limits.bytesMax, (whole) => {
        this.#running.delete(answer);
        settle(whole);
      });
      this.#running.add(answer);
      const { timeoutMs, isRepeatable } = limits;
      const timeouts = { firstByteTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs, totalTimeoutMs: timeoutMs };
      const bounds = { ...timeouts, bodyBytesMax: Number.POSITIVE_INFINITY, isRepeatable };
      answer.call = this.#client.send(request, answer, bounds);
    });
  }

  /** From now on `network.allow` is this; connections opened before are used no more. */
  allow(entries: readonly string[]): void {
    const isSame =
      entries.length === this.#entries.length && entries.every((one, n) => one === this.#entries[n]);
    if (isSame) return;
    void this.#client.close();
    this.#entries = entries;
    this.#allow = ssrfAllow(entries);
    this.#refusals.clear();
    this.#client = this.#connect();
  }

  /** Ends all connections, in use or not; later requests fail. */
  close(): void {
    this.#isClosed = true;
    for (const answer of this.#running) answer.stop(CLOSED);
    void this.#client.close();
  }

  #connect(): HttpClient {
    const { resolve, proxyFor = environmentProxies(process.env), ...options } = this.#options;
    return createRequestClient({ ...options, proxyFor, guard: { allow: this.#allow, resolve } });
  }
}

const REFUSALS_MAX = 1000;
const CLOSED: HttpError = { kind: "unreachable", reason: "closed", cause: undefined };

interface WholeLimits {
  /** From the start to the end of the answer. */
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly isRepeatable: boolean;
}

/** What came of one request. */
class Whole {
  /** 0: no answer came. */
  status = 0;
  headers: Readonly<Record<string, string>> = {};
  /** As far as it came, `bytesMax` at most. */
  text = "";
  /** The answer is longer than `bytesMax`. */
  isTooLong = false;
  error: HttpError | undefined;

  constructor(error: HttpError | undefined) {
    this.error = error;
  }
}

class WholeAnswer implements HttpHandler {
  call: HttpCall | undefined;
  readonly #bytesMax: number;
  readonly #settle: (whole: Whole) => void;
  readonly #body = new AnswerBody();
  readonly #whole = new Whole(undefined);
  #bytes = 0;

  constructor(bytesMax: number, settle: (whole: Whole) => void) {
    this.#bytesMax = bytesMax;
    this.#settle = settle;
  }

  onHead(status: number, headers: AnswerHeaders): void {
    this.#whole.status = status;
    this.#whole.headers = headers.record();
  }

  onChunk(bytes: Buffer): void {
    const room = this.#bytesMax - this.#bytes;
    this.#bytes += bytes.length;
    this.#body.add(bytes.subarray(0, room), this.#bytesMax);
    if (this.#bytes <= this.#bytesMax) return;
    this.#whole.isTooLong = true;
    this.stop(undefined);
  }

  onEnd(): void {
    this.#done(undefined);
  }

  onError(error: HttpError): void {
    this.#done(error);
  }

  /** Its connection ends now, its caller is told in a later iteration of the event loop. */
  stop(error: HttpError | undefined): void {
    this.call?.cancel();
    setImmediate(() => this.#done(error));
  }

  #done(error: HttpError | undefined): void {
    this.#whole.error = error;
    this.#whole.text = this.#body.text();
    this.#settle(this.#whole);
  }
}

/** Why a connection failed: the guard's refusal, or the error's code, "" when it has none. */
export function reasonOf(thrown: unknown): { readonly blocked: string } | { readonly code: string } {
  if (thrown instanceof SsrfError) return { blocked: thrown.message };
  return { code: thrown instanceof Error && "code" in thrown ? String(thrown.code) : "" };
}

const TIMEOUT_MS = 10_000;
const TIMEOUT_MS_MAX = 60_000;
const BYTES_MAX = 1_048_576;
const BYTES_MAX_MAX = 16_777_216;
/** Requests of all plugins that may be open; further ones fail at once. */
const OPEN_MAX = 1000;
const FETCH_POOL = { connectionsPerOrigin: 64, waitingMax: OPEN_MAX, keepMsMax: 15_000 };

export interface GuardedHttp {
  fetch(url: string, request?: HttpRequest): Promise<HttpAnswer | HttpFailure>;
  /** From now on `network.allow` is this; connections opened before are used no more. */
  allow(entries: readonly string[]): void;
  /** Ends all connections, open ones with their requests. */
  close(): void;
}

export function guardedHttp(options: GuardedOptions): GuardedHttp {
  const client = new GuardedClient({ ...options, ...FETCH_POOL });
  return {
    async fetch(url, { method = "GET", headers = {}, body = "", ...limits } = {}) {
      const refusal = client.refusal(url);
      if (refusal !== undefined) return { failed: "blocked", detail: refusal };
      if (client.open >= OPEN_MAX) return { failed: "busy", detail: `${OPEN_MAX} requests are open` };
      const timeoutMs = Math.min(limits.timeoutMs ?? TIMEOUT_MS, TIMEOUT_MS_MAX);
      const bytesMax = Math.min(limits.bytesMax ?? BYTES_MAX, BYTES_MAX_MAX);
      const whole = await client.whole(
        { method, url, headers, body },
        { timeoutMs, bytesMax, isRepeatable: true },
      );
      if (whole.isTooLong) return { failed: "too_large", detail: `the answer exceeds ${bytesMax} bytes` };
      if (whole.error !== undefined) return fetchFailure(whole.error, timeoutMs);
      return { status: whole.status, headers: whole.headers, text: whole.text };
    },
    allow: (entries) => client.allow(entries),
    close: () => client.close(),
  };
}

function fetchFailure({ kind, cause, reason }: HttpError, timeoutMs: number): HttpFailure {
  if (kind === "timeout") return { failed: "timeout", detail: `no answer within ${timeoutMs} ms` };
  if (kind === "exhausted") return { failed: "busy", detail: reason };
  const why = reasonOf(cause);
  if ("blocked" in why) return { failed: "blocked", detail: why.blocked };
  return { failed: "unreachable", detail: why.code === "" ? "the connection failed" : why.code };
}

/**
 * A connection is used again while one POST follows the other, and not after a pause: a receiver may close it just
 * then, and what is sent into that is lost, since nothing is sent twice.
 */
const POST_POOL = { keepMsMax: 500 };

export interface PostLimits {
  /** From the start to the end of the answer. */
  readonly timeoutMs: number;
  /** Of the answer's body; the connection is closed when it has more. */
  readonly maxBytes: number;
}

export interface PostOutcome {
  /** undefined: no answer came. */
  readonly status: number | undefined;
  /** As far as it came, `maxBytes` at most. */
  readonly body: string;
  /** Why none, or only a part of it, came. */
  readonly error: string | undefined;
}

export interface GuardedPost {
  /** One attempt. Never rejects. */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    limits: PostLimits,
  ): Promise<PostOutcome>;
  /** From now on `network.allow` is this; connections opened before are used no more. */
  allow(entries: readonly string[]): void;
  /** Ends all connections, in use or not; later requests fail. */
  close(): void;
}

export function guardedPost(options: GuardedOptions): GuardedPost {
  const client = new GuardedClient({ ...options, ...POST_POOL });
  return {
    async post(url, headers, body, { timeoutMs, maxBytes: bytesMax }) {
      const refusal = client.refusal(url);
      if (refusal !== undefined) return { status: undefined, body: "", error: blockedText(refusal) };
      const request = { method: "POST", url, headers, body };
      const whole = await client.whole(request, { timeoutMs, bytesMax, isRepeatable: false });
      const { status, text, error } = whole;
      return {
        status: status === 0 ? undefined : status,
        body: text,
        error: error && postFailure(error, status !== 0),
      };
    },
    allow: (entries) => client.allow(entries),
    close: () => client.close(),
  };
}

function postFailure(error: HttpError, hasAnswered: boolean): string {
  const { kind, reason, cause } = error;
  if (kind === "timeout" || kind === "protocol" || error === CLOSED) return reason;
  if (hasAnswered) return "the connection was lost before the answer was complete";
  return unreachableText(cause);
}

/** For people and logs. */
export function unreachableText(cause: unknown): string {
  const why = reasonOf(cause);
  if ("blocked" in why) return blockedText(why.blocked);
  return why.code === "" ? "unreachable" : `unreachable (${why.code})`;
}

function blockedText(why: string): string {
  return `blocked by the SSRF guard: ${why}`;
}
