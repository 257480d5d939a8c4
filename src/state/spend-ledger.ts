/**
 * What was spent, per key and UTC month, and what is reserved for calls under way. Whole nano-dollars only, so that
 * sums stay exact. It knows months, but never asks for the time.
 */
import { monthOf, nextMonthMs } from "../base/month.ts";
import type { Reservation, Spending, SpendSum, StoreClaim } from "./store.ts";

/** Sums of one month that are not zero. A call that needs one more is refused: money is never left uncounted. */
export const SPEND_SUMS_MAX = 262_144;

/** Months kept beside the current one. */
const PAST_MONTHS_KEPT = 2;

/** Why the spend claims of a call are refused. */
export interface SpendRefusal {
  /** Index of the first claim refused. */
  readonly refused: number;
  /** Settled plus reserved against its sum. */
  readonly spentNanoUsd: number;
}

interface Sum {
  readonly key: string;
  settledNanoUsd: number;
  reservedNanoUsd: number;
  /** Reservations under way. A sum with one must stay, even at zero. */
  open: number;
}

const NOTHING: Spending = { settledNanoUsd: 0, reservedNanoUsd: 0 };

/** Lives with its call, so the ledger keeps no list of them that could grow. */
class OpenReservation implements Reservation {
  readonly callId: string;
  readonly month: string;
  readonly entries: { readonly key: string; estimateNanoUsd: number }[] = [];
  /** One for each entry. Private, so that a driver may write a reservation down as JSON. */
  readonly #sums: Sum[] = [];
  #ended = false;

  constructor(callId: string, month: string) {
    this.callId = callId;
    this.month = month;
  }

  /** One call counts once against a sum, with its largest estimate. */
  hold(sum: Sum, estimateNanoUsd: number): void {
    const entry = this.entries[this.#sums.indexOf(sum)];
    if (entry !== undefined) {
      const moreNanoUsd = Math.max(0, estimateNanoUsd - entry.estimateNanoUsd);
      entry.estimateNanoUsd += moreNanoUsd;
      sum.reservedNanoUsd += moreNanoUsd;
      return;
    }
    this.entries.push({ key: sum.key, estimateNanoUsd });
    this.#sums.push(sum);
    sum.reservedNanoUsd += estimateNanoUsd;
    sum.open += 1;
  }

  /** Gives back the estimates and returns the sums they stood against. Throws when called again. */
  end(): readonly Sum[] {
    if (this.#ended) throw new Error(`the reservation of call ${this.callId} was ended twice`);
    this.#ended = true;
    for (let index = 0; index < this.#sums.length; index += 1) {
      const sum = this.#sums[index];
      if (sum === undefined) continue;
      sum.reservedNanoUsd -= this.entries[index]?.estimateNanoUsd ?? 0;
      sum.open -= 1;
    }
    return this.#sums;
  }
}

/** `sumsMax`: see SPEND_SUMS_MAX, its default. */
export class SpendLedger {
  readonly #sumsMax: number;
  readonly #months = new Map<string, Map<string, Sum>>();
  #month = "";
  #sums = new Map<string, Sum>();
  #monthEndMs = Number.NEGATIVE_INFINITY;

  constructor(sumsMax: number = SPEND_SUMS_MAX) {
    this.#sumsMax = sumsMax;
  }

  /** undefined: `reserve` may be called for these claims, at this time. Throws on an amount that is no amount. */
  check(claims: readonly StoreClaim[], nowMs: number): SpendRefusal | undefined {
    if (nowMs >= this.#monthEndMs) this.#turnMonth(nowMs);
    let added = 0;
    for (let index = 0; index < claims.length; index += 1) {
      const claim = claims[index];
      if (claim?.kind !== "spend") continue;
      requireAmount(claim.estimateNanoUsd);
      const sum = this.#sums.get(claim.key);
      if (sum === undefined) added += 1;
      const spentNanoUsd = sum === undefined ? 0 : sum.settledNanoUsd + sum.reservedNanoUsd;
      const full = sum === undefined && this.#sums.size + added > this.#sumsMax;
      const overCap =
        claim.capNanoUsd !== undefined && !(spentNanoUsd + claim.estimateNanoUsd <= claim.capNanoUsd);
      if (full || overCap) return { refused: index, spentNanoUsd };
    }
    return undefined;
  }

  /** Reserves what `check` has just let pass. undefined: there was no spend claim. */
  reserve(callId: string, claims: readonly StoreClaim[]): Reservation | undefined {
    let reservation: OpenReservation | undefined;
    for (const claim of claims) {
      if (claim.kind !== "spend") continue;
      reservation ??= new OpenReservation(callId, this.#month);
      let sum = this.#sums.get(claim.key);
      if (sum === undefined) {
        sum = { key: claim.key, settledNanoUsd: 0, reservedNanoUsd: 0, open: 0 };
        this.#sums.set(claim.key, sum);
      }
      reservation.hold(sum, claim.estimateNanoUsd);
    }
    return reservation;
  }

  /** Ends a reservation of this ledger at a cost, 0 when it is released. Throws when it has ended before. */
  end(reservation: Reservation, costNanoUsd: number): void {
    requireAmount(costNanoUsd);
    if (!(reservation instanceof OpenReservation))
      throw new TypeError("a reservation of another store was ended");
    for (const sum of reservation.end()) {
      sum.settledNanoUsd += costNanoUsd;
      if (sum.open === 0 && sum.settledNanoUsd === 0) this.#months.get(reservation.month)?.delete(sum.key);
    }
  }

  /** What stands against a sum; nothing for one that is not known. */
  spending(key: string, month: string): Spending {
    const sum = this.#months.get(month)?.get(key);
    if (sum === undefined) return NOTHING;
    return { settledNanoUsd: sum.settledNanoUsd, reservedNanoUsd: sum.reservedNanoUsd };
  }

  /** Every sum, of all months kept. */
  sums(): readonly SpendSum[] {
    return [...this.#months].flatMap(([month, sums]) =>
      [...sums.values()].map(({ key, settledNanoUsd, reservedNanoUsd }) => ({
        key,
        month,
        settledNanoUsd,
        reservedNanoUsd,
      })),
    );
  }

  #turnMonth(nowMs: number): void {
    this.#month = monthOf(nowMs);
    this.#monthEndMs = nextMonthMs(nowMs);
    this.#sums = new Map();
    this.#months.set(this.#month, this.#sums);
    const now = new Date(nowMs);
    const oldest = monthOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - PAST_MONTHS_KEPT, 1));
    for (const month of this.#months.keys()) if (month < oldest) this.#months.delete(month);
  }
}

function requireAmount(nanoUsd: number): void {
  if (!Number.isSafeInteger(nanoUsd) || nanoUsd < 0) {
    throw new RangeError(`${nanoUsd} is not an amount in whole nano-dollars`);
  }
}
