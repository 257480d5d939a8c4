/** Resolves `prices`: amounts of money from their text, everything that is not given as null. */
import type { Money } from "../base/money.ts";
import type { PriceAmounts, PriceConfig, PriceList } from "./model.ts";
import type { Tree } from "./read/tree.ts";
import type { FilledAmounts, FilledPrice, FilledPriceList, FilledUsd } from "./schema/filled.ts";
import { usdAt } from "./usd.ts";

const FREE: Money = { nanoUsd: 0, text: "0" };

export function resolvePrice(tree: Tree, price: FilledPrice): PriceConfig {
  const { provider = "", model = "", tiers, geo, next } = price;
  return {
    provider,
    model,
    ...priceList(tree, price),
    tiers: Object.fromEntries(
      Object.entries(tiers).flatMap(([name, tier]) =>
        tier === null ? [] : [[name, tier.factor ?? priceList(tree, tier)]],
      ),
    ),
    geo,
    web_search: usd(tree, price, "web_search"),
    next: next === null ? null : { from_ms: Date.parse(next.from ?? ""), ...priceList(tree, next) },
  };
}

/** The amount of a key; null: not given. Amounts in a wrong form are reported by the checks. */
export function usd<K extends string>(
  tree: Tree,
  item: { readonly [key in K]?: FilledUsd | null },
  key: K,
): Money | null {
  const value = item[key];
  if (value === undefined || value === null) return null;
  return usdAt(tree, { container: item, key, parent: undefined }, value) ?? null;
}

function priceList(tree: Tree, list: FilledPriceList): PriceList {
  const { long_prompt: long } = list;
  return {
    ...amounts(tree, list),
    long_prompt: long === null ? null : { above_tokens: long.above_tokens ?? 0, ...amounts(tree, long) },
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
