/**
 * The one HTTP client towards providers: one call out, its answer in callbacks, limits on time and bytes. Narrow, so
 * that another client can stand behind it; knows nothing of providers. All timers are the handed-in clock's.
 */
import type { LookupFunction } from "node:net";
import type { SecureContext } from "node:tls";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../plugin/index.ts";
import type { WireRequest } from "../../provider-kit/index.ts";
import { addressOf, connector } from "./connect.ts";
import { Deadlines } from "./deadlines.ts";
import { OpenCall } from "./open-call.ts";
import { Origin } from "./origin.ts";
import { headerLines, outgoing, requestStart } from "./outgoing.ts";

/** Why no answer, or only part of one, came. */
export interface UpstreamError {
  /** `exhausted`: all connections are in use, and nothing was sent. `fault`: what the answer was handed to has thrown. */
  readonly kind: "timeout" | "unreachable" | "reset" | "protocol" | "exhausted" | "fault";
  /** In short, for people: `timed out after 30000 ms`, `unreachable`. */
  readonly reason: string;
  /** For the log only. */
  readonly cause: unknown;
}

/** The headers of an answer, as text only for the few who ask. */
export interface AnswerHeaders {
  /** Names in lower case; a repeated header is joined with a comma. */
  record(): Record<string, string>;
}

/** Where an answer goes. `onEnd` or `onError` comes once, last; neither after `cancel`. */
export interface UpstreamHandler {
  /** `headers` can be asked only until this returns. */
  onHead(status: number, headers: AnswerHeaders): void;
  /** What one network read brought. The bytes are overwritten after this returns: copy what must be kept. */
  onChunk(bytes: Buffer): void;
  onEnd(): void;
  onError(error: UpstreamError): void;
}

export interface UpstreamLimits {
  /** From the call to the head of the answer, or with `awaitsContent` to its first content. */
  readonly firstByteTimeoutMs: number;
  /** The handler tells by `UpstreamCall.contentBegun` when the answer has begun. Default: with its head. */
  readonly awaitsContent?: boolean;
  /** Between two reads of the body; time on pause does not count. */
  readonly idleTimeoutMs: number;
  /** The whole call; Infinity: no limit. */
  readonly totalTimeoutMs: number;
  readonly bodyBytesMax: number;
  /** Connections to the host beyond which the call fails at once as `exhausted`. Default: it waits, see `UpstreamOptions`. */
  readonly connectionsMax?: number;
  /** The request may go out once more when it crossed the close of an idle connection. Default: false. */
  readonly isRepeatable?: boolean;
  /** W3C trace context, sent along. */
  readonly traceparent?: string;
}

/** The hold on a running call. All harmless after its end. */
export interface UpstreamCall {
  pause(): void;
  resume(): void;
  cancel(): void;
  /** The answer has content: from now on its silences are limited. */
  contentBegun(): void;
}

export interface UpstreamClient {
  send(request: WireRequest, handler: UpstreamHandler, limits: UpstreamLimits): UpstreamCall;
  /** Of each host that has been asked, at most 256. */
  connections(): readonly HostConnections[];
  /** Waits for running calls, then closes all connections. */
  close(): Promise<void>;
}

export interface HostConnections {
  /** With its port where it is not the usual one. */
  readonly host: string;
  readonly inUse: number;
  readonly idle: number;
  /** Calls that failed as `exhausted`. */
  readonly exhausted: number;
}

export interface UpstreamOptions {
  readonly clock: Clock;
  /** Default 16,384. Calls beyond it wait, as many again; further ones fail as exhausted. */
  readonly connectionsPerOrigin?: number;
  /** Certificates to trust, PEM, in place of the system's; for tests. */
  readonly ca?: string;
  /** How names become addresses. Default: the system's way. */
  readonly lookup?: LookupFunction;
  /** An idle connection is kept no longer than that, whatever the other side says. Default 600,000. */
  readonly keepMsMax?: number;
}

const ORIGINS_MAX = 256;
const ROUTES_MAX = 2048;
/** As many as there may be open calls. */
const CONNECTIONS = 16_384;
const KEEP_MS_MAX = 600_000;
const NO_CALL: UpstreamCall = { pause() {}, resume() {}, cancel() {}, contentBegun() {} };

export function createUpstreamClient(options: UpstreamOptions): UpstreamClient {
  return new OriginClient(options);
}

interface Route {
  readonly origin: string;
  readonly url: URL;
  /** The beginning of a request to it, by method. */
  readonly starts: Readonly<Record<WireRequest["method"], string>>;
}

class OriginClient implements UpstreamClient {
  readonly #options: UpstreamOptions;
  readonly #deadlines: Deadlines;
  readonly #origins = new LRUCache<string, Origin>({
    max: ORIGINS_MAX,
    dispose: (origin) => this.#retire(origin),
  });
  readonly #routes = new LRUCache<string, Route>({ max: ROUTES_MAX });
  /** A wire format gives the same header object for each call of a credential: made text once. */
  readonly #headerLines = new WeakMap<WireRequest["headers"], string | Error>();
  readonly #closing = new Set<Promise<void>>();
  /** One for all sockets: it holds all the certificates of the system. */
  #secureContext: SecureContext | undefined;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.clock);
  }

  send(request: WireRequest, handler: UpstreamHandler, limits: UpstreamLimits): UpstreamCall {
    const route = this.#route(request.url);
    const origin = route && this.#origin(route);
    if (route === undefined || origin === undefined) {
      const cause = new Error("not an address that can be asked");
      handler.onError({ kind: "unreachable", reason: "unreachable", cause });
      return NO_CALL;
    }
    const lines = this.#lines(request.headers, limits.traceparent);
    if (lines instanceof Error) {
      handler.onError({ kind: "protocol", reason: `could not be asked: ${lines.message}`, cause: lines });
      return NO_CALL;
    }
    const out = outgoing(route.starts[request.method] + lines, request.body);
    const call = new OpenCall(origin, out, handler, limits);
    origin.start(call);
    return call;
  }

  connections(): readonly HostConnections[] {
    return [...this.#origins.values()].map((origin) => origin.connections());
  }

  async close(): Promise<void> {
    this.#origins.clear();
    await Promise.all(this.#closing);
  }

  #route(url: string): Route | undefined {
    const known = this.#routes.get(url);
    if (known !== undefined || !URL.canParse(url)) return known;
    const parsed = new URL(url);
    const { origin, pathname, search, host } = parsed;
    const start = (method: WireRequest["method"]) => requestStart(method, pathname + search, host);
    const route = { origin, url: parsed, starts: { POST: start("POST"), GET: start("GET") } };
    this.#routes.set(url, route);
    return route;
  }

  #origin(route: Route): Origin | undefined {
    const known = this.#origins.get(route.origin);
    if (known !== undefined) return known;
    const address = addressOf(route.url);
    if (address === undefined) return undefined;
    const { connectionsPerOrigin = CONNECTIONS, keepMsMax = KEEP_MS_MAX, lookup } = this.#options;
    const connect = connector(address, { trust: () => this.#trust(), lookup });
    const limits = { connectionsMax: connectionsPerOrigin, keepMsMax };
    const origin = new Origin(route.url.host, connect, this.#deadlines, limits);
    this.#origins.set(route.origin, origin);
    return origin;
  }

  #lines(headers: WireRequest["headers"], traceparent: string | undefined): string | Error {
    let lines = this.#headerLines.get(headers);
    if (lines === undefined) {
      lines = headerLines(headers);
      this.#headerLines.set(headers, lines);
    }
    if (traceparent === undefined || lines instanceof Error) return lines;
    const traced = headerLines({ traceparent });
    return traced instanceof Error ? traced : lines + traced;
  }

  #trust(): SecureContext {
    const { ca } = this.#options;
    const { createSecureContext } = process.getBuiltinModule("node:tls");
    return (this.#secureContext ??= createSecureContext(ca === undefined ? {} : { ca }));
  }

  /** Pushed out by newer origins, or the client closes: its calls may end first. */
  #retire(origin: Origin): void {
    const closed = origin.close().finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}
