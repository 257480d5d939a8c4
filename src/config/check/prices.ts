/** Warns where budgets rely on prices that neither the configuration nor the bundled table has. */

import { findPrice, pricedModels } from "../price-table.ts";
import type { Spot } from "../read/tree.ts";
import { nearestName } from "../report/suggest.ts";
import type { FilledCallSettings } from "../schema/endpoint.ts";
import { type Check, each, under } from "./context.ts";
import { chosenTargets, type ProjectNames } from "./targets.ts";

const SHOWN_MODELS_MAX = 3;

/** Warns at a token's cap: calls of a model without a price count as free. A project is looked through once. */
export function capWarner(check: Check, names: ProjectNames): (cap: Spot) => void {
  let models: readonly string[] | undefined;
  return (cap) => {
    models ??= unpricedModels(check, names);
    if (models.length === 0) return;
    const more = models.length - SHOWN_MODELS_MAX;
    const shown = `${models.slice(0, SHOWN_MODELS_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
    check.report("W0102", cap, `the cap counts nothing for ${shown}: no price is known`, {
      help: "add it to `prices`, or give `estimated_cost_per_1k_tokens_usd`",
    });
  };
}

function unpricedModels(check: Check, names: ProjectNames): readonly string[] {
  return [...unpriced(check, names).keys()];
}

interface Unpriced {
  readonly provider: string;
  readonly model: string;
  /** Where it is chosen first. */
  readonly spot: Spot;
  count: number;
}

/** Of a plugin's provider no model is known, unless `prices` names some. */
function hasPrices({ config }: Check, provider: string): boolean {
  return pricedModels(provider).length > 0 || config.prices.some((price) => price?.provider === provider);
}

/** Warns at the first choice of each model that has no price, where other models of its provider have one. */
export function warnOfUnpricedModels(check: Check, names: ProjectNames, project: Spot): void {
  for (const { provider, model, spot, count } of unpriced(check, names, project).values()) {
    if (!hasPrices(check, provider)) continue;
    const times = count === 1 ? "" : ` (${count} times in this project)`;
    const message = `no price is known for \`${model}\` of \`${provider}\`${times}: its calls count as free`;
    check.report("W0112", spot, message, () => {
      const known = check.tree.reference(spot.container, spot.key) ? [] : pricedModels(provider);
      const suggestion = nearestName(model, known);
      const help = "check the name, or add it to `prices`";
      return { suggestion, help };
    });
  }
}

type Prices = Check["config"]["prices"];
type OwnPrices = ReadonlyMap<string, Prices[number]>;

const known = new WeakMap<Prices, OwnPrices>();

/** By provider and model; made once, since every project asks. */
function ownPrices({ prices }: Check["config"]): OwnPrices {
  let own = known.get(prices);
  if (own === undefined) {
    own = new Map(prices.map((price) => [`${price?.provider}/${price?.model}`, price]));
    known.set(prices, own);
  }
  return own;
}

/** By provider and model. */
function unpriced(check: Check, names: ProjectNames, project?: Spot): ReadonlyMap<string, Unpriced> {
  const { endpoints, aliases } = names.project;
  const configured = ownPrices(check.config);
  const found = new Map<string, Unpriced>();
  const priced = new Set<string>();
  for (const [key, list] of [
    ["endpoints", endpoints],
    ["aliases", aliases],
  ] as const) {
    const parent = under(names.project, key, project);
    // Of ten thousand endpoints nearly all ask models that are known by then: no spot is made for them.
    for (let index = 0; index < list.length; index++) {
      const settings: FilledCallSettings | null | undefined = list[index];
      if (settings?.estimated_cost_per_1k_tokens_usd !== null) continue;
      for (const target of chosenTargets(check, settings, names)) {
        const { provider, model } = target;
        const name = `${provider}/${model}`;
        if (priced.has(name)) continue;
        const spot = { container: list, key: index, parent };
        const before = found.get(name);
        const isFree = check.plugins.find("provider", provider)?.needsApiKey === false; // Nobody bills it.
        if (before !== undefined) before.count += 1;
        else if (isFree || isPriced(provider, model, configured)) priced.add(name);
        else found.set(name, { provider, model, spot: modelSpot(settings, target.entry, spot), count: 1 });
      }
    }
  }
  return found;
}

function isPriced(provider: string, model: string, configured: OwnPrices): boolean {
  return (
    findPrice(provider, model, (name) => configured.has(`${provider}/${name}`) || undefined) !== undefined
  );
}

function modelSpot(settings: FilledCallSettings, entry: number | undefined, spot: Spot): Spot {
  if (entry === undefined)
    return under(settings, settings.provider_template === null ? "model" : "provider_template", spot);
  const list = under(settings, "failover", spot);
  const item = settings.failover[entry];
  return item === undefined ? list : under(item, "model", under(settings.failover, entry, list));
}

/** Input tokens for each output token in the list price that an estimate is compared with. */
const INPUT_SHARE = 3;
const DIFFERENCE_MAX = 0.2;

/** Warns where an endpoint's own price differs from the list price of its model, with both figures. */
export function warnOfOddEstimates(check: Check, names: ProjectNames, project: Spot): void {
  const { endpoints, aliases } = names.project;
  for (const [key, list] of [
    ["endpoints", endpoints],
    ["aliases", aliases],
  ] as const) {
    for (const [settings, spot] of each<FilledCallSettings>(list, under(names.project, key, project))) {
      const { estimated_cost_per_1k_tokens_usd: estimate } = settings;
      if (estimate === null) continue;
      const [primary] = chosenTargets(check, settings, names);
      const usd = Number(estimate);
      const listed = primary === undefined ? undefined : listUsdPer1k(check, primary);
      if (!Number.isFinite(usd) || primary === undefined || listed === undefined) continue;
      if (Math.abs(usd - listed) <= listed * DIFFERENCE_MAX) continue;
      const figures = `$${usd} for 1,000 tokens, and the list price of \`${primary.model}\` is about $${round(listed)}`;
      const field = under(settings, "estimated_cost_per_1k_tokens_usd", spot);
      check.report("W0121", field, `the estimate is ${figures}`, {
        help: "budgets count by the estimate; the log has both (`cost_usd`, `list_cost_usd`)",
      });
    }
  }
}

/** undefined: no price is known, or it is free. */
function listUsdPer1k({ config }: Check, target: Pick<Unpriced, "provider" | "model">): number | undefined {
  const { provider, model } = target;
  const own = ownPrices(config);
  const found = findPrice(provider, model, (name) => own.get(`${provider}/${name}`));
  if (found === undefined) return undefined;
  const [input, output] = "usd" in found ? found.usd : [Number(found.input), Number(found.output)];
  const perMillion = (INPUT_SHARE * input + output) / (INPUT_SHARE + 1);
  return Number.isFinite(perMillion) && perMillion > 0 ? perMillion / 1000 : undefined;
}

function round(usd: number): number {
  // A half is rounded up although it has no exact binary form.
  return Number((usd * (1 + 1e-12)).toPrecision(3));
}
