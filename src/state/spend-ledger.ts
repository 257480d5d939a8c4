/**
 * What was spent, per key and UTC month, and what is reserved for calls under way. Whole nano-dollars only, so that
 * sums stay exact. It knows months, but never asks for the time.
 */
import { monthOf, nextMonthMs } from "../base/month.ts";
import type { Reservation, Spending, SpendSum, StoreClaim } from "../plugin/index.ts";

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

interface SpendAmounts {
  readonly estimateNanoUsd: number;
  readonly inputNanoUsd: number;
}

/** Lives with its call, so the ledger keeps no list of them that could grow. */
export class OpenReservation implements Reservation {
  readonly callId: string;
  readonly month: string;
  readonly entries: { readonly key: string; estimateNanoUsd: number }[] = [];
  /** One for each entry. Private, so that a reservation as JSON shows what the contract names. */
  readonly #sums: Sum[] = [];
  readonly #inputsNanoUsd: number[] = [];
  #ended = false;

  constructor(callId: string, month: string) {
    this.callId = callId;
    this.month = month;
  }

  /** One call counts once against a sum, with its largest estimate. */
  hold(sum: Sum, { estimateNanoUsd, inputNanoUsd }: SpendAmounts): void {
    const index = this.#sums.indexOf(sum);
    const entry = this.entries[index];
    if (entry !== undefined) {
      this.#inputsNanoUsd[index] = Math.max(this.#inputsNanoUsd[index] ?? 0, inputNanoUsd);
      const moreNanoUsd = Math.max(0, estimateNanoUsd - entry.estimateNanoUsd);
      entry.estimateNanoUsd += moreNanoUsd;
      sum.reservedNanoUsd += moreNanoUsd;
      return;
    }
    this.entries.push({ key: sum.key, estimateNanoUsd });
    this.#sums.push(sum);
    this.#inputsNanoUsd.push(inputNanoUsd);
    sum.reservedNanoUsd += estimateNanoUsd;
    sum.open += 1;
  }

  /** [key, estimate, input estimate] of each sum. */
  held(): [string, number, number][] {
    return this.entries.map(({ key, estimateNanoUsd }, index) => [
      key,
      estimateNanoUsd,
      this.#inputsNanoUsd[index] ?? 0,
    ]);
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
      requireAmount(claim.inputNanoUsd);
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
  reserve(callId: string, claims: readonly StoreClaim[]): OpenReservation | undefined {
    let reservation: OpenReservation | undefined;
    for (const claim of claims) {
      if (claim.kind !== "spend") continue;
      reservation ??= new OpenReservation(callId, this.#month);
      reservation.hold(sumOf(this.#sums, claim.key), claim);
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

  /** `YYYY-MM` that calls are reserved in: the latest one seen. "": none yet. */
  get month(): string {
    return this.#month;
  }

  /** What an earlier process settled against a sum in all: never less than is known. The latest month is the current. */
  restore(month: string, key: string, settledNanoUsd: number): void {
    this.reach(month);
    const sums = this.#months.get(month) ?? new Map<string, Sum>();
    if (!this.#months.has(month)) {
      if (month < this.#oldestMonth()) return;
      this.#months.set(month, sums);
    }
    if (settledNanoUsd === 0) return;
    const sum = sumOf(sums, key);
    sum.settledNanoUsd = Math.max(sum.settledNanoUsd, settledNanoUsd);
  }

  /** It has been that month; no earlier one comes again, whatever the clock says. */
  reach(month: string): void {
    if (month > this.#month) this.#turnMonth(Date.parse(`${month}-01T00:00:00Z`));
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
    const oldest = this.#oldestMonth();
    for (const month of this.#months.keys()) if (month < oldest) this.#months.delete(month);
  }

  #oldestMonth(): string {
    const end = new Date(this.#monthEndMs);
    return monthOf(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1 - PAST_MONTHS_KEPT, 1));
  }
}

function sumOf(sums: Map<string, Sum>, key: string): Sum {
  const known = sums.get(key);
  if (known !== undefined) return known;
  const made = { key, settledNanoUsd: 0, reservedNanoUsd: 0, open: 0 };
  sums.set(key, made);
  return made;
}

function requireAmount(nanoUsd: number): void {
  if (!Number.isSafeInteger(nanoUsd) || nanoUsd < 0) {
    throw new RangeError(`${nanoUsd} is not an amount in whole nano-dollars`);
  }
}
