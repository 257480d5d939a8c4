/**
 * One connection to a provider: one call on it at a time, kept for the next one when its answer leaves it fit for that.
 *
 * A prompt is paid for each time that a provider works on it, so a request is written once (RFC 9112 section 9.3.1), with
 * one exception: a connection that had been idle and is closed right after the request was written, before a byte of an
 * answer, was closed by the other side as unused. Then the request is sent once more, on a new connection.
 */
import type { Socket } from "node:net";
import { flushInBatch } from "../../base/batching.ts";
import type { ConnectionOwner, PooledConnection } from "../connection-pool.ts";
import type { Dated } from "../deadlines.ts";
import { codedError, type HttpError } from "../http-client.ts";
import type { Carrier, OpenCall } from "../open-call.ts";
import { type Connector, READ_BUFFER, type SocketEvents } from "./connect.ts";
import type { Outgoing } from "./outgoing.ts";
import { exceedsShare, type ShareReader, waitForShare } from "./read-share.ts";
import { ResponseParser } from "./response-parser.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** Idle time where the provider does not announce its own. */
const KEEP_MS = 30_000;
/** Before the provider's own time is over, so that no request crosses its goodbye. */
const KEEP_MARGIN_MS = 1_000;
/** So long a request and the other side's close may be on their way towards each other. */
const CROSSING_MS = 250;

export class Connection implements PooledConnection<Outgoing>, Carrier, Dated, SocketEvents, ShareReader {
  watchIndex = 0;
  readonly #owner: ConnectionOwner<Outgoing>;
  readonly #socket: Socket;
  readonly #parser = new ResponseParser();
  /** undefined while it is free. */
  #call: OpenCall<Outgoing> | undefined;
  /** End of the connecting, or of the waiting for another call. */
  #dueMs: number;
  #gone = false;
  /** The call is paused. */
  #isHeldBack = false;
  /** Others are read before it. */
  #isWaiting = false;
  /** When the request of the call was written to the connection, which had been idle; undefined: it may not be repeated. */
  #reusedAtMs: number | undefined;

  /** Opens it, for this call. */
  constructor(owner: ConnectionOwner<Outgoing>, connect: Connector, call: OpenCall<Outgoing>) {
    this.#owner = owner;
    this.#call = call;
    this.#dueMs = owner.deadlines.clock.monotonicMs() + CONNECT_TIMEOUT_MS;
    this.#socket = connect(this);
    call.attach(this);
    owner.deadlines.add(this);
  }

  /** Takes the next call. False: it cannot, the other side has left meanwhile. */
  run(call: OpenCall<Outgoing>): boolean {
    if (this.#gone || !this.#socket.writable || this.#socket.readableEnded) return false;
    this.#call = call;
    call.attach(this);
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#reusedAtMs = call.isRepeatable ? this.#owner.deadlines.clock.monotonicMs() : undefined;
    this.#write(call);
    return true;
  }

  pause(): void {
    this.#isHeldBack = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isHeldBack = false;
    if (!this.#isWaiting) this.#socket.resume();
  }

  readOn(): void {
    this.#isWaiting = false;
    if (!this.#isHeldBack && !this.#gone) this.#socket.resume();
  }

  /** Ends it; its call, if it has one, hears nothing more. */
  drop(): void {
    this.#call = undefined;
    this.#lose(undefined);
  }

  dueMs(): number {
    return this.#dueMs;
  }

  expire(): void {
    if (this.#dueMs > this.#owner.deadlines.clock.monotonicMs()) return;
    this.#lose({
      kind: "unreachable",
      reason: "unreachable",
      cause: codedError("ETIMEDOUT", "no connection in time"),
    });
  }

  onOpen(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
    if (this.#call !== undefined) this.#write(this.#call);
  }

  onRead(length: number): void {
    const call = this.#call;
    const parser = this.#parser;
    if (call === undefined) {
      // Nothing was asked: it would be taken for the answer to the next call.
      this.drop();
      return;
    }
    if (this.#reusedAtMs !== undefined) {
      this.#reusedAtMs = undefined;
      call.forgetRequest();
    }
    const headBefore = parser.headComplete;
    const sound = parser.read(READ_BUFFER, length);
    if (!headBefore && parser.headComplete) call.onHead(parser.head.status, parser.head);
    if (parser.body !== undefined && this.#call === call) call.onBody(parser.body);
    // The handler may have canceled the call.
    if (this.#call !== call) return;
    if (!sound) this.#lose({ kind: "protocol", reason: "answered with malformed HTTP", cause: undefined });
    else if (parser.complete) this.#done(call);
    else if (exceedsShare(length)) {
      this.#isWaiting = true;
      this.#socket.pause();
      waitForShare(this);
    }
  }

  onEnd(): void {
    const call = this.#call;
    if (call !== undefined && this.#parser.end()) this.#done(call);
    else this.#lose(this.#lost(codedError("ECONNRESET", "the other side closed the connection"), true));
  }

  onClose(cause: Error | undefined): void {
    const code = cause !== undefined && "code" in cause ? cause.code : undefined;
    this.#lose(this.#lost(cause, code === "ECONNRESET" || code === "EPIPE"));
  }

  #lost(cause: Error | undefined, reset: boolean): HttpError {
    return this.#parser.headComplete
      ? { kind: "reset", reason: "connection lost before the answer was complete", cause }
      : { kind: reset ? "reset" : "unreachable", reason: "unreachable", cause };
  }

  #write(call: OpenCall<Outgoing>): void {
    const write = (): void => {
      // Absent when the call has been canceled meanwhile.
      const request = call.takeRequest(this.#reusedAtMs === undefined);
      if (request !== undefined) this.#socket.write(request.text, request.encoding);
    };
    flushInBatch(write, this, Connection.#writeFailed);
  }

  static #writeFailed(connection: Connection, cause: unknown): void {
    connection.#lose({ kind: "fault", reason: "internal error", cause });
  }

  #done(call: OpenCall<Outgoing>): void {
    this.#call = undefined;
    if (this.#mayStay()) this.#owner.release(this);
    else this.#lose(undefined);
    call.onComplete();
  }

  /** And makes it ready for the next call. */
  #mayStay(): boolean {
    const { reusable, head } = this.#parser;
    const keepMs =
      head.keepAliveSeconds === undefined ? KEEP_MS : head.keepAliveSeconds * 1000 - KEEP_MARGIN_MS;
    // After an answer that precedes the end of its request, the rest of the request would be in the way.
    if (!reusable || keepMs <= 0 || this.#socket.writableLength > 0) return false;
    this.#parser.reset();
    this.#isHeldBack = false;
    if (this.#socket.isPaused()) this.#socket.resume();
    const { deadlines, keepMsMax } = this.#owner;
    this.#dueMs = deadlines.clock.monotonicMs() + Math.min(keepMs, keepMsMax);
    deadlines.noLaterThan(this.#dueMs);
    return true;
  }

  /** The end of it, whatever state it is in; `error` is for the call it has. */
  #lose(error: HttpError | undefined): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#socket.destroy();
    const call = this.#call;
    this.#call = undefined;
    this.#owner.deadlines.delete(this);
    if (error?.kind === "reset" && call !== undefined && this.#hasCrossed()) {
      this.#owner.replace(this, call);
      return;
    }
    this.#owner.lose(this);
    if (error !== undefined) call?.onLost(error);
  }

  /** The other side closed it as idle while the request was on its way. */
  #hasCrossed(): boolean {
    if (this.#reusedAtMs === undefined) return false;
    return this.#owner.deadlines.clock.monotonicMs() - this.#reusedAtMs <= CROSSING_MS;
  }
}
