/**
 * Money in whole nano-dollars, so that sums are exact. A JavaScript number holds them exactly up to 2^53, which is
 * about nine million dollars for one key in one month.
 */
export const NANO_PER_USD = 1_000_000_000;

/** A decimal of the config: its amount, and its text for messages that quote it. */
export interface Money {
  readonly nanoUsd: number;
  /** As the config writes it: `1` stays `1`, `1.50` stays `1.50`. */
  readonly text: string;
}

const DECIMAL = /^(\d+)(?:\.(\d+))?$/;

/**
 * Parses plain decimals ("12", "0.002") exactly; digits below a nano-dollar are rounded to the nearest.
 * undefined for anything else, exponents included.
 */
export function parseUsd(text: string): Money | undefined {
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const [, whole = "0", fraction = ""] = match;
  const kept = fraction.slice(0, 9).padEnd(9, "0");
  const roundUp = (fraction[9] ?? "0") >= "5" ? 1 : 0;
  const nanoUsd = Number(whole) * NANO_PER_USD + Number(kept) + roundUp;
  return Number.isSafeInteger(nanoUsd) ? { nanoUsd, text } : undefined;
}
