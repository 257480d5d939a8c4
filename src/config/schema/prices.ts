/** `prices`: what models cost, everything that the bundled table can state of one. */
import type { FilledOf } from "../../plugin/schema-type.ts";
import { moment } from "./gateway.ts";
import { decimal, integer, list, mapOf, name, orNull, section, usd } from "./keywords.ts";

const FACTOR_MAX = 100;

const cached = {
  cached_input: orNull(
    usd("Input tokens read from the provider's cache; null: as `input`.", { examples: [0.025] }),
  ),
  cache_write: orNull(
    usd("Input tokens written to the provider's cache; null: as `input`.", { examples: [0.3125] }),
  ),
  cache_write_1h: orNull(
    usd(
      "Input tokens written to the provider's cache for an hour; null: of Anthropic twice `input`, of others as `cache_write`.",
      { examples: [0.5] },
    ),
  ),
};

export const amounts = {
  input: usd("Input tokens.", { examples: [0.25] }),
  output: usd("Output tokens.", { examples: [2] }),
  ...cached,
};

const longPrompt = orNull(
  section(
    "The prices of a whole call whose prompt is longer than that, cached tokens included; null: the same.",
    {
      above_tokens: integer("Tokens of a prompt at the ordinary prices.", 1, 100_000_000, {
        examples: [272_000],
      }),
      ...amounts,
    },
    { required: ["above_tokens", "input", "output"] },
  ),
);

const tier = section("A tier: `factor` on the other prices, or `input` and `output` of its own.", {
  factor: orNull(decimal("What the prices are multiplied by.", 0, FACTOR_MAX, { examples: [0.5] })),
  input: orNull(usd("Input tokens.", { examples: [4] })),
  output: orNull(usd("Output tokens.", { examples: [24] })),
  ...cached,
  long_prompt: longPrompt,
});

const next = section(
  "Prices that hold from a moment on, in place of those above; null: none are announced.",
  { from: moment("ISO 8601 moment."), ...amounts, long_prompt: longPrompt },
  { required: ["from", "input", "output"] },
);

export const price = section(
  "What one model costs, in USD per 1,000,000 tokens. It replaces the bundled price of that model.",
  {
    provider: name("Provider key.", { examples: ["openai"] }),
    model: name("Model, as the provider names it.", { examples: ["gpt-5-mini"] }),
    ...amounts,
    long_prompt: longPrompt,
    tiers: mapOf(
      "By the processing tier that served the call, such as `flex`, `batch`, `priority`, or `fast`. A tier that is not named costs what it costs of the provider's other models.",
      tier,
      { maxProperties: 20, examples: [{ flex: { factor: 0.5 }, priority: { input: 4, output: 24 } }] },
    ),
    geo: mapOf(
      "By the place that the provider names for the call: what token prices are multiplied by. Not named: 1.",
      decimal("Factor.", 0, FACTOR_MAX, { examples: [1.1] }),
      { maxProperties: 20, examples: [{ us: 1.1 }] },
    ),
    web_search: orNull(
      usd("USD for each web search that the provider runs; null: the provider's list price.", {
        examples: [0.01],
      }),
    ),
    next: orNull(next),
  },
  { required: ["provider", "model", "input", "output"] },
);

export const prices = list(
  "Prices of models, for those that the bundled table lacks or where they differ: list prices of the built-in providers are known.",
  price,
  { maxItems: 10_000 },
);

export type FilledTier = FilledOf<typeof tier>;
export type FilledAmounts = { readonly [K in keyof typeof amounts]?: FilledOf<typeof amounts.input> | null };
export type FilledPriceList = FilledAmounts & {
  readonly long_prompt: FilledAmounts | null;
};
