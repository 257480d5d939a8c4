/**
 * Open streams at a fixed number, each begun anew when it ends, and how late their chunks come: the mock upstream
 * writes into each when it was sent. Loopback only; both clocks are the machine's.
 */
import { connect, type Socket } from "node:net";

export interface StreamPlan {
  readonly port: number;
  /** A whole HTTP/1.1 request as bytes. */
  readonly request: Buffer;
  readonly streams: number;
  /** Between the beginnings of two streams, so that they do not run in step. */
  readonly staggerMs: number;
}

const STAMP = Buffer.from("sent@");
const STAMP_DIGITS = 16;
const END = Buffer.from("0\r\n\r\n");
const HEAD_OK = "HTTP/1.1 200 ";
const READ_BUFFER = Buffer.alloc(65_536);

export class StreamDelays {
  /** From a request to the first chunk of its answer, since the latest `begin`. */
  firstChunksMs: number[] = [];
  /** From the provider's write to the client's read, since the latest `begin`. */
  chunksMs: number[] = [];
  /** What went wrong first; "" while nothing has. */
  failure = "";
  readonly #plan: StreamPlan;
  readonly #clients: StreamClient[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(plan: StreamPlan) {
    this.#plan = plan;
    this.#timer = setInterval(() => this.#open(), plan.staggerMs);
  }

  /** Whether all streams have been begun. */
  get isComplete(): boolean {
    return this.#clients.length === this.#plan.streams;
  }

  begin(): void {
    this.firstChunksMs = [];
    this.chunksMs = [];
  }

  close(): void {
    clearInterval(this.#timer);
    for (const client of this.#clients) client.socket.destroy();
  }

  fail(reason: string): void {
    if (this.failure === "") this.failure = reason;
    this.close();
  }

  #open(): void {
    if (this.isComplete) return clearInterval(this.#timer);
    this.#clients.push(new StreamClient(this.#plan, this));
  }
}

class StreamClient {
  readonly socket: Socket;
  readonly #plan: StreamPlan;
  readonly #delays: StreamDelays;
  #startedMs = 0;
  #isFirst = true;
  /** The end of what was read last, in which a stamp or the stream's end may have begun. */
  #tail: Buffer = Buffer.alloc(0);

  constructor(plan: StreamPlan, delays: StreamDelays) {
    this.#plan = plan;
    this.#delays = delays;
    const onread = { buffer: READ_BUFFER, callback: (length: number) => this.#read(length) };
    this.socket = connect({ host: "127.0.0.1", port: plan.port, noDelay: true, onread });
    this.socket.on("connect", () => this.#start());
    this.socket.on("error", (error) => delays.fail(error.message));
    this.socket.on("end", () => delays.fail("the connection closed"));
  }

  #start(): void {
    this.#isFirst = true;
    this.#tail = Buffer.alloc(0);
    this.#startedMs = performance.now();
    this.socket.write(this.#plan.request);
  }

  #read(length: number): boolean {
    const nowUs = Number(process.hrtime.bigint() / 1000n);
    const bytes = Buffer.concat([this.#tail, READ_BUFFER.subarray(0, length)]);
    if (this.#isFirst && bytes.length >= HEAD_OK.length && !bytes.toString("latin1").startsWith(HEAD_OK)) {
      this.#delays.fail(bytes.toString("utf8", 0, 300));
      return true;
    }
    let read = 0;
    for (let at = bytes.indexOf(STAMP); at >= 0; at = bytes.indexOf(STAMP, read)) {
      const end = at + STAMP.length + STAMP_DIGITS;
      if (end > bytes.length) break;
      const sentUs = Number(bytes.toString("latin1", at + STAMP.length, end));
      if (this.#isFirst) this.#delays.firstChunksMs.push(performance.now() - this.#startedMs);
      this.#isFirst = false;
      // Zero: the provider sent it together with the one before.
      if (sentUs > 0) this.#delays.chunksMs.push((nowUs - sentUs) / 1000);
      read = end;
    }
    if (bytes.subarray(-END.length).equals(END)) this.#start();
    else
      this.#tail = Buffer.from(
        bytes.subarray(this.#isFirst ? 0 : Math.max(read, bytes.length - STAMP_DIGITS - STAMP.length)),
      );
    return true;
  }
}
