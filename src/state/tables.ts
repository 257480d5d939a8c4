/**
 * All that a store keeps, in memory: the memory driver is these tables, the file driver the same with a journal beside
 * them. Everything is answered at once, so nothing can come between a check and what it allows.
 */

import type { NanoUsdJson } from "../base/money.ts";
import type { Random } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import type {
  Admission,
  AuditRecord,
  Override,
  Rename,
  RenameEdit,
  Reservation,
  StoreClaim,
} from "../plugin/store.ts";
import { AuditTable } from "./audit-table.ts";
import type { Change, Hold, SavedSession, Totals } from "./change.ts";
import { OverrideTable } from "./override-table.ts";
import { RateTable } from "./rate-table.ts";
import { RenameTable } from "./rename-table.ts";
import { SessionTable } from "./session-table.ts";
import { OpenReservation, SpendLedger } from "./spend-ledger.ts";

/** What tables are made from. */
export interface TablesOptions {
  readonly clock: Clock;
  /** Makes the ids of conversations. */
  readonly random: Random;
  /** Conversations stored at most; at least 1. See `SessionTable` for which goes first. */
  readonly maxSessions: number;
  /** Bytes of all conversations. Default: see `SessionTable`. */
  readonly sessionBytesMax?: number;
}

export type Admitted = Admission & {
  readonly admitted: true;
  readonly reservation: OpenReservation | undefined;
};
export type Refused = Admission & { readonly admitted: false };

export const ADMITTED_UNRESERVED: Admitted = { admitted: true, reservation: undefined };
export const REFUSED_CLOSED: Refused = { admitted: false, refused: 0, retryAfterSeconds: 1, spentNanoUsd: 0 };

/** Sums in one change of a snapshot. */
const SUMS_PER_CHANGE = 256;
/** Audit records likewise. */
const RECORDS_PER_CHANGE = 64;
/** Renames likewise, in journals too. */
export const RENAMES_PER_CHANGE = 256;

export class Tables {
  readonly rates = new RateTable();
  readonly ledger = new SpendLedger();
  readonly sessions: SessionTable;
  readonly renames = new RenameTable();
  readonly overrides = new OverrideTable((key) => this.renames.overrideKey(key));
  readonly audit = new AuditTable();
  readonly #clock: Clock;

  constructor({ clock, random, maxSessions, sessionBytesMax }: TablesOptions) {
    this.#clock = clock;
    this.sessions = new SessionTable(clock, random, { maxSessions, sessionBytesMax });
  }

  /** See `StateStore.admit`. */
  admit(callId: string, claims: readonly StoreClaim[]): Admitted | Refused {
    const monotonicMs = Math.floor(this.#clock.monotonicMs());
    const tooFast = this.rates.check(claims, monotonicMs);
    if (tooFast !== undefined) return { admitted: false, spentNanoUsd: 0, ...tooFast };
    const overBudget = this.ledger.check(claims, this.#clock.nowMs(), monotonicMs);
    if (overBudget !== undefined) return { admitted: false, retryAfterSeconds: 0, ...overBudget };
    const windows = this.rates.record(claims, monotonicMs);
    const reservation = this.ledger.reserve(callId, claims);
    if (windows !== undefined) return { admitted: true, reservation, windows };
    return reservation === undefined ? ADMITTED_UNRESERVED : { admitted: true, reservation };
  }

  /** Under the names that stand now. */
  named(claims: readonly StoreClaim[]): readonly StoreClaim[] {
    if (this.renames.size === 0) return claims;
    return claims.map((claim) => {
      const { kind, key } = claim;
      const now = kind === "rate" ? this.renames.rateKey(key, claim.windowMs) : this.renames.spendKey(key);
      // What a store needs of a claim are properties of its own.
      return now === key ? claim : { ...claim, key: now };
    });
  }

  /** See `StateStore.rename`. Answers what of it has changed something. */
  rename({ begin, end }: RenameEdit): RenameEdit {
    const standing = new Set(this.renames.list());
    for (const rename of end) this.renames.end(rename);
    const ended = [...standing].filter((rename) => !this.renames.has(rename));
    const begun = begin.filter((rename) => {
      if (!this.renames.begin(rename)) return false;
      this.#move(rename);
      return true;
    });
    if (begun.some(({ kind }) => kind === "sessions"))
      this.sessions.renameOwners((owner) => this.renames.owner(owner));
    return { begin: begun, end: ended };
  }

  #move({ kind, windowMs, from, to }: Rename): void {
    if (kind === "rate" && windowMs !== undefined) this.rates.rename(from, to, windowMs);
    if (kind === "spend") this.ledger.rename(from, to);
    if (kind === "override") this.overrides.rename(from, to);
  }

  /** All that was settled against each sum of a reservation. */
  totals(reservation: Reservation): Totals {
    const { month, entries } = reservation;
    const keys = reservation instanceof OpenReservation ? reservation.keys() : entries.map(({ key }) => key);
    return keys.map((key) => [key, this.ledger.settled(key, month).toJSON()]);
  }

  /**
   * The fewest changes that give what the tables hold now. What is quick is done at once; what comes later, while the
   * changes are gone through, sees nothing of what happens meanwhile. `holds`: those of calls under way.
   */
  capture(holds: readonly Hold[]): Iterable<Change> {
    return changesOf({
      month: this.ledger.month,
      seen: this.ledger.seen && { ...this.ledger.seen },
      renames: this.renames.list(),
      sums: this.ledger
        .sums()
        .filter(({ settledNanoUsd }) => settledNanoUsd > 0)
        .map(({ key, month }) => ({ key, month, settled: this.ledger.settled(key, month).toJSON() })),
      holds,
      // Times of both clocks: a start on this machine goes by the monotonic one, any other by the date.
      upOffsetMs: this.#clock.nowMs() - Math.floor(this.#clock.monotonicMs()),
      windows: Array.from(this.rates.windows(), (one) => [one.key, one.windowMs, one.runs()]),
      sessions: this.sessions.saved(),
      overrides: this.overrides.list(),
      audit: this.audit.oldestFirst(),
    });
  }

  close(): void {
    this.rates.clear();
    this.sessions.close();
  }
}

interface Captured {
  readonly month: string;
  readonly seen: SpendLedger["seen"];
  readonly renames: readonly Rename[];
  readonly sums: readonly { readonly key: string; readonly month: string; readonly settled: NanoUsdJson }[];
  readonly upOffsetMs: number;
  readonly holds: readonly Hold[];
  readonly windows: readonly (readonly [string, number, readonly (readonly [number, number])[]])[];
  readonly sessions: readonly SavedSession[];
  readonly overrides: readonly Override[];
  readonly audit: readonly AuditRecord[];
}

function* changesOf(captured: Captured): Generator<Change> {
  for (const begin of inGroups(captured.renames, RENAMES_PER_CHANGE))
    yield { type: "rename", begin, end: [] };
  // The month goes first, with or without sums: it never comes again.
  const { month, seen } = captured;
  const moment = seen && { atMs: seen.nowMs, upMs: Math.floor(seen.monotonicMs) };
  if (month !== "") yield { type: "sums", month, totals: [], ...moment };
  for (const month of new Set(captured.sums.map((sum) => sum.month))) {
    const sums = captured.sums.filter((sum) => sum.month === month);
    for (const some of inGroups(sums, SUMS_PER_CHANGE)) {
      yield { type: "sums", month, totals: some.map(({ key, settled }) => [key, settled]) };
    }
  }
  for (const hold of captured.holds) yield { type: "admit", atMs: 0, rates: [], hold };
  const { upOffsetMs } = captured;
  for (const [key, windowMs, runs] of captured.windows) {
    const dated = runs.map(([upMs, calls]) => [upMs + upOffsetMs, calls] as const);
    yield { type: "window", key, windowMs, runs: dated, upOffsetMs };
  }
  for (const session of captured.sessions) yield { type: "session", ...session };
  for (const override of captured.overrides) yield { type: "override", override };
  for (const records of inGroups(captured.audit, RECORDS_PER_CHANGE)) yield { type: "audit", records };
}

export function* inGroups<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Conversations of the built-in stages are kept apart from those of third-party plugins under this name. */
export const OWN_SESSIONS = "chat/";
