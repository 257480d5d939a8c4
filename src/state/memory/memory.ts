/** The store in memory: exact, bounded, gone at exit. Only a conversation in use is answered with a promise. */

import type { StateStore } from "../../plugin/index.ts";
import type { Admission, StoreHealth } from "../../plugin/store.ts";
import { SliceTable } from "../slice-table.ts";
import { ADMITTED_UNRESERVED, REFUSED_CLOSED, Tables, type TablesOptions } from "../tables.ts";

/** What a memory store is made from. */
export type MemoryStoreOptions = TablesOptions;

const HEALTHY: StoreHealth = { ok: true, detail: "in memory" };
const CLOSED: StoreHealth = { ok: false, detail: "closed" };

/**
 * Makes an empty store. After `close` it refuses every claim, opens no conversation, and still takes the ends of
 * reservations made before.
 */
export function memoryStore(options: MemoryStoreOptions): StateStore {
  const { clock } = options;
  const tables = new Tables(options);
  const { ledger, sessions, overrides, audit } = tables;
  const slices = new SliceTable(clock);
  let closed = false;

  return {
    driver: "memory",
    sessions,
    overrides,
    audit,
    slice: (namespace) => slices.slice(namespace),
    admit(callId, claims): Admission {
      if (claims.length === 0) return ADMITTED_UNRESERVED;
      return closed ? REFUSED_CLOSED : tables.admit(callId, tables.named(claims));
    },
    settle: (reservation, costNanoUsd) => ledger.end(reservation, costNanoUsd),
    release: (reservation) => ledger.end(reservation, 0),
    // One process: what is open here is open, and what a crash leaves is gone with it.
    renew() {},
    sums: () => ledger.sums(),
    spending: (key, month) => ledger.spending(tables.renames.spendKey(key), month),
    rename(edit) {
      tables.rename(edit);
      return tables.renames.list();
    },
    health: () => (closed ? CLOSED : HEALTHY),
    close() {
      closed = true;
      tables.close();
    },
  };
}
