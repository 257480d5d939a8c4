/**
 * Bytes that arrive in pieces and are wanted as one. Grows by doubling, so that a sender who sends single bytes costs no
 * more memory and time than another. Bounded by the code that adds to it.
 */

const BYTES_MIN = 1_024;
/** A larger buffer is not kept for the next use. */
const KEPT_BYTES_MAX = 64 * 1024;
const EMPTY = Buffer.alloc(0);

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
