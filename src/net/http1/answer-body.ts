/** The body of an answer that is read whole. Bounded: what is beyond the limit is not kept. */
import { ByteStore } from "./byte-store.ts";

/** Of a whole answer. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** Of an error answer, whose message stands at its beginning. */
export const ERROR_BYTES_MAX = 64 * 1024;

/** What it is given is overwritten by the next network read, so it keeps a copy. Most answers are one read. */
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
