/**
 * The longest time in which the event loop ran nothing else: by the clock, with Node's own histogram, and by the
 * processor time that the main thread used meanwhile, which other programs on the machine do not lengthen.
 */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const RESOLUTION_MS = 5;

export interface LongestDelay {
  readonly wallMs: number;
  /** 0 where the system does not tell (anything but Linux). */
  readonly cpuMs: number;
}

export class LoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #timer: NodeJS.Timeout;
  #cpuMs = usedMs();
  #longestCpuMs = 0;

  constructor() {
    this.#histogram.enable();
    this.#timer = setInterval(() => this.#sample(), RESOLUTION_MS);
  }

  stop(): LongestDelay {
    this.#histogram.disable();
    clearInterval(this.#timer);
    this.#sample();
    return { wallMs: Math.max(0, this.#histogram.max / 1e6 - RESOLUTION_MS), cpuMs: this.#longestCpuMs };
  }

  #sample(): void {
    const nowMs = usedMs();
    this.#longestCpuMs = Math.max(this.#longestCpuMs, nowMs - this.#cpuMs);
    this.#cpuMs = nowMs;
  }
}

/** Processor time of the main thread so far. */
function usedMs(): number {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return 0;
  }
}
