/**
 * Counts the bytes that all calls together hold in memory, so that new bodies can be refused in time. Holds
 * no bytes itself and does not know whose they are.
 */

export class ByteBudget {
  readonly max: number;
  #used = 0;

  constructor(max: number) {
    this.max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** Whether this many bytes more would fit now. */
  fits(bytes: number): boolean {
    return this.#used + bytes <= this.max;
  }

  /** Counts bytes that are about to be held; false, and nothing is counted, when they do not fit. */
  tryReserve(bytes: number): boolean {
    if (!this.fits(bytes)) return false;
    this.#used += bytes;
    return true;
  }

  /** Counts bytes that are in memory already, whether they fit or not. */
  reserve(bytes: number): void {
    this.#used += bytes;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}
