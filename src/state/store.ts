/**
 * The store: everything that changes while the gateway runs. Operations, not get and set: each is atomic, in memory
 * because nothing awaits between its read and its write, in Redis because it is one Lua call. Drivers may answer at
 * once or with a promise. One conformance suite (test/state) runs against every driver.
 */
import type { MaybePromise, Message, OpenSession, Sessions } from "../plugin/index.ts";

export interface StateStore {
  readonly driver: string;
  /**
   * Decides all claims together: either every rate window counts the call and every sum reserves its estimate, or
   * nothing changes and one claim refused is named: of rates the one with the longest wait, else the first spend. Rates
   * come before spends in `claims`.
   */
  admit(callId: string, claims: readonly StoreClaim[]): MaybePromise<Admission>;
  /** Ends a reservation: its estimates go, `costNanoUsd` is added to every sum it was made against. */
  settle(reservation: Reservation, costNanoUsd: number): MaybePromise<void>;
  /** Ends a reservation without cost: no provider accepted the call. */
  release(reservation: Reservation): MaybePromise<void>;
  /** What stands against a sum. `month`: `YYYY-MM`. */
  spending(key: string, month: string): MaybePromise<Spending>;
  readonly sessions: SessionStore;
  health(): MaybePromise<StoreHealth>;
  close(): MaybePromise<void>;
}

/** What a store needs of a claim. */
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
  | { readonly admitted: true; readonly reservation: Reservation | undefined }
  | {
      readonly admitted: false;
      /** Index into `claims` of the one refused. */
      readonly refused: number;
      /** For a rate: whole seconds, at least 1, after which one call is admitted if no other comes. Else 0. */
      readonly retryAfterSeconds: number;
      /** For a spend: settled plus reserved in this month. Else 0. */
      readonly spentNanoUsd: number;
    };

/** Money held for one call. Settled or released exactly once; a second end is a bug and throws. */
export interface Reservation {
  readonly callId: string;
  /** The month it was reserved in, and is settled in, whatever the time is then. */
  readonly month: string;
  readonly entries: readonly { readonly key: string; readonly estimateNanoUsd: number }[];
}

export interface Spending {
  readonly settledNanoUsd: number;
  readonly reservedNanoUsd: number;
}

/** Conversations; see `Sessions` in sluice/plugin, whose promises these are. `owner` holds the plugin's name too. */
export type SessionStore = Sessions;

/** Calls that may wait for a conversation in use; the next is `busy` (CONTRACT section 4). */
export const SESSION_WAITERS_MAX = 8;

export interface StoreHealth {
  readonly ok: boolean;
  readonly detail: string;
}

export type { Message, OpenSession };
