/**
 * What stage budget knows of a model's price, and how a call's tokens become money. Amounts are nano-dollars a token;
 * only sums are rounded. Knows no models: the gateway hands their schedules in.
 */
import type { OptionsOf, PRICE_SCHEDULE } from "sluice/plugin";
import type { Usage } from "sluice/provider";

type PriceSchedule = OptionsOf<typeof PRICE_SCHEDULE>;
type Period = PriceSchedule[number];
type Prices = Pick<Period, "rates" | "long">;
type Rates = Period["rates"];

/**
 * What tokens cost at the price of the moment `atMs`, in whole nano-dollars. `requestedTier` counts where the provider
 * does not report the tier that served the call.
 */
export function costNanoUsd(schedule: PriceSchedule, usage: Usage, atMs: number, requestedTier = ""): number {
  const period = periodAt(schedule, atMs);
  if (period === undefined) return 0;
  const { billed, webSearches = 0, serviceTier = requestedTier, inferenceGeo } = usage;
  const tier = ofOwn(period.tiers, serviceTier) ?? 1;
  const [prices, times] = typeof tier === "number" ? [period, tier] : [tier, 1];
  const factor = inferenceGeo === undefined ? times : times * (ofOwn(period.geo, inferenceGeo) ?? 1);
  const searches = webSearches * (period.web_search ?? 0);
  if (billed !== undefined) {
    const { input, output } = ratesFor(prices, billed.promptTokens);
    return Math.round((billed.promptTokens * input + billed.completionTokens * output) * factor + searches);
  }
  return Math.round(tokensNanoUsd(ratesFor(prices, usage.promptTokens), usage) * factor + searches);
}

function tokensNanoUsd(rates: Rates, usage: Usage): number {
  const { input, cached_input, cache_write, cache_write_1h = cache_write, output } = rates;
  const { cachedPromptTokens: cached = 0, cacheWriteTokens: written = 0 } = usage;
  const writtenFor1h = Math.min(usage.cacheWrite1hTokens ?? 0, written);
  const fresh = Math.max(0, usage.promptTokens - cached - written);
  // Total tokens, where a provider counts more of them than prompt and completion, are paid as output.
  const answered = Math.max(usage.completionTokens, usage.totalTokens - usage.promptTokens);
  const writes = (written - writtenFor1h) * cache_write + writtenFor1h * cache_write_1h;
  return fresh * input + cached * cached_input + writes + answered * output;
}

/** Names come from providers: `constructor` is not a tier. */
function ofOwn<T>(map: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined;
}

/** Tiers of which it is known that they cost no more than the list price, whatever the vendor. */
const ORDINARY_TIERS: ReadonlySet<string> = new Set(["", "auto", "default", "standard", "on_demand"]);

/** A model that a call may be sent to. */
export interface PricedModel {
  readonly schedule: PriceSchedule;
  /** The most tokens of one answer, whatever the call asks for; Infinity: not known. */
  readonly outputMax: number;
  /** Tokens of one answer where neither the call nor anything else limits it. */
  readonly outputAssumed: number;
}

export interface WorstCase {
  readonly inputTokens: number;
  /** The limit that the call sets for one answer; Infinity: none. */
  readonly outputTokens: number;
  /** Answers to one question: each is paid for. */
  readonly answers?: number;
  /** The most that all answers together are expected to have. */
  readonly expectedTokens?: number | undefined;
  /** The processing tier that the call asks for; "": none. */
  readonly tier?: string;
}

/** What is reserved for a call: in all, and for the input alone. */
interface WorstCost {
  estimateNanoUsd: number;
  inputNanoUsd: number;
}

/** The most that a call may cost on any of the models. */
export function worstCaseCost(
  models: readonly PricedModel[],
  call: WorstCase,
  atMs: number,
): Readonly<WorstCost> {
  const worst: WorstCost = { estimateNanoUsd: 0, inputNanoUsd: 0 };
  const { tier = "" } = call;
  for (const model of models) {
    const period = periodAt(model.schedule, atMs);
    if (period === undefined) continue;
    const answer = outputTokens(model, call);
    // A cheaper tier may be served as an ordinary one.
    raise(worst, period, 1, { sent: call.inputTokens, answer });
    if (ORDINARY_TIERS.has(tier)) continue;
    for (const one of possibleTiers(period, tier)) {
      const [prices, factor] = typeof one === "number" ? [period, one] : [one, 1];
      raise(worst, prices, factor, { sent: call.inputTokens, answer });
    }
  }
  return worst;
}

/** Whether a provider reads or writes its cache, and for how long, is not known before. */
function raise(
  worst: WorstCost,
  prices: Prices,
  factor: number,
  { sent, answer }: { readonly sent: number; readonly answer: number },
): void {
  const { input, cached_input, cache_write, cache_write_1h = 0, output } = ratesFor(prices, sent);
  const usual = Math.max(input, cached_input, cache_write);
  const inputNanoUsd = Math.ceil(sent * usual * factor);
  const inAll =
    Math.ceil(sent * Math.max(usual, cache_write_1h) * factor) + Math.ceil(answer * output * factor);
  if (inputNanoUsd > worst.inputNanoUsd) worst.inputNanoUsd = inputNanoUsd;
  if (inAll > worst.estimateNanoUsd) worst.estimateNanoUsd = inAll;
}

function outputTokens(model: PricedModel, call: WorstCase): number {
  const { answers = 1, expectedTokens = Number.POSITIVE_INFINITY } = call;
  const most = Math.min(model.outputMax, call.outputTokens);
  return Math.min((Number.isFinite(most) ? most : model.outputAssumed) * answers, expectedTokens);
}

/** An unknown tier may be the most expensive one. */
function possibleTiers({ tiers = {} }: Period, tier: string): readonly (number | Prices)[] {
  const known = ofOwn(tiers, tier);
  return known === undefined ? Object.values(tiers) : [known];
}

function periodAt(schedule: PriceSchedule, atMs: number): Period | undefined {
  let period: Period | undefined;
  for (const one of schedule) if (one.from_ms <= atMs) period = one;
  return period;
}

function ratesFor({ rates, long }: Prices, promptTokens: number): Rates {
  return long !== undefined && promptTokens > long.above_tokens ? long.rates : rates;
}
