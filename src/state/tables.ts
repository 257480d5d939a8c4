/**
 * All that a store keeps, in memory: the memory driver is these tables, the file driver the same with a journal beside
 * them. Everything is answered at once, so nothing can come between a check and what it allows.
 */
import type {
  Admission,
  AuditRecord,
  Clock,
  Override,
  Random,
  Reservation,
  SpendSum,
  StoreClaim,
} from "../plugin/index.ts";
import { AuditTable } from "./audit-table.ts";
import type { Change, Hold, SavedSession, Totals } from "./change.ts";
import { OverrideTable } from "./override-table.ts";
import { RateTable } from "./rate-table.ts";
import { SessionTable } from "./session-table.ts";
import { type OpenReservation, SpendLedger } from "./spend-ledger.ts";

/** What tables are made from. */
export interface TablesOptions {
  readonly clock: Clock;
  /** Makes the ids of conversations. */
  readonly random: Random;
  /** Conversations stored at most; at least 1. The one used least recently goes first. */
  readonly maxSessions: number;
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

export class Tables {
  readonly rates = new RateTable();
  readonly ledger = new SpendLedger();
  readonly sessions: SessionTable;
  readonly overrides = new OverrideTable();
  readonly audit = new AuditTable();

  constructor({ clock, random, maxSessions }: TablesOptions) {
    this.sessions = new SessionTable(clock, random, maxSessions);
  }

  /** See `StateStore.admit`. */
  admit(callId: string, claims: readonly StoreClaim[], nowMs: number): Admitted | Refused {
    const tooFast = this.rates.check(claims, nowMs);
    if (tooFast !== undefined) return { admitted: false, spentNanoUsd: 0, ...tooFast };
    const tooDear = this.ledger.check(claims, nowMs);
    if (tooDear !== undefined) return { admitted: false, retryAfterSeconds: 0, ...tooDear };
    this.rates.record(claims, nowMs);
    const reservation = this.ledger.reserve(callId, claims);
    return reservation === undefined ? ADMITTED_UNRESERVED : { admitted: true, reservation };
  }

  /** All that was settled against each sum of a reservation. */
  totals({ month, entries }: Reservation): Totals {
    return entries.map(({ key }) => [key, this.ledger.spending(key, month).settledNanoUsd]);
  }

  /**
   * The fewest changes that give what the tables hold now. What is quick is done at once; what comes later, while the
   * changes are gone through, sees nothing of what happens meanwhile. `holds`: those of calls under way.
   */
  capture(holds: readonly Hold[]): Iterable<Change> {
    return changesOf({
      month: this.ledger.month,
      sums: this.ledger.sums(),
      holds,
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
  readonly sums: readonly SpendSum[];
  readonly holds: readonly Hold[];
  readonly windows: readonly (readonly [string, number, readonly (readonly [number, number])[]])[];
  readonly sessions: readonly SavedSession[];
  readonly overrides: readonly Override[];
  readonly audit: readonly AuditRecord[];
}

function* changesOf(captured: Captured): Generator<Change> {
  // The month goes first, with or without sums: it never comes again.
  if (captured.month !== "") yield { type: "sums", month: captured.month, totals: [] };
  for (const month of new Set(captured.sums.map((sum) => sum.month))) {
    const sums = captured.sums.filter((sum) => sum.month === month && sum.settledNanoUsd > 0);
    for (const some of inGroups(sums, SUMS_PER_CHANGE)) {
      yield { type: "sums", month, totals: some.map(({ key, settledNanoUsd }) => [key, settledNanoUsd]) };
    }
  }
  for (const hold of captured.holds) yield { type: "admit", atMs: 0, rates: [], hold };
  for (const [key, windowMs, runs] of captured.windows) yield { type: "window", key, windowMs, runs };
  for (const session of captured.sessions) yield { type: "session", ...session };
  for (const override of captured.overrides) yield { type: "override", override };
  for (const records of inGroups(captured.audit, RECORDS_PER_CHANGE)) yield { type: "audit", records };
}

function* inGroups<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}
