/**
 * A body in chunks (RFC 9112 section 7.1), decoded in place: the chunks of one network read are moved together
 * in its buffer, so that they go on as one piece without a copy of their own.
 */
import { MALFORMED, TEXT_BYTES } from "./response-head.ts";

const LF = 10;
const CR = 13;
const SEMICOLON = 59;
/** 52 bits, so that sizes stay exact. */
const SIZE_DIGITS_MAX = 13;
/** Of all chunks of a body: extensions are unused, but a hostile answer could consist of them. */
const EXTENSION_BYTES_MAX = 16 * 1024;

const SIZE = 0;
const EXTENSION = 1;
const SIZE_END = 2;
const DATA = 3;
const DATA_CR = 4;
const DATA_END = 5;

export class ChunkedBody {
  /** The last chunk has been read; trailers and the empty line follow. */
  last = false;
  /** Where in the bytes just read the body's own now lie; both 0 when there were none. */
  from = 0;
  to = 0;
  #state = SIZE;
  /** Of the chunk: its size as far as read, then the bytes still to come. */
  #left = 0;
  #digits = 0;
  #extensionBytes = 0;

  /** Where it stopped: at `end`, or behind the line of the last chunk; or MALFORMED. Overwrites chunk sizes. */
  read(bytes: Buffer, begin: number, end: number): number {
    this.from = 0;
    this.to = 0;
    let at = begin;
    while (at < end) {
      if (this.#state === DATA) {
        at = this.#data(bytes, at, end);
        continue;
      }
      if (!this.#frame(bytes[at++] ?? 0)) return MALFORMED;
      if (this.last) return at;
    }
    return at;
  }

  #data(bytes: Buffer, at: number, end: number): number {
    const next = Math.min(at + this.#left, end);
    if (this.to === 0) {
      this.from = at;
      this.to = next;
    } else {
      bytes.copyWithin(this.to, at, next);
      this.to += next - at;
    }
    this.#left -= next - at;
    if (this.#left === 0) this.#state = DATA_CR;
    return next;
  }

  /** A byte that is not the body's own. False: it is not allowed here. */
  #frame(byte: number): boolean {
    switch (this.#state) {
      case SIZE: {
        const digit = hexDigit(byte);
        if (digit < 0) return this.#digits > 0 && this.#afterSize(byte);
        this.#left = this.#left * 16 + digit;
        return ++this.#digits <= SIZE_DIGITS_MAX;
      }
      case EXTENSION:
        if (byte === CR) this.#state = SIZE_END;
        else return TEXT_BYTES[byte] === 1 && ++this.#extensionBytes <= EXTENSION_BYTES_MAX;
        return true;
      case SIZE_END:
        this.#state = DATA;
        this.#digits = 0;
        this.last = this.#left === 0;
        return byte === LF;
      case DATA_CR:
        this.#state = DATA_END;
        return byte === CR;
      default:
        this.#state = SIZE;
        return byte === LF;
    }
  }

  #afterSize(byte: number): boolean {
    this.#state = byte === CR ? SIZE_END : EXTENSION;
    return byte === CR || byte === SEMICOLON;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 0x20;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
