/**
 * The load generator: a closed loop of keep-alive connections, each sending its next call when the last is answered.
 * It counts and never measures time: a rate is the difference of two tallies and of two clock readings, taken by
 * the caller. Loopback only.
 */
import { connect, type Socket } from "node:net";
import { ResponseReader } from "./response-reader.ts";

export interface LoadPlan {
  readonly port: number;
  /** Whole HTTP/1.1 requests as bytes, sent in turn. At least one. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
  /** Events that every answer must bring, and `[DONE]` after them. Absent: answers are not streams. */
  readonly eventsMin?: number;
  /** The load ends by itself after this many calls. Default: never. */
  readonly callsMax?: number;
}

/** Counts since the load began. */
export interface LoadTally {
  /** Calls answered with 200 and, for streams, whole. */
  readonly calls: number;
  /** `data:` lines of those and of the streams now open, `[DONE]` left out. */
  readonly events: number;
  /** Calls answered with another status, not at all, or in broken HTTP. */
  readonly failed: number;
  /** Streams that ended with fewer events than asked, or without `[DONE]`. */
  readonly incomplete: number;
}

/** A target that fails this often is not worth more calls: the load stops. */
const FAILURES_MAX = 1_000;
/** Connections that may be on their way at once, so that no listen queue overflows. */
const CONNECTING_MAX = 64;
/** Bytes are handed over and forgotten before the next read, so all connections share one. */
const READ_BUFFER = Buffer.alloc(65_536);

export class Load {
  /** Resolves when `callsMax` calls have ended, when too many failed, or at `close`. */
  readonly finished: Promise<void>;
  /** What went wrong first, for an error message. */
  firstFailure = "";
  readonly #plan: LoadPlan;
  readonly #connections: Connection[] = [];
  #finish: () => void = () => {};
  #closed = false;
  #started = 0;
  #calls = 0;
  #events = 0;
  #failed = 0;
  #incomplete = 0;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    for (let n = 0; n < Math.min(CONNECTING_MAX, plan.connections); n++) this.openNext();
  }

  tally(): LoadTally {
    let events = this.#events;
    for (const connection of this.#connections) events += connection.reader.events.events;
    return { calls: this.#calls, events, failed: this.#failed, incomplete: this.#incomplete };
  }

  /** Streams whose head has come and whose end has not. */
  get openStreams(): number {
    return this.#connections.filter((connection) => connection.reader.status !== 0).length;
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections) connection.socket.destroy();
    this.#finish();
  }

  /** Opens one connection more, up to the plan's number. Each calls this once it is connected. */
  openNext(): void {
    if (this.#closed || this.#connections.length >= this.#plan.connections) return;
    this.#connections.push(new Connection(this, this.#plan.port));
  }

  /** The bytes of the next call, or undefined when there is none. */
  nextRequest(): Buffer | undefined {
    if (this.#closed || this.#started >= (this.#plan.callsMax ?? Number.POSITIVE_INFINITY)) return undefined;
    const { requests } = this.#plan;
    return requests[this.#started++ % requests.length];
  }

  /** A whole answer has come. */
  answered(reader: ResponseReader): void {
    const { eventsMin } = this.#plan;
    this.#events += reader.events.events;
    if (reader.malformed) this.fail("an answer that is not HTTP/1.1 with a known length");
    else if (reader.status !== 200) this.fail(`${reader.status} ${reader.excerpt}`);
    else if (eventsMin !== undefined && (reader.events.events < eventsMin || !reader.events.done)) {
      this.#incomplete++;
      this.#note(
        `a stream of ${reader.events.events} events, ${reader.events.done ? "whole" : "without [DONE]"}`,
      );
    } else this.#calls++;
    this.#endWhenDone();
  }

  fail(reason: string): void {
    this.#failed++;
    this.#note(reason);
    this.#endWhenDone();
  }

  get closed(): boolean {
    return this.#closed;
  }

  #note(reason: string): void {
    if (this.firstFailure === "") this.firstFailure = reason;
  }

  #endWhenDone(): void {
    const ended = this.#calls + this.#failed + this.#incomplete;
    if (ended >= (this.#plan.callsMax ?? Number.POSITIVE_INFINITY) || this.#failed >= FAILURES_MAX)
      this.close();
  }
}

/** One client. Reconnects when the server closes; a call that was under way then has failed. */
class Connection {
  readonly reader = new ResponseReader();
  socket: Socket;
  readonly #load: Load;
  readonly #port: number;
  #waiting = false;

  constructor(load: Load, port: number) {
    this.#load = load;
    this.#port = port;
    this.socket = this.#open();
  }

  #open(): Socket {
    const onread = { buffer: READ_BUFFER, callback: (length: number) => this.#read(length) };
    const socket = connect({ host: "127.0.0.1", port: this.#port, noDelay: true, onread });
    let connected = false;
    socket.on("connect", () => {
      connected = true;
      this.#load.openNext();
      this.#send();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#load.closed) return;
      if (this.#waiting || !connected) this.#load.fail(connected ? "the connection closed" : "no connection");
      this.#waiting = false;
      this.reader.reset();
      if (!this.#load.closed) this.socket = this.#open();
    });
    return socket;
  }

  #send(): void {
    const request = this.#load.nextRequest();
    if (request === undefined) return;
    this.#waiting = true;
    this.socket.write(request);
  }

  #read(length: number): boolean {
    if (!this.reader.push(READ_BUFFER, length)) return true;
    this.#waiting = false;
    this.#load.answered(this.reader);
    const usable = !this.reader.malformed;
    this.reader.reset();
    if (usable) this.#send();
    else this.socket.destroy();
    return true;
  }
}
