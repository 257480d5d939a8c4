/**
 * Brings back what a state folder holds: the newest good snapshot, then every change after it, in order, past lines that
 * are damaged. Reads only; faults are returned with what may be lost.
 */

import { NanoUsdSum } from "../../base/money.ts";
import { type Change, changesOf, type Hold, type Totals } from "../change.ts";
import type { Tables } from "../tables.ts";
import { CHAIN_START, type LinePosition } from "./checked-lines.ts";
import type { Files } from "./files.ts";
import { type Fault, LineChain, unknownLoss } from "./line-chain.ts";
import {
  type FileUser,
  type FolderListing,
  fileName,
  firstSequence,
  kindsOfValue,
  listFolder,
  missingJournals,
  readJournal,
  readSnapshot,
} from "./state-folder.ts";
import { readSynced, type Synced } from "./synced.ts";

export interface Recovered {
  readonly tables: Tables;
  /** Of calls that were under way when the process ended. */
  readonly holds: readonly Hold[];
  /** The highest number of a hold; the next one is above it. */
  readonly lastHold: number;
  /** The highest number of a file; the next one is above it. */
  readonly lastFile: number;
  /** The line that the next journal continues from; undefined: none that has a place in a chain. */
  readonly lastLine: LinePosition | undefined;
  /** Those that may still be fallen back to, ascending. */
  readonly snapshots: readonly number[];
  /** With what each has lost; nothing, where another file has the same. */
  readonly faults: readonly Fault[];
  readonly files: readonly RecoveredFile[];
}

export interface RecoveredFile {
  readonly name: string;
  readonly bytes: number;
  /** Changes that could be used. */
  readonly changes: number;
}

/** `emptyTables`: a snapshot that turns out damaged halfway has to be forgotten whole. */
export async function recover(
  files: Files,
  folder: string,
  emptyTables: () => Restoration,
): Promise<Recovered> {
  const listing = await listFolder(files, folder);
  const { base, after, restoration, faults, seen } = await newestSnapshot(
    files,
    folder,
    listing,
    emptyTables,
  );
  const journals = listing.journals.filter((number) => number >= base);
  const synced = await readSynced(files, folder);
  const chain = new LineChain(kindsOfValue, after);
  faults.push(...missingFiles(listing, base, synced));
  for (const [index, number] of journals.entries()) {
    const name = fileName("journal", number);
    const next = journals[index + 1];
    const until = next === undefined ? undefined : await firstSequence(files, folder, next);
    const user = countingUser(restoration);
    const { header } = await readJournal(files, { folder, number, until }, chain, user);
    seen.push({ name, bytes: await files.bytes(`${folder}/${name}`), changes: user.changes });
    const isBase = number === base || !(header?.needsSnapshot ?? false);
    // Earlier changes are in its snapshot only.
    const alone = listing.snapshots.includes(number) || number === listing.journals[0];
    if (!isBase && alone)
      faults.push(unknownLoss(name, 0, "missing", "it needs a snapshot that cannot be read"));
  }
  chain.end(synced === undefined || synced.journal < base ? undefined : syncedEnd(synced));
  return {
    tables: restoration.tables,
    holds: [...restoration.holds.values()],
    lastHold: restoration.lastHold,
    lastFile: Math.max(0, ...listing.journals, ...listing.snapshots),
    lastLine: chain.last,
    snapshots: listing.snapshots.filter((number) => number <= base),
    faults: [...faults, ...chain.faults],
    files: seen,
  };
}

function syncedEnd({ journal, bytes, sequence }: Synced): Parameters<LineChain["end"]>[0] {
  return { file: fileName("journal", journal), bytes, sequence };
}

/** Journals that must have been there. */
function missingFiles(listing: FolderListing, base: number, synced: Synced | undefined): Fault[] {
  const journals = listing.journals.filter((number) => number >= base);
  // The first one after a snapshot has its number; without a snapshot it is the first there ever was.
  const expected = base === 0 ? 1 : base;
  const isEmpty = listing.journals.length + listing.snapshots.length === 0;
  const missing = isEmpty ? [] : missingJournals([expected - 1, ...journals]);
  if (synced !== undefined && synced.journal >= base && !journals.includes(synced.journal)) {
    const file = fileName("journal", synced.journal);
    if (!missing.some((fault) => fault.file === file))
      missing.push(unknownLoss(file, 0, "missing", "the file is missing"));
  }
  return missing;
}

interface Based {
  /** Its number; 0: there is none, or none is good. */
  readonly base: number;
  /** The line before the first of its journal; undefined: not known, version 0.1 wrote it. */
  readonly after: LinePosition | undefined;
  readonly restoration: Restoration;
  readonly faults: Fault[];
  readonly seen: RecoveredFile[];
}

async function newestSnapshot(
  files: Files,
  folder: string,
  listing: FolderListing,
  emptyTables: () => Restoration,
): Promise<Based> {
  const faults: Fault[] = [];
  const seen: RecoveredFile[] = [];
  for (const number of listing.snapshots.toReversed()) {
    const restoration = emptyTables();
    const user = countingUser(restoration);
    const { fault, header } = await readSnapshot(files, { folder, number }, user);
    const name = fileName("snapshot", number);
    seen.push({ name, bytes: await files.bytes(`${folder}/${name}`), changes: user.changes });
    if (fault === undefined) return { base: number, after: header?.after, restoration, faults, seen };
    // The snapshot before it and the journals since say the same; where those are gone, that is a fault of its own.
    faults.push({ ...fault, linesLost: 0, kindsLost: "" });
  }
  return { base: 0, after: CHAIN_START, restoration: emptyTables(), faults, seen };
}

function countingUser(restoration: Restoration): FileUser & { readonly changes: number } {
  let changes = 0;
  return {
    get changes() {
      return changes;
    },
    header: ({ boot }) => restoration.writtenIn(boot),
    take(value) {
      const group = changesOf(value);
      for (const change of group ?? []) restoration.apply(change);
      changes += group?.length ?? 0;
      return group === undefined ? "it is not a change of this version" : undefined;
    },
  };
}

/** What is held, under the names that stand now. */
export function renamedHold(hold: Hold, { renames }: Pick<Tables, "renames">): Hold {
  return {
    ...hold,
    sums: hold.sums.map(([key, estimate, input]) => [renames.spendKey(key), estimate, input] as const),
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
        if (change.hold !== undefined) this.#hold(change.hold);
        if (change.atMs > 0 && change.upMs !== undefined && this.#isSameBoot(change.upMs))
          ledger.see(change.atMs, change.upMs);
        for (const [key, windowMs, limit] of change.rates) {
          const atMs = this.#upMs(change.atMs, change.upMs);
          const window = rates.restore(key, windowMs);
          // Called for its side effect: expired calls are dropped before one is added.
          window?.waitMs(atMs, limit);
          window?.add(atMs, limit);
        }
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
        if (change.atMs !== undefined && change.upMs !== undefined && this.#isSameBoot(change.upMs))
          ledger.see(change.atMs, change.upMs);
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
        overrides.set(change.override);
        return;
      case "override-end":
        overrides.delete(change.key);
        return;
      case "audit":
        audit.append(change.records);
        return;
      case "rename":
        this.tables.rename(change);
        for (const [number, hold] of this.holds) this.holds.set(number, renamedHold(hold, this.tables));
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

  /** A monotonic clock that restarted is behind. */
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
