/** The body of an answer that is read whole. Bounded: what is beyond the limit is not kept. */

/** Of a whole answer. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** Of an error answer, whose message stands at its beginning. */
export const ERROR_BYTES_MAX = 64 * 1024;

/** What it is given is overwritten by the next network read, so it keeps a copy. Most answers are one read. */
export class AnswerBody {
  #first: Buffer | undefined;
  #more: Buffer[] | undefined;
  #bytes = 0;

  add(bytes: Buffer, bytesMax: number): void {
    if (this.#bytes >= bytesMax) return;
    this.#bytes += bytes.length;
    const copy = Buffer.from(bytes);
    if (this.#first === undefined) this.#first = copy;
    else (this.#more ??= [this.#first]).push(copy);
  }

  text(): string {
    const bytes = this.#more === undefined ? this.#first : Buffer.concat(this.#more);
    return bytes === undefined ? "" : bytes.toString("utf8");
  }
}
