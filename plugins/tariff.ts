/**
 * What stage budget knows of a model's price, and how a call's tokens become money. Amounts are nano-dollars a token;
 * only sums are rounded. Knows no models: the gateway hands their tariffs in.
 */
import type { JsonSchema, Usage } from "sluice/plugin";

/** Nano-dollars a token, fractions and all. */
interface Rates {
  readonly input: number;
  readonly cached_input: number;
  readonly cache_write: number;
  /** Of what is kept for an hour. Absent: as other cache writes. */
  readonly cache_write_1h?: number;
  readonly output: number;
}

/** What holds from a moment on. */
interface Period {
  /** Unix milliseconds. */
  readonly from_ms: number;
  readonly rates: Rates;
  /** For the whole of a request with more prompt tokens than that, cached ones counted. */
  readonly long?: { readonly above_tokens: number; readonly rates: Rates };
  /** What the rates are multiplied by in each processing tier. A tier that is not listed costs the rates themselves. */
  readonly tiers?: Readonly<Record<string, number>>;
  /** Nano-dollars for each web search that the provider runs. */
  readonly web_search?: number;
}

/** Periods in the order of their beginning; the first one begins at 0. */
export type Tariff = readonly Period[];

const rate = { type: "number", minimum: 0 } as const;
const rates = {
  type: "object",
  additionalProperties: false,
  required: ["input", "cached_input", "cache_write", "output"],
  properties: {
    input: rate,
    cached_input: rate,
    cache_write: rate,
    cache_write_1h: rate,
    output: rate,
  },
} as const;

export const TARIFF_SCHEMA: JsonSchema = {
  type: "array",
  minItems: 1,
  items: {
    type: "object",
    additionalProperties: false,
    required: ["from_ms", "rates"],
    properties: {
      from_ms: { type: "integer", minimum: 0 },
      rates,
      long: {
        type: "object",
        additionalProperties: false,
        required: ["above_tokens", "rates"],
        properties: { above_tokens: { type: "integer", minimum: 0 }, rates },
      },
      tiers: { type: "object", additionalProperties: rate },
      web_search: rate,
    },
  },
};

/**
 * What tokens cost at the price of the moment `atMs`, in whole nano-dollars. `requestedTier` counts where the provider
 * does not report the tier that served the call.
 */
export function costNanoUsd(tariff: Tariff, usage: Usage, atMs: number, requestedTier = ""): number {
  const period = periodAt(tariff, atMs);
  if (period === undefined) return 0;
  const { billed, webSearches = 0, serviceTier } = usage;
  const factor = period.tiers?.[serviceTier ?? requestedTier] ?? 1;
  const searches = webSearches * (period.web_search ?? 0);
  if (billed !== undefined) {
    const { input, output } = ratesFor(period, billed.promptTokens);
    return Math.round((billed.promptTokens * input + billed.completionTokens * output) * factor + searches);
  }
  const { input, cached_input, cache_write, cache_write_1h, output } = ratesFor(period, usage.promptTokens);
  const cached = usage.cachedPromptTokens ?? 0;
  const written = usage.cacheWriteTokens ?? 0;
  const writtenFor1h = Math.min(usage.cacheWrite1hTokens ?? 0, written);
  const fresh = Math.max(0, usage.promptTokens - cached - written);
  // Total tokens, where a provider counts more of them than prompt and completion, are paid as output.
  const answered = Math.max(usage.completionTokens, usage.totalTokens - usage.promptTokens);
  const writes = (written - writtenFor1h) * cache_write + writtenFor1h * (cache_write_1h ?? cache_write);
  const tokens = fresh * input + cached * cached_input + writes + answered * output;
  return Math.round(tokens * factor + searches);
}

/** Tiers of which it is known that they cost no more than the list price, whatever the vendor. */
const ORDINARY_TIERS: ReadonlySet<string> = new Set(["", "auto", "default", "standard", "on_demand"]);

/** A model that a call may be sent to. */
export interface PricedModel {
  readonly tariff: Tariff;
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

/** The most that a call may cost on any of the models: in all, and for the input alone. */
export function worstCaseCost(
  models: readonly PricedModel[],
  call: WorstCase,
  atMs: number,
): { readonly estimateNanoUsd: number; readonly inputNanoUsd: number } {
  let estimateNanoUsd = 0;
  let inputNanoUsd = 0;
  const { inputTokens, tier = "" } = call;
  for (const model of models) {
    const { tariff } = model;
    const period = periodAt(tariff, atMs);
    if (period === undefined) continue;
    const { input, cached_input, cache_write, cache_write_1h = 0, output } = ratesFor(period, inputTokens);
    const factor = ORDINARY_TIERS.has(tier) ? 1 : worstFactor(period, tier);
    // Whether a provider reads or writes its cache, and for how long, is not known before.
    const usual = Math.max(input, cached_input, cache_write);
    inputNanoUsd = Math.max(inputNanoUsd, Math.ceil(inputTokens * usual * factor));
    const sent = Math.ceil(inputTokens * Math.max(usual, cache_write_1h) * factor);
    estimateNanoUsd = Math.max(
      estimateNanoUsd,
      sent + Math.ceil(outputTokens(model, call) * output * factor),
    );
  }
  return { estimateNanoUsd, inputNanoUsd };
}

function outputTokens(model: PricedModel, call: WorstCase): number {
  const { answers = 1, expectedTokens = Number.POSITIVE_INFINITY } = call;
  const most = Math.min(model.outputMax, call.outputTokens);
  return Math.min((Number.isFinite(most) ? most : model.outputAssumed) * answers, expectedTokens);
}

/** A cheaper tier may be served as an ordinary one, and a tier that nobody knows may be the dearest. */
function worstFactor({ tiers = {} }: Period, tier: string): number {
  const factor = Object.hasOwn(tiers, tier) ? (tiers[tier] ?? 1) : Math.max(1, ...Object.values(tiers));
  return Math.max(1, factor);
}

function periodAt(tariff: Tariff, atMs: number): Period | undefined {
  let period: Period | undefined;
  for (const one of tariff) if (one.from_ms <= atMs) period = one;
  return period;
}

function ratesFor({ rates, long }: Period, promptTokens: number): Rates {
  return long !== undefined && promptTokens > long.above_tokens ? long.rates : rates;
}
