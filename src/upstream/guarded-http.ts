/**
 * HTTP on behalf of plugins: any service that the SSRF guard lets through, answers read whole and bounded, connections
 * kept. Follows no redirect. Not for providers, whose client is client.ts.
 */
import http from "node:http";
import https from "node:https";
import type { Clock, HttpAnswer, HttpFailure, HttpRequest } from "../plugin/index.ts";
import { checkUrl, guardedLookup, type Resolve, type SsrfAllow, SsrfError, ssrfAllow } from "./ssrf.ts";

const TIMEOUT_MS = 10_000;
const TIMEOUT_MS_MAX = 60_000;
const BYTES_MAX = 1_048_576;
const BYTES_MAX_MAX = 16_777_216;
/** Requests of all plugins that may be open; further ones fail at once. */
const OPEN_MAX = 1000;
const SOCKETS_PER_ORIGIN_MAX = 64;
const SOCKETS_FREE_MAX = 64;
const KEEP_ALIVE_MS = 15_000;

export interface GuardedHttp {
  fetch(url: string, request?: HttpRequest): Promise<HttpAnswer | HttpFailure>;
  /** From now on `network.allow` is this; connections made before are used no more. */
  allow(entries: readonly string[]): void;
  /** Ends idle connections at once, open ones with their requests. */
  close(): void;
}

export interface GuardedHttpOptions {
  readonly clock: Clock;
  /** `network.allow`. */
  readonly allow: readonly string[];
  /** Default: the system's. */
  readonly resolve?: Resolve;
}

/** A kept connection was closed before any of the answer came. */
const STALE: unique symbol = Symbol("stale");

interface Way {
  readonly allow: SsrfAllow;
  readonly plain: http.Agent;
  readonly secure: https.Agent;
}

export function guardedHttp(options: GuardedHttpOptions): GuardedHttp {
  const { clock, resolve } = options;
  let entries = options.allow;
  let way = makeWay(entries, resolve);
  let open = 0;
  return {
    async fetch(url, request = {}) {
      const target = checkUrl(url, way.allow);
      if (typeof target === "string") return { failed: "blocked", detail: target };
      if (open >= OPEN_MAX) return { failed: "busy", detail: `${OPEN_MAX} requests are open` };
      open++;
      try {
        const outcome = await exchange(target, request, way, clock);
        // The other side may close a kept connection just when it is used again: that says nothing of the request.
        return outcome === STALE ? withoutStale(await exchange(target, request, way, clock)) : outcome;
      } finally {
        open--;
      }
    },
    allow(next) {
      if (next.length === entries.length && next.every((entry, n) => entry === entries[n])) return;
      entries = next;
      way = makeWay(entries, resolve);
    },
    close() {
      way.plain.destroy();
      way.secure.destroy();
    },
  };
}

/** Names are resolved where a socket is made, so that what was checked is what is connected to. */
function makeWay(entries: readonly string[], resolve: Resolve | undefined): Way {
  const allow = ssrfAllow(entries);
  const settings = {
    lookup: guardedLookup(allow, resolve),
    keepAlive: true,
    maxSockets: SOCKETS_PER_ORIGIN_MAX,
    maxFreeSockets: SOCKETS_FREE_MAX,
    timeout: KEEP_ALIVE_MS,
  };
  return { allow, plain: new http.Agent(settings), secure: new https.Agent(settings) };
}

function exchange(
  url: URL,
  { method = "GET", headers = {}, body, timeoutMs = TIMEOUT_MS, bytesMax = BYTES_MAX }: HttpRequest,
  way: Way,
  clock: Clock,
): Promise<HttpAnswer | HttpFailure | typeof STALE> {
  const longestMs = Math.min(timeoutMs, TIMEOUT_MS_MAX);
  const bytes = Math.min(bytesMax, BYTES_MAX_MAX);
  return new Promise((resolve) => {
    const settle = (outcome: HttpAnswer | HttpFailure | typeof STALE): void => {
      timer.cancel();
      resolve(outcome);
    };
    const give = (failure: HttpFailure): void => {
      settle(failure);
      request?.destroy();
    };
    const timer = clock.after(longestMs, () =>
      give({ failed: "timeout", detail: `no answer within ${longestMs} ms` }),
    );
    let request: http.ClientRequest | undefined;
    try {
      const send = url.protocol === "https:" ? https.request : http.request;
      const agent = url.protocol === "https:" ? way.secure : way.plain;
      request = send(url, { method, headers: { "user-agent": "sluice", ...headers }, agent });
    } catch (thrown) {
      return settle(failureOf(thrown));
    }
    const sent = request;
    request.on("error", (error: NodeJS.ErrnoException) =>
      settle(sent.reusedSocket && error.code === "ECONNRESET" ? STALE : failureOf(error)),
    );
    request.on("response", (response) => readAnswer(response, bytes, settle, give));
    request.end(body);
  });
}

function withoutStale(outcome: HttpAnswer | HttpFailure | typeof STALE): HttpAnswer | HttpFailure {
  return outcome === STALE ? { failed: "unreachable", detail: "ECONNRESET" } : outcome;
}

function readAnswer(
  response: http.IncomingMessage,
  bytesMax: number,
  settle: (outcome: HttpAnswer | HttpFailure) => void,
  give: (failure: HttpFailure) => void,
): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  response.on("data", (part: Buffer) => {
    bytes += part.length;
    if (!(bytes <= bytesMax)) give({ failed: "too_large", detail: `the answer exceeds ${bytesMax} bytes` });
    else parts.push(part);
  });
  response.on("error", (error) => settle(failureOf(error)));
  response.on("end", () => {
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    );
    settle({ status: response.statusCode ?? 0, headers, text: Buffer.concat(parts).toString("utf8") });
  });
}

function failureOf(error: unknown): HttpFailure {
  if (error instanceof SsrfError) return { failed: "blocked", detail: error.message };
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return { failed: "unreachable", detail: code === "" ? "the connection failed" : code };
}
