/**
 * The store: everything that changes while the gateway runs, and must hold over replicas, restarts and reloads.
 * Operations, not get and set: each is atomic, in memory because nothing awaits between its read and its write, in
 * Redis because it is one Lua call. Drivers answer at once or with a promise, and never throw or reject: what a store
 * that is lost means is part of each answer. `storeConformance` of sluice/testing holds every driver to this text.
 */
import type { JsonValue } from "./chat.ts";
import type { Sessions, StoreSlice } from "./host.ts";
import type { MaybePromise } from "./maybe-promise.ts";

/** What `setup` of a store returns. @since 0.1.0 */
export interface StateStore {
  /** As `state.driver` names it. */
  readonly driver: string;
  /**
   * Decides all claims together: either every rate window counts the call and every sum reserves its estimate, or
   * nothing changes and one claim refused is named: of rates the one with the longest wait, else the first spend.
   * Rates come before spends in `claims`.
   */
  admit(callId: string, claims: readonly StoreClaim[]): MaybePromise<Admission>;
  /**
   * Says that the calls of these reservations still run. A reservation not renewed for LEASE_MS may be taken for that
   * of a dead process, and is settled at its input estimate. Asked every LEASE_MS / 3 for all open calls together.
   */
  renew(reservations: readonly Reservation[]): MaybePromise<void>;
  /**
   * Ends a reservation: its estimates go, `costNanoUsd` is added to every sum it was made against, in the month it was
   * reserved in. When it answers, the cost outlives what the driver promises to outlive. The reservation ends whatever
   * the cost is: a fraction counts as the next whole nano-dollar; a cost that is no amount (negative, NaN, above
   * 2^53 - 1) counts as the estimate. Ending one twice is a bug and throws.
   */
  settle(reservation: Reservation, costNanoUsd: number): MaybePromise<void>;
  /** Ends a reservation without cost: no provider accepted the call. */
  release(reservation: Reservation): MaybePromise<void>;
  /** What stands against a sum. `month`: `YYYY-MM`. */
  spending(key: string, month: string): MaybePromise<Spending>;
  /** Every sum that is not zero, of the months kept, in no order. */
  sums(): MaybePromise<readonly SpendSum[]>;
  /**
   * Ends the renames of `end` and begins those of `begin`, in one step each, and answers all that stand then. While a
   * rename stands, `from` is another name of `to`: what is claimed, settled, asked or saved under it is under `to`, that
   * of calls under way included. When it begins, what was kept under `from` is added to what is kept under `to`: the sums
   * of every month, settled and reserved; the calls that a window counts; conversations, open ones included; of two
   * overrides the one set later. One that stands already changes nothing. Beginning one ends a rename of its `to`.
   * Renames outlive what the driver promises to outlive.
   *
   * undefined: the store is lost. Then `begin` is done as soon as it is back, before anything else is decided.
   *
   * Absent: the driver cannot. Objects that are renamed in the configuration (`moved_from`) then begin with empty
   * budgets, windows and conversations, which the gateway logs; overrides hold as long as `moved_from` stands.
   * @since 0.2.0
   */
  rename?(edit: RenameEdit): MaybePromise<readonly Rename[] | undefined>;
  /** Conversations; see `Sessions`, whose promises these are. `owner` holds the plugin's name too. */
  readonly sessions: SessionStore;
  readonly overrides: OverrideStore;
  readonly audit: AuditStore;
  /** The slice of one plugin; see `StoreSlice`, whose promises these are. Absent: the driver keeps none. */
  slice?(namespace: string): StoreSlice;
  health(): MaybePromise<StoreHealth>;
  /** Ends open writes and lets go of files and connections. Answers of later calls are those of a lost store. */
  close(): MaybePromise<void>;
}

/** How long a reservation stands without being renewed, before it may be taken for a dead process's. */
export const LEASE_MS = 60_000;

/**
 * A name under which state is kept that has become another.
 * @since 0.2.0
 */
export interface Rename {
  /**
   * What kind of name it is: the key of rate claims, of spend claims, or of an override; for `sessions` what follows the
   * plugin's name in the owners of conversations, `<project>/<endpoint>` of `<plugin>/<project>/<endpoint>/<token>`.
   */
  readonly kind: "rate" | "spend" | "sessions" | "override";
  /** Of `rate` alone: the length of the windows, since a key claimed with two lengths is two windows. */
  readonly windowMs?: number;
  readonly from: string;
  readonly to: string;
}

/** @since 0.2 */
export interface RenameEdit {
  readonly begin: readonly Rename[];
  /** Those that do not stand are ignored. */
  readonly end: readonly Rename[];
}

/** What a store needs of a claim. @since 0.1.0 */
export type StoreClaim =
  | { readonly kind: "rate"; readonly key: string; readonly limit: number; readonly windowMs: number }
  | {
      readonly kind: "spend";
      readonly key: string;
      /** undefined: no cap, the sum is kept. */
      readonly capNanoUsd: number | undefined;
      readonly estimateNanoUsd: number;
      /** Settled for a reservation that is found open after a crash. */
      readonly inputNanoUsd: number;
    };

export type Admission =
  /** `reservation` is undefined when there was no spend claim. */
  | {
      readonly admitted: true;
      readonly reservation: Reservation | undefined;
      /**
       * The rate windows with this call counted, two numbers for each rate claim in the order of `claims`: calls that
       * the window would still admit, and milliseconds until its oldest call ceases to count, so that one more place is
       * free. Answered to clients in the `RateLimit` fields. undefined: no rate claim, or the store cannot say.
       * @since 0.2.0
       */
      readonly windows?: readonly number[] | undefined;
    }
  | {
      readonly admitted: false;
      /** Index into `claims` of the one refused; "unavailable": the store cannot say, and the config says to refuse. */
      readonly refused: number | "unavailable";
      /** For a rate: whole seconds, at least 1, after which one call is admitted if no other comes. Else 0. */
      readonly retryAfterSeconds: number;
      /** For a spend: settled plus reserved in this month. Else 0. */
      readonly spentNanoUsd: number;
    };

/**
 * Money held for one call. Settled or released exactly once; a second end is a bug and throws.
 * @since 0.1.0
 */
export interface Reservation {
  readonly callId: string;
  /** The month it was reserved in, and is settled in, whatever the time is then. */
  readonly month: string;
  readonly entries: readonly { readonly key: string; readonly estimateNanoUsd: number }[];
}

/** Sums are kept exactly at any size; shown here above 2^53 they are the nearest number. */
export interface Spending {
  readonly settledNanoUsd: number;
  readonly reservedNanoUsd: number;
}

export interface SpendSum extends Spending {
  readonly key: string;
  readonly month: string;
}

export interface SessionStore extends Sessions {
  /** Whose conversation it is, for one who has only its id. undefined: there is none, or the store is lost. */
  ownerOf(id: string): MaybePromise<string | undefined>;
}

/** Values set at run time over the configuration's, by key. */
export interface OverrideStore {
  /**
   * What was last read stands while the store is lost. "unavailable": nothing has been read yet, and the config says to
   * refuse; calls are refused until `watch` tells of a change, since a revocation might stand there.
   */
  list(): MaybePromise<readonly Override[] | "unavailable">;
  /** Adds it, or puts it in the place of one of its key. False: the store is lost or full (OVERRIDES_MAX). */
  set(override: Override): MaybePromise<boolean>;
  /** True when there was one. */
  delete(key: string): MaybePromise<boolean>;
  /**
   * Calls `changed` after every change of any replica, others' within a second. Returns a function that stops it.
   */
  watch(changed: () => void): () => void;
}

/** A value set at run time over that of the configuration. @since 0.1.0 */
export interface Override {
  /** What is overridden, e.g. `token:<project uuid>/<id>`. At most 512 characters. */
  readonly key: string;
  /** At most OVERRIDE_BYTES_MAX as JSON. */
  readonly value: JsonValue;
  /** The configuration's value that it stands over; it goes when git changes that (`config.override.git-wins`). */
  readonly replaced: JsonValue;
  /** Who set it. */
  readonly actor: string;
  readonly setAtMs: number;
  /**
   * Keys that it had before renames, the latest last: at most OVERRIDE_KEYS_MAX. Written by the store, for replicas whose
   * configuration still has the name before.
   * @since 0.2.0
   */
  readonly formerly?: readonly string[];
}

export const OVERRIDES_MAX = 10_000;
export const OVERRIDE_BYTES_MAX = 65_536;
/** Former keys of one override. */
export const OVERRIDE_KEYS_MAX = 8;

/** The audit log: bounded, oldest records go first. */
export interface AuditStore {
  /** Stores records in their order. When it answers, they outlive what the driver promises to outlive. */
  append(records: readonly AuditRecord[]): MaybePromise<void>;
  /** Newest first. */
  query(filter: AuditFilter): MaybePromise<readonly AuditRecord[]>;
}

export type AuditSeverity = "info" | "warn" | "critical";

/** One thing that happened, with the fields of webhook bodies. @since 0.1.0 */
export interface AuditRecord {
  /** UUID. */
  readonly id: string;
  /** An event key, e.g. `token.revoked`. */
  readonly event: string;
  readonly severity: AuditSeverity;
  readonly actor: string;
  readonly project: { readonly id: number; readonly name: string; readonly uuid: string };
  /** Name of what it happened to. */
  readonly target: string;
  readonly metadata: { readonly [key: string]: JsonValue };
  /** "" where there is none (a reload). */
  readonly ipAddress: string;
  /** Unix milliseconds. */
  readonly occurredAtMs: number;
}

export interface AuditFilter {
  /** undefined: all projects. */
  readonly projectUuid?: string;
  /** undefined: all events. */
  readonly event?: string;
  /** Records at most; 1 to 1,000. */
  readonly limit: number;
  /** Only records older than the one of this id: for the next page. */
  readonly before?: string;
}

/**
 * What an audit record tells of, by its event: a `change` of configuration or running state, a `sign_in` or its failure,
 * or `traffic` of the data plane. Each kind has its own bounds, so that a flood of one erases nothing of the others.
 */
export type AuditKind = "change" | "sign_in" | "traffic";

/** The kind of an event key; an unknown one is a change. */
export function auditKindOf(event: string): AuditKind {
  if (event.startsWith("guardrail.")) return "traffic";
  return event.startsWith("auth.") ? "sign_in" : "change";
}

/** Records kept of one kind by memory and file drivers at most; Redis keeps as many a key prefix. */
export const AUDIT_RECORDS_MAX = 100_000;
/** Bytes of all records of one kind, about. */
export const AUDIT_BYTES_MAX = 67_108_864;

/** Calls that may wait for a conversation in use; the next is `busy` (`session.busy`). */
export const SESSION_WAITERS_MAX = 8;

export interface StoreHealth {
  /** False: what the driver promises does not hold now. */
  readonly ok: boolean;
  /**
   * Whether calls are answered. Default: as `ok`. True beside `ok: false`: the configuration says to answer without the
   * store's promises (`on_error: degrade`, `on_unavailable: allow`); `/readyz` stays 200 and shows `ok` and `detail`.
   */
  readonly serving?: boolean;
  /** For `/readyz` and people, e.g. `in memory`, `redis: connection refused`. Nothing secret. */
  readonly detail: string;
}
