/**
 * What calls cost, in USD per 1,000 of them at a given number of tokens: by the price lists, or by the endpoint's own price
 * where they do not know the model.
 */
import { listScheduleOf } from "../config/price-schedules.ts";
import type { PriceSchedule } from "../plugin/price-schedule.ts";
import type { CallTokens } from "./call-tokens.ts";
import { type Direction, directionOf, joined, SAME } from "./directions/direction.ts";
import type { PreparedSide } from "./prepared-side.ts";

/** Where nobody has measured any. */
export const ASSUMED_TOKENS: CallTokens = { input: 1000, output: 300 };

interface Model {
  readonly provider: string;
  readonly model: string;
}

type Rates = PriceSchedule[number]["rates"];

/** Nano-dollars a token, now; undefined: no price list knows the model. */
export function ratesOf({ side, nowMs }: PreparedSide, model: Model, promptTokens = 0): Rates | undefined {
  const period = listScheduleOf(side.config, model).findLast(({ from_ms }) => from_ms <= nowMs);
  if (period?.long !== undefined && promptTokens > period.long.above_tokens) return period.long.rates;
  return period?.rates;
}

/** `ownUsd`: the endpoint's price per 1,000 tokens, if it has one. */
export function usdPer1000Calls(
  side: PreparedSide,
  model: Model,
  { input, output }: CallTokens,
  ownUsd: number | undefined,
): number | undefined {
  const rates = ratesOf(side, model, input);
  if (rates !== undefined) return (input * rates.input + output * rates.output) / 1_000_000;
  return ownUsd === undefined ? undefined : (input + output) * ownUsd;
}

/** 0.85, 12.50, 0.0042 */
export function usdText(usd: number): string {
  return usd >= 0.1 || usd === 0 ? usd.toFixed(2) : String(Number(usd.toPrecision(2)));
}

export function tokensText({ input, output }: CallTokens, isMeasured: boolean): string {
  const counts = `${input.toLocaleString("en-US")} tokens in and ${output.toLocaleString("en-US")} out`;
  return `${counts} (${isMeasured ? "measured" : "assumed"})`;
}

/** Of a model's price: a lower one is the weaker, since budgets last longer. */
export function priceDirection(from: PreparedSide, to: PreparedSide, model: Model): Direction {
  const [was, is] = [ratesOf(from, model), ratesOf(to, model)];
  const names = ["input", "output", "cached_input", "cache_write"] as const;
  return names.reduce<Direction>((direction, name) => {
    const [before, after] = [was?.[name] ?? 0, is?.[name] ?? 0];
    return joined(direction, directionOf(after > before, after < before));
  }, SAME);
}
