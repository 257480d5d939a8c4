/**
 * The connections of requests made for somebody else: behind the SSRF guard, kept for a while. Sends nothing itself; a
 * name is decided where a socket is made, so that what was checked is what is connected to.
 */
import http from "node:http";
import https from "node:https";
import { checkUrl, guardedLookup, type Resolve, type SsrfAllow, SsrfError, ssrfAllow } from "./ssrf.ts";

export interface GuardedAgentsOptions {
  /** `network.allow`. */
  readonly allow: readonly string[];
  /** Default: the system's. */
  readonly resolve: Resolve | undefined;
  /** How long an idle connection is kept. */
  readonly idleMs: number;
  /** Default: no bound, for who bounds its requests otherwise. */
  readonly socketsPerOriginMax?: number;
  /** Idle connections kept to one origin. Default 256, as Node's. */
  readonly idleSocketsMax?: number;
  /** Certificates to trust, PEM. Default: the system's. */
  readonly ca?: string;
  /** What becomes of each agent before it is used. Default: nothing. */
  readonly adapt?: (agent: http.Agent) => http.Agent;
}

/** How a checked URL is asked for. */
export interface Way {
  readonly request: typeof http.request;
  readonly agent: http.Agent;
}

export class GuardedAgents {
  readonly #options: GuardedAgentsOptions;
  readonly #allow: SsrfAllow;
  readonly #plain: Way;
  readonly #secure: Way;

  constructor(options: GuardedAgentsOptions) {
    const { allow, resolve, idleMs, socketsPerOriginMax = Number.POSITIVE_INFINITY } = options;
    const { idleSocketsMax = 256, ca, adapt = (agent) => agent } = options;
    this.#options = options;
    this.#allow = ssrfAllow(allow);
    const settings = {
      lookup: guardedLookup(this.#allow, resolve),
      keepAlive: true,
      maxSockets: socketsPerOriginMax,
      maxFreeSockets: idleSocketsMax,
      timeout: idleMs,
    };
    this.#plain = { request: http.request, agent: adapt(new http.Agent(settings)) };
    const trusting = ca === undefined ? settings : { ...settings, ca };
    this.#secure = { request: https.request, agent: adapt(new https.Agent(trusting)) };
  }

  /** The URL when it may be asked for, else why not. */
  check(url: string): URL | string {
    return checkUrl(url, this.#allow);
  }

  wayTo({ protocol }: URL): Way {
    return protocol === "https:" ? this.#secure : this.#plain;
  }

  /** Those for this `network.allow`: these, when it is theirs, else others, and these connections are used no more. */
  allowing(entries: readonly string[]): GuardedAgents {
    const { allow } = this.#options;
    const isSame = entries.length === allow.length && entries.every((entry, n) => entry === allow[n]);
    return isSame ? this : new GuardedAgents({ ...this.#options, allow: entries });
  }

  /** Ends all connections, in use or not. */
  close(): void {
    this.#plain.agent.destroy();
    this.#secure.agent.destroy();
  }
}

/** Why a request came to nothing: the guard's words, or the error's code, "" when it has none. */
export function reasonOf(thrown: unknown): { readonly blocked: string } | { readonly code: string } {
  if (thrown instanceof SsrfError) return { blocked: thrown.message };
  return { code: thrown instanceof Error && "code" in thrown ? String(thrown.code) : "" };
}
