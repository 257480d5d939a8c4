/**
 * Time series of calls: per minute for 24 hours and per hour for 32 days, for the whole gateway, each project, endpoint,
 * token, and provider with model. A slot in which nothing happened takes no memory, and all slots together are bounded:
 * beyond, the oldest minutes go first.
 */
import { Cells, type CountedCall, type CountedIn, noTotals, type Totals } from "./cells.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
const MINUTES_KEPT = 24 * 60;
export const HOURS_KEPT = 32 * 24;
/** Cells of all series together, 38 MB. */
export const CELLS_MAX = 100_000;
/** Series that are kept. Names are configured, so that only a very large configuration has more. */
export const SERIES_MAX = 50_000;

/** What a series is of: `project` and an endpoint's slug or a token's id, or a provider and its model. */
export type Dimension = "all" | "project" | "endpoint" | "token" | "target";

/** Slots in the order of time, each with its cell. */
class Slots {
  readonly times: number[] = [];
  readonly cells: number[] = [];

  get last(): number {
    return this.times.at(-1) ?? -1;
  }

  push(time: number, cell: number): void {
    this.times.push(time);
    this.cells.push(cell);
  }

  /** Takes out the slots before `time`; at most `max` of them. */
  before(time: number, max = Number.POSITIVE_INFINITY): readonly number[] {
    let count = 0;
    while (count < this.times.length && count < max && (this.times[count] ?? time) < time) count++;
    if (count === 0) return [];
    this.times.splice(0, count);
    return this.cells.splice(0, count);
  }
}

/** Numbers of one thing over time. */
export interface Series {
  readonly dimension: Dimension;
  /** Of the dimension's parts, e.g. project uuid and slug. */
  readonly names: readonly string[];
}

class KeptSeries implements Series {
  readonly dimension: Dimension;
  readonly names: readonly string[];
  readonly minutes = new Slots();
  readonly hours = new Slots();

  constructor(dimension: Dimension, names: readonly string[]) {
    this.dimension = dimension;
    this.names = names;
  }
}

/** One point of an answer: a slot's start in Unix milliseconds, and what happened in it. */
export interface Point {
  readonly atMs: number;
  readonly totals: Totals;
}

export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
  /** Length of a point; a multiple of a minute below 24 hours back, of an hour beyond. */
  readonly stepMs: number;
}

export class SeriesStore {
  readonly #cells = new Cells();
  readonly #series = new Map<string, KeptSeries>();
  /** Minute of the newest call. */
  #minute = 0;

  /** The series of these names, made when it is new; undefined: there are too many. Kept by the caller, who counts into it. */
  of(dimension: Dimension, ...names: readonly string[]): Series | undefined {
    const key = [dimension, ...names].join("\0");
    let series = this.#series.get(key);
    if (series === undefined && this.#series.size < SERIES_MAX)
      this.#series.set(key, (series = new KeptSeries(dimension, names)));
    return series;
  }

  /** Counts one call into each series. `reason`: index into REASONS or -1; buckets likewise. */
  count(
    into: readonly (Series | undefined)[],
    call: CountedCall,
    at: CountedIn & { readonly nowMs: number },
  ): void {
    const minute = Math.floor(at.nowMs / MINUTE_MS);
    if (minute > this.#minute) this.#turn(minute);
    for (let i = 0; i < into.length; i++) {
      const series = into[i];
      if (series === undefined) continue;
      // Every series comes from `of`.
      const { minutes } = series as KeptSeries;
      // A clock that was set back counts into the newest minute.
      if (minutes.last < this.#minute) minutes.push(this.#minute, this.#cells.take());
      this.#cells.count(minutes.cells[minutes.cells.length - 1] ?? 0, call, at);
    }
  }

  /** Adds the running minute to its hour. For the end of the process: calls after it are counted in a new minute. */
  endMinute(): void {
    this.#turn(this.#minute + 1);
  }

  /** A new minute: the one before is added to its hour, and what is too old goes. */
  #turn(minute: number): void {
    const ended = this.#minute;
    this.#minute = minute;
    const hour = Math.floor((ended * MINUTE_MS) / HOUR_MS);
    for (const series of this.#series.values()) {
      const { minutes, hours } = series;
      if (ended > 0 && minutes.last === ended) this.#addToHour(hours, hour, minutes.cells.at(-1) ?? 0);
      for (const cell of minutes.before(minute - MINUTES_KEPT)) this.#cells.drop(cell);
      for (const cell of hours.before(hour - HOURS_KEPT)) this.#cells.drop(cell);
    }
    this.#bound();
  }

  #addToHour(hours: Slots, hour: number, cell: number): void {
    if (hours.last < hour) hours.push(hour, this.#cells.take());
    this.#cells.merge(cell, hours.cells.at(-1) ?? 0);
  }

  /** Oldest minutes first, then oldest hours; a tenth at once, so that it happens seldom. */
  #bound(): void {
    if (this.#cells.size <= CELLS_MAX) return;
    for (const slots of ["minutes", "hours"] as const) {
      const times = [...this.#series.values()].flatMap((series) => series[slots].times).sort((a, b) => a - b);
      const surplus = this.#cells.size - CELLS_MAX * 0.9;
      const before = times[Math.min(times.length - 1, Math.ceil(surplus))] ?? 0;
      for (const series of this.#series.values())
        for (const cell of series[slots].before(before)) this.#cells.drop(cell);
      if (this.#cells.size <= CELLS_MAX) return;
    }
  }

  /** All series of a dimension, with those of `names` first parts only. */
  list(dimension: Dimension, ...names: readonly string[]): readonly Series[] {
    return [...this.#series.values()].filter(
      (series) => series.dimension === dimension && names.every((name, i) => series.names[i] === name),
    );
  }

  /** A point for each step in which something happened. */
  points(series: Series, { fromMs, toMs, stepMs }: Range, nowMs: number): readonly Point[] {
    const { minutes, hours } = series as KeptSeries;
    const points = new Map<number, Totals>();
    const add = (atMs: number, cell: number): void => {
      const start = Math.floor(atMs / stepMs) * stepMs;
      if (atMs < fromMs || atMs >= toMs) return;
      let totals = points.get(start);
      if (totals === undefined) points.set(start, (totals = noTotals()));
      this.#cells.addTo(totals, cell);
    };
    const firstMinuteMs = Math.ceil((nowMs - MINUTES_KEPT * MINUTE_MS) / HOUR_MS) * HOUR_MS;
    // Hours for what lies further back, and for steps that are hours; the minutes of the running hour are in none yet.
    const usesHours = stepMs >= HOUR_MS || fromMs < firstMinuteMs;
    const hourEndMs = usesHours
      ? stepMs >= HOUR_MS
        ? Number.POSITIVE_INFINITY
        : firstMinuteMs
      : Number.NEGATIVE_INFINITY;
    for (const [i, hour] of hours.times.entries())
      if (hour * HOUR_MS < hourEndMs) add(hour * HOUR_MS, hours.cells[i] ?? 0);
    for (const [i, minute] of minutes.times.entries()) {
      const isInHours =
        hourEndMs === Number.POSITIVE_INFINITY ? minute < this.#minute : minute * MINUTE_MS < hourEndMs;
      if (!isInHours) add(minute * MINUTE_MS, minutes.cells[i] ?? 0);
    }
    return [...points].sort(([a], [b]) => a - b).map(([atMs, totals]) => ({ atMs, totals }));
  }

  /** Hours for the store: by hour, key of the series and its packed numbers. Only `since` and later. */
  packedHours(sinceHour: number): ReadonlyMap<number, readonly (readonly [key: string, packed: number[]])[]> {
    const hours = new Map<number, (readonly [string, number[]])[]>();
    for (const [key, series] of this.#series) {
      for (const [i, hour] of series.hours.times.entries()) {
        if (hour < sinceHour) continue;
        const rows = hours.get(hour) ?? [];
        hours.set(hour, rows);
        rows.push([key, this.#cells.packed(series.hours.cells[i] ?? 0)]);
      }
    }
    return hours;
  }

  /** Adds an hour that another process has kept. Hours come in the order of time, before any call is counted. */
  restore(hour: number, rows: readonly (readonly [key: string, packed: readonly number[]])[]): void {
    for (const [key, packed] of rows) {
      const [dimension = "all", ...names] = key.split("\0");
      // A dimension that is not known is never asked for.
      const series = this.of(dimension as Dimension, ...names) as KeptSeries | undefined;
      if (series === undefined || series.hours.last > hour) continue;
      if (series.hours.last < hour) series.hours.push(hour, this.#cells.take());
      this.#cells.unpack(series.hours.cells.at(-1) ?? 0, packed);
    }
  }

  get cells(): number {
    return this.#cells.size;
  }
}
