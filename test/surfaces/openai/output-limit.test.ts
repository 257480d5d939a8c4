/** How long an answer may be where an alias sets no `max_output_tokens`: what each vendor is sent, what is reserved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { anthropicModel } from "../../../providers/wire/anthropic-models.ts";
import { PRICE_TABLE } from "../../../src/config/price-table.ts";
import { at } from "../../spec/kit/client.ts";
import { hashOf, PROVIDER_KEY } from "../../spec/kit/config.ts";
import { fakeProvider } from "../../spec/kit/provider.ts";
import { verifies } from "../../spec/verifies.ts";
import { BASE, HELLO, startWrapper, type Wrapper } from "./kit.ts";

interface Vendor {
  readonly provider: string;
  readonly model: string;
  /** Where the limit stands in the body that is sent. */
  readonly field: readonly string[];
  /** The most that the model writes; undefined: nobody knows. */
  readonly most: number | undefined;
  /** Sent where nobody sets a limit; undefined: nothing. */
  readonly unasked?: number;
}

const VENDORS: readonly Vendor[] = [
  { provider: "openai", model: "gpt-4o-mini", field: ["max_tokens"], most: 16_384 },
  { provider: "openai", model: "gpt-5-mini", field: ["max_completion_tokens"], most: 128_000 },
  {
    provider: "anthropic",
    model: "claude-haiku-4-5",
    field: ["max_tokens"],
    most: 64_000,
    unasked: 64_000,
  },
  { provider: "anthropic", model: "house-model", field: ["max_tokens"], most: undefined, unasked: 4_096 },
  {
    provider: "google",
    model: "gemini-3.5-flash",
    field: ["generationConfig", "maxOutputTokens"],
    most: 65_536,
  },
  { provider: "mistral", model: "magistral-medium-2507", field: ["max_tokens"], most: 16_384 },
  { provider: "groq", model: "llama-3.3-70b-versatile", field: ["max_completion_tokens"], most: 32_768 },
  { provider: "together", model: "Qwen/Qwen3.6-Plus", field: ["max_tokens"], most: 65_536 },
  { provider: "ollama", model: "llama3.1", field: ["options", "num_predict"], most: undefined },
  { provider: "cohere", model: "command-r-08-2024", field: ["max_tokens"], most: 4_000 },
];

function credentials(url: string): readonly Readonly<Record<string, unknown>>[] {
  const providers = [...new Set(VENDORS.map(({ provider }) => provider))];
  return providers.map((provider) => ({ name: provider, provider, api_key: PROVIDER_KEY, base_url: url }));
}

/** A wrapper with an alias for each of these, on the fake upstream, which fails each call after it has read it. */
async function startVendors(
  t: { after(close: () => Promise<void>): void },
  fields: object = {},
  parts: object = {},
): Promise<Wrapper> {
  const provider = await fakeProvider();
  t.after(() => provider.close());
  provider.failsWith(500);
  const aliases = VENDORS.map((vendor) => ({
    alias: vendor.model,
    provider: vendor.provider,
    model: vendor.model,
    credential: vendor.provider,
    ...fields,
  }));
  const g = await startWrapper(t, {}, { aliases, credentials: credentials(provider.url), ...parts });
  return { ...g, provider };
}

verifies(
  "wrapper.output-limit",
  "each vendor is sent the limit that the client asks for, and no more than its model writes",
  async (t) => {
    const g = await startVendors(t);
    for (const { model, field, most, unasked } of VENDORS) {
      const sent = async (asked: object): Promise<unknown> => {
        await g.ask({ model, ...asked });
        return at(JSON.parse(g.provider.last.body), ...field);
      };
      assert.equal(await sent({ max_tokens: 7 }), 7, model);
      assert.equal(await sent({ max_completion_tokens: 3_999 }), 3_999, model);
      assert.equal(await sent({ max_tokens: 900_000 }), most ?? 900_000, model);
      assert.equal(await sent({}), unasked, `${model} without a limit`);
    }
  },
);

test("an alias's own limit holds, and a client's below it", async (t) => {
  const g = await startVendors(t, { max_output_tokens: 500 });
  for (const { model, field } of VENDORS) {
    for (const [asked, sent] of [
      [{ max_tokens: 7 }, 7],
      [{ max_tokens: 5_000 }, 500],
      [{}, 500],
    ] as const) {
      await g.ask({ model, ...asked });
      assert.equal(at(JSON.parse(g.provider.last.body), ...field), sent, model);
    }
  }
});

test("a failover entry is sent what its own model writes", async (t) => {
  const failover = [{ credential: "cohere", model: "command-r-08-2024" }];
  const g = await startVendors(t, { failover });
  await g.ask({ model: "gpt-5-mini", max_tokens: 100_000 });
  const limits = g.provider.requests
    .map(({ body }) => JSON.parse(body))
    .map((sent) => at(sent, "max_completion_tokens") ?? at(sent, "max_tokens"));
  assert.deepEqual(limits, [100_000, 4_000]);
});

const CAPPED = "gw_live_capped0Token9";

/** What a call would reserve, as the refusal of a token without money says it. */
async function reserved(g: Wrapper, body: object): Promise<number> {
  const answer = await g.client.send(`${BASE}/chat/completions`, {
    token: CAPPED,
    body: { messages: HELLO, ...body },
  });
  const [, usd] = /~\$([\d.]+) estimated/.exec(String(at(answer.json, "error"))) ?? [];
  assert.equal(answer.status, 402, answer.text);
  return Number(usd);
}

verifies(
  "budget.estimate.client-limit",
  "the client's limit is reserved, and without one the longest answer of the model",
  async (t) => {
    const capped = { name: "capped", hash: hashOf(CAPPED), scopes: ["chat"], monthly_budget_usd_cap: 0.0001 };
    const usd = (tokens: number, perMillion: number): number =>
      Number(((tokens * perMillion) / 1e6).toFixed(4));
    const near = (actual: number, expected: number, what: string): void =>
      assert.ok(Math.abs(actual - expected) < 0.00021, `${what}: ${actual}, not ${expected}`);
    const prices = [
      { provider: "anthropic", model: "house-model", input: 1, output: 100 },
      { provider: "openai", model: "self-hosted", input: 1, output: 100 },
    ];
    const g = await startVendors(t, {}, { tokens: [capped], root: { prices } });
    near(await reserved(g, { model: "gpt-5-mini", max_tokens: 50_000 }), usd(50_000, 2), "as asked");
    near(await reserved(g, { model: "gpt-5-mini" }), usd(128_000, 2), "the model's maximum");
    near(await reserved(g, { model: "gpt-5-mini", max_tokens: 900_000 }), usd(128_000, 2), "bounded");
    near(await reserved(g, { model: "gpt-5-mini", n: 3, max_tokens: 50_000 }), usd(150_000, 2), "three");
    near(await reserved(g, { model: "claude-haiku-4-5" }), usd(64_000, 5), "what Anthropic is sent");
    near(await reserved(g, { model: "house-model" }), usd(4_096, 100), "what is sent for a model not known");
    near(await reserved(g, { model: "house-model", max_tokens: 50_000 }), usd(50_000, 100), "no bound known");
  },
);

test("a model of which nothing is known reserves 32,768 tokens, and the most expensive target counts with its own limit", async (t) => {
  const capped = { name: "capped", hash: hashOf(CAPPED), scopes: ["chat"], monthly_budget_usd_cap: 0.0001 };
  const prices = [{ provider: "openai", model: "self-hosted", input: 0, output: 100 }];
  const alias = { model: "self-hosted" };
  const g = await startWrapper(t, alias, { tokens: [capped], root: { prices } });
  assert.equal(await reserved(g, { model: "default" }), 3.2768);
  const both = { model: "gpt-4o-mini", failover: [{ credential: "main", model: "gpt-4.1" }] };
  const two = await startWrapper(t, both, { tokens: [capped] });
  // 32,768 at $8 for a million, and 16,384 at $0.60.
  assert.equal((await reserved(two, { model: "default" })).toFixed(3), (0.262_144).toFixed(3));
  const own = { ...both, estimated_cost_per_1k_tokens_usd: 1 };
  const flat = await startWrapper(t, own, { tokens: [capped] });
  assert.equal(Math.round(await reserved(flat, { model: "default" })), 33);
});

test("what Anthropic is sent without a limit is what the price table says of its models", () => {
  for (const [name, { outputMax }] of Object.entries(PRICE_TABLE["anthropic"] ?? {}))
    assert.equal(anthropicModel(name).outputTokensMax, outputMax, name);
});
