/**
 * Ends of calls that Redis has not acknowledged: kept in order, bounded by bytes, sent again until they are answered.
 * Costs of calls that Redis never heard of are added up by sum. What exceeds the bound goes to files, or is lost and
 * counted. It sends nothing itself.
 */

import type { Logger } from "../../plugin/host.ts";
import type { Clock } from "../../plugin/index.ts";
import type { End, SpillFiles } from "./spill-files.ts";

interface Kept {
  readonly end: End;
  readonly bytes: number;
  /** The file it was read from. */
  readonly file: LoadedFile | undefined;
}

interface LoadedFile {
  readonly path: string;
  left: number;
}

/** Memory for ends: more than 100,000 of them. */
export const ENDS_BYTES_MAX = 16_777_216;
const END_BYTES = 96;
const SUM_BYTES = 40;
/** Sums of one end that represents many calls. */
const SUMS_PER_END = 128;

export interface PendingEndsOptions {
  /** Unique to this process. */
  readonly instance: string;
  readonly lost: LostCosts;
  readonly files: SpillFiles | undefined;
  /** Default ENDS_BYTES_MAX. */
  readonly bytesMax?: number;
}

export class PendingEnds {
  readonly #options: PendingEndsOptions;
  readonly #bytesMax: number;
  #unsent: Kept[] = [];
  readonly #inFlight = new Map<readonly End[], readonly Kept[]>();
  /** By month, then by sum. */
  readonly #added = new Map<string, Map<string, number>>();
  #size = 0;
  #bytes = 0;
  #count = 0;
  /** Files of an earlier process, not yet read. */
  #files: string[];

  constructor(options: PendingEndsOptions) {
    this.#options = options;
    this.#bytesMax = options.bytesMax ?? ENDS_BYTES_MAX;
    this.#files = [...(options.files?.list() ?? [])];
  }

  /** Ends kept, sent and unsent; costs added up count as one for each sum. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Something is there to be sent. */
  get hasUnsent(): boolean {
    return this.#unsent.length > 0 || this.#added.size > 0 || this.#files.length > 0;
  }

  push(end: End): void {
    const bytes = bytesOf(end);
    if (this.#bytes + bytes > this.#bytesMax) this.#spill();
    if (this.#bytes + bytes > this.#bytesMax) return this.#options.lost.add(end);
    this.#keep({ end, bytes, file: undefined });
  }

  /** The cost of a call that Redis never heard of: no reservation has to be ended, so it is added to what is there. */
  add(month: string, sums: readonly string[], costs: number | readonly number[]): void {
    let added = this.#added.get(month);
    if (added === undefined) this.#added.set(month, (added = new Map()));
    for (const [index, sum] of sums.entries()) {
      const costNanoUsd = typeof costs === "number" ? costs : (costs[index] ?? 0);
      if (costNanoUsd === 0) continue;
      const known = added.get(sum);
      const total = (known ?? 0) + costNanoUsd;
      const bytes = known === undefined ? SUM_BYTES + sum.length : 0;
      if (this.#bytes + bytes > this.#bytesMax) this.#spill();
      if (this.#bytes + bytes > this.#bytesMax || !Number.isSafeInteger(total)) {
        this.#options.lost.add({ id: "", costNanoUsd, month, sums: [sum], epoch: "" });
        continue;
      }
      added.set(sum, total);
      this.#bytes += bytes;
      if (known === undefined) this.#size += 1;
    }
  }

  /** The next to be sent, at most `count`. `answered` or `unanswered` must follow with the same list. */
  take(count: number): readonly End[] {
    if (this.#unsent.length < count) this.#addedToEnds();
    if (this.#unsent.length === 0) this.#load();
    const kept = this.#unsent.splice(0, count);
    const ends = kept.map(({ end }) => end);
    if (ends.length > 0) this.#inFlight.set(ends, kept);
    return ends;
  }

  answered(ends: readonly End[]): void {
    for (const { bytes, file } of this.#inFlight.get(ends) ?? []) {
      this.#size -= 1;
      this.#bytes -= bytes;
      if (file === undefined) continue;
      file.left -= 1;
      if (file.left === 0) this.#options.files?.remove(file.path);
    }
    this.#inFlight.delete(ends);
  }

  /** They are the next to be sent again. */
  unanswered(ends: readonly End[]): void {
    const kept = this.#inFlight.get(ends);
    this.#inFlight.delete(ends);
    if (kept !== undefined) this.#unsent = [...kept, ...this.#unsent];
  }

  /** At the end of the process: what is left goes to a file, or is lost. Answers how many ends a file has. */
  close(): number {
    this.#addedToEnds();
    const left = this.#unsent.filter(({ file }) => file === undefined).map(({ end }) => end);
    this.#unsent = [];
    if (left.length === 0) return 0;
    if (this.#options.files?.write(left)) return left.length;
    for (const end of left) this.#options.lost.add(end);
    return 0;
  }

  #keep(kept: Kept): void {
    this.#unsent.push(kept);
    this.#size += 1;
    this.#bytes += kept.bytes;
  }

  /** Moves what is not sent to a file, so that there is room again. */
  #spill(): void {
    const { files } = this.#options;
    if (files === undefined) return;
    this.#addedToEnds();
    const spilled = this.#unsent.filter(({ file }) => file === undefined);
    const path = spilled.length > 0 && files.write(spilled.map(({ end }) => end));
    if (!path) return;
    this.#files.push(path);
    this.#unsent = this.#unsent.filter(({ file }) => file !== undefined);
    this.#size -= spilled.length;
    for (const { bytes } of spilled) this.#bytes -= bytes;
  }

  #addedToEnds(): void {
    for (const [month, added] of this.#added) {
      const all = [...added];
      for (let at = 0; at < all.length; at += SUMS_PER_END) {
        const part = all.slice(at, at + SUMS_PER_END);
        this.#size -= part.length;
        for (const [sum] of part) this.#bytes -= SUM_BYTES + sum.length;
        this.#count += 1;
        const id = `${this.#options.instance}.sums.${this.#count}`;
        const [sums, costNanoUsd] = [part.map(([sum]) => sum), part.map(([, cost]) => cost)];
        const end = { id, costNanoUsd, month, sums, epoch: "" };
        this.#keep({ end, bytes: bytesOf(end), file: undefined });
      }
    }
    this.#added.clear();
  }

  /** One file at a time. */
  #load(): void {
    const { files } = this.#options;
    const path = this.#files.shift();
    if (files === undefined || path === undefined) return;
    const ends = files.read(path);
    if (ends === undefined) return;
    if (ends.length === 0) return files.remove(path);
    const file = { path, left: ends.length };
    for (const end of ends) this.#keep({ end, bytes: bytesOf(end), file });
  }
}

function bytesOf({ id, sums }: End): number {
  return sums.reduce((bytes, sum) => bytes + SUM_BYTES + sum.length, END_BYTES + id.length);
}

/** Between two log lines. */
const LOG_EVERY_MS = 10_000;
/** Sums named by one log line: those that lost most. */
const NAMED_MAX = 20;
/** Sums told apart between two log lines. */
const SUMS_MAX = 10_000;

/** Counts, in dollars, the costs of calls that could not be kept, and logs them added up by sum. */
export class LostCosts {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #count: (usd: number) => void;
  readonly #bySum = new Map<string, number>();
  #calls = 0;
  #nanoUsd = 0;
  #waiting = false;

  /** `count`: adds to the metric. */
  constructor(clock: Clock, log: Logger, count: (usd: number) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#count = count;
  }

  /** The cost of a call counts once in the metric, and against each of its sums in the log. */
  add({ costNanoUsd, sums }: End): void {
    const costs = typeof costNanoUsd === "number" ? sums.map(() => costNanoUsd) : costNanoUsd;
    const most = typeof costNanoUsd === "number" ? costNanoUsd : Math.max(0, ...costNanoUsd);
    this.#calls += 1;
    this.#nanoUsd += most;
    this.#count(most / 1e9);
    for (const [index, sum] of sums.entries()) {
      const known = this.#bySum.get(sum);
      if (known === undefined && this.#bySum.size >= SUMS_MAX) continue;
      this.#bySum.set(sum, (known ?? 0) + (costs[index] ?? 0));
    }
    if (this.#waiting) return;
    this.#waiting = true;
    this.flush();
    this.#clock.after(LOG_EVERY_MS, () => {
      this.#waiting = false;
      this.flush();
    });
  }

  /** Logs what was lost since the last line. */
  flush(): void {
    if (this.#calls === 0) return;
    const most = [...this.#bySum].sort(([, a], [, b]) => b - a).slice(0, NAMED_MAX);
    this.#log.error(
      {
        ends: this.#calls,
        usd: this.#nanoUsd / 1e9,
        usd_by_sum: Object.fromEntries(most.map(([sum, nanoUsd]) => [sum, nanoUsd / 1e9])),
      },
      "costs of calls were lost: redis does not answer and there is no room to keep them",
    );
    this.#calls = 0;
    this.#nanoUsd = 0;
    this.#bySum.clear();
  }
}
