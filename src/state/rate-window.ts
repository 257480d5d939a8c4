/**
 * One sliding window, exact: it knows when every call that still counts was admitted, so no span of `windowMs`,
 * wherever it starts, holds more calls than were allowed. It decides and records; it never reads a clock.
 */
import type { Linked } from "./recency-list.ts";

/**
 * Runs that a window keeps apart, at 16 bytes each. A limit up to this is exact to the millisecond. Above it, times
 * are rounded up to one of this many steps of the window (an hour: 55 ms), so a call may count that much longer than it
 * should, never shorter.
 */
export const RATE_RUNS_MAX = 65_536;

/** The window of one key. */
export class RateWindow implements Linked<RateWindow> {
  /** Changed by a rename alone. */
  key: string;
  readonly windowMs: number;
  older: RateWindow | undefined = undefined;
  newer: RateWindow | undefined = undefined;
  /** A ring of runs, [time, calls admitted at that time] each, times ascending. Its size is a power of two. */
  #ring = new Float64Array(4 * 2);
  #head = 0;
  #runs = 0;
  /** Calls in all runs. */
  #calls = 0;

  constructor(key: string, windowMs: number) {
    this.key = key;
    this.windowMs = windowMs;
  }

  /** Calls that count. */
  get calls(): number {
    return this.#calls;
  }

  /** When the oldest call ceases to count. */
  get freesAtMs(): number {
    return this.#runs === 0 ? Number.NEGATIVE_INFINITY : this.#at(0) + this.windowMs;
  }

  /** When the last call ceases to count. */
  get idleAtMs(): number {
    return this.#runs === 0 ? Number.NEGATIVE_INFINITY : this.#at(this.#runs - 1) + this.windowMs;
  }

  /** Milliseconds until one more call stays within `limit`, if no other comes; 0: at once. */
  waitMs(nowMs: number, limit: number): number {
    this.#forget(nowMs);
    if (this.#calls < limit) return 0;
    // More than one run need go only when a reload has lowered the limit below what the window holds.
    let left = this.#calls;
    for (let run = 0; run < this.#runs; run += 1) {
      left -= this.#callsAt(run);
      if (left < limit) return this.#at(run) + this.windowMs - nowMs;
    }
    return this.windowMs;
  }

  /** Counts a call. `nowMs` never goes back: it is of the monotonic clock. */
  add(nowMs: number, limit: number): void {
    const timeMs = limit <= RATE_RUNS_MAX ? nowMs : roundUp(nowMs, Math.ceil(this.windowMs / RATE_RUNS_MAX));
    this.#append(timeMs, 1);
  }

  #append(timeMs: number, calls: number): void {
    this.#calls += calls;
    // The last run may lie ahead of `timeMs` when a lowered limit has ended the rounding.
    if (this.#runs > 0 && this.#at(this.#runs - 1) >= timeMs) {
      const slot = this.#slot(this.#runs - 1) + 1;
      this.#ring[slot] = (this.#ring[slot] ?? 0) + calls;
      return;
    }
    if (this.#runs * 2 === this.#ring.length) this.#grow();
    const slot = this.#slot(this.#runs);
    this.#ring[slot] = timeMs;
    this.#ring[slot + 1] = calls;
    this.#runs += 1;
  }

  /** What it counts, as [milliseconds of the monotonic clock, calls], oldest first. */
  runs(): [number, number][] {
    return Array.from({ length: this.#runs }, (_, run) => [this.#at(run), this.#callsAt(run)]);
  }

  /** Counts calls of an earlier process. `timeMs` never goes back. */
  restore(timeMs: number, calls: number): void {
    this.#append(timeMs, calls);
  }

  /** A window under the key of `other`, with the calls of both. */
  with(other: RateWindow): RateWindow {
    const both = new RateWindow(other.key, this.windowMs);
    const runs = [...this.runs(), ...other.runs()].sort(([a], [b]) => a - b);
    for (const [timeMs, calls] of runs) both.restore(timeMs, calls);
    return both;
  }

  /** A window is half-open: a call admitted at t does not count at t + windowMs. */
  #forget(nowMs: number): void {
    const sinceMs = nowMs - this.windowMs;
    while (this.#runs > 0 && this.#at(0) <= sinceMs) {
      this.#calls -= this.#callsAt(0);
      this.#head = this.#slot(1);
      this.#runs -= 1;
    }
  }

  #slot(run: number): number {
    return (this.#head + run * 2) & (this.#ring.length - 1);
  }

  #at(run: number): number {
    return this.#ring[this.#slot(run)] ?? 0;
  }

  #callsAt(run: number): number {
    return this.#ring[this.#slot(run) + 1] ?? 0;
  }

  #grow(): void {
    const larger = new Float64Array(this.#ring.length * 2);
    larger.set(this.#ring.subarray(this.#head));
    larger.set(this.#ring.subarray(0, this.#head), this.#ring.length - this.#head);
    this.#ring = larger;
    this.#head = 0;
  }
}

/** The last millisecond of the step that `timeMs` is in. */
function roundUp(timeMs: number, stepMs: number): number {
  // Times of before the machine's start are negative.
  const within = ((timeMs % stepMs) + stepMs) % stepMs;
  return timeMs - within + stepMs - 1;
}
