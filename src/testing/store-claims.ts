/** Claims as tests write them. */
import type { StoreClaim } from "../plugin/store.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

export function rate(
  key: string,
  limit: number,
  windowMs: number = MINUTE_MS,
): StoreClaim & { kind: "rate" } {
  return { kind: "rate", key, limit, windowMs };
}

/** `capNanoUsd` undefined: the sum is kept, not capped. */
export function spend(
  key: string,
  estimateNanoUsd: number,
  capNanoUsd?: number,
): StoreClaim & { kind: "spend" } {
  return { kind: "spend", key, estimateNanoUsd, capNanoUsd, inputNanoUsd: Math.floor(estimateNanoUsd / 4) };
}
