/** Calendar months in UTC, as budgets count them, and which one it is on a clock that may be stepped. */
import { CLOCK_STEP_MS } from "./clock.ts";

/** After a step of the clock into a later month, how long the clock must stay there before that month begins. */
export const MONTH_CONFIRM_MS = 600_000;

/** `2026-11` for any moment of that month. */
export function monthOf(unixMs: number): string {
  const date = new Date(unixMs);
  const month = date.getUTCMonth() + 1;
  return `${date.getUTCFullYear()}-${month < 10 ? "0" : ""}${month}`;
}

/** `2026-11-22` for any moment of that day. */
export function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}

/** First moment of the month after the one that `unixMs` is in. */
export function nextMonthMs(unixMs: number): number {
  const date = new Date(unixMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/**
 * The month that money counts in. It never goes back. It turns when the clock reaches the next month by running; when the
 * clock is stepped there, only after it has stayed there for MONTH_CONFIRM_MS: a step that is taken back opens no second
 * budget.
 */
export class BudgetMonth {
  #month = "";
  #endMs = Number.NEGATIVE_INFINITY;
  /** The last moment within the month, on both clocks. */
  #seen: { nowMs: number; monotonicMs: number } | undefined;
  #steppedSinceMs: number | undefined;

  /** `YYYY-MM`; "" before the first `turn` or `reach`. */
  get current(): string {
    return this.#month;
  }

  /** The last moment within the month, on both clocks. */
  get seen(): { readonly nowMs: number; readonly monotonicMs: number } | undefined {
    return this.#seen;
  }

  /** True: a new month has begun. */
  turn(nowMs: number, monotonicMs: number): boolean {
    if (nowMs < this.#endMs) {
      this.see(nowMs, monotonicMs);
      this.#steppedSinceMs = undefined;
      return false;
    }
    if (!this.#isConfirmed(nowMs, monotonicMs)) return false;
    this.#begin(nowMs);
    this.#seen = { nowMs, monotonicMs };
    this.#steppedSinceMs = undefined;
    return true;
  }

  /** It has been that month in an earlier process. True: it is later than the current one, and is the current one now. */
  reach(month: string): boolean {
    if (month <= this.#month) return false;
    this.#begin(Date.parse(`${month}-01T00:00:00Z`));
    return true;
  }

  /** Both clocks at one moment: what a later step is measured from. Moments beyond the month are of a stepped clock. */
  see(nowMs: number, monotonicMs: number): void {
    if (nowMs >= this.#endMs) return;
    this.#seen ??= { nowMs, monotonicMs };
    this.#seen.nowMs = nowMs;
    this.#seen.monotonicMs = monotonicMs;
  }

  #isConfirmed(nowMs: number, monotonicMs: number): boolean {
    const seen = this.#seen;
    if (this.#month === "" || seen === undefined) return true;
    const steppedMs = nowMs - seen.nowMs - (monotonicMs - seen.monotonicMs);
    if (steppedMs <= CLOCK_STEP_MS) return true;
    this.#steppedSinceMs ??= monotonicMs;
    return monotonicMs - this.#steppedSinceMs >= MONTH_CONFIRM_MS;
  }

  #begin(unixMs: number): void {
    this.#month = monthOf(unixMs);
    this.#endMs = nextMonthMs(unixMs);
  }
}
