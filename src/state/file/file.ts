/**
 * The store of one machine: tables in memory answer, and a journal beside them outlives kill -9. What a client is
 * acknowledged (money settled or released, a conversation, an override, an audit record) is written before it is answered; what only limits
 * need (admissions, reservations) is written by the end of the event-loop iteration. One process holds the folder.
 */

import type { Logger, StoreSlice } from "../../plugin/host.ts";
import type { Clock, MaybePromise, StateStore } from "../../plugin/index.ts";
import type {
  Admission,
  AuditStore,
  OverrideStore,
  Rename,
  RenameEdit,
  Reservation,
  SessionStore,
  StoreClaim,
  StoreHealth,
} from "../../plugin/store.ts";
import type { Hold } from "../change.ts";
import { SliceTable } from "../slice-table.ts";
import {
  ADMITTED_UNRESERVED,
  inGroups,
  REFUSED_CLOSED,
  RENAMES_PER_CHANGE,
  Tables,
  type TablesOptions,
} from "../tables.ts";
import { ChangeLog } from "./change-log.ts";
import { diskFiles, type Files } from "./files.ts";
import type { FolderLock } from "./folder-lock.ts";
import { faultText, refuseLoss, tidyFolder } from "./loss.ts";
import { type Recovered, Restoration, recover, renamedHold } from "./recovery.ts";

export interface FileStoreOptions extends TablesOptions {
  /** Made when it is not there. */
  readonly directory: string;
  readonly snapshotIntervalSeconds: number;
  /** Journal size that triggers the next snapshot. Default: 64 MiB. */
  readonly journalBytesMax?: number;
  /** When nothing can be written: "degrade" answers from memory, "refuse" admits no call and opens no conversation. */
  readonly onError: "degrade" | "refuse";
  readonly log: Logger;
  /** Registers a number that is read at each scrape. Default: nowhere. */
  readonly gauge?: (name: string, help: string, read: () => number) => void;
  /** Default: the machine's. */
  readonly files?: Files;
}

type HeldFolder = Extract<FolderLock, { readonly heldBy: undefined }>;

const REFUSED_LOST: Admission = {
  admitted: false,
  refused: "unavailable",
  retryAfterSeconds: 0,
  spentNanoUsd: 0,
};

/**
 * Opens the store in its folder, as its last process left it. Rejects with an Error for people when another process
 * holds the folder, when a later version wrote it, when it is damaged so that money or a revocation may be lost, and when it
 * cannot be read at all.
 */
export async function fileStore(options: FileStoreOptions): Promise<StateStore> {
  const { directory } = options;
  const files = options.files ?? diskFiles;
  const lock = await files.lock(directory);
  if (lock.heldBy !== undefined) {
    throw new Error(
      `the state folder ${directory} is held by process ${lock.heldBy}; one at a time may use it`,
    );
  }
  try {
    for (const warning of (await files.check?.(directory)) ?? []) options.log.warn({ directory }, warning);
    return await openStore(options, files, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openStore(
  options: FileStoreOptions,
  files: Files,
  { isHeld, release }: HeldFolder,
): Promise<StateStore> {
  const { clock, log, directory: folder } = options;
  const recovered = await recover(files, folder, () => {
    const now = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), boot: files.boot };
    return new Restoration(new Tables(options), now);
  });
  refuseLoss(folder, recovered.faults);
  await tidyFolder({ files, folder, log }, recovered.faults);
  const { tables } = recovered;
  const holds = new Map<Reservation, Hold>();
  const bytesOf = (kind: string): number =>
    recovered.files.reduce((sum, { name, bytes }) => sum + (name.startsWith(kind) ? bytes : 0), 0);
  const changes = await ChangeLog.begin(
    {
      files,
      folder,
      clock,
      log,
      isHeld,
      snapshotIntervalMs: options.snapshotIntervalSeconds * 1000,
      journalBytesMax: options.journalBytesMax,
      capture: () => tables.capture([...holds.values()]),
    },
    { ...recovered, journalBytes: bytesOf("journal"), snapshotBytes: bytesOf("snapshot") },
  );
  settleOpen(recovered, changes, log);
  tables.sessions.recordTo({
    saved: (session) => done(changes.written({ type: "session", ...session })),
    ended: (id) => changes.add({ type: "session-end", id }),
  });
  registerGauges(options, changes);
  // What is read at the next start is bounded by the snapshot that follows this one.
  if (bytesOf("journal") > 0) void changes.snapshot();
  return new FileStore({ options, recovered, changes, holds, release });
}

/** A crash leaves reservations open: that much had been sent to a provider. */
function settleOpen({ tables, holds }: Recovered, changes: ChangeLog, log: Logger): void {
  for (const { number, callId, month, sums } of holds) {
    const totals = sums.map(([key, , inputNanoUsd]) => {
      const total = tables.ledger.settled(key, month);
      total.add(inputNanoUsd);
      tables.ledger.restore(month, key, total);
      return [key, total.toJSON()] as const;
    });
    changes.write({ type: "settle", number, month, totals, recovered: true });
    log.warn(
      { request_id: callId, month, estimated: true },
      "a call that a crash cut off is settled at its input estimate",
    );
  }
}

function registerGauges({ gauge }: FileStoreOptions, changes: ChangeLog): void {
  gauge?.("sluice_state_degraded", "1 while state cannot be written to disk", () =>
    changes.fault === undefined ? 0 : 1,
  );
  gauge?.(
    "sluice_state_journal_bytes",
    "Bytes of journal since the last snapshot",
    () => changes.journalBytes,
  );
  gauge?.("sluice_state_snapshot_bytes", "Bytes of the last snapshot", () => changes.snapshotBytes);
  gauge?.(
    "sluice_state_snapshot_timestamp_seconds",
    "When this process last finished a snapshot; 0 when it has not",
    () => changes.snapshotAtMs / 1000,
  );
}

interface Parts {
  readonly options: FileStoreOptions;
  readonly recovered: Recovered;
  readonly changes: ChangeLog;
  /** Of calls under way. */
  readonly holds: Map<Reservation, Hold>;
  /** Gives the folder back. */
  readonly release: () => Promise<void>;
}

class FileStore implements StateStore {
  readonly driver = "file";
  readonly sessions: SessionStore;
  readonly overrides: OverrideStore;
  readonly audit: AuditStore;
  readonly #clock: Clock;
  readonly #slices: SliceTable;
  readonly #refuses: boolean;
  readonly #tables: Tables;
  readonly #changes: ChangeLog;
  readonly #holds: Map<Reservation, Hold>;
  readonly #release: () => Promise<void>;
  /** What was found damaged at the start; "" when nothing was. */
  readonly #damage: string;
  #lastHold: number;
  #closed: Promise<void> | undefined;

  constructor({ options, recovered, changes, holds, release }: Parts) {
    this.#clock = options.clock;
    this.#slices = new SliceTable(options.clock);
    this.#refuses = options.onError === "refuse";
    this.#tables = recovered.tables;
    this.#changes = changes;
    this.#holds = holds;
    this.#release = release;
    this.#lastHold = recovered.lastHold;
    this.#damage = recovered.faults
      .filter(({ kind }) => kind !== "torn")
      .map((fault) => `; damaged: ${faultText(fault)}`)
      .join("");
    this.sessions = this.#sessionDoor();
    this.overrides = this.#overrideDoor();
    this.audit = this.#auditDoor();
  }

  admit(callId: string, claims: readonly StoreClaim[]): Admission {
    if (claims.length === 0) return ADMITTED_UNRESERVED;
    if (this.#closed !== undefined) return REFUSED_CLOSED;
    if (this.#isLost()) return REFUSED_LOST;
    const named = this.#tables.named(claims);
    const admission = this.#tables.admit(callId, named);
    if (!admission.admitted) return admission;
    const atMs = this.#clock.nowMs();
    const upMs = Math.floor(this.#clock.monotonicMs());
    const rates = ratesOf(named);
    const { reservation } = admission;
    if (reservation === undefined) {
      this.#changes.add({ type: "admit", atMs, upMs, rates });
      return admission;
    }
    this.#lastHold += 1;
    const { month } = reservation;
    const hold = { number: this.#lastHold, callId, month, sums: reservation.held() };
    this.#holds.set(reservation, hold);
    this.#changes.add({ type: "admit", atMs, upMs, rates, hold });
    return admission;
  }

  settle(reservation: Reservation, costNanoUsd: number): MaybePromise<void> {
    this.#tables.ledger.end(reservation, costNanoUsd);
    const number = this.#letGo(reservation);
    const totals = this.#tables.totals(reservation);
    return done(this.#changes.written({ type: "settle", number, month: reservation.month, totals }));
  }

  release(reservation: Reservation): MaybePromise<void> {
    this.#tables.ledger.end(reservation, 0);
    return done(this.#changes.written({ type: "release", number: this.#letGo(reservation) }));
  }

  /** One process: what is open here is open, and what a crash leaves is settled at the next start. */
  renew(): void {}

  spending(key: string, month: string): ReturnType<StateStore["spending"]> {
    return this.#tables.ledger.spending(this.#tables.renames.spendKey(key), month);
  }

  /** In one line of the journal for each few hundred: a crash leaves a rename done or not begun. */
  rename(edit: RenameEdit): readonly Rename[] | undefined {
    if (this.#closed !== undefined || this.#changes.replaced) return undefined;
    const { begin, end } = this.#tables.rename(edit);
    for (const [reservation, hold] of this.#holds)
      if (begin.length > 0) this.#holds.set(reservation, renamedHold(hold, this.#tables));
    if (end.length > 0) this.#changes.add({ type: "rename", begin: [], end });
    for (const some of inGroups(begin, RENAMES_PER_CHANGE))
      this.#changes.add({ type: "rename", begin: some, end: [] });
    this.#changes.flush();
    return this.#tables.renames.list();
  }

  /** In memory alone: gone at exit. */
  slice(namespace: string): StoreSlice {
    return this.#slices.slice(namespace);
  }

  sums(): ReturnType<StateStore["sums"]> {
    return this.#tables.ledger.sums();
  }

  health(): StoreHealth {
    const { fault, snapshotFault } = this.#changes;
    if (this.#closed !== undefined) return { ok: false, detail: "closed" };
    if (fault !== undefined) {
      if (this.#changes.replaced) return { ok: false, detail: `file: ${fault}; refusing calls` };
      const answers = this.#refuses ? "refusing calls" : "answering from memory";
      return { ok: false, serving: !this.#refuses, detail: `file: ${fault}; ${answers}${this.#damage}` };
    }
    const late = snapshotFault === undefined ? "" : `; the last snapshot failed: ${snapshotFault}`;
    return { ok: true, detail: `on file${late}${this.#damage}` };
  }

  close(): Promise<void> {
    this.#closed ??= this.#changes.close().then(() => this.#release());
    // Closing does not delete conversations: they are restored at the next start.
    this.#tables.close();
    return this.#closed;
  }

  #isLost(): boolean {
    return this.#changes.replaced || (this.#refuses && this.#changes.fault !== undefined);
  }

  #letGo(reservation: Reservation): number {
    const number = this.#holds.get(reservation)?.number ?? 0;
    this.#holds.delete(reservation);
    return number;
  }

  #sessionDoor(): SessionStore {
    const { sessions } = this.#tables;
    return {
      open: (owner, id, ttlMs, caller) =>
        this.#isLost() ? "unavailable" : sessions.open(owner, id, ttlMs, caller),
      historyCharacters: (owner, id) => sessions.historyCharacters(owner, id),
      ownerOf: (id) => sessions.ownerOf(id),
      delete: (owner, id) => {
        if (this.#isLost()) return false;
        const known = sessions.delete(owner, id);
        // Its end has been added; the caller continues when it is written.
        this.#changes.flush();
        return known;
      },
    };
  }

  /** What cannot be written is not done where the policy is to refuse. */
  #overrideDoor(): OverrideStore {
    const { overrides } = this.#tables;
    return {
      list: () => overrides.list(),
      set: (override) => {
        if (!overrides.hasRoomFor(override.key)) return false;
        if (!this.#changes.write({ type: "override", override }) && this.#refuses) return false;
        return overrides.set(override);
      },
      delete: (key) => {
        if (!overrides.has(key)) return false;
        if (!this.#changes.write({ type: "override-end", key }) && this.#refuses) return false;
        return overrides.delete(key);
      },
      watch: (changed) => overrides.watch(changed),
    };
  }

  #auditDoor(): AuditStore {
    const { audit } = this.#tables;
    return {
      append: (records) => {
        audit.append(records);
        return done(this.#changes.written({ type: "audit", records }));
      },
      query: (filter) => audit.query(filter),
    };
  }
}

/** Whether it was written or could not be: memory knows it, and the change log says what is wrong. */
function done(written: Promise<boolean> | undefined): MaybePromise<void> {
  return written?.then(nothing);
}

function nothing(): void {}

/** A plugin may ask for any number; only whole ones can be written down. */
function ratesOf(claims: readonly StoreClaim[]): [string, number, number][] {
  const rates: [string, number, number][] = [];
  for (const claim of claims) {
    if (claim.kind !== "rate" || !Number.isSafeInteger(claim.windowMs)) continue;
    const limit = Math.floor(Math.min(Math.max(claim.limit, 0), Number.MAX_SAFE_INTEGER));
    rates.push([claim.key, claim.windowMs, Number.isNaN(limit) ? 0 : limit]);
  }
  return rates;
}
