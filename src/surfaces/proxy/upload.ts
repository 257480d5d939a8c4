/** Streams a client's body to the upstream with backpressure. Small bodies are kept, so that they can be sent again. */
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { MessageChannel } from "node:worker_threads";
import { askForBody } from "../../http/respond.ts";
import { trailers } from "./headers.ts";

export interface UploadOptions {
  /** The endpoint's headers, which no trailer may replace. */
  readonly own: readonly string[];
  readonly bytesMax: number;
  /** Called once when the body is longer; the rest of it is not passed on. */
  readonly tooLarge: () => void;
}

/** Bodies up to this length can be sent again. */
export const KEPT_BYTES_MAX = 65_536;

export class Upload {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #options: UploadOptions;
  #kept: Buffer[] | undefined = [];
  #bytes = 0;
  #out: ClientRequest | undefined;
  #isReading = false;
  #hasEnded: boolean;
  #atEnd: (() => void) | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, options: UploadOptions) {
    this.#req = req;
    this.#res = res;
    this.#options = options;
    const { "transfer-encoding": coding, "content-length": length } = req.headers;
    this.#hasEnded = coding === undefined && Number(length ?? 0) === 0;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sends what has been received, and everything that follows, to this request. */
  to(out: ClientRequest): void {
    this.#out = out;
    for (const part of this.#kept ?? []) out.write(part);
    if (this.#hasEnded) return this.#finish(out);
    // The upstream may respond before the body arrives.
    out.flushHeaders();
    out.on("drain", () => {
      if (this.#out === out) this.#req.resume();
    });
    this.#begin();
    this.#req.resume();
  }

  /**
   * Detaches from the current request and runs `then` once the whole body has been received. False, without any change,
   * when the body is or may become too long to be kept.
   */
  again(then: () => void): boolean {
    if (this.#kept === undefined) return false;
    const { "content-length": length } = this.#req.headers;
    if (!this.#hasEnded && !(Number(length) <= KEPT_BYTES_MAX)) return false;
    this.#out = undefined;
    if (this.#hasEnded) {
      queueMicrotask(then);
      return true;
    }
    this.#atEnd = then;
    this.#begin();
    this.#req.resume();
    return true;
  }

  /** Reads and discards the rest. */
  abandon(): void {
    this.#out = undefined;
    this.#kept = undefined;
    this.#atEnd = undefined;
    this.#req.resume();
  }

  #begin(): void {
    const req = this.#req;
    if (this.#isReading) return;
    this.#isReading = true;
    // 100-continue belongs to this connection (RFC 9110, section 10.1.1).
    askForBody(req, this.#res);
    req.on("data", (part: Buffer) => this.#take(part));
    req.on("end", () => {
      this.#hasEnded = true;
      if (this.#out !== undefined) this.#finish(this.#out);
      this.#atEnd?.();
    });
  }

  #take(part: Buffer): void {
    const { bytesMax, tooLarge } = this.#options;
    if (this.#bytes > bytesMax) return;
    this.#bytes += part.length;
    if (this.#bytes > bytesMax) return tooLarge();
    if (this.#bytes > KEPT_BYTES_MAX) this.#kept = undefined;
    this.#kept?.push(part);
    const out = this.#out;
    if (out === undefined) return;
    const goesOn = this.#kept === undefined ? handOver(part, out) : out.write(part);
    if (!goesOn) this.#req.pause();
  }

  #finish(out: ClientRequest): void {
    const behind = trailers(this.#req, this.#options.own);
    if (behind.length > 0) out.addTrailers(behind);
    out.end();
  }
}

/** The garbage collector frees smaller ones for less. */
const FREED_BYTES_MIN = 4_096;

/**
 * A port whose other end is closed: a buffer that is transferred to it is freed at once. V8 counts the bytes of buffers
 * and would mark the whole heap for every 16 MB that pass. Newer Node versions have `ArrayBuffer.transfer`.
 */
const freed = portToFree();

/** Writes a chunk and frees it once it is written. False: wait for 'drain'. */
export function handOver(part: Buffer, to: Writable): boolean {
  const { buffer } = part;
  const isShared = !(buffer instanceof ArrayBuffer) || buffer.byteLength !== part.byteLength;
  if (isShared || part.byteLength < FREED_BYTES_MIN) return to.write(part);
  return to.write(part, (error) => {
    // After a failure the kernel may still read from it.
    if (!error) freed.postMessage(null, [buffer]);
  });
}

function portToFree(): MessageChannel["port1"] {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}
