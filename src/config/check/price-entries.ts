/** Checks the entries of `prices`: each model once, valid amounts, and tiers without contradictions. */

import type { Spot } from "../read/tree.ts";
import type { FilledConfig } from "../schema/config.ts";
import type { FilledAmounts, FilledPriceList, FilledTier } from "../schema/prices.ts";
import { type Check, each, UniqueNames, under } from "./context.ts";
import { checkUsd } from "./usd.ts";

const AMOUNTS = ["input", "output", "cached_input", "cache_write", "cache_write_1h"] as const;

export function checkPriceEntries(check: Check, prices: FilledConfig["prices"], parent: Spot): void {
  const models = new UniqueNames(check, "price of");
  for (const [price, spot] of each(prices, parent)) {
    const { provider, model, tiers, next } = price;
    if (provider !== undefined && model !== undefined)
      models.add(`${provider}/${model}`, under(price, "model", spot));
    checkList(check, price, spot);
    checkUsd(check, price, "web_search", spot);
    if (next !== null) checkList(check, next, under(price, "next", spot));
    const inTiers = under(price, "tiers", spot);
    for (const [name, tier] of Object.entries(tiers))
      if (tier !== null) checkTier(check, tier, under(tiers, name, inTiers));
  }
}

function checkList(check: Check, list: FilledPriceList, spot: Spot): void {
  checkAmounts(check, list, spot);
  if (list.long_prompt !== null) checkAmounts(check, list.long_prompt, under(list, "long_prompt", spot));
}

function checkAmounts(check: Check, amounts: FilledAmounts, spot: Spot): void {
  for (const amount of AMOUNTS) checkUsd(check, amounts, amount, spot);
}

const OWN_PRICES = [...AMOUNTS, "long_prompt"] as const;

/** With both a factor and prices it would be unclear which of them counts. */
function checkTier(check: Check, tier: FilledTier, spot: Spot): void {
  checkList(check, tier, spot);
  const isGiven = (key: keyof FilledTier): boolean =>
    (tier[key] !== null && tier[key] !== undefined) || check.tree.isFaulty(tier, key);
  if (isGiven("factor")) {
    const beside = OWN_PRICES.find(isGiven);
    if (beside === undefined) return;
    check.report("E0109", under(tier, beside, spot), `\`${beside}\` is given beside \`factor\``, {
      help: "give the tier a `factor`, or prices of its own",
    });
    return;
  }
  const missing = (["input", "output"] as const).find((key) => !isGiven(key));
  if (missing === undefined) return;
  check.report("E0102", spot, `missing key \`${missing}\``, {
    help: "a tier has a `factor`, or `input` and `output` of its own",
  });
}
