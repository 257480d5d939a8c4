/**
 * The one HTTP client towards providers: one call out, its answer in callbacks, limits on time and bytes. Narrow, so
 * that another client can stand behind it; knows nothing of providers. All timers are the handed-in clock's.
 */
import { LRUCache } from "lru-cache";
import type { Clock, WireRequest } from "../plugin/index.ts";
import { OpenCall } from "./open-call.ts";
import { Origin } from "./origin.ts";
import { loadConnectionKit } from "./undici.ts";

/** Why no answer, or only part of one, came. */
export interface UpstreamError {
  readonly kind: "timeout" | "unreachable" | "reset" | "protocol";
  /** In short, for people: `timed out after 30000 ms`, `unreachable`. */
  readonly reason: string;
  /** For the log only. */
  readonly cause: unknown;
}

/** Where an answer goes. `onEnd` or `onError` comes once, last; neither after `cancel`. */
export interface UpstreamHandler {
  /** `rawHeaders`: names and values in turn; `headerRecord` makes an object of them, for the few who need one. */
  onHead(status: number, rawHeaders: readonly Buffer[]): void;
  onChunk(bytes: Buffer): void;
  onEnd(): void;
  onError(error: UpstreamError): void;
}

export interface UpstreamLimits {
  /** From the call to the head of the answer. */
  readonly firstByteTimeoutMs: number;
  /** Between two reads of the body; time on pause does not count. */
  readonly idleTimeoutMs: number;
  /** The whole call. */
  readonly totalTimeoutMs: number;
  readonly bodyBytesMax: number;
  /** W3C trace context, sent along. */
  readonly traceparent?: string;
}

/** The hold on a running call. All harmless after its end. */
export interface UpstreamCall {
  pause(): void;
  resume(): void;
  cancel(): void;
}

export interface UpstreamClient {
  send(request: WireRequest, handler: UpstreamHandler, limits: UpstreamLimits): UpstreamCall;
  /** Waits for running calls, then closes all connections. */
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly clock: Clock;
  /** Default 4096. Calls beyond it wait, as many again; further ones fail as unreachable. */
  readonly connectionsPerOrigin?: number;
}

const ORIGINS_MAX = 256;
const ROUTES_MAX = 2048;
const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Loads undici: call it when the first provider needs it. */
export async function createUpstreamClient(options: UpstreamOptions): Promise<UpstreamClient> {
  const { Client, buildConnector } = loadConnectionKit();
  const connections = options.connectionsPerOrigin ?? 4096;
  const makeOrigin = (name: string): Origin => {
    // One for all connections of an origin, since it keeps their TLS sessions.
    const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS });
    // Our time limits are exact and follow the clock; undici's are coarse, and off.
    const settings = { connect, keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: 0, bodyTimeout: 0 };
    return new Origin(() => new Client(name, settings), connections);
  };
  return new OriginClient(options.clock, makeOrigin);
}

/** Names in lower case; a repeated header is joined with a comma. */
export function headerRecord(rawHeaders: readonly Buffer[]): Record<string, string> {
  const record: Record<string, string> = Object.create(null);
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = String(rawHeaders[i]).toLowerCase();
    const value = String(rawHeaders[i + 1]);
    const before = record[name];
    record[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return record;
}

interface Route {
  readonly origin: string;
  readonly path: string;
}

class OriginClient implements UpstreamClient {
  readonly #clock: Clock;
  readonly #makeOrigin: (name: string) => Origin;
  readonly #origins: LRUCache<string, Origin>;
  readonly #routes = new LRUCache<string, Route>({ max: ROUTES_MAX });
  /** A wire format gives the same header object for each call of a credential: flattened once. */
  readonly #flat = new WeakMap<WireRequest["headers"], readonly string[]>();
  readonly #closing = new Set<Promise<void>>();

  constructor(clock: Clock, makeOrigin: (name: string) => Origin) {
    this.#clock = clock;
    this.#makeOrigin = makeOrigin;
    this.#origins = new LRUCache({ max: ORIGINS_MAX, dispose: (origin) => this.#retire(origin) });
  }

  send(request: WireRequest, handler: UpstreamHandler, limits: UpstreamLimits): UpstreamCall {
    const route = this.#route(request.url);
    const { method, body } = request;
    // undici's type asks for a mutable array; it changes none.
    const headers = this.#headers(request.headers, limits.traceparent) as string[];
    const options = { method, path: route?.path ?? "/", headers, body };
    const origin = route && this.#origin(route.origin);
    const call = new OpenCall(this.#clock, options, handler, { limits, origin });
    if (origin === undefined) call.onError(new Error("not an address that can be asked"));
    else origin.start(call);
    return call;
  }

  async close(): Promise<void> {
    this.#origins.clear();
    await Promise.all(this.#closing);
  }

  #route(url: string): Route | undefined {
    const known = this.#routes.get(url);
    if (known !== undefined) return known;
    if (!/^https?:/i.test(url) || !URL.canParse(url)) return undefined;
    const { origin, pathname, search } = new URL(url);
    const route = { origin, path: pathname + search };
    this.#routes.set(url, route);
    return route;
  }

  #origin(name: string): Origin {
    let origin = this.#origins.get(name);
    if (origin === undefined) {
      origin = this.#makeOrigin(name);
      this.#origins.set(name, origin);
    }
    return origin;
  }

  #headers(record: WireRequest["headers"], traceparent: string | undefined): readonly string[] {
    let flat = this.#flat.get(record);
    if (flat === undefined) {
      flat = ["user-agent", "sluice", ...Object.entries(record).flat()];
      this.#flat.set(record, flat);
    }
    return traceparent === undefined ? flat : [...flat, "traceparent", traceparent];
  }

  /** Pushed out by newer origins, or the client closes: its calls may end first. */
  #retire(origin: Origin): void {
    const closed = origin.close().finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}
