/**
 * A client's body on its way to the upstream, as it comes and no faster than it is taken. What is small is kept, so
 * that it can go a second time. Knows nothing of answers.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { askForBody } from "../../http/respond.ts";
import { trailers } from "./headers.ts";
import { handOver } from "./piece.ts";

export interface UploadOptions {
  /** The endpoint's headers, which no trailer may stand in for. */
  readonly own: readonly string[];
  readonly bytesMax: number;
  /** Told once when the body is longer; nothing more of it is passed on. */
  readonly tooLarge: () => void;
}

/** Bodies up to this length can go again. */
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

  /** Sends what has come, and all that comes from now on, to this request. */
  to(out: ClientRequest): void {
    this.#out = out;
    for (const part of this.#kept ?? []) out.write(part);
    if (this.#hasEnded) return this.#finish(out);
    // The upstream may have something to say before the body comes.
    out.flushHeaders();
    out.on("drain", () => {
      if (this.#out === out) this.#req.resume();
    });
    this.#begin();
    this.#req.resume();
  }

  /**
   * Sends no more to where it went, and runs `then` once the body is here whole, to go again. False, and nothing has
   * changed, when it is or may become too long to be kept.
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

  /** Nobody wants the rest: it is read and dropped. */
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
    // Answered by the gateway, for its own connection (RFC 9110, section 10.1.1), now that somebody takes the body.
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
