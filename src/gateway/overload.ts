/**
 * Detects that the process is near its limits: the heap nearly full, or the event loop far behind. New calls are shed then,
 * except one a second, whose fate (and garbage) shows whether the state is over.
 */
import { getHeapStatistics } from "node:v8";
import type { Logger, Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";

/** Shares of V8's heap limit: shedding begins at the first and ends below the second. */
const HEAP_SHARE_MAX = 0.85;
const HEAP_SHARE_CALM = 0.75;
/** How late a timer may be. One late timer is a pause, as many as LATE_SAMPLES in a row are an overload. */
export const DELAY_MS_MAX = 500;
export const LATE_SAMPLES = 3;
export const SAMPLE_MS = 500;
export const PROBE_MS = 1_000;

export interface OverloadOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Samples are taken while this is true: an idle gateway sets no timers. */
  readonly isBusy: () => boolean;
  /** Called with each sample, and told whether it is the last one until new calls come. */
  readonly sampled?: (isLast: boolean) => void;
  /** Share of the heap limit in use. Default: V8's own figures. */
  readonly heapShare?: () => number;
}

export class OverloadMonitor {
  readonly #options: OverloadOptions;
  #timer: Timer | undefined;
  #lateInRow = 0;
  #shedding = false;
  #probeMs = 0;

  constructor(options: OverloadOptions) {
    this.#options = options;
  }

  get shedding(): boolean {
    return this.#shedding;
  }

  /** Whether a new call may begin. */
  admits(): boolean {
    this.#watch();
    if (!this.#shedding) return true;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#probeMs < PROBE_MS) return false;
    this.#probeMs = nowMs;
    return true;
  }

  close(): void {
    this.#timer?.cancel();
  }

  #watch(): void {
    if (this.#timer !== undefined) return;
    const { clock } = this.#options;
    const dueMs = clock.monotonicMs() + SAMPLE_MS;
    this.#timer = clock.after(SAMPLE_MS, () => {
      this.#timer = undefined;
      this.#sample(clock.monotonicMs() - dueMs);
      const continues = this.#shedding || this.#options.isBusy();
      this.#options.sampled?.(!continues);
      if (continues) this.#watch();
    });
  }

  #sample(delayMs: number): void {
    const share = (this.#options.heapShare ?? heapShare)();
    this.#lateInRow = delayMs > DELAY_MS_MAX ? this.#lateInRow + 1 : 0;
    const isOver = share > HEAP_SHARE_MAX || this.#lateInRow >= LATE_SAMPLES;
    const isCalm = share < HEAP_SHARE_CALM && this.#lateInRow === 0;
    if (isOver && !this.#shedding) {
      this.#shedding = true;
      this.#probeMs = this.#options.clock.monotonicMs();
      const fields = { heap_share: rounded(share), event_loop_delay_ms: Math.round(delayMs) };
      this.#options.log.warn(
        fields,
        "overloaded: new calls are answered 503 until memory and event loop recover",
      );
    } else if (isCalm && this.#shedding) {
      this.#shedding = false;
      this.#options.log.info({ heap_share: rounded(share) }, "no longer overloaded: new calls are accepted");
    }
  }
}

function heapShare(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used / limit;
}

function rounded(share: number): number {
  return Math.round(share * 100) / 100;
}
