/** The schedules that stage budget is handed: whose price counts, and what the bundled table comes to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import budget from "../../plugins/budget/index.ts";
import { compileSchema } from "../../src/base/json-schema.ts";
import type { ResolvedConfig } from "../../src/config/model.ts";
import { schedulesOf } from "../../src/config/price-schedules.ts";
import { PRICE_TABLE } from "../../src/config/price-table.ts";
import { fileOf, loaded } from "../spec/kit/load.ts";

function schedules(
  config: ResolvedConfig,
  ...names: readonly (readonly [provider: string, model: string])[]
): ReturnType<typeof schedulesOf> {
  const endpoint = config.projects[0]?.endpoints[0];
  assert.ok(endpoint);
  return schedulesOf(
    config,
    endpoint,
    names.map(([provider, model]) => ({ provider, model })),
  );
}

const rates = (input: number, cached_input: number, cache_write: number, output: number) => ({
  input,
  cached_input,
  cache_write,
  output,
});

/** What OpenAI multiplies its prices by for a service tier; Anthropic has a batch price only. */
const OPENAI_TIERS = { batch: 0.5, fast: 2.5, flex: 0.5, priority: 2.5 };
const ANTHROPIC_TIERS = { batch: 0.5 };
const GOOGLE_TIERS = { batch: 0.5, flex: 0.5 };
/** Nano-dollars of one web search. */
const WEB_SEARCH = 10_000_000;

test("a bundled price becomes nano-dollars a token, exactly", async () => {
  const config = await loaded(fileOf({}));
  assert.deepEqual(schedules(config, ["openai", "gpt-5-mini"], ["mistral", "mistral-large-4"]), {
    "openai/gpt-5-mini": [{ from_ms: 0, rates: rates(250, 25, 250, 2_000), tiers: OPENAI_TIERS }],
    "mistral/mistral-large-4": [{ from_ms: 0, rates: rates(700, 70, 700, 2_100) }],
  });
});

test("long prompts and announced changes are in it", async () => {
  const config = await loaded(fileOf({}));
  assert.deepEqual(schedules(config, ["anthropic", "claude-haiku-5-5"], ["google", "gemini-4-argon"]), {
    "anthropic/claude-haiku-5-5": [
      {
        from_ms: 0,
        rates: { ...rates(100, 10, 125, 500), cache_write_1h: 200 },
        long: { above_tokens: 100_000, rates: { ...rates(500, 50, 625, 2_500), cache_write_1h: 1_000 } },
        tiers: ANTHROPIC_TIERS,
        geo: { us: 1.1 },
        web_search: WEB_SEARCH,
      },
    ],
    "google/gemini-4-argon": [
      { from_ms: 0, rates: rates(2_000, 100, 2_000, 10_000), tiers: GOOGLE_TIERS },
      { from_ms: Date.UTC(2026, 11, 1), rates: rates(4_000, 200, 4_000, 20_000), tiers: GOOGLE_TIERS },
    ],
  });
});

test("`prices` win over the bundled rates, long prompts and changes; service tiers multiply them as well", async () => {
  const prices = [{ provider: "openai", model: "gpt-6-sol", input: 1, output: "3.5" }];
  const config = await loaded(fileOf({ root: { prices } }));
  assert.deepEqual(schedules(config, ["openai", "gpt-6-sol"]), {
    "openai/gpt-6-sol": [{ from_ms: 0, rates: rates(1_000, 1_000, 1_000, 3_500), tiers: OPENAI_TIERS }],
  });
});

test("the endpoint's own price wins over all", async () => {
  const endpoint = { estimated_cost_per_1k_tokens_usd: 0.002 };
  const config = await loaded(fileOf({ endpoint }));
  assert.deepEqual(schedules(config, ["openai", "gpt-6-sol"]), {
    "*": [{ from_ms: 0, rates: rates(2_000, 2_000, 2_000, 2_000) }],
  });
});

test("what is free or unknown has no schedule, so that its calls reserve nothing", async () => {
  const config = await loaded(fileOf({}));
  const names = [
    ["mock", "m"],
    ["ollama", "llama3.1:8b"],
    ["openai", "nobody-knows"],
  ] as const;
  assert.deepEqual(schedules(config, ...names), {});
});

test("every schedule of the bundled table passes the stage's own schema", async () => {
  const config = await loaded(fileOf({}));
  const all = Object.entries(PRICE_TABLE).flatMap(([provider, rows]) =>
    Object.keys(rows).map((model) => [provider, model] as const),
  );
  const compiled = compileSchema(budget.schema);
  assert.ok(compiled.ok);
  const terms = { subject: "p/s", cap_nano_usd: null, cap_text: "" };
  assert.equal(compiled.check({ ...terms, schedules: schedules(config, ...all) }), undefined);
  assert.notEqual(compiled.check({ ...terms, schedules: { "*": [{ from_ms: 0 }] } }), undefined);
});
