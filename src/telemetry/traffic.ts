/**
 * What the gateway does now, from counters that exist: calls and errors per second over the last minute, and totals of
 * today and of this month since the process started. The counters are read every few seconds while there are calls; a call
 * costs nothing more, and an idle gateway sets no timer.
 */
import { dayOf, monthOf } from "../base/month.ts";
import type { Clock } from "../plugin/index.ts";
import { LoopDelay } from "./loop-delay.ts";
import type { GatewayMetrics } from "./metrics.ts";

export const SAMPLE_MS = 5_000;
/** Rates are means over this long. */
export const WINDOW_MS = 60_000;
/** A process that is younger than this has rates as if it were this old. */
const WINDOW_MS_MIN = 1_000;

/** Counted since the process started. */
interface Counts {
  readonly calls: number;
  /** Answered 5xx. */
  readonly errors: number;
  /** Answered 4xx. */
  readonly refusals: number;
  readonly tokens: number;
  readonly costUsd: number;
}

const NOTHING: Counts = { calls: 0, errors: 0, refusals: 0, tokens: 0, costUsd: 0 };

interface Sample extends Counts {
  readonly atMs: number;
  /** Of the time since the sample before. */
  readonly loopDelayMs: number;
}

/** Where a day or month began, or the process within it. */
interface Mark {
  readonly name: string;
  readonly sinceMs: number;
  readonly counts: Counts;
}

export interface TrafficTotals extends Counts {
  /** Unix milliseconds: the beginning of the day or month, or the start of the process. */
  readonly sinceMs: number;
}

export interface TrafficView {
  /** How long the rates below are means of. */
  readonly windowSeconds: number;
  readonly callsPerSecond: number;
  readonly errorsPerSecond: number;
  readonly refusalsPerSecond: number;
  /** The highest 99th percentile of the window's samples. */
  readonly loopDelayP99Ms: number;
  readonly today: TrafficTotals;
  readonly month: TrafficTotals;
}

export interface TrafficOptions {
  readonly clock: Clock;
  readonly metrics: Pick<GatewayMetrics, "each">;
}

export class Traffic {
  readonly #clock: Clock;
  readonly #metrics: TrafficOptions["metrics"];
  readonly #loop = new LoopDelay();
  /** Oldest first: those of the window, and one from before it. Never empty. */
  #samples: readonly [Sample, ...Sample[]];
  #today: Mark;
  #month: Mark;

  constructor({ clock, metrics }: TrafficOptions) {
    this.#clock = clock;
    this.#metrics = metrics;
    const sinceMs = clock.nowMs();
    this.#samples = [{ ...NOTHING, atMs: clock.monotonicMs(), loopDelayMs: 0 }];
    this.#today = { name: dayOf(sinceMs), sinceMs, counts: NOTHING };
    this.#month = { name: monthOf(sinceMs), sinceMs, counts: NOTHING };
  }

  /** Called often while there are calls, and with `isLast` before a time without any. */
  sample(isLast: boolean): void {
    const nowMs = this.#clock.monotonicMs();
    if (isLast || nowMs - this.#latest.atMs >= SAMPLE_MS) this.#take();
  }

  view(): TrafficView {
    const now = this.#take();
    const from = this.#samples[0];
    const ageMs = now.atMs - from.atMs;
    // While there are calls there is a sample shortly before the window. A longer gap had none: all came within the window.
    const spanMs = ageMs > WINDOW_MS + SAMPLE_MS ? WINDOW_MS : ageMs;
    const seconds = Math.max(WINDOW_MS_MIN, spanMs) / 1000;
    const perSecond = (count: "calls" | "errors" | "refusals") => (now[count] - from[count]) / seconds;
    return {
      windowSeconds: Math.round(seconds),
      callsPerSecond: perSecond("calls"),
      errorsPerSecond: perSecond("errors"),
      refusalsPerSecond: perSecond("refusals"),
      loopDelayP99Ms: Math.max(...this.#samples.map(({ loopDelayMs }) => loopDelayMs)),
      today: since(this.#today, now),
      month: since(this.#month, now),
    };
  }

  close(): void {
    this.#loop.close();
  }

  get #latest(): Sample {
    return this.#samples.at(-1) ?? this.#samples[0];
  }

  /** Reads the counters, and begins a new day or month if there is one. */
  #take(): Sample {
    const before = this.#latest;
    const nowMs = this.#clock.nowMs();
    // The counts of the latest sample: it was taken at most SAMPLE_MS before midnight, or nothing was counted after it.
    if (dayOf(nowMs) !== this.#today.name) this.#today = markAt(dayOf(nowMs), before);
    if (monthOf(nowMs) !== this.#month.name) this.#month = markAt(monthOf(nowMs), before);
    const atMs = this.#clock.monotonicMs();
    const now = { ...this.#counts(), atMs, loopDelayMs: this.#loop.takeP99Ms() };
    const [first, ...rest] = this.#samples;
    // Samples that come faster replace each other, so that there are never more than the window has room for.
    const previous = rest.at(-2) ?? first;
    const isClose = rest.length > 0 && atMs - previous.atMs < SAMPLE_MS;
    const kept = isClose ? [first, ...rest.slice(0, -1)] : [first, ...rest];
    const loopDelayMs = isClose ? Math.max(before.loopDelayMs, now.loopDelayMs) : now.loopDelayMs;
    const startMs = atMs - WINDOW_MS;
    const from = Math.max(
      0,
      kept.findLastIndex((sample) => sample.atMs <= startMs),
    );
    const [oldest = first, ...others] = kept.slice(from);
    this.#samples = [oldest, ...others, { ...now, loopDelayMs }];
    return now;
  }

  #counts(): Counts {
    let [calls, errors, refusals, tokens, costUsd] = [0, 0, 0, 0, 0];
    this.#metrics.each("sluice_calls_total", ({ status = "" }, value) => {
      calls += value;
      if (status.startsWith("5")) errors += value;
      else if (status.startsWith("4")) refusals += value;
    });
    this.#metrics.each("sluice_tokens_total", ({ kind }, value) => {
      // Other kinds are parts of these.
      if (kind === "prompt" || kind === "completion") tokens += value;
    });
    this.#metrics.each("sluice_cost_usd_total", (_labels, value) => {
      costUsd += value;
    });
    return { calls, errors, refusals, tokens, costUsd };
  }
}

/** `name`: a day or month in UTC. */
function markAt(name: string, counts: Counts): Mark {
  return { name, sinceMs: Date.parse(name), counts };
}

function since({ sinceMs, counts }: Mark, now: Counts): TrafficTotals {
  return {
    sinceMs,
    calls: now.calls - counts.calls,
    errors: now.errors - counts.errors,
    refusals: now.refusals - counts.refusals,
    tokens: now.tokens - counts.tokens,
    costUsd: Math.max(0, now.costUsd - counts.costUsd),
  };
}
