/** How late the event loop runs timers, measured by Node outside of JavaScript: reading it costs nothing per call. */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

export const RESOLUTION_MS = 50;

type Histogram = Pick<IntervalHistogram, "enable" | "disable" | "percentile" | "reset">;

export class LoopDelay {
  readonly #histogram: Histogram;

  constructor(histogram: Histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })) {
    this.#histogram = histogram;
    histogram.enable();
  }

  /** The 99th percentile in milliseconds since the last time that it was taken; 0 before the first measurement. */
  takeP99Ms(): number {
    const nanoseconds = this.#histogram.percentile(99);
    this.#histogram.reset();
    // Node records the time from one timer to the next, which is the resolution when nothing delays them.
    return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS) : 0;
  }

  close(): void {
    this.#histogram.disable();
  }
}
