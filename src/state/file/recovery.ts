/**
 * Brings back what a state folder holds: the newest good snapshot, then every change after it, in order. Reads only;
 * what it found wrong it says, and leaves it to others to mend.
 */

import { NanoUsdSum } from "../../base/money.ts";
import { type Change, changesOf, type Hold, type Totals } from "../change.ts";
import type { Tables } from "../tables.ts";
import type { Fault } from "./checked-lines.ts";
import type { Files } from "./files.ts";
import { fileName, listFolder, missingJournals, readStateFile, UNKNOWN_CHANGE } from "./state-folder.ts";

export interface Recovered {
  readonly tables: Tables;
  /** Of calls that were under way when the process ended. */
  readonly holds: readonly Hold[];
  /** The highest number of a hold; the next one is above it. */
  readonly lastHold: number;
  /** The highest number of a file; the next one is above it. */
  readonly lastFile: number;
  /** Those that may still be fallen back to, ascending. */
  readonly snapshots: readonly number[];
  readonly faults: readonly Fault[];
  readonly files: readonly RecoveredFile[];
}

export interface RecoveredFile {
  readonly name: string;
  readonly bytes: number;
  /** Changes that it holds, up to its fault. */
  readonly changes: number;
}

/** `emptyTables`: a snapshot that turns out damaged halfway has to be forgotten whole. */
export async function recover(
  files: Files,
  folder: string,
  emptyTables: () => Restoration,
): Promise<Recovered> {
  const listing = await listFolder(files, folder);
  const faults: Fault[] = [];
  const seen: RecoveredFile[] = [];
  const read = async (kind: "journal" | "snapshot", number: number, into: Restoration): Promise<boolean> => {
    let changes = 0;
    const reading = await readStateFile(files, { folder, kind, number }, (value) => {
      const group = changesOf(value);
      for (const change of group ?? []) into.apply(change);
      changes += group?.length ?? 0;
      return group === undefined ? UNKNOWN_CHANGE : undefined;
    });
    const name = fileName(kind, number);
    seen.push({ name, bytes: await files.bytes(`${folder}/${name}`), changes });
    if (reading.fault !== undefined) faults.push(reading.fault);
    return reading.fault === undefined;
  };

  let restoration = emptyTables();
  let base = 0;
  for (const number of listing.snapshots.toReversed()) {
    const candidate = emptyTables();
    if (!(await read("snapshot", number, candidate))) continue;
    restoration = candidate;
    base = number;
    break;
  }
  const journals = listing.journals.filter((number) => number >= base);
  // With a snapshot, the first one must be that of its own number.
  faults.push(...missingJournals(base === 0 ? journals : [base - 1, ...journals]));
  for (const number of journals) await read("journal", number, restoration);
  return {
    tables: restoration.tables,
    holds: [...restoration.holds.values()],
    lastHold: restoration.lastHold,
    lastFile: Math.max(0, ...listing.journals, ...listing.snapshots),
    snapshots: listing.snapshots.filter((number) => number <= base),
    faults,
    files: seen,
  };
}

/** When a process restores: both clocks, and the boot that the monotonic one counts from; "": not known. */
export interface RestorationTime {
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly boot: string;
}

/** Tables that an earlier process's changes are put into. */
export class Restoration {
  readonly tables: Tables;
  readonly holds = new Map<number, Hold>();
  lastHold = 0;
  readonly #now: RestorationTime;
  /** The boot of the machine that wrote the changes which follow; "": not known. */
  #boot = "";

  constructor(tables: Tables, now: RestorationTime) {
    this.tables = tables;
    this.#now = now;
  }

  /** What follows was written in this boot of a machine; "": it is not known in which. */
  writtenIn(boot: string): void {
    this.#boot = boot;
  }

  apply(change: Change): void {
    const { rates, ledger, sessions, overrides, audit } = this.tables;
    switch (change.type) {
      case "admit":
        if (change.atMs > 0 && change.upMs !== undefined && this.#isSameBoot(change.upMs))
          ledger.see(change.atMs, change.upMs);
        for (const [key, windowMs, limit] of change.rates) {
          const atMs = this.#upMs(change.atMs, change.upMs);
          const window = rates.restore(key, windowMs);
          // Asked for its side effect: calls that count no more are forgotten before one is added.
          window?.waitMs(atMs, limit);
          window?.add(atMs, limit);
        }
        if (change.hold !== undefined) this.#hold(change.hold);
        return;
      case "settle":
        this.#end(change.number);
        this.#restoreTotals(change);
        return;
      case "release":
        this.#end(change.number);
        return;
      case "sums":
        ledger.reach(change.month);
        this.#restoreTotals(change);
        return;
      case "window": {
        const window = rates.restore(change.key, change.windowMs);
        const { upOffsetMs } = change;
        for (const [atMs, calls] of change.runs) {
          window?.restore(this.#upMs(atMs, upOffsetMs === undefined ? undefined : atMs - upOffsetMs), calls);
        }
        return;
      }
      case "session": {
        const { ttlMs, expiresAtMs, expiresUpMs } = change;
        const usedUpMs = expiresUpMs === undefined ? undefined : expiresUpMs - ttlMs;
        sessions.restore(change, this.#upMs(expiresAtMs - ttlMs, usedUpMs) + ttlMs);
        return;
      }
      case "session-end":
        sessions.restoreEnd(change.id);
        return;
      case "override":
        overrides.put(change.override);
        return;
      case "override-end":
        overrides.drop(change.key);
        return;
      case "audit":
        audit.append(change.records);
        return;
    }
  }

  #restoreTotals({ month, totals }: { readonly month: string; readonly totals: Totals }): void {
    for (const [key, total] of totals) this.tables.ledger.restore(month, key, NanoUsdSum.of(total));
  }

  /**
   * A moment of an earlier process on this process's monotonic clock, never in the future. In the same boot of the machine
   * that clock tells how long ago it was, whatever the date was set to meanwhile; else the dates do.
   */
  #upMs(atMs: number, upMs: number | undefined): number {
    const { nowMs, monotonicMs } = this.#now;
    if (upMs !== undefined && this.#isSameBoot(upMs)) return upMs;
    return Math.floor(monotonicMs) - Math.max(0, nowMs - atMs);
  }

  /** A monotonic clock that has begun anew says so by being behind. */
  #isSameBoot(upMs: number): boolean {
    return this.#boot !== "" && this.#boot === this.#now.boot && upMs <= this.#now.monotonicMs;
  }

  #end(number: number): void {
    this.holds.delete(number);
    this.lastHold = Math.max(this.lastHold, number);
  }

  #hold(hold: Hold): void {
    this.holds.set(hold.number, hold);
    this.lastHold = Math.max(this.lastHold, hold.number);
    this.tables.ledger.reach(hold.month);
  }
}
