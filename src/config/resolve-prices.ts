/** Resolves `prices`: exact amounts of money from their text, null where none is given. */
import type { Money } from "../base/money.ts";
import type { ValueOf } from "../plugin/schema-type.ts";
import type { PriceAmounts, PriceConfig, PriceList } from "./model.ts";
import type { Tree } from "./read/tree.ts";
import type { FilledAmounts, price } from "./schema/prices.ts";
import { usd } from "./usd.ts";

const FREE: Money = { nanoUsd: 0, text: "0" };

type Price = ValueOf<typeof price>;
type Prices = FilledAmounts & Pick<Price, "long_prompt">;

export function resolvePrice(tree: Tree, price: Price): PriceConfig {
  const { provider, model, tiers, geo, next } = price;
  const tierPrices = Object.entries(tiers).map(
    ([name, tier]) => [name, tier.factor ?? priceList(tree, tier)] as const,
  );
  return {
    provider,
    model,
    ...priceList(tree, price),
    tiers: Object.fromEntries(tierPrices),
    geo,
    web_search: usd(tree, price, "web_search"),
    next: next === null ? null : { from_ms: Date.parse(next.from), ...priceList(tree, next) },
  };
}

function priceList(tree: Tree, list: Prices): PriceList {
  const { long_prompt: long } = list;
  return {
    ...amounts(tree, list),
    long_prompt: long === null ? null : { above_tokens: long.above_tokens, ...amounts(tree, long) },
  };
}

function amounts(tree: Tree, from: FilledAmounts): PriceAmounts {
  return {
    input: usd(tree, from, "input") ?? FREE,
    output: usd(tree, from, "output") ?? FREE,
    cached_input: usd(tree, from, "cached_input"),
    cache_write: usd(tree, from, "cache_write"),
    cache_write_1h: usd(tree, from, "cache_write_1h"),
  };
}
