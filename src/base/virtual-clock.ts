/**
 * A clock that stands still until a test turns it. It runs timers, not promises: what a timer resolves continues after
 * `advance` has returned and the test has awaited something.
 */
import type { Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";

/** Timers that one `advance` may run; more is a timer that sets itself again without delay. */
const RUNS_MAX = 100_000;

/** Noon on a day in the middle of a month: far from every edge that a test does not ask for. */
const DEFAULT_START_MS = Date.UTC(2026, 4, 15, 12);

/** A clock that stands still until a test turns it. @since 0.1.0 */
export interface VirtualClock extends Clock {
  /**
   * Moves time on by `ms` (at least 0) and runs every timer due by then, by due time, equal ones in the order they
   * were set, each with the clock standing at its due time. Timers set meanwhile run too when they are due. Throws
   * what a timer throws; throws after 100,000 timers.
   */
  advance(ms: number): void;
  /** Sets the date forward, or back, by `ms`, as an operator would: no time passes, and no timer runs. */
  step(ms: number): void;
  /** Timers set that have neither run nor been cancelled. */
  pendingTimers(): number;
}

interface Pending {
  readonly dueMs: number;
  readonly run: () => void;
}

/**
 * `startMs`: Unix milliseconds to begin at, default noon UTC of 15 May 2026. `monotonicMs` begins at 0.
 * @since 0.1.0
 */
export function virtualClock(startMs: number = DEFAULT_START_MS): VirtualClock {
  let elapsedMs = 0;
  let steppedMs = 0;
  /** By due time, equal ones in the order they were set. */
  const pending: Pending[] = [];

  return {
    nowMs: () => Math.floor(startMs + elapsedMs + steppedMs),
    monotonicMs: () => elapsedMs,
    after(delayMs, run): Timer {
      const timer: Pending = { dueMs: elapsedMs + Math.max(0, delayMs), run };
      let at = pending.length;
      while (at > 0 && (pending[at - 1]?.dueMs ?? 0) > timer.dueMs) at -= 1;
      pending.splice(at, 0, timer);
      return {
        cancel() {
          const index = pending.indexOf(timer);
          if (index >= 0) pending.splice(index, 1);
        },
      };
    },
    advance(ms) {
      if (!(ms >= 0)) throw new RangeError(`time cannot move by ${ms} ms`);
      const targetMs = elapsedMs + ms;
      for (let runs = 0; ; runs += 1) {
        const next = pending[0];
        if (next === undefined || next.dueMs > targetMs) break;
        if (runs === RUNS_MAX) throw new Error(`more than ${RUNS_MAX} timers ran in one advance`);
        pending.shift();
        elapsedMs = Math.max(elapsedMs, next.dueMs);
        next.run();
      }
      elapsedMs = Math.max(elapsedMs, targetMs);
    },
    step(ms) {
      steppedMs += ms;
    },
    pendingTimers: () => pending.length,
  };
}
