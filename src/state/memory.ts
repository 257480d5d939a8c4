/**
 * The store in memory: exact, bounded, gone at exit. Everything is answered at once, so nothing can come between a
 * check and what it allows; only a conversation in use is answered with a promise.
 */
import type { Clock, Random } from "../plugin/index.ts";
import { AuditTable } from "./audit-table.ts";
import { OverrideTable } from "./override-table.ts";
import { RateTable } from "./rate-table.ts";
import { SessionTable } from "./session-table.ts";
import { SpendLedger } from "./spend-ledger.ts";
import type { Admission, StateStore, StoreHealth } from "./store.ts";

/** What a memory store is made from. */
export interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Makes the ids of conversations. */
  readonly random: Random;
  /** Conversations stored at most; at least 1. The one used least recently goes first. */
  readonly maxSessions: number;
}

const HEALTHY: StoreHealth = { ok: true, detail: "in memory" };
const CLOSED: StoreHealth = { ok: false, detail: "closed" };
const ADMITTED_UNRESERVED: Admission = { admitted: true, reservation: undefined };
const REFUSED_CLOSED: Admission = { admitted: false, refused: 0, retryAfterSeconds: 1, spentNanoUsd: 0 };

/**
 * Makes an empty store. After `close` it refuses every claim, opens no conversation, and still takes the ends of
 * reservations made before.
 */
export function memoryStore(options: MemoryStoreOptions): StateStore {
  const { clock } = options;
  const rates = new RateTable();
  const ledger = new SpendLedger();
  const sessions = new SessionTable(clock, options.random, options.maxSessions);
  let closed = false;

  return {
    driver: "memory",
    sessions,
    overrides: new OverrideTable(),
    audit: new AuditTable(),
    admit(callId, claims): Admission {
      if (claims.length === 0) return ADMITTED_UNRESERVED;
      if (closed) return REFUSED_CLOSED;
      const nowMs = clock.nowMs();
      const tooFast = rates.check(claims, nowMs);
      if (tooFast !== undefined) return { admitted: false, spentNanoUsd: 0, ...tooFast };
      const tooDear = ledger.check(claims, nowMs);
      if (tooDear !== undefined) return { admitted: false, retryAfterSeconds: 0, ...tooDear };
      rates.record(claims, nowMs);
      const reservation = ledger.reserve(callId, claims);
      return reservation === undefined ? ADMITTED_UNRESERVED : { admitted: true, reservation };
    },
    settle: (reservation, costNanoUsd) => ledger.end(reservation, costNanoUsd),
    release: (reservation) => ledger.end(reservation, 0),
    // One process: what is open here is open, and what a crash leaves is gone with it.
    renew() {},
    sums: () => ledger.sums(),
    spending: (key, month) => ledger.spending(key, month),
    health: () => (closed ? CLOSED : HEALTHY),
    close() {
      closed = true;
      rates.clear();
      sessions.close();
    },
  };
}
