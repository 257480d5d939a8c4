/**
 * One HTTP/1.1 answer after another, from the reads of one connection. Never answers to a request of the next call what
 * belongs to this one: bytes after an answer make the connection unusable for another.
 */
import { ChunkedBody } from "./chunked-body.ts";
import { INCOMPLETE, MALFORMED, ResponseHead } from "./response-head.ts";

/** Of a head, and of the trailers. */
const HEAD_BYTES_MAX = 16 * 1024;
/** Before the answer itself, such as 100 and 103. */
const INTERIM_MAX = 16;
const LF = 10;

type Part = "head" | "length" | "chunks" | "trailers" | "until close" | "complete";

export class ResponseParser {
  readonly head = new ResponseHead();
  /** What the read just made brought of the body: a part of its buffer, to be used before the next one. */
  body: Buffer | undefined;
  #part: Part = "head";
  /** Of a body of known length. */
  #bytesLeft = 0;
  #chunks: ChunkedBody | undefined;
  /** The beginning of a head, or of trailers, whose rest has not arrived: HEAD_BYTES_MAX at most. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #interim = 0;
  #excess = false;

  /** The head of the answer has been read, not only an interim one. */
  get headComplete(): boolean {
    return this.#part !== "head";
  }

  get complete(): boolean {
    return this.#part === "complete";
  }

  /** Of a complete answer: another may follow on this connection. */
  get reusable(): boolean {
    return this.head.persistent && !this.#excess;
  }

  /** Takes the first `length` bytes, and may move them about. False: this is not HTTP, and `body` what was before. */
  read(bytes: Buffer, length: number): boolean {
    this.body = undefined;
    this.head.forget();
    if (this.#begunBytes === 0) return this.#take(bytes, length);
    const arrived = bytes.subarray(0, length);
    // Joined only when another line is whole: a head that arrives byte by byte costs no more than any other.
    if (!arrived.includes(LF)) return this.#keep(arrived);
    const whole = Buffer.concat([...this.#begun, arrived]);
    this.#begun = [];
    this.#begunBytes = 0;
    return this.#take(whole, whole.length);
  }

  /** The connection has ended. True when that completes the answer. */
  end(): boolean {
    if (this.#part === "until close") this.#part = "complete";
    this.head.persistent = false;
    return this.complete;
  }

  /** Ready for the next answer. */
  reset(): void {
    this.body = undefined;
    this.#part = "head";
    this.#chunks = undefined;
    this.#interim = 0;
    this.#begun = [];
    this.#begunBytes = 0;
  }

  #take(bytes: Buffer, to: number): boolean {
    let at = 0;
    while (this.#part === "head") {
      const from = at;
      at = this.head.read(bytes, from, Math.min(to, from + HEAD_BYTES_MAX));
      if (at === INCOMPLETE) return this.#keep(bytes.subarray(from, to));
      if (at === MALFORMED || !this.#begin()) return false;
    }
    if (this.#part !== "complete") at = this.#readBody(bytes, at, to);
    if (this.#part === "trailers") {
      const from = at;
      at = this.head.skipTrailers(bytes, from, Math.min(to, from + HEAD_BYTES_MAX));
      if (at === INCOMPLETE) return this.#keep(bytes.subarray(from, to));
      if (at === MALFORMED) return false;
      this.#part = "complete";
    }
    this.#excess = this.#part === "complete" && at < to;
    return at !== MALFORMED;
  }

  /** Reads the framing of the body from the head. False when it is not what was requested. */
  #begin(): boolean {
    const { status, contentLength, chunked } = this.head;
    // More must follow an interim answer, and HTTP/1.0 has none.
    if (status < 200) return status !== 101 && this.head.persistent && ++this.#interim <= INTERIM_MAX;
    if (status === 204 || status === 304 || contentLength === 0) this.#part = "complete";
    else if (chunked) {
      this.#part = "chunks";
      this.#chunks = new ChunkedBody();
    } else if (contentLength !== undefined) {
      this.#part = "length";
      this.#bytesLeft = contentLength;
    } else this.#part = "until close";
    return true;
  }

  #readBody(bytes: Buffer, at: number, to: number): number {
    if (this.#part === "trailers") return at;
    const chunks = this.#chunks;
    if (chunks !== undefined) {
      const next = chunks.read(bytes, at, to);
      if (chunks.to > 0) this.body = bytes.subarray(chunks.from, chunks.to);
      if (chunks.last && next >= 0) this.#part = "trailers";
      return next;
    }
    const next = this.#part === "length" ? Math.min(to, at + this.#bytesLeft) : to;
    if (next > at) this.body = bytes.subarray(at, next);
    if (this.#part === "length" && (this.#bytesLeft -= next - at) === 0) this.#part = "complete";
    return next;
  }

  /** A copy, since the buffer of a read is used again. False: no head may be that large. */
  #keep(begun: Buffer): boolean {
    if (begun.length === 0) return true;
    this.#begunBytes += begun.length;
    if (this.#begunBytes >= HEAD_BYTES_MAX) return false;
    this.#begun.push(Buffer.from(begun));
    return true;
  }
}
