/**
 * Time. Whatever needs it is handed a Clock, so that tests can control it. The system's clock may be stepped by an
 * operator, NTP or a resumed virtual machine: durations, windows and timeouts therefore use `monotonicMs`, which no step
 * reaches, and `nowMs` follows the machine's time without small steps back.
 */
import type { Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";

/** A difference above this between the machine's time and the time that has passed is a step, not drift. */
export const CLOCK_STEP_MS = 3_600_000;
/** How long the machine's time must stay behind by a step before `nowMs` goes back with it. */
export const CLOCK_BEHIND_MS = 60_000;
/** While the machine's time is behind by less than a step, `nowMs` runs at this rate until the two meet. */
const SLEW_RATE = 0.5;

export interface SystemClockOptions {
  /** Unix milliseconds of the machine. Default: `Date.now`. */
  readonly wallMs?: () => number;
  /** Milliseconds since the machine started, the same count in every process. Default: the machine's. */
  readonly monotonicMs?: () => number;
  /** Called once for each step of more than CLOCK_STEP_MS; negative: back. */
  readonly stepped?: (byMs: number) => void;
}

/**
 * The machine's time. `nowMs` follows it forward at once. Behind by up to an hour it runs slower instead of going back;
 * behind by more it runs on, and goes back once the machine's time has stayed there for a minute.
 */
export function systemClock(options: SystemClockOptions = {}): Clock {
  const { wallMs = Date.now, monotonicMs = machineMonotonicMs(), stepped = () => {} } = options;
  let lastMs = wallMs();
  let lastWallMs = Number.NaN;
  let lastWholeMs = 0;
  let lastMonotonicMs = monotonicMs();
  let behindSinceMs: number | undefined;
  /** What `nowMs` is, given the machine's time and how much has passed since the last call. */
  const next = (wall: number, elapsedMs: number, nowMonotonicMs: number): number => {
    const differenceMs = wall - (lastMs + elapsedMs);
    if (differenceMs >= -CLOCK_STEP_MS) {
      behindSinceMs = undefined;
      if (differenceMs > CLOCK_STEP_MS) stepped(differenceMs);
      return Math.max(wall, lastMs + elapsedMs * SLEW_RATE);
    }
    if (behindSinceMs === undefined) {
      behindSinceMs = nowMonotonicMs;
      stepped(differenceMs);
    }
    if (nowMonotonicMs - behindSinceMs < CLOCK_BEHIND_MS) return lastMs + elapsedMs;
    behindSinceMs = undefined;
    return wall;
  };
  return {
    nowMs() {
      const wall = wallMs();
      // Asked several times a call: within a millisecond of the machine's the answer stays the same.
      if (wall === lastWallMs) return lastWholeMs;
      lastWallMs = wall;
      const nowMonotonicMs = monotonicMs();
      lastMs = next(wall, nowMonotonicMs - lastMonotonicMs, nowMonotonicMs);
      lastMonotonicMs = nowMonotonicMs;
      lastWholeMs = Math.floor(lastMs);
      return lastWholeMs;
    },
    monotonicMs,
    after(delayMs, run): Timer {
      const timer = setTimeout(run, delayMs).unref();
      return { cancel: () => clearTimeout(timer) };
    },
  };
}

/** Counts from the machine's start, so that a process can compare its times with those of the one before it. */
function machineMonotonicMs(): () => number {
  const originMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return () => originMs + performance.now();
}
