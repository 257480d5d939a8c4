/**
 * Keeps long judgements from blocking other calls: says when the event loop must be given a turn, and gives it one.
 */
import type { Clock } from "../plugin/index.ts";

/** Longest run without a turn of the event loop. A piece takes up to 5 ms, so that the run ends a piece earlier. */
const RUN_MS = 3;

export class Pace {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** The run has lasted long enough. */
  get due(): boolean {
    return this.#clock.monotonicMs() - this.#sinceMs >= RUN_MS;
  }

  /** Resolves after sockets have been served; a new run begins then. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#sinceMs = this.#clock.monotonicMs();
        resolve();
      });
    });
  }
}
