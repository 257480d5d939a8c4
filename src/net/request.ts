/**
 * The `HttpClient` on undici: for everything but provider calls, and for those too where they need a forward proxy, a
 * client certificate or HTTP/2. Each undici Client is one connection; pools, limits and time are those of the lean client.
 */
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { Client, Dispatcher } from "undici";
import type { ConnectionOwner, PooledConnection } from "./connection-pool.ts";
import type { Dated } from "./deadlines.ts";
import { codedError, type HttpClient, type HttpError, type OutboundRequest } from "./http-client.ts";
import type { Carrier, OpenCall } from "./open-call.ts";
import { type EncodeRequest, PooledClient, type PoolOptions, type Transport } from "./pooled-client.ts";
import { type SocketOptions, Sockets } from "./sockets.ts";

export interface RequestClientOptions extends PoolOptions, Omit<SocketOptions, "clock"> {}

/** Throws when the certificates cannot be used. */
export function createRequestClient(options: RequestClientOptions): HttpClient {
  return new PooledClient(new UndiciTransport(options), options);
}

/** Kept so long where the server does not say how long it keeps its side. */
const KEEP_MS = 30_000;
const KEEP_MS_MAX = 600_000;
/** Before the server's own time is over, so that no request crosses its close. */
const KEEP_MARGIN_MS = 1_000;
/** Within this time after a request was written, a close may have been sent before the request arrived. */
const CROSSING_MS = 250;
const HEAD_BYTES_MAX = 16 * 1024;
/** Concurrent requests on one HTTP/2 connection: what servers commonly allow. */
const STREAMS_MAX = 100;

const requireModule = createRequire(import.meta.url);

/**
 * The Client alone, on first use: all of undici takes three times as long to load, which every call in flight would wait
 * for. The module is undici's own affair: a version that has moved it is loaded whole.
 */
export function loadClient(load: (id: string) => unknown = requireModule): typeof Client {
  try {
    const alone = load("undici/lib/dispatcher/client.js");
    // What a test holds to be the same as the public one.
    if (typeof alone === "function") return alone as typeof Client;
  } catch {
    // Moved.
  }
  return (load("undici") as { readonly Client: typeof Client }).Client;
}

interface Outgoing extends Omit<Dispatcher.DispatchOptions, "origin"> {
  readonly url: URL;
}

class UndiciTransport implements Transport<Outgoing> {
  readonly #sockets: Sockets;
  readonly #http2: boolean;

  constructor(options: RequestClientOptions) {
    this.#sockets = new Sockets(options);
    this.#http2 = options.http2 === true;
  }

  encoder(url: URL): EncodeRequest<Outgoing> {
    const path = url.pathname + url.search;
    return ({ method, headers, body }: OutboundRequest, traceparent) => ({
      url,
      path,
      // undici rejects a method that is not a token.
      method: method as Dispatcher.HttpMethod,
      headers: withOwn(headers, traceparent),
      body,
      // Means to undici that requests may share a connection: repeating them is decided here.
      idempotent: true,
    });
  }

  opener(url: URL) {
    const lines = new Lines(url, this.#sockets, this.#http2);
    return (owner: ConnectionOwner<Outgoing>, call: OpenCall<Outgoing>) =>
      new UndiciConnection(owner, lines.take(), call);
  }
}

function withOwn(
  headers: OutboundRequest["headers"],
  traceparent: string | undefined,
): Readonly<Record<string, string>> {
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return {
    ...(isNamed ? {} : { "user-agent": "sluice" }),
    ...headers,
    ...(traceparent !== undefined && { traceparent }),
  };
}

/** The network connections to one origin. */
class Lines {
  readonly #url: URL;
  readonly #sockets: Sockets;
  readonly #http2: boolean;
  /** Those that speak HTTP/2, each shared by several calls. */
  readonly #shared = new Set<Line>();

  constructor(url: URL, sockets: Sockets, http2: boolean) {
    this.#url = url;
    this.#sockets = sockets;
    this.#http2 = http2;
  }

  /** While it is not known whether a server speaks HTTP/2, a call waits for no other: it opens its own connection. */
  take(): Line {
    for (const line of this.#shared) {
      if (line.users < STREAMS_MAX) return line;
    }
    const line: Line = new Line(this.#url, this.#sockets, this.#http2, {
      opened: () => {
        if (line.isShared) this.#shared.add(line);
      },
      closed: () => this.#shared.delete(line),
    });
    return line;
  }
}

interface LineEvents {
  readonly opened: () => void;
  readonly closed: () => void;
}

/** One undici Client with one network connection, never opened again: a reconnecting Client would repeat requests. */
class Line {
  readonly client: Client;
  /** Connections of the pool that are on it: one, or with HTTP/2 several. */
  readonly #users = new Set<UndiciConnection>();
  readonly #closed: () => void;
  #socket: Socket | undefined;
  #cancelOpening: () => void = () => {};
  #isClosed = false;
  isShared = false;

  constructor(url: URL, sockets: Sockets, http2: boolean, { opened, closed }: LineEvents) {
    this.#closed = closed;
    const UndiciClient = loadClient();
    this.client = new UndiciClient(url.origin, {
      allowH2: http2,
      maxHeaderSize: HEAD_BYTES_MAX,
      // Time is limited by our own deadlines.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_MS_MAX,
      keepAliveMaxTimeout: KEEP_MS_MAX,
      keepAliveTimeoutThreshold: KEEP_MARGIN_MS,
      connect: (_options, done) => {
        this.#cancelOpening = sockets.open(url, (error, socket) => {
          if (error !== null || socket === undefined) return done(error ?? new Error("no socket"), null);
          this.#socket = socket;
          this.isShared = "alpnProtocol" in socket && socket.alpnProtocol === "h2";
          if (this.isShared) this.client.pipelining = STREAMS_MAX;
          done(null, socket);
          opened();
        });
      },
    });
    this.client.on("disconnect", (_origin, _targets, error) => this.#lost(error));
    this.client.on("connectionError", (_origin, _targets, error) => this.#lost(error));
  }

  get users(): number {
    return this.#users.size;
  }

  get isUsable(): boolean {
    const socket = this.#socket;
    return !this.#isClosed && socket?.destroyed === false && socket.writable && !socket.readableEnded;
  }

  join(user: UndiciConnection): void {
    this.#users.add(user);
  }

  leave(user: UndiciConnection): void {
    this.#users.delete(user);
    if (this.#users.size === 0) this.#lost(undefined);
  }

  /** The network connection is gone: calls on it fail, and idle users leave the pool. */
  #lost(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closed();
    this.#cancelOpening();
    this.#socket?.on("error", () => {});
    // Later: undici must not be destroyed within its own callbacks.
    queueMicrotask(() => {
      this.client.destroy(error ?? null).catch(() => {});
      this.#socket?.destroy();
    });
    for (const user of [...this.#users]) user.lineLost();
  }
}

class UndiciConnection implements PooledConnection<Outgoing>, Carrier, Dated, Dispatcher.DispatchHandler {
  watchIndex = 0;
  readonly #owner: ConnectionOwner<Outgoing>;
  readonly #line: Line;
  #call: OpenCall<Outgoing> | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** The end of its time in the pool. */
  #dueMs = Number.POSITIVE_INFINITY;
  #gone = false;
  #isHeldBack = false;
  #hasAnswered = false;
  /** When the call's request was sent on a connection that had been idle; undefined: it may not be repeated. */
  #reusedAtMs: number | undefined;

  constructor(owner: ConnectionOwner<Outgoing>, line: Line, call: OpenCall<Outgoing>) {
    this.#owner = owner;
    this.#line = line;
    line.join(this);
    owner.deadlines.add(this);
    this.#begin(call);
  }

  run(call: OpenCall<Outgoing>): boolean {
    if (this.#gone || !this.#line.isUsable) return false;
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#reusedAtMs = call.isRepeatable ? this.#owner.deadlines.clock.monotonicMs() : undefined;
    this.#begin(call);
    return true;
  }

  pause(): void {
    this.#isHeldBack = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#isHeldBack = false;
    // Later: undici's parser cannot be resumed within a callback of another connection.
    queueMicrotask(() => {
      if (!this.#isHeldBack) this.#controller?.resume();
    });
  }

  drop(): void {
    this.#call = undefined;
    this.#lose(undefined);
  }

  dueMs(): number {
    return this.#dueMs;
  }

  expire(): void {
    if (this.#dueMs <= this.#owner.deadlines.clock.monotonicMs()) this.drop();
  }

  /** Its network connection is gone. A running call is told by undici. */
  lineLost(): void {
    if (this.#call === undefined) this.#lose(undefined);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#call === undefined) controller.abort(new Error("cancelled"));
    else if (this.#isHeldBack) controller.pause();
  }

  /** The first byte of an answer; undici's types lack this callback. */
  onResponseStarted(): void {
    this.#heard();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) return;
    this.#hasAnswered = true;
    this.#call?.onHead(status, { record: () => joined(headers) });
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#call?.onBody(bytes);
  }

  onResponseEnd(): void {
    const call = this.#call;
    this.#call = undefined;
    this.#controller = undefined;
    this.#isHeldBack = false;
    this.#hasAnswered = false;
    // undici closes, after this callback, what the answer leaves unfit for another call.
    queueMicrotask(() => {
      if (this.#gone) return;
      if (!this.#line.isUsable) return this.#lose(undefined);
      const { deadlines, keepMsMax } = this.#owner;
      this.#dueMs = deadlines.clock.monotonicMs() + Math.min(KEEP_MS, keepMsMax);
      deadlines.noLaterThan(this.#dueMs);
      this.#owner.release(this);
    });
    call?.onComplete();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, thrown: Error): void {
    this.#lose(errorOf(thrown, this.#hasAnswered));
  }

  #begin(call: OpenCall<Outgoing>): void {
    this.#call = call;
    call.attach(this);
    const request = call.takeRequest(this.#reusedAtMs === undefined);
    if (request === undefined) return;
    this.#line.client.dispatch(request, this);
  }

  #heard(): void {
    if (this.#reusedAtMs === undefined) return;
    this.#reusedAtMs = undefined;
    this.#call?.forgetRequest();
  }

  /** `error` is for the call, if there is one. */
  #lose(error: HttpError | undefined): void {
    if (this.#gone) return;
    this.#gone = true;
    const call = this.#call;
    const hasCrossed = this.#hasCrossed();
    this.#call = undefined;
    this.#owner.deadlines.delete(this);
    // With HTTP/2 this ends one stream; with HTTP/1.1 nobody else is on the connection, and it is closed.
    const controller = this.#controller;
    if (error === undefined && controller !== undefined) controller.abort(new Error("cancelled"));
    this.#controller = undefined;
    this.#line.leave(this);
    if (error?.kind === "reset" && call !== undefined && hasCrossed) return this.#owner.replace(this, call);
    this.#owner.lose(this);
    if (error !== undefined) call?.onLost(error);
  }

  /** The other side closed it as idle while the request was on its way. */
  #hasCrossed(): boolean {
    if (this.#reusedAtMs === undefined) return false;
    return this.#owner.deadlines.clock.monotonicMs() - this.#reusedAtMs <= CROSSING_MS;
  }
}

function joined(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const record: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(":"))
      record[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return record;
}

/** Broken off, whatever the parser calls it. */
const TRUNCATED: ReadonlySet<string> = new Set([
  "HPE_INVALID_EOF_STATE",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
]);
const UNSENDABLE: ReadonlySet<string> = new Set([
  "UND_ERR_INVALID_ARG",
  "UND_ERR_NOT_SUPPORTED",
  "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH",
]);
const MALFORMED = /^(?:HPE_|UND_ERR_HEADERS_OVERFLOW$|ERR_HTTP2_(?:SESSION_ERROR|ERROR)$)/;
/** An answer that no request asked for, which undici reports as a failure of the socket. */
const UNASKED = /^bad (?:response|upgrade)$/;

function errorOf(thrown: Error, hasAnswered: boolean): HttpError {
  const code = "code" in thrown ? String(thrown.code) : "";
  if (UNSENDABLE.has(code))
    return { kind: "protocol", reason: `could not be asked: ${thrown.message}`, cause: thrown };
  const isTruncated = TRUNCATED.has(code);
  if (!isTruncated && (MALFORMED.test(code) || UNASKED.test(thrown.message)))
    return { kind: "protocol", reason: "answered with malformed HTTP", cause: thrown };
  // undici's own codes say no more than the system's.
  const isOwn = isTruncated || code.startsWith("UND_ERR_") || code.startsWith("ERR_HTTP2_");
  const cause = isOwn ? codedError("ECONNRESET", thrown.message) : thrown;
  if (hasAnswered) return { kind: "reset", reason: "connection lost before the answer was complete", cause };
  const isReset = isOwn || code === "ECONNRESET" || code === "EPIPE";
  return { kind: isReset ? "reset" : "unreachable", reason: "unreachable", cause };
}
