/**
 * What was spent, per key and UTC month, and what is reserved for calls under way. Whole nano-dollars only, so that
 * sums stay exact. It never reads a clock itself.
 */
import { isNanoUsd, NanoUsdSum, settleableNanoUsd } from "../base/money.ts";
import { BudgetMonth } from "../base/month.ts";
import type { Reservation, Spending, SpendSum, StoreClaim } from "../plugin/store.ts";

/** Sums of one month that are not zero. A call that needs one more is refused: money is never left uncounted. */
export const SPEND_SUMS_MAX = 262_144;

/** Months with sums that are kept beside the current one. Counted, not dated: a clock set wrong deletes no month. */
const OTHER_MONTHS_KEPT = 2;

/** Why the spend claims of a call are refused. */
export interface SpendRefusal {
  /** Index of the first claim refused. */
  readonly refused: number;
  /** Settled plus reserved against its sum. */
  readonly spentNanoUsd: number;
}

interface Sum {
  /** Changed by a rename alone. */
  key: string;
  readonly settled: NanoUsdSum;
  readonly reserved: NanoUsdSum;
  /** Reservations under way. A sum with one must stay, even at zero. */
  open: number;
  /** The sum that it has become part of. */
  into?: Sum;
}

/** What a sum is part of now. */
function present(sum: Sum): Sum {
  let now = sum;
  while (now.into !== undefined) now = now.into;
  return now;
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
  /** One for each entry. Private, so that a reservation as JSON has only its public fields. */
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
      sum.reserved.add(moreNanoUsd);
      return;
    }
    this.entries.push({ key: sum.key, estimateNanoUsd });
    this.#sums.push(sum);
    this.#inputsNanoUsd.push(inputNanoUsd);
    sum.reserved.add(estimateNanoUsd);
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

  /** Keys of its sums as they are called now. */
  keys(): readonly string[] {
    return this.#sums.map((sum) => present(sum).key);
  }

  /** Gives back the estimates and returns the sums they stood against. Throws when called again. */
  end(): readonly Sum[] {
    if (this.#ended) throw new Error(`the reservation of call ${this.callId} was ended twice`);
    this.#ended = true;
    for (let index = 0; index < this.#sums.length; index += 1) {
      let sum = this.#sums[index];
      if (sum === undefined) continue;
      if (sum.into !== undefined) this.#sums[index] = sum = present(sum);
      sum.reserved.subtract(this.entries[index]?.estimateNanoUsd ?? 0);
      sum.open -= 1;
    }
    return this.#sums;
  }
}

/** `sumsMax`: see SPEND_SUMS_MAX, its default. */
export class SpendLedger {
  readonly #sumsMax: number;
  readonly #months = new Map<string, Map<string, Sum>>();
  readonly #month = new BudgetMonth();
  /** Of the current month. */
  #sums = new Map<string, Sum>();

  constructor(sumsMax: number = SPEND_SUMS_MAX) {
    this.#sumsMax = sumsMax;
  }

  /** undefined: `reserve` may be called for these claims, at this time. Throws on an invalid amount. */
  check(claims: readonly StoreClaim[], nowMs: number, monotonicMs: number): SpendRefusal | undefined {
    if (this.#month.turn(nowMs, monotonicMs)) this.#beginMonth();
    let added = 0;
    for (let index = 0; index < claims.length; index += 1) {
      const claim = claims[index];
      if (claim?.kind !== "spend") continue;
      requireAmount(claim.estimateNanoUsd);
      requireAmount(claim.inputNanoUsd);
      const sum = this.#sums.get(claim.key);
      if (sum === undefined) added += 1;
      const spentNanoUsd = sum === undefined ? 0 : sum.settled.value + sum.reserved.value;
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
      reservation ??= new OpenReservation(callId, this.#month.current);
      reservation.hold(sumOf(this.#sums, claim.key), claim);
    }
    return reservation;
  }

  /**
   * Ends a reservation of this ledger at a cost, 0 when it is released; see `settleableNanoUsd` for costs that are no
   * amounts. Throws when it has ended before.
   */
  end(reservation: Reservation, costNanoUsd: number): void {
    if (!(reservation instanceof OpenReservation))
      throw new TypeError("a reservation of another store was ended");
    const sums = reservation.end();
    for (const [index, sum] of sums.entries()) {
      // Two sums that a rename has made one are paid once.
      if (sums.indexOf(sum) < index) continue;
      sum.settled.add(settleableNanoUsd(costNanoUsd, reservation.entries[index]?.estimateNanoUsd ?? 0));
      if (sum.open === 0 && sum.settled.isZero) this.#months.get(reservation.month)?.delete(sum.key);
    }
  }

  /** What stands against `from` stands against `to`, in every month and with what does already. */
  rename(from: string, to: string): void {
    for (const sums of this.#months.values()) {
      const sum = sums.get(from);
      if (sum === undefined) continue;
      sums.delete(from);
      const known = sums.get(to);
      if (known === undefined) {
        sum.key = to;
        sums.set(to, sum);
        continue;
      }
      known.settled.addSum(sum.settled);
      known.reserved.addSum(sum.reserved);
      known.open += sum.open;
      sum.into = known;
    }
  }

  /** `YYYY-MM` that calls are reserved in: the latest one seen. "": none yet. */
  get month(): string {
    return this.#month.current;
  }

  /** What an earlier process settled against a sum in all: never less than is known. The latest month is the current. */
  restore(month: string, key: string, settled: NanoUsdSum): void {
    this.reach(month);
    if (settled.isZero) return;
    const known = this.#months.get(month);
    const sums = known ?? new Map<string, Sum>();
    sumOf(sums, key).settled.raiseTo(settled);
    if (known !== undefined) return;
    this.#months.set(month, sums);
    this.#prune();
  }

  /** That month has begun; no earlier one begins again, regardless of the clock. */
  reach(month: string): void {
    if (this.#month.reach(month)) this.#beginMonth();
  }

  /** Both clocks at one moment of an earlier process on this machine: see `BudgetMonth`. */
  see(nowMs: number, monotonicMs: number): void {
    this.#month.see(nowMs, monotonicMs);
  }

  /** See `BudgetMonth.seen`. */
  get seen(): BudgetMonth["seen"] {
    return this.#month.seen;
  }

  /** The spending of a sum; zero if it is unknown. */
  spending(key: string, month: string): Spending {
    const sum = this.#months.get(month)?.get(key);
    if (sum === undefined) return NOTHING;
    return { settledNanoUsd: sum.settled.value, reservedNanoUsd: sum.reserved.value };
  }

  /** What was settled against a sum, exactly, as a value of its own. */
  settled(key: string, month: string): NanoUsdSum {
    const copy = new NanoUsdSum();
    const sum = this.#months.get(month)?.get(key);
    if (sum !== undefined) copy.raiseTo(sum.settled);
    return copy;
  }

  /** Every sum, of all months kept. */
  sums(): readonly SpendSum[] {
    return [...this.#months].flatMap(([month, sums]) =>
      [...sums.values()].map(({ key, settled, reserved }) => ({
        key,
        month,
        settledNanoUsd: settled.value,
        reservedNanoUsd: reserved.value,
      })),
    );
  }

  #beginMonth(): void {
    this.#sums = this.#months.get(this.#month.current) ?? new Map();
    this.#months.set(this.#month.current, this.#sums);
    this.#prune();
  }

  /** The earliest months go first; those without sums before all others. */
  #prune(): void {
    const current = this.#month.current;
    for (const [month, sums] of this.#months) {
      if (sums.size === 0 && month !== current) this.#months.delete(month);
    }
    const others = [...this.#months.keys()].filter((month) => month !== current).sort();
    for (const month of others.slice(0, Math.max(0, others.length - OTHER_MONTHS_KEPT)))
      this.#months.delete(month);
  }
}

function sumOf(sums: Map<string, Sum>, key: string): Sum {
  const known = sums.get(key);
  if (known !== undefined) return known;
  const made = { key, settled: new NanoUsdSum(), reserved: new NanoUsdSum(), open: 0 };
  sums.set(key, made);
  return made;
}

function requireAmount(nanoUsd: number): void {
  if (!isNanoUsd(nanoUsd)) {
    throw new RangeError(`${nanoUsd} is not an amount in whole nano-dollars`);
  }
}
