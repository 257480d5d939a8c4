/** Bytes that arrive in pieces: the body of an answer that is read whole, and the store that any text is collected in. */

/** Of a whole answer. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** Of an error answer, whose message is at its beginning. */
export const ERROR_BYTES_MAX = 64 * 1024;

/**
 * Bounded: what is beyond the limit is not kept. Bytes are overwritten by the next network read, so it keeps a
 * copy. Most answers are one read.
 */
export class AnswerBody {
  #first: Buffer | undefined;
  #all: ByteStore | undefined;
  #bytes = 0;

  add(bytes: Buffer, bytesMax: number): void {
    if (this.#bytes >= bytesMax) return;
    this.#bytes += bytes.length;
    if (this.#first === undefined) {
      this.#first = Buffer.from(bytes);
      return;
    }
    if (this.#all === undefined) {
      this.#all = new ByteStore();
      this.#all.add(this.#first);
    }
    this.#all.add(bytes);
  }

  /** To be asked for once. */
  text(): string {
    return this.#all?.takeText() ?? this.#first?.toString("utf8") ?? "";
  }
}

const BYTES_MIN = 1_024;
/** A larger buffer is not kept for the next use. */
const KEPT_BYTES_MAX = 64 * 1024;
const EMPTY = Buffer.alloc(0);

/**
 * Bytes that arrive in pieces and are wanted as one. Grows by doubling, so that a sender of single bytes costs no more
 * memory and time than another. Bounded by the code that adds to it.
 */
export class ByteStore {
  #buffer = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies the bytes, which may be overwritten afterwards. */
  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(BYTES_MIN, length, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  /** The bytes as UTF-8 text; the store is empty afterwards. */
  takeText(): string {
    const text = this.#buffer.toString("utf8", 0, this.#length);
    this.#length = 0;
    if (this.#buffer.length > KEPT_BYTES_MAX) this.#buffer = EMPTY;
    return text;
  }
}
