/**
 * Money in whole nano-dollars, so that sums are exact. A JavaScript number holds them exactly up to 2^53, about nine
 * million dollars: enough for one call or one cap. Sums of many calls are a NanoUsdSum, which has no such limit.
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

/** An amount as a plain decimal without trailing zeros: `0.00225`. */
export function nanoUsdText(nanoUsd: number | string): string {
  const digits = String(nanoUsd).padStart(10, "0");
  const point = digits.length - 9;
  let end = digits.length;
  while (end > point && digits[end - 1] === "0") end--;
  return end === point ? digits.slice(0, point) : `${digits.slice(0, point)}.${digits.slice(point, end)}`;
}

/** Whether a number is an amount that sums can take exactly: whole, not negative, at most 2^53 - 1. */
export function isNanoUsd(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/**
 * The cost that ends a reservation, whatever was handed in: a reservation that never ends would block its budget. A
 * fraction counts as the next whole nano-dollar; anything that is not an amount counts as the estimate that was reserved.
 */
export function settleableNanoUsd(costNanoUsd: number, estimateNanoUsd: number): number {
  if (isNanoUsd(costNanoUsd)) return costNanoUsd;
  const whole = Math.ceil(costNanoUsd);
  return costNanoUsd > 0 && isNanoUsd(whole) ? whole : estimateNanoUsd;
}

/** What one part of a sum counts in: a million dollars, so that both parts and their sums stay exact. */
const HIGH_UNIT = 1_000_000_000_000_000;
const LOW_DIGITS = 15;

/** A sum in JSON: a number as long as that is exact, else its decimal digits. */
export type NanoUsdJson = number | string;

/** A sum of amounts, exact at any size: whole millions of dollars and the rest apart. */
export class NanoUsdSum {
  #high = 0;
  #low = 0;

  /** `amount`: see `isNanoUsd`. */
  add(amount: number): void {
    this.#high += Math.floor(amount / HIGH_UNIT);
    this.#low += amount % HIGH_UNIT;
    if (this.#low < HIGH_UNIT) return;
    this.#low -= HIGH_UNIT;
    this.#high += 1;
  }

  /** Adds another sum. */
  addSum(other: NanoUsdSum): void {
    this.add(other.#low);
    this.#high += other.#high;
  }

  /** Subtracts an amount that was added before. */
  subtract(amount: number): void {
    this.#high -= Math.floor(amount / HIGH_UNIT);
    this.#low -= amount % HIGH_UNIT;
    if (this.#low >= 0) return;
    this.#low += HIGH_UNIT;
    this.#high -= 1;
  }

  /** Exact up to 2^53, the nearest number above. */
  get value(): number {
    return this.#high * HIGH_UNIT + this.#low;
  }

  get isZero(): boolean {
    return this.#high === 0 && this.#low === 0;
  }

  /** In USD, a plain decimal with all of its digits. */
  get usdText(): string {
    return nanoUsdText(this.toJSON());
  }

  toJSON(): NanoUsdJson {
    const { value } = this;
    if (Number.isSafeInteger(value)) return value;
    return `${this.#high}${String(this.#low).padStart(LOW_DIGITS, "0")}`;
  }

  /** Becomes `other` when that is more. */
  raiseTo(other: NanoUsdSum): void {
    if (other.#high < this.#high || (other.#high === this.#high && other.#low <= this.#low)) return;
    this.#high = other.#high;
    this.#low = other.#low;
  }

  /** Of what `isNanoUsdJson` accepts. */
  static of(json: NanoUsdJson): NanoUsdSum {
    const sum = new NanoUsdSum();
    const digits = typeof json === "number" ? BigInt(json).toString() : json;
    sum.#high = Number(digits.slice(0, -LOW_DIGITS));
    sum.#low = Number(digits.slice(-LOW_DIGITS));
    return sum;
  }
}

/** Digits that a sum may have as text: far beyond all the money there is. */
const SUM_TEXT = /^\d{1,30}$/;

/** Whether a value is a sum as `toJSON` writes it. Numbers beyond 2^53 are accepted: version 0.1 wrote them. */
export function isNanoUsdJson(value: unknown): value is NanoUsdJson {
  if (typeof value === "string") return SUM_TEXT.test(value);
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 1e30;
}
