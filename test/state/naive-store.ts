/**
 * What admission means, written as plainly as it can be said: lists of times and sums, counted again for every call.
 * Tests hold the stores to it. It forgets nothing and is never fast.
 */
import type { StoreClaim } from "../../src/plugin/store.ts";

export interface NaiveAdmission {
  readonly admitted: boolean;
  readonly refused: number;
  readonly retryAfterSeconds: number;
  readonly spentNanoUsd: number;
  readonly windows?: readonly number[];
}

const ADMITTED: NaiveAdmission = { admitted: true, refused: -1, retryAfterSeconds: 0, spentNanoUsd: 0 };

export class NaiveStore {
  /** Every admission there ever was, by key and window length. */
  readonly #times = new Map<string, number[]>();
  readonly #spent = new Map<string, number>();

  /** Keys are for one window length and one month. */
  admit(claims: readonly StoreClaim[], nowMs: number): NaiveAdmission {
    const rates = claims.filter((claim) => claim.kind === "rate");
    const within = (claim: StoreClaim & { kind: "rate" }, atMs: number) =>
      this.times(claim.key).filter((time) => time > atMs - claim.windowMs && time <= atMs).length <
      claim.limit;
    const waitMs = (claim: StoreClaim & { kind: "rate" }) => {
      let ms = 0;
      while (!within(claim, nowMs + ms)) ms = this.#nextExpiryMs(claim, nowMs + ms) - nowMs;
      return ms;
    };
    const longest = rates.reduce<(typeof rates)[number] | undefined>(
      (most, claim) => (waitMs(claim) > (most === undefined ? 0 : waitMs(most)) ? claim : most),
      undefined,
    );
    if (longest !== undefined) {
      const retryAfterSeconds = Math.max(1, Math.ceil(waitMs(longest) / 1000));
      return { ...ADMITTED, admitted: false, refused: claims.indexOf(longest), retryAfterSeconds };
    }
    for (const [index, claim] of claims.entries()) {
      if (claim.kind !== "spend" || claim.capNanoUsd === undefined) continue;
      const spentNanoUsd = this.spent(claim.key);
      if (spentNanoUsd + claim.estimateNanoUsd > claim.capNanoUsd) {
        return { ...ADMITTED, admitted: false, refused: index, spentNanoUsd };
      }
    }
    for (const claim of claims) {
      if (claim.kind === "rate") this.#times.set(claim.key, [...this.times(claim.key), nowMs]);
      else this.spend(claim.key, claim.estimateNanoUsd);
    }
    const windows = rates.flatMap((claim) => {
      const counted = this.times(claim.key).filter((time) => time > nowMs - claim.windowMs);
      return [claim.limit - counted.length, Math.min(...counted) + claim.windowMs - nowMs];
    });
    return { ...ADMITTED, windows };
  }

  times(key: string): readonly number[] {
    return this.#times.get(key) ?? [];
  }

  /** Settled and reserved together. */
  spent(key: string): number {
    return this.#spent.get(key) ?? 0;
  }

  /** Adds to a sum: a cost less its estimate when a call is settled, an estimate taken back when it is released. */
  spend(key: string, nanoUsd: number): void {
    this.#spent.set(key, this.spent(key) + nanoUsd);
  }

  /** The first moment after `nowMs` at which one more admission no longer counts. */
  #nextExpiryMs(claim: StoreClaim & { kind: "rate" }, nowMs: number): number {
    return Math.min(
      ...this.times(claim.key)
        .map((time) => time + claim.windowMs)
        .filter((expiryMs) => expiryMs > nowMs),
    );
  }
}

/** The most calls that any span of `windowMs` holds: a fullest one begins with a call. */
export function fullestSpan(times: readonly number[], windowMs: number): number {
  const from = (startMs: number) =>
    times.filter((time) => time >= startMs && time < startMs + windowMs).length;
  return Math.max(0, ...times.map(from));
}
