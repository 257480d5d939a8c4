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
  readonly output: number;
}

/** What holds from a moment on. */
interface Period {
  /** Unix milliseconds. */
  readonly from_ms: number;
  readonly rates: Rates;
  /** For the whole of a request with more prompt tokens than that, cached ones counted. */
  readonly long?: { readonly above_tokens: number; readonly rates: Rates };
}

/** Periods in the order of their beginning; the first one begins at 0. */
export type Tariff = readonly Period[];

const NO_RATES: Rates = { input: 0, cached_input: 0, cache_write: 0, output: 0 };

const rate = { type: "number", minimum: 0 } as const;
const rates = {
  type: "object",
  additionalProperties: false,
  required: ["input", "cached_input", "cache_write", "output"],
  properties: { input: rate, cached_input: rate, cache_write: rate, output: rate },
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
    },
  },
};

/** What tokens were used for, at the price of the moment `atMs`. Whole nano-dollars. */
export function costNanoUsd(tariff: Tariff, usage: Usage, atMs: number): number {
  const { input, cached_input, cache_write, output } = ratesAt(tariff, atMs, usage.promptTokens);
  const cached = usage.cachedPromptTokens ?? 0;
  const written = usage.cacheWriteTokens ?? 0;
  const fresh = Math.max(0, usage.promptTokens - cached - written);
  // Total tokens, where a provider counts more of them than prompt and completion, are paid as output.
  const answered = Math.max(usage.completionTokens, usage.totalTokens - usage.promptTokens);
  return Math.round(fresh * input + cached * cached_input + written * cache_write + answered * output);
}

/** The most that so many tokens may cost on any of the tariffs: in all, and for the input alone. */
export function dearest(
  tariffs: readonly Tariff[],
  { inputTokens, outputTokens }: { readonly inputTokens: number; readonly outputTokens: number },
  atMs: number,
): { readonly estimateNanoUsd: number; readonly inputNanoUsd: number } {
  let estimateNanoUsd = 0;
  let inputNanoUsd = 0;
  for (const tariff of tariffs) {
    const { input, cached_input, cache_write, output } = ratesAt(tariff, atMs, inputTokens);
    // Whether a provider reads or writes its cache is not known before.
    const sent = Math.ceil(inputTokens * Math.max(input, cached_input, cache_write));
    inputNanoUsd = Math.max(inputNanoUsd, sent);
    estimateNanoUsd = Math.max(estimateNanoUsd, sent + Math.ceil(outputTokens * output));
  }
  return { estimateNanoUsd, inputNanoUsd };
}

function ratesAt(tariff: Tariff, atMs: number, promptTokens: number): Rates {
  let period: Period | undefined;
  for (const one of tariff) if (one.from_ms <= atMs) period = one;
  if (period === undefined) return NO_RATES;
  return period.long !== undefined && promptTokens > period.long.above_tokens
    ? period.long.rates
    : period.rates;
}
