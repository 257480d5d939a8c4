/**
 * Long work in slices, between calls: a loop asks after each step whether its slice is used up, and if so lets the
 * event loop run before it continues.
 */

/** Duration of one slice, after which calls run. */
const SLICE_MS = 8;

export class Slices {
  #sinceMs = performance.now();

  /** True when it is time to `await yielded()`. Reads the clock once. */
  get isUsedUp(): boolean {
    return performance.now() - this.#sinceMs >= SLICE_MS;
  }

  /** Resolves after everything else that is ready has run. */
  async yielded(): Promise<void> {
    await new Promise(setImmediate);
    this.#sinceMs = performance.now();
  }
}
