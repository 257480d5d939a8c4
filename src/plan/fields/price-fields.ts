/** What a change of a price means: a lower one lets budgets last longer, a higher one ends them sooner. */
import { asJsonMap } from "../../config/shown.ts";
import { BOTH, type Compare, directionOf, holdsReference, joined, SAME } from "../directions/direction.ts";
import type { Value } from "./field.ts";
import { always, directed, type Field, type Fields } from "./field.ts";

const rules = {
  ...({ stricter: "P401", weaker: "P301" } as const),
  whenStricter: "budgets end sooner",
  whenWeaker: "the same calls use up less of their budgets",
};

/** Amounts, and maps of them; what only one side has cannot be compared. */
const byAmounts: Compare = (before, after) => {
  if (JSON.stringify(before) === JSON.stringify(after)) return SAME;
  if (holdsReference(before) || holdsReference(after)) return BOTH;
  const [was, is] = [amountOf(before), amountOf(after)];
  if (was !== undefined && is !== undefined) return directionOf(is > was, is < was);
  if (typeof before !== "object" || typeof after !== "object" || before === null || after === null)
    return BOTH;
  const [old, now] = [asJsonMap(before), asJsonMap(after)];
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return joined(...keys.map((key) => byAmounts(old[key], now[key])));
};

function amountOf(value: Value): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined;
}

/** What an absent amount stands for, by the key beside it. */
const amount: Field = (change) => {
  const { before, after, pair } = change;
  const input = (value: Value, prices: (typeof pair)["before"]) => value ?? prices.value["input"];
  const isInput = /cached_input|cache_write$/.test(change.name);
  const compare: Compare = isInput
    ? () => byAmounts(input(before, pair.before), input(after, pair.after))
    : byAmounts;
  return directed(compare, rules)(change);
};

export const priceFields: Fields = {
  provider: always("P401"),
  model: always("P401"),
  input: amount,
  output: amount,
  cached_input: amount,
  cache_write: amount,
  cache_write_1h: amount,
  long_prompt: amount,
  tiers: amount,
  geo: amount,
  web_search: amount,
  next: amount,
};
