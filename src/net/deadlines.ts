/**
 * Everything of a client that ends by itself at some time, on one timer: it is set to the earliest time and looks at all
 * of them then. A timer for each call would cost more than the rest of its limits.
 */
import type { Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";

/** Something with a deadline, which may move while it is watched. */
export interface Dated {
  /** Its place among those watched; kept by `Deadlines`. */
  watchIndex: number;
  /** By the clock's monotonic time; Infinity for none. Moved to an earlier time, `noLaterThan` must be told. */
  dueMs(): number;
  /** Its time has come; or had, when something else of the same moment has just changed that. */
  expire(): void;
}

/** The longest that a timer of Node can wait. */
const DELAY_MS_MAX = 2 ** 31 - 1;

export class Deadlines {
  readonly clock: Clock;
  readonly #watched: Dated[] = [];
  #timer: Timer | undefined;
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(dated: Dated): void {
    dated.watchIndex = this.#watched.length;
    this.#watched.push(dated);
    this.noLaterThan(dated.dueMs());
  }

  delete(dated: Dated): void {
    const last = this.#watched.pop();
    if (last !== undefined && last !== dated) {
      last.watchIndex = dated.watchIndex;
      this.#watched[last.watchIndex] = last;
    }
    if (this.#watched.length === 0) this.#disarm();
  }

  /** Something watched is due at that time. */
  noLaterThan(dueMs: number): void {
    if (dueMs >= this.#timerMs) return;
    this.#disarm();
    this.#timerMs = dueMs;
    const delayMs = Math.max(0, dueMs - this.clock.monotonicMs());
    this.#timer = this.clock.after(Math.min(delayMs, DELAY_MS_MAX), () => this.#look());
  }

  #look(): void {
    this.#disarm();
    const nowMs = this.clock.monotonicMs();
    for (const dated of this.#watched.filter((each) => each.dueMs() <= nowMs)) dated.expire();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const dated of this.#watched) nextMs = Math.min(nextMs, dated.dueMs());
    this.noLaterThan(nextMs);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerMs = Number.POSITIVE_INFINITY;
  }
}
