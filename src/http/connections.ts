/**
 * The open connections of one listener and their limits: connections per address, time of a head, rates of sending a body
 * and of reading a response. A connection over a limit is closed.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { networkOf, peerAddress } from "./client-address.ts";

/** Time for a whole head to arrive, counted from its first byte or from the connection's beginning. */
export const HEAD_TIMEOUT_MS = 10_000;
/** Minimum rate of bodies and responses in bytes per second, averaged over a window. */
export const RATE_BYTES_MIN = 240;
export const BODY_WINDOW_MS = 15_000;
/**
 * Shorter than for bodies, so that a client which reads nothing is gone within 30 s: the kernel takes some 1 MB for it,
 * and when it probes the closed window, within some 10 s, up to 3 MB more, which looks as if the client had read.
 */
export const READER_WINDOW_MS = 10_000;
/** How often connections are examined. */
export const CHECK_MS = 1_000;
/** Connections closed at a time, and the pause between batches: other calls do not wait until hundreds are closed. */
const CLOSES_MAX = 16;
const CLOSES_PAUSE_MS = 20;
/** How long a refused connection stays open, so that its peer can read the refusal while it still sends. */
export const LINGER_MS = 2_000;

export type CloseReason = "address_limit" | "slow_head" | "slow_body" | "slow_reader";

export interface ConnectionsOptions {
  readonly clock: Clock;
  /** Connections that one address may hold. An IPv6 address counts with its /64 network. */
  readonly perAddressMax: number;
  /** Addresses without that limit: trusted proxies, whose connections carry many clients. */
  readonly isExempt: (address: string) => boolean;
  /** Called for each connection that is closed for a limit. */
  readonly closed: (reason: CloseReason) => void;
  /** Answers a head that takes too long. */
  readonly headTooSlow: (connection: ClientConnection) => void;
}

/** Bytes at the beginning of the window that is being measured. */
interface Mark {
  bytes: number;
  atMs: number;
}

export interface ClientConnection {
  readonly socket: Socket;
  readonly network: string;
  /** The latest request and its response: responses are sent in order, so this one is open while any is. */
  req: IncomingMessage | undefined;
  res: ServerResponse | undefined;
  /** Responses to pipelined requests that began while an earlier one was open. */
  readonly queued: Set<ServerResponse>;
  /** Set once the connection is refused: further bytes are discarded. */
  refused: boolean;
  /**
   * Bytes received when the last request ended, and since when a head is awaited: from the connection's beginning,
   * afterwards from the first byte behind that request.
   */
  readonly head: { bytes: number; sinceMs: number | undefined };
  body: Mark | undefined;
  reader: Mark | undefined;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, ClientConnection>();
  readonly #perNetwork = new Map<string, number>();
  #check: Timer | undefined;
  /** Closed for a limit in the current examination. */
  #closes = 0;
  #isDraining = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** A new connection; destroyed when its address has too many. */
  accept(socket: Socket): void {
    const { clock, perAddressMax, isExempt, closed } = this.#options;
    const address = peerAddress(socket);
    const network = networkOf(address);
    const held = this.#perNetwork.get(network) ?? 0;
    if (held >= perAddressMax && !isExempt(address)) {
      closed("address_limit");
      return void socket.destroy();
    }
    this.#perNetwork.set(network, held + 1);
    const connection: ClientConnection = {
      ...{ socket, network, req: undefined, res: undefined, queued: new Set(), refused: false },
      head: { bytes: 0, sinceMs: clock.monotonicMs() },
      ...{ body: undefined, reader: undefined },
    };
    this.#open.set(socket, connection);
    socket.once("close", () => this.#gone(connection));
    this.#watch();
  }

  of(socket: Socket): ClientConnection | undefined {
    return this.#open.get(socket);
  }

  /** A request has arrived on its connection. */
  began(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#open.get(req.socket);
    if (connection === undefined) return;
    if (connection.res !== undefined && !connection.res.writableFinished) {
      connection.queued.add(res);
      res.once("close", () => connection.queued.delete(res));
    }
    connection.req = req;
    connection.res = res;
    connection.body = undefined;
    res.on("finish", () => this.#answered(connection, res));
    this.#watch();
  }

  /** Ends a refused connection: at once when its peer closes, else when the linger time is over. */
  linger({ socket }: ClientConnection): void {
    const last = this.#options.clock.after(LINGER_MS, () => socket.destroy());
    socket.once("close", () => last.cancel());
  }

  /**
   * Closes the connections between two requests, now and as they come to be. One that has not sent a byte is kept: its
   * first request may be on its way.
   */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#open.values())
      if (connection.head.sinceMs === undefined) closeIfIdle(connection);
    // Node no longer checks the time of heads once its server is closed.
    if (this.#open.size > 0) this.#watch();
  }

  /** Closes the connections that have not sent a byte. */
  closeSilent(): void {
    for (const { socket } of this.#open.values()) if (socket.bytesRead === 0) socket.destroy();
  }

  /** An answer is out: unless another request has arrived behind its own, a head begins with the next byte. */
  #answered(connection: ClientConnection, res: ServerResponse): void {
    const { socket, req, head } = connection;
    if (connection.res !== res || req === undefined) return;
    if (!req.complete) return void req.once("end", () => this.#answered(connection, res));
    connection.req = undefined;
    connection.res = undefined;
    head.bytes = socket.bytesRead;
    head.sinceMs = undefined;
    if (this.#isDraining) closeIfIdle(connection);
  }

  #gone({ socket, network, queued }: ClientConnection): void {
    this.#open.delete(socket);
    // Node emits 'close' only for the current response.
    for (const res of [...queued]) res.emit("close");
    const held = (this.#perNetwork.get(network) ?? 1) - 1;
    if (held > 0) this.#perNetwork.set(network, held);
    else this.#perNetwork.delete(network);
  }

  #watch(afterMs = CHECK_MS): void {
    this.#check ??= this.#options.clock.after(afterMs, () => this.#examine());
  }

  #examine(): void {
    this.#check = undefined;
    this.#closes = 0;
    const nowMs = this.#options.clock.monotonicMs();
    let isWatching = false;
    for (const connection of this.#open.values()) {
      if (connection.refused) continue;
      this.#enforceRates(connection, nowMs);
      if (this.#isUnderWay(connection, nowMs)) isWatching = true;
      if (this.#closes >= CLOSES_MAX) return this.#watch(CLOSES_PAUSE_MS);
    }
    // Node closes idle connections; the next request starts the examination again.
    if (isWatching) this.#watch();
  }

  #enforceRates(connection: ClientConnection, nowMs: number): void {
    const { socket, req } = connection;
    const unread = socket.writableLength;
    const sent = unread === 0 ? 0 : socket.bytesWritten - unread;
    connection.reader = unread === 0 ? undefined : advanced(connection.reader, sent, nowMs, READER_WINDOW_MS);
    if (isTooSlow(connection.reader, sent, nowMs, READER_WINDOW_MS))
      return this.#close(socket, "slow_reader");
    // A paused body (a slower upstream) says nothing about the rate of its sender.
    const isSending = req !== undefined && !req.complete && req.readableFlowing === true;
    connection.body = isSending
      ? advanced(connection.body, socket.bytesRead, nowMs, BODY_WINDOW_MS)
      : undefined;
    if (isTooSlow(connection.body, socket.bytesRead, nowMs, BODY_WINDOW_MS)) this.#close(socket, "slow_body");
  }

  /** Whether a request, response or head is in progress. Refuses a head that takes too long. */
  #isUnderWay(connection: ClientConnection, nowMs: number): boolean {
    if (isBusy(connection)) return true;
    const { socket, head } = connection;
    if (head.sinceMs === undefined) {
      if (socket.bytesRead === head.bytes) return false;
      head.sinceMs = nowMs;
    }
    if (nowMs - head.sinceMs < HEAD_TIMEOUT_MS) return true;
    this.#closes += 1;
    this.#options.closed("slow_head");
    this.#options.headTooSlow(connection);
    return false;
  }

  #close(socket: Socket, reason: CloseReason): void {
    this.#closes += 1;
    this.#options.closed(reason);
    // With a reset: after close() the kernel would keep unread bytes, up to 4 MB per connection, for minutes.
    socket.resetAndDestroy();
  }
}

/** A request is being received or answered. */
export function isBusy({ req, res }: ClientConnection): boolean {
  if (req === undefined || res === undefined) return false;
  return !req.complete || !(res.writableFinished || res.destroyed);
}

function closeIfIdle(connection: ClientConnection): void {
  const { socket, head, refused } = connection;
  // A refused connection ends when its linger time does.
  if (!refused && !isBusy(connection) && socket.bytesRead === head.bytes) socket.destroy();
}

/** The start of the measurement: a new one when the rate of the window was sufficient. */
function advanced(mark: Mark | undefined, bytes: number, nowMs: number, windowMs: number): Mark {
  if (mark === undefined) return { bytes, atMs: nowMs };
  return bytes - mark.bytes >= bytesMin(windowMs) ? { bytes, atMs: nowMs } : mark;
}

function isTooSlow(mark: Mark | undefined, bytes: number, nowMs: number, windowMs: number): boolean {
  if (mark === undefined || nowMs - mark.atMs < windowMs) return false;
  return bytes - mark.bytes < bytesMin(windowMs);
}

function bytesMin(windowMs: number): number {
  return (RATE_BYTES_MIN * windowMs) / 1000;
}
