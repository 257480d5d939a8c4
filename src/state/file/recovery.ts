/**
 * Brings back what a state folder holds: the newest good snapshot, then every change after it, in order. Reads only;
 * what it found wrong it says, and leaves it to others to mend.
 */

import { type Change, changesOf, type Hold } from "../change.ts";
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

/** Tables that an earlier process's changes are put into. */
export class Restoration {
  readonly tables: Tables;
  readonly holds = new Map<number, Hold>();
  lastHold = 0;
  readonly #nowMs: number;

  /** `nowMs`: nothing restored lies in the future, so that a clock set back blocks no window for ever. */
  constructor(tables: Tables, nowMs: number) {
    this.tables = tables;
    this.#nowMs = nowMs;
  }

  apply(change: Change): void {
    const { rates, ledger, sessions, overrides, audit } = this.tables;
    switch (change.type) {
      case "admit":
        for (const [key, windowMs, limit] of change.rates) {
          const atMs = Math.min(change.atMs, this.#nowMs);
          const window = rates.restore(key, windowMs);
          // Asked for its side effect: calls that count no more are forgotten before one is added.
          window?.waitMs(atMs, limit);
          window?.add(atMs, limit);
        }
        if (change.hold !== undefined) this.#hold(change.hold);
        return;
      case "settle":
        this.#end(change.number);
        for (const [key, nanoUsd] of change.totals) ledger.restore(change.month, key, nanoUsd);
        return;
      case "release":
        this.#end(change.number);
        return;
      case "sums":
        ledger.reach(change.month);
        for (const [key, nanoUsd] of change.totals) ledger.restore(change.month, key, nanoUsd);
        return;
      case "window": {
        const window = rates.restore(change.key, change.windowMs);
        for (const [atMs, calls] of change.runs) window?.restore(Math.min(atMs, this.#nowMs), calls);
        return;
      }
      case "session": {
        const expiresAtMs = Math.min(change.expiresAtMs, this.#nowMs + change.ttlMs);
        sessions.restore({ ...change, expiresAtMs });
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
