/**
 * Lines on their way out: encoded at once into a block of memory, which is handed on when it is full or after a moment.
 * Encoding at once lets go of the line's string before it can grow old, which is most of what logging costs.
 */

/** Where blocks go. */
export type Deliver = (block: Buffer) => void;

const BLOCK_BYTES = 65_536;
const LINGER_MS = 250;
/** UTF-8 takes at most three bytes for one UTF-16 code unit. */
const BYTES_PER_UNIT_MAX = 3;

export class LineBuffer {
  readonly #deliver: Deliver;
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #at = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(deliver: Deliver) {
    this.#deliver = deliver;
  }

  /** Takes one line, without its newline. */
  write(line: string): void {
    const mostBytes = line.length * BYTES_PER_UNIT_MAX + 1;
    if (mostBytes > BLOCK_BYTES - this.#at) {
      this.flush();
      if (mostBytes > BLOCK_BYTES) return this.#deliver(Buffer.from(`${line}\n`));
    }
    this.#at += this.#block.write(line, this.#at);
    this.#block[this.#at++] = 0x0a;
    this.#timer ??= setTimeout(() => this.flush(), LINGER_MS).unref();
  }

  /** Hands on what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#at === 0) return;
    const full = this.#block.subarray(0, this.#at);
    this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#at = 0;
    this.#deliver(full);
  }
}
