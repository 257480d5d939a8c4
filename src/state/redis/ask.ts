/** Admissions as the script of the ledger takes them, and the resulting reservations. Nothing is sent here. */
import type { Reservation, StoreClaim } from "../../plugin/store.ts";
import { RUNS_MAX } from "./ledger-script.ts";

type Rate = readonly [index: number, key: string, limit: number, windowMs: number, stepMs: number];
type Spend = readonly [index: number, key: string, capNanoUsd: number, estimateNanoUsd: number];
type Entry = readonly [key: string, estimateNanoUsd: string, inputNanoUsd: string];
export type Ask = readonly [
  id: string,
  rates: readonly Rate[],
  spends: readonly Spend[],
  entries: readonly Entry[],
];

/** Where a reservation stands. `asked`: Redis may hold it or not. `unasked`: it was never sent. Else: the epoch it is in. */
export type Place = { readonly epoch: string } | "asked" | "unasked";

/** Lives with its call. What is not part of the public type is private, so that it can be written as JSON. */
export class HeldReservation implements Reservation {
  readonly callId: string;
  readonly month: string;
  readonly entries: readonly { readonly key: string; readonly estimateNanoUsd: number }[];
  readonly #id: string;
  readonly #held: readonly Entry[];
  #place: Place;
  #ended = false;

  constructor(callId: string, [id, , , entries]: Ask, month: string, place: Place) {
    this.callId = callId;
    this.month = month;
    this.entries = entries.map(([key, estimate]) => ({ key, estimateNanoUsd: Number(estimate) }));
    this.#id = id;
    this.#held = entries;
    this.#place = place;
  }

  get id(): string {
    return this.#id;
  }

  get isOpen(): boolean {
    return !this.#ended;
  }

  get place(): Place {
    return this.#place;
  }

  /** Its place now, after a loss of data or once it is restored. */
  moveTo(place: Place): void {
    this.#place = place;
  }

  /** As the script takes it to reserve it again. */
  held(): readonly [id: string, month: string, entries: readonly Entry[]] {
    return [this.#id, this.month, this.#held];
  }

  sums(): readonly string[] {
    return this.entries.map(({ key }) => key);
  }

  end(): void {
    if (this.#ended) throw new Error(`the reservation of call ${this.callId} was ended twice`);
    this.#ended = true;
  }
}

/** One call counts once against a sum, with its largest estimate. Throws on an invalid amount. */
export function askOf(id: string, claims: readonly StoreClaim[]): Ask {
  const rates: Rate[] = [];
  const spends: Spend[] = [];
  const entries: Entry[] = [];
  claims.forEach((claim, index) => {
    if (claim.kind === "rate") {
      const stepMs = claim.limit <= RUNS_MAX ? 1 : Math.ceil(claim.windowMs / RUNS_MAX);
      rates.push([index, claim.key, claim.limit, claim.windowMs, stepMs]);
      return;
    }
    const { key, capNanoUsd = Number.MAX_SAFE_INTEGER, estimateNanoUsd, inputNanoUsd } = claim;
    requireAmount(estimateNanoUsd);
    requireAmount(inputNanoUsd);
    spends.push([index, key, Math.min(capNanoUsd, Number.MAX_SAFE_INTEGER), estimateNanoUsd]);
    const known = entries.findIndex((entry) => entry[0] === key);
    const twin = entries[known];
    if (twin === undefined) entries.push([key, String(estimateNanoUsd), String(inputNanoUsd)]);
    else {
      const [, estimate, input] = twin;
      entries[known] = [
        key,
        String(Math.max(estimateNanoUsd, Number(estimate))),
        String(Math.max(inputNanoUsd, Number(input))),
      ];
    }
  });
  return [id, rates, spends, entries];
}

export function requireAmount(nanoUsd: number): void {
  if (!Number.isSafeInteger(nanoUsd) || nanoUsd < 0) {
    throw new RangeError(`${nanoUsd} is not an amount in whole nano-dollars`);
  }
}
