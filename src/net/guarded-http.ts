/**
 * HTTP on behalf of plugins: any service that the SSRF guard lets through, answers read whole and bounded, connections
 * kept. Follows no redirect. Not for providers, whose client is client.ts.
 */
import type http from "node:http";
import type { HttpAnswer, HttpFailure, HttpRequest } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { GuardedAgents, reasonOf } from "./guarded-agents.ts";
import type { Resolve } from "./ssrf.ts";

const TIMEOUT_MS = 10_000;
const TIMEOUT_MS_MAX = 60_000;
const BYTES_MAX = 1_048_576;
const BYTES_MAX_MAX = 16_777_216;
/** Requests of all plugins that may be open; further ones fail at once. */
const OPEN_MAX = 1000;
const SOCKETS_PER_ORIGIN_MAX = 64;
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

export function guardedHttp({ clock, allow, resolve }: GuardedHttpOptions): GuardedHttp {
  const limits = { idleMs: KEEP_ALIVE_MS, socketsPerOriginMax: SOCKETS_PER_ORIGIN_MAX };
  let agents = new GuardedAgents({ allow, resolve, ...limits });
  let open = 0;
  return {
    async fetch(url, request = {}) {
      const target = agents.check(url);
      if (typeof target === "string") return { failed: "blocked", detail: target };
      if (open >= OPEN_MAX) return { failed: "busy", detail: `${OPEN_MAX} requests are open` };
      open++;
      try {
        const outcome = await exchange(target, request, agents, clock);
        // The other side may close a kept connection just when it is used again: that says nothing of the request.
        return outcome === STALE ? withoutStale(await exchange(target, request, agents, clock)) : outcome;
      } finally {
        open--;
      }
    },
    allow(entries) {
      agents = agents.allowing(entries);
    },
    close: () => agents.close(),
  };
}

function exchange(
  url: URL,
  { method = "GET", headers = {}, body, timeoutMs = TIMEOUT_MS, bytesMax = BYTES_MAX }: HttpRequest,
  agents: GuardedAgents,
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
      const way = agents.wayTo(url);
      request = way.request(url, {
        ...{ method, agent: way.agent },
        headers: { "user-agent": "sluice", ...headers },
      });
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
  const reason = reasonOf(error);
  if ("blocked" in reason) return { failed: "blocked", detail: reason.blocked };
  return { failed: "unreachable", detail: reason.code === "" ? "the connection failed" : reason.code };
}
