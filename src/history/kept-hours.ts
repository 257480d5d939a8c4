/**
 * The hours of the series outside the process, so that they outlive it: read when the gateway starts, written once a
 * minute. Where they are kept is a shelf's business; nothing of a call waits for it.
 */
import type { Logger, Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { HOUR_MS, MINUTE_MS, type SeriesStore } from "./series.ts";

/** Of one hour: each series' key and its packed numbers. */
export type HourRows = readonly (readonly [key: string, packed: readonly number[]])[];

/** Where hours are kept. Rejections are logged by the caller, and cost a minute of history. */
export interface HourShelf {
  /** What earlier processes have left, and nothing of those that still run. */
  takeOver(): Promise<readonly (readonly [hour: number, rows: HourRows])[]>;
  /** Replaces these hours. `isLast`: the process ends. */
  write(hours: ReadonlyMap<number, HourRows>, isLast: boolean): Promise<void>;
}

export interface KeptHoursOptions {
  readonly series: SeriesStore;
  readonly shelf: HourShelf;
  readonly clock: Clock;
  readonly log: Logger;
}

export class KeptHours {
  readonly #options: KeptHoursOptions;
  #sinceHour = 0;
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: KeptHoursOptions) {
    this.#options = options;
  }

  /** Restores what was kept, then writes every minute. Never rejects. */
  async begin(): Promise<void> {
    const { series, shelf, log } = this.#options;
    try {
      const kept = await shelf.takeOver();
      for (const [hour, rows] of kept.toSorted(([a], [b]) => a - b)) series.restore(hour, rows);
    } catch (thrown) {
      log.warn({ err: thrown }, "time series of earlier processes could not be read");
    }
    this.#later();
  }

  /** Writes what there is, once more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#writing;
    this.#options.series.endMinute();
    await this.#write();
  }

  #later(): void {
    if (this.#closed) return;
    this.#timer = this.#options.clock.after(MINUTE_MS, () => {
      this.#writing = this.#write().finally(() => this.#later());
    });
  }

  /** The hours that may have changed since the last time. */
  async #write(): Promise<void> {
    const { series, shelf, clock, log } = this.#options;
    try {
      await shelf.write(series.packedHours(this.#sinceHour), this.#closed);
      this.#sinceHour = Math.floor(clock.nowMs() / HOUR_MS) - 1;
    } catch (thrown) {
      log.warn({ err: thrown }, "time series could not be kept");
    }
  }
}

/** Rows as another process has written them; nothing where they are not what this one would write. */
export function rowsOf(text: unknown): HourRows {
  try {
    const rows: unknown = JSON.parse(String(text));
    return Array.isArray(rows) ? rows.filter(isRow) : [];
  } catch {
    return [];
  }
}

function isRow(row: unknown): row is HourRows[number] {
  if (!Array.isArray(row) || typeof row[0] !== "string") return false;
  const packed: unknown = row[1];
  return Array.isArray(packed) && packed.every((number) => typeof number === "number");
}
