/**
 * Reads one HTTP/1.1 answer after another from a keep-alive connection, at a fraction of a real client's cost: sized
 * and chunked bodies, no pipelining, no trailers kept. Bodies are counted, not collected.
 */
import { EventCounter } from "./event-counter.ts";

type Part = "head" | "sized" | "chunk-size" | "chunk" | "chunk-end" | "trailer" | "complete" | "malformed";

const HEAD_CHARACTERS_MAX = 65_536;
const EXCERPT_CHARACTERS_MAX = 300;
const CARRIAGE_RETURN = 13;
const NEW_LINE = 10;

export class ResponseReader {
  /** 0 until the head has come. */
  status = 0;
  /** The first characters of an answer that is not 200, to show in an error. */
  excerpt = "";
  readonly events = new EventCounter();
  #part: Part = "head";
  #head = "";
  #left = 0;
  #lineLength = 0;

  /** Takes the next bytes. True when the answer is complete, or cannot be read: see `malformed`. */
  push(bytes: Buffer, length: number): boolean {
    let at = 0;
    while (at < length && this.#part !== "complete" && this.#part !== "malformed") {
      if (this.#part === "head") at = this.#readHead(bytes, at, length);
      else if (this.#part === "sized" || this.#part === "chunk") at = this.#readBody(bytes, at, length);
      else at = this.#readFraming(bytes, at, length);
    }
    if (at < length) this.#part = "malformed";
    return this.#part === "complete" || this.#part === "malformed";
  }

  /** The bytes were not one HTTP answer, or more than one. */
  get malformed(): boolean {
    return this.#part === "malformed";
  }

  /** Ready for the next answer on the same connection. */
  reset(): void {
    this.status = 0;
    this.excerpt = "";
    this.events.reset();
    this.#part = "head";
    this.#head = "";
    this.#left = 0;
    this.#lineLength = 0;
  }

  #readHead(bytes: Buffer, at: number, length: number): number {
    const before = this.#head.length;
    this.#head += bytes.toString("latin1", at, length);
    const end = this.#head.indexOf("\r\n\r\n");
    if (end < 0) {
      if (this.#head.length > HEAD_CHARACTERS_MAX) this.#part = "malformed";
      return length;
    }
    const head = this.#head.slice(0, end + 2);
    this.status = Number(head.slice(9, 12));
    const sized = /\r\ncontent-length: *(\d+)\r\n/i.exec(head);
    if (sized !== null) {
      this.#left = Number(sized[1]);
      this.#part = this.#left === 0 ? "complete" : "sized";
    } else {
      this.#part = /\r\ntransfer-encoding: *chunked\r\n/i.test(head) ? "chunk-size" : "malformed";
    }
    return at + end + 4 - before;
  }

  #readBody(bytes: Buffer, at: number, length: number): number {
    const end = Math.min(length, at + this.#left);
    if (this.#part === "chunk") this.events.push(bytes, at, end);
    if (this.status !== 200 && this.excerpt.length < EXCERPT_CHARACTERS_MAX) {
      this.excerpt += bytes.toString("utf8", at, Math.min(end, at + EXCERPT_CHARACTERS_MAX));
    }
    this.#left -= end - at;
    if (this.#left === 0) this.#part = this.#part === "chunk" ? "chunk-end" : "complete";
    return end;
  }

  /** Reads one byte of what stands around chunks: sizes in hex, line ends, and the empty line after the last. */
  #readFraming(bytes: Buffer, at: number, length: number): number {
    for (let n = at; n < length; n++) {
      const byte = bytes[n];
      if (byte === CARRIAGE_RETURN) continue;
      if (byte !== NEW_LINE) {
        if (this.#part === "chunk-size")
          this.#left = this.#left * 16 + Number.parseInt(String.fromCharCode(byte ?? 0), 16);
        this.#lineLength++;
        continue;
      }
      if (this.#part === "chunk-end") this.#part = "chunk-size";
      else if (this.#part === "chunk-size") this.#part = this.#left > 0 ? "chunk" : "trailer";
      else if (this.#lineLength === 0) this.#part = "complete";
      if (Number.isNaN(this.#left)) this.#part = "malformed";
      this.#lineLength = 0;
      if (this.#part !== "trailer" && this.#part !== "chunk-size") return n + 1;
    }
    return length;
  }
}
