/**
 * An `HttpClient` over pools of connections, one pool for each origin. What goes over a connection is the transport's:
 * HTTP/1.1 of our own, or undici's. All timers are those of the given clock.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../plugin/index.ts";
import { ConnectionPool, type OpenConnection } from "./connection-pool.ts";
import { Deadlines } from "./deadlines.ts";
import type {
  HostConnections,
  HttpCall,
  HttpClient,
  HttpHandler,
  HttpLimits,
  OutboundRequest,
} from "./http-client.ts";
import { OpenCall } from "./open-call.ts";

export interface Transport<Request> {
  /** Made once for each URL: how its requests are written. */
  encoder(url: URL): EncodeRequest<Request>;
  /** Made once for each origin. */
  opener(url: URL): OpenConnection<Request>;
}

/** An Error when the request cannot be sent as HTTP; it names no value. */
export type EncodeRequest<Request> = (
  request: OutboundRequest,
  traceparent: string | undefined,
) => Request | Error;

export interface PoolOptions {
  readonly clock: Clock;
  /** Default 16,384: as many as there may be open calls. */
  readonly connectionsPerOrigin?: number;
  /** Calls that wait for a connection to one origin; further ones fail as exhausted. Default: `connectionsPerOrigin`. */
  readonly waitingMax?: number;
  /** An idle connection is kept no longer than that, whatever the other side says. Default 600,000. */
  readonly keepMsMax?: number;
}

const ORIGINS_MAX = 256;
const ROUTES_MAX = 2048;
const CONNECTIONS = 16_384;
const KEEP_MS_MAX = 600_000;
const NO_CALL: HttpCall = { pause() {}, resume() {}, cancel() {}, contentBegun() {} };

interface Route<Request> {
  readonly url: URL;
  readonly origin: string;
  readonly encode: EncodeRequest<Request>;
}

export class PooledClient<Request> implements HttpClient {
  readonly #transport: Transport<Request>;
  readonly #options: PoolOptions;
  readonly #deadlines: Deadlines;
  readonly #pools = new LRUCache<string, ConnectionPool<Request>>({
    max: ORIGINS_MAX,
    dispose: (pool) => this.#retire(pool),
  });
  readonly #routes = new LRUCache<string, Route<Request>>({ max: ROUTES_MAX });
  readonly #closing = new Set<Promise<void>>();

  constructor(transport: Transport<Request>, options: PoolOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#deadlines = new Deadlines(options.clock);
  }

  send(request: OutboundRequest, handler: HttpHandler, limits: HttpLimits): HttpCall {
    const route = this.#route(request.url);
    if (route === undefined) {
      const cause = new Error("not an HTTP URL");
      handler.onError({ kind: "unreachable", reason: "unreachable", cause });
      return NO_CALL;
    }
    const encoded = route.encode(request, limits.traceparent);
    if (encoded instanceof Error) {
      handler.onError({ kind: "protocol", reason: `could not be asked: ${encoded.message}`, cause: encoded });
      return NO_CALL;
    }
    const pool = this.#pool(route);
    const call = new OpenCall(pool, encoded, handler, limits);
    pool.start(call);
    return call;
  }

  connections(): readonly HostConnections[] {
    return [...this.#pools.values()].map((pool) => pool.connections());
  }

  async close(): Promise<void> {
    this.#pools.clear();
    await Promise.all(this.#closing);
  }

  #route(text: string): Route<Request> | undefined {
    const known = this.#routes.get(text);
    if (known !== undefined || !URL.canParse(text)) return known;
    const url = new URL(text);
    if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
    const route = { url, origin: url.origin, encode: this.#transport.encoder(url) };
    this.#routes.set(text, route);
    return route;
  }

  #pool({ url, origin }: Route<Request>): ConnectionPool<Request> {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const { connectionsPerOrigin: connectionsMax = CONNECTIONS, keepMsMax = KEEP_MS_MAX } = this.#options;
    const { waitingMax = connectionsMax } = this.#options;
    const limits = { connectionsMax, waitingMax, keepMsMax };
    const pool = new ConnectionPool(url.host, this.#transport.opener(url), this.#deadlines, limits);
    this.#pools.set(origin, pool);
    return pool;
  }

  /** Replaced by newer origins, or the client closes: its calls may end first. */
  #retire(pool: ConnectionPool<Request>): void {
    const closed = pool.close().finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}
