/** Warns where money relies on prices that nobody knows: not the configuration, not the bundled table. */
import { findPrice } from "../price-table.ts";
import type { Spot } from "../tree.ts";
import type { ProjectNames } from "./call-settings.ts";
import type { Check } from "./context.ts";
import { chosenTargets } from "./targets.ts";

const SHOWN_MODELS_MAX = 3;

/** Warns at a token's cap: calls of a model without a price count as free. A project is looked through once. */
export function capWarner(check: Check, names: ProjectNames): (cap: Spot) => void {
  let unpriced: readonly string[] | undefined;
  return (cap) => {
    unpriced ??= unpricedModels(check, names);
    if (unpriced.length === 0) return;
    const more = unpriced.length - SHOWN_MODELS_MAX;
    const shown = `${unpriced.slice(0, SHOWN_MODELS_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
    check.report("W0102", cap, `the cap counts nothing for ${shown}: no price is known`, {
      help: "add it to `prices`, or give `estimated_cost_per_1k_tokens_usd`",
    });
  };
}

function unpricedModels(check: Check, names: ProjectNames): readonly string[] {
  const { endpoints, aliases } = names.project;
  const configured = new Set(check.config.prices.map((price) => `${price?.provider}/${price?.model}`));
  const unpriced = new Set<string>();
  for (const settings of [...endpoints, ...aliases]) {
    if (settings === null || settings.estimated_cost_per_1k_tokens_usd !== null) continue;
    for (const { provider, model } of chosenTargets(check, settings, names)) {
      if (check.plugins.find("provider", provider)?.needsApiKey === false) continue; // Nobody bills it.
      const price = findPrice(provider, model, (name) => configured.has(`${provider}/${name}`) || undefined);
      if (price === undefined) unpriced.add(`${provider}/${model}`);
    }
  }
  return [...unpriced];
}
