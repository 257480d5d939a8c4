/**
 * What models cost where the configuration says nothing: the bundled price table, and how a model's name is looked up in
 * it. Knows nothing of endpoints or budgets.
 *
 * As of 2026-11-21: the vendors' list prices as the model catalogue of npm `@earendil-works/pi-ai` 1.5.2 has them, held
 * against litellm's price file. Regions and contracts are not in it: `prices` is for those.
 */

/** USD per 1,000,000 tokens. Cached input and cache writes cost what input costs where they have no price of their own. */
export type UsdPerMillion = readonly [
  input: number,
  output: number,
  cachedInput?: number,
  cacheWrite?: number,
];

/** What a prompt of more than `above` tokens does to the price of its whole request. */
export interface LongPrompt {
  readonly above: number;
  /** Times all that is paid for input, cached or not. */
  readonly input: number;
  readonly output: number;
}

/** By processing tier: what its tokens cost, times the list price. */
export type Tiers = Readonly<Record<string, number>>;

export interface PriceRow {
  readonly usd: UsdPerMillion;
  readonly long?: LongPrompt;
  /** What its tiers cost, where that differs from those of the provider's other models; see `tiersOf`. */
  readonly tiers?: Tiers;
  /** By the place where a call is processed: what token prices are multiplied by. */
  readonly geo?: Readonly<Record<string, number>>;
  /** A change that the vendor has announced, from the start of a day on (UTC). */
  readonly next?: { readonly from: string; readonly usd: UsdPerMillion };
  /** The most tokens that the model writes in one answer; absent: not known. */
  readonly outputMax?: number;
}

type Rows = Readonly<Record<string, PriceRow>>;

const OVER_272K: LongPrompt = { above: 272_000, input: 2, output: 1.5 };
const OVER_200K: LongPrompt = { above: 200_000, input: 2, output: 1.5 };
const OVER_100K: LongPrompt = { above: 100_000, input: 5, output: 5 };

/** Flex and batch cost half. `fast` is another name of `priority`, which has a price list of its own. */
function openaiTiers(priority: number): Tiers {
  return { flex: 0.5, batch: 0.5, priority, fast: priority };
}

const openai: Rows = {
  "gpt-6-astra": { usd: [10, 50, 1, 12.5], long: OVER_272K, outputMax: 128_000 },
  "gpt-6.1-sol": { usd: [2, 10, 0.1, 2.5], long: OVER_272K, outputMax: 128_000 },
  "gpt-6.1-terra": { usd: [1, 5, 0.05, 1.25], long: OVER_272K, outputMax: 128_000 },
  "gpt-6-sol": { usd: [2, 10, 0.2, 2.5], long: OVER_272K, outputMax: 128_000 },
  "gpt-6-luna": { usd: [0.1, 0.5, 0.01, 0.125], long: OVER_272K, outputMax: 128_000 },
  "gpt-5.6-sol": { usd: [4, 20, 0.4, 5], long: OVER_272K, outputMax: 128_000 },
  "gpt-5.6-terra": { usd: [2, 12, 0.2, 2.5], long: OVER_272K, tiers: openaiTiers(2), outputMax: 128_000 },
  "gpt-5.6-luna": { usd: [0.2, 1.2, 0.02, 0.25], long: OVER_272K, outputMax: 128_000 },
  "gpt-5.5": { usd: [5, 30, 0.5], long: OVER_272K, tiers: openaiTiers(2.5), outputMax: 128_000 },
  "gpt-5.4": { usd: [2.5, 15, 0.25], long: OVER_272K, outputMax: 128_000 },
  "gpt-5.4-mini": { usd: [0.75, 4.5, 0.075], outputMax: 128_000 },
  "gpt-5.4-nano": { usd: [0.2, 1.25, 0.02], outputMax: 128_000 },
  "gpt-5": { usd: [1.25, 10, 0.125], outputMax: 128_000 },
  "gpt-5-mini": { usd: [0.25, 2, 0.025], outputMax: 128_000 },
  "gpt-5-nano": { usd: [0.05, 0.4, 0.005], outputMax: 128_000 },
  "gpt-4.1": { usd: [2, 8, 0.5], outputMax: 32_768 },
  "gpt-4.1-mini": { usd: [0.4, 1.6, 0.1], outputMax: 32_768 },
  "gpt-4.1-nano": { usd: [0.1, 0.4, 0.025], outputMax: 32_768 },
  "gpt-4o": { usd: [2.5, 10, 1.25], outputMax: 16_384 },
  "gpt-4o-mini": { usd: [0.15, 0.6, 0.075], outputMax: 16_384 },
  o3: { usd: [2, 8, 0.5], outputMax: 100_000 },
  "o4-mini": { usd: [1.1, 4.4, 0.275], outputMax: 100_000 },
};

/** Claude 4.6 and later: inference in the United States alone. */
const US: PriceRow["geo"] = { us: 1.1 };

const anthropic: Rows = {
  "claude-fable-5-2": { usd: [8, 40, 0.2, 10], geo: US, outputMax: 128_000 },
  "claude-fable-5-1": { usd: [10, 50, 0.25, 12.5], geo: US, outputMax: 128_000 },
  "claude-opus-5-5": { usd: [4, 20, 0.2, 5], geo: US, outputMax: 128_000 },
  "claude-opus-5": { usd: [5, 25, 0.5, 6.25], geo: US, outputMax: 128_000 },
  "claude-opus-4-8": { usd: [5, 25, 0.5, 6.25], geo: US, outputMax: 128_000 },
  "claude-opus-4-6": { usd: [5, 25, 0.5, 6.25], geo: US, outputMax: 128_000 },
  "claude-sonnet-5-5": { usd: [2, 10, 0.1, 2.5], geo: US, outputMax: 128_000 },
  "claude-sonnet-5": { usd: [2, 10, 0.2, 2.5], geo: US, outputMax: 128_000 },
  "claude-sonnet-4-6": { usd: [3, 15, 0.3, 3.75], geo: US, outputMax: 128_000 },
  "claude-sonnet-4-5": { usd: [3, 15, 0.3, 3.75], outputMax: 64_000 },
  "claude-haiku-5-5": { usd: [0.1, 0.5, 0.01, 0.125], long: OVER_100K, geo: US, outputMax: 128_000 },
  "claude-haiku-4-5": { usd: [1, 5, 0.1, 1.25], outputMax: 64_000 },
};

const google: Rows = {
  // Introductory until the end of November. Of cached input only the share is announced: a twentieth.
  "gemini-4-argon": { usd: [2, 10, 0.1], next: { from: "2026-12-01", usd: [4, 20, 0.2] }, outputMax: 32_768 },
  "gemini-3.8-flash": { usd: [0.75, 3.75, 0.075], outputMax: 65_536 },
  "gemini-3.7-flash": { usd: [0.75, 3.75, 0.075], outputMax: 65_536 },
  "gemini-3.6-flash": { usd: [0.75, 3.75, 0.075], outputMax: 65_536 },
  "gemini-3.5-flash": { usd: [1.5, 9, 0.15], outputMax: 65_536 },
  "gemini-3.5-flash-lite": { usd: [0.3, 2.5, 0.03], outputMax: 65_536 },
  "gemini-3.1-pro-preview": { usd: [2, 12, 0.2], long: OVER_200K, outputMax: 65_536 },
  "gemini-3.1-flash-lite": { usd: [0.25, 1.5, 0.025], outputMax: 65_536 },
  "gemini-2.5-pro": { usd: [1.25, 10, 0.125], long: OVER_200K, outputMax: 65_536 },
  "gemini-2.5-flash": { usd: [0.3, 2.5, 0.03], outputMax: 65_536 },
  "gemini-2.5-flash-lite": { usd: [0.1, 0.4, 0.01], outputMax: 65_536 },
};

const mistral: Rows = {
  "mistral-large-4": { usd: [0.7, 2.1, 0.07], outputMax: 262_144 },
  "mistral-large-latest": { usd: [0.5, 1.5, 0.05], outputMax: 262_144 },
  "mistral-medium-latest": { usd: [1.5, 7.5, 0.15], outputMax: 262_144 },
  "mistral-small-latest": { usd: [0.15, 0.6, 0.015], outputMax: 256_000 },
  "ministral-8b-latest": { usd: [0.15, 0.15, 0.015], outputMax: 128_000 },
  "ministral-3b-latest": { usd: [0.1, 0.1, 0.01], outputMax: 128_000 },
  "codestral-latest": { usd: [0.3, 0.9, 0.03], outputMax: 4_096 },
  "devstral-latest": { usd: [0.4, 2, 0.04], outputMax: 262_144 },
  "magistral-medium-latest": { usd: [2, 5, 0.2], outputMax: 16_384 },
};

const groq: Rows = {
  "openai/gpt-oss-120b": { usd: [0.15, 0.6, 0.075], outputMax: 65_536 },
  "openai/gpt-oss-20b": { usd: [0.075, 0.3, 0.0375], outputMax: 65_536 },
  "llama-3.3-70b-versatile": { usd: [0.59, 0.79], outputMax: 32_768 },
  "llama-3.1-8b-instant": { usd: [0.05, 0.08], outputMax: 131_072 },
  "qwen/qwen3.6-27b": { usd: [0.6, 3, 0.3], outputMax: 16_384 },
  "qwen/qwen3.8-27b": { usd: [0.8, 4], outputMax: 16_384 },
};

const together: Rows = {
  "moonshotai/Kimi-K3": { usd: [3, 15, 0.3], outputMax: 131_072 },
  "moonshotai/Kimi-K3.1-Pro": { usd: [2, 10, 0.2], outputMax: 131_072 },
  "deepseek-ai/DeepSeek-V4-Pro-0813": { usd: [1.32, 3.96, 0.13], outputMax: 384_000 },
  "deepseek-ai/DeepSeek-V4.1-Flash": { usd: [0.3, 1.2, 0.006], outputMax: 384_000 },
  "zai-org/GLM-5.3": { usd: [1.4, 4.4, 0.26], outputMax: 262_144 },
  "zai-org/GLM-5.3-Flash": { usd: [0.15, 0.5, 0.03], outputMax: 400_000 },
  "MiniMaxAI/MiniMax-M3": { usd: [0.3, 1.2, 0.06], outputMax: 524_288 },
  "Qwen/Qwen3.7-Max": { usd: [2.5, 7.5, 0.5], outputMax: 131_072 },
  "Qwen/Qwen3.6-Plus": { usd: [0.5, 3], outputMax: 65_536 },
  "openai/gpt-oss-120b": { usd: [0.15, 0.6], outputMax: 131_072 },
};

const cohere: Rows = {
  "command-a-03-2025": { usd: [2.5, 10], outputMax: 8_000 },
  // Sold by contract: no price is published. As the models before it, so that a cap errs on the safe side.
  "command-a-plus-05-2026": { usd: [2.5, 10] },
  "command-a-reasoning-08-2025": { usd: [2.5, 10], outputMax: 32_000 },
  "command-r-08-2024": { usd: [0.15, 0.6], outputMax: 4_000 },
  "command-r-plus-08-2024": { usd: [2.5, 10], outputMax: 4_000 },
  "command-r7b-12-2024": { usd: [0.0375, 0.15], outputMax: 4_000 },
  "north-mini-code-1-0": { usd: [0, 0] },
};

/** Models that run here, or are none: whatever they are called. */
const ANY_MODEL = "*";
const free: Rows = { [ANY_MODEL]: { usd: [0, 0] } };

/** Provider -> model -> price. */
export const PRICE_TABLE: Readonly<Record<string, Rows>> = {
  ...{ openai, anthropic, google, mistral, groq, together, cohere },
  ...{ ollama: free, mock: free },
};

const table = new Map(Object.entries(PRICE_TABLE).map(([key, rows]) => [key, new Map(Object.entries(rows))]));

const NO_TIERS: Tiers = {};
const TIERS: ReadonlyMap<string, Tiers> = new Map([
  // Of models whose priority price is not known, the highest factor that is: a cap errs on the safe side.
  ["openai", openaiTiers(2.5)],
  ["anthropic", { batch: 0.5 }],
  ["google", { flex: 0.5, batch: 0.5 }],
]);

/** What a provider's processing tiers cost. A tier that is not listed costs the list price. */
export function tiersOf(provider: string): Tiers {
  return TIERS.get(provider) ?? NO_TIERS;
}

/** Anthropic's writes to its cache for an hour cost twice what input costs. */
const CACHE_WRITE_1H_TIMES: ReadonlyMap<string, number> = new Map([["anthropic", 2]]);

/** What a cache write for an hour costs, times the price of input; undefined: no more than any cache write. */
export function cacheWrite1hTimes(provider: string): number | undefined {
  return CACHE_WRITE_1H_TIMES.get(provider);
}

/** USD for each web search that a provider runs: $10 for 1,000. */
const WEB_SEARCH_USD: ReadonlyMap<string, number> = new Map([["anthropic", 0.01]]);

export function webSearchUsd(provider: string): number {
  return WEB_SEARCH_USD.get(provider) ?? 0;
}

/** Anthropic may ask other models within an answer, and charges for them at their own prices. */
export function runsOtherModels(provider: string): boolean {
  return provider === "anthropic";
}

/** Models of a provider that the bundled table has. */
export function pricedModels(provider: string): readonly string[] {
  return Object.keys(Object.hasOwn(PRICE_TABLE, provider) ? (PRICE_TABLE[provider] ?? {}) : {});
}

/**
 * What a model costs: the configuration's own price (`configured` looks one up by a model's name), else the bundled one.
 * Where neither lists the name, a version's date or stage is taken off its end: `gpt-5-mini-2025-08-07` costs what
 * `gpt-5-mini` costs, and `mistral-small-2603` what `mistral-small-latest` does. undefined: nobody knows.
 */
export function findPrice<T>(
  provider: string,
  model: string,
  configured: (model: string) => T | undefined,
): T | PriceRow | undefined {
  const bundled = table.get(provider);
  for (const name of namesOf(model)) {
    const found = configured(name) ?? bundled?.get(name);
    if (found !== undefined) return found;
  }
  return bundled?.get(ANY_MODEL);
}

/** The most tokens that a model writes in one answer; undefined: not known. Names are looked up as for prices. */
export function outputTokensMax(provider: string, model: string): number | undefined {
  const bundled = table.get(provider);
  for (const name of namesOf(model)) {
    const found = bundled?.get(name);
    if (found !== undefined) return found.outputMax;
  }
  return undefined;
}

/** `-latest`, `-preview`, and dates and builds as vendors write them. A single digit is another model, not a date. */
const VERSION = /-(?:latest|preview|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{3,8})$/;

/** The model's own name, then what is left of it without its versions, the longest first. */
function* namesOf(model: string): Generator<string> {
  yield model;
  let name = model.replace(/^models\//, "");
  if (name !== model) yield name;
  for (;;) {
    yield `${name}-latest`;
    const shorter = name.replace(VERSION, "");
    if (shorter === name) return;
    yield (name = shorter);
  }
}
