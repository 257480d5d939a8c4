/**
 * One POST to somebody else's receiver: past the SSRF guard, one attempt, no redirect followed, and of the answer no
 * more than is wanted. For webhooks; nothing here knows what is sent.
 */
import type http from "node:http";
import { urlToHttpOptions } from "node:url";
import type { Clock } from "../plugin/index.ts";
import { GuardedAgents, reasonOf } from "./guarded-agents.ts";
import type { Resolve } from "./ssrf.ts";

/**
 * A connection is used again while one POST follows the other, and not after a pause: a receiver may close it just
 * then, and what is sent into that is lost, since nothing is sent twice.
 */
const IDLE_MS = 500;
/** URLs whose reading is kept, since the same few are posted to all the time. */
const TARGETS_MAX = 1000;

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
  /** Never rejects. */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    limits: PostLimits,
  ): Promise<PostOutcome>;
  /** From now on `network.allow` is this; connections made before are used no more. */
  allow(entries: readonly string[]): void;
  /** Ends all connections, in use or not; what is posted after it fails. */
  close(): void;
}

export interface GuardedPostOptions {
  readonly clock: Clock;
  /** `network.allow`. */
  readonly allow: readonly string[];
  /** Default: the system's. */
  readonly resolve?: Resolve;
}

/** A URL that was read; a text says why it may not be posted to. */
type Target = { readonly request: typeof http.request; readonly options: http.RequestOptions } | string;

export function guardedPost({ clock, allow, resolve }: GuardedPostOptions): GuardedPost {
  let agents = new GuardedAgents({ allow, resolve, idleMs: IDLE_MS });
  let closed = false;
  const targets = new Map<string, Target>();
  const targetOf = (url: string): Target => {
    let target = targets.get(url);
    if (target !== undefined) return target;
    target = openTarget(agents, url);
    if (targets.size >= TARGETS_MAX) targets.clear();
    targets.set(url, target);
    return target;
  };
  return {
    post(url, headers, body, limits) {
      if (closed) return Promise.resolve(unsent("closed"));
      const target = targetOf(url);
      if (typeof target === "string") return Promise.resolve(unsent(blocked(target)));
      const { request, options } = target;
      const start = (): http.ClientRequest =>
        request({ ...options, headers: { "User-Agent": "sluice", ...headers } });
      return exchange(start, body, limits, clock);
    },
    allow(entries) {
      const next = agents.allowing(entries);
      if (next !== agents) targets.clear();
      agents = next;
    },
    close() {
      closed = true;
      agents.close();
    },
  };
}

function openTarget(agents: GuardedAgents, url: string): Target {
  const checked = agents.check(url);
  if (typeof checked === "string") return checked;
  const { request, agent } = agents.wayTo(checked);
  return { request, options: { ...urlToHttpOptions(checked), method: "POST", agent } };
}

function exchange(
  start: () => http.ClientRequest,
  body: string,
  { timeoutMs, maxBytes }: PostLimits,
  clock: Clock,
): Promise<PostOutcome> {
  return new Promise((resolve) => {
    let status: number | undefined;
    const parts: Buffer[] = [];
    let bytes = 0;
    const settle = (error: string | undefined): void => {
      timer.cancel();
      resolve({ status, body: Buffer.concat(parts).subarray(0, maxBytes).toString("utf8"), error });
    };
    let request: http.ClientRequest | undefined;
    const timer = clock.after(timeoutMs, () => {
      settle(`timed out after ${timeoutMs} ms`);
      request?.destroy();
    });
    try {
      request = start();
    } catch (thrown) {
      // A header that no request may have.
      return settle(failure(thrown));
    }
    request.on("error", (error) => settle(failure(error)));
    request.on("response", (response) => {
      status = response.statusCode;
      response.on("data", (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes < maxBytes) return;
        settle(undefined);
        response.destroy();
      });
      response.on("error", () => settle("the connection was lost before the answer was complete"));
      response.on("end", () => settle(undefined));
    });
    request.end(body);
  });
}

function failure(thrown: unknown): string {
  const reason = reasonOf(thrown);
  if ("blocked" in reason) return blocked(reason.blocked);
  return reason.code === "" ? "unreachable" : `unreachable (${reason.code})`;
}

function blocked(why: string): string {
  return `blocked by the SSRF guard: ${why}`;
}

function unsent(error: string): PostOutcome {
  return { status: undefined, body: "", error };
}
