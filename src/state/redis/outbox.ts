/**
 * What must reach the server, in order, however often the connection breaks: it is kept until its answer is there.
 * What is in it must be safe to send twice. Bounded; it sends nothing itself.
 */
export class Outbox<T> {
  readonly #max: number;
  #unsent: T[] = [];
  #inFlight = 0;

  /** `max`: things kept at most. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Sent and unsent. */
  get size(): number {
    return this.#unsent.length + this.#inFlight;
  }

  get unsent(): number {
    return this.#unsent.length;
  }

  /** False: it is full, and `thing` was not taken. */
  push(thing: T): boolean {
    if (this.size >= this.#max) return false;
    this.#unsent.push(thing);
    return true;
  }

  /** The next to be sent, at most `count`. `answered` or `lost` must follow. */
  take(count: number): readonly T[] {
    const batch = this.#unsent.splice(0, count);
    this.#inFlight += batch.length;
    return batch;
  }

  answered(batch: readonly T[]): void {
    this.#inFlight -= batch.length;
  }

  /** They are the next to be sent again. */
  lost(batch: readonly T[]): void {
    if (batch.length === 0) return;
    this.#inFlight -= batch.length;
    this.#unsent = [...batch, ...this.#unsent];
  }
}
