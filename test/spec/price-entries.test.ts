/**
 * What an entry of `prices` can state, and what it costs: sums done by hand, in nano-dollars. A token costs dollars per
 * million times 1,000.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { monthOf } from "../../src/base/month.ts";
import { fakeUpstream, type ScriptedAnswer } from "../../src/testing/fake-upstream.ts";
import { startWrapper } from "../surfaces/openai/kit.ts";
import { PROJECT, PROVIDER_KEY } from "./kit/config.ts";
import type { Closer } from "./kit/gateway.ts";
import { fileOf, loaded } from "./kit/load.ts";
import { verifies } from "./verifies.ts";

const PRICES = [
  {
    ...{ provider: "openai", model: "house", input: 2, output: 12, cached_input: 0.2, cache_write: 2.5 },
    long_prompt: { above_tokens: 1000, input: 4, output: 18, cached_input: 0.4, cache_write: 5 },
    tiers: { flex: { factor: 0.5 }, priority: { input: 4, output: "24", cached_input: 0.4 } },
  },
  {
    ...{ provider: "openai", model: "dated", input: 1, output: 1 },
    next: { from: "2026-05-15T00:00:00Z", input: 3, output: 5 },
  },
  {
    ...{ provider: "anthropic", model: "claude-house", input: 3, output: 15, cached_input: 0.3 },
    ...{ cache_write: 3.75, cache_write_1h: 7, web_search: 0.02, geo: { us: 1.5 } },
    tiers: { fast: { input: 30, output: 150 } },
  },
];

interface Till {
  /** What an answer of this model costs. */
  cost(model: string, answer: ScriptedAnswer, body?: object): Promise<number>;
  advance(ms: number): void;
}

async function till(t: Closer, provider: string, models: readonly string[]): Promise<Till> {
  const upstream = await fakeUpstream();
  t.after(() => upstream.close());
  const aliases = models.map((model) => ({ alias: model, provider, model, credential: "there" }));
  const credentials = [{ name: "there", provider, api_key: PROVIDER_KEY, base_url: upstream.url }];
  const g = await startWrapper(t, {}, { aliases, credentials, root: { prices: PRICES } });
  return {
    async cost(model, answer, body = {}) {
      const key = `spend:${PROJECT}/${model}`;
      const month = monthOf(g.clock.nowMs());
      const { settledNanoUsd: before } = await g.gateway.store.spending(key, month);
      upstream.answer(answer);
      if ("stream" in body) await (await g.asStream({ model, ...body })).rest();
      else await g.ask({ model, ...body });
      const { settledNanoUsd, reservedNanoUsd } = await g.gateway.store.spending(key, month);
      assert.equal(reservedNanoUsd, 0);
      return settledNanoUsd - before;
    },
    advance: (ms) => g.clock.advance(ms),
  };
}

function json(body: object): ScriptedAnswer {
  return (response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function openai(usage: readonly [prompt: number, completion: number], details = {}, more = {}) {
  const [prompt_tokens, completion_tokens] = usage;
  const choices = [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }];
  return json({
    id: "1",
    model: "m",
    choices,
    usage: {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: details,
    },
    ...more,
  });
}

function anthropic(usage: object): ScriptedAnswer {
  const content = [{ type: "text", text: "Yes." }];
  return json({
    id: "1",
    type: "message",
    role: "assistant",
    model: "m",
    content,
    stop_reason: "end_turn",
    usage,
  });
}

const CACHES = { cached_tokens: 300, cache_write_tokens: 100 };

verifies(
  "cost.price-table.whole",
  "cache writes, long prompts and tiers cost what their entry says",
  async (t) => {
    const { cost, advance } = await till(t, "openai", ["house", "dated"]);
    const usual = 500 * 2_000 + 300 * 200 + 100 * 2_500 + 50 * 12_000;
    assert.equal(usual, 1_910_000);
    assert.equal(await cost("house", openai([900, 50], CACHES)), usual);
    assert.equal(await cost("house", openai([900, 50], CACHES, { service_tier: "flex" })), 955_000);
    // Not named: half, as OpenAI's other models.
    assert.equal(await cost("house", openai([900, 50], CACHES, { service_tier: "batch" })), 955_000);
    // Its cache writes cost what its input costs.
    const priority = { service_tier: "priority" };
    assert.equal(
      await cost("house", openai([900, 50], CACHES, priority)),
      500 * 4_000 + 300 * 400 + 100 * 4_000 + 50 * 24_000,
    );
    assert.equal(await cost("house", openai([900, 50], CACHES, { service_tier: "fast" })), 3_720_000);
    assert.equal(await cost("house", openai([900, 50], CACHES, { service_tier: "constructor" })), usual);
    assert.equal(await cost("house", openai([1000, 10])), 1000 * 2_000 + 10 * 12_000);
    assert.equal(await cost("house", openai([1001, 10])), 1001 * 4_000 + 10 * 18_000);
    assert.equal(await cost("house", openai([1001, 10], {}, priority)), 1001 * 4_000 + 10 * 24_000);
    assert.equal(await cost("dated", openai([10, 10])), 20_000);
    advance(12 * 3_600_000);
    assert.equal(await cost("dated", openai([10, 10])), 80_000);
  },
);

const USED = {
  input_tokens: 100,
  cache_read_input_tokens: 200,
  cache_creation_input_tokens: 300,
  cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
  output_tokens: 10,
};

test("hourly cache writes, searches, places and fast mode cost what their entry says", async (t) => {
  const models = ["claude-house", "claude-opus-4-8", "claude-sonnet-4-5"];
  const { cost } = await till(t, "anthropic", models);
  const tokens = 100 * 3_000 + 200 * 300 + 200 * 3_750 + 100 * 7_000 + 10 * 15_000;
  assert.equal(tokens, 1_960_000);
  assert.equal(await cost("claude-house", anthropic(USED)), tokens);
  const searched = { ...USED, server_tool_use: { web_search_requests: 2 } };
  assert.equal(await cost("claude-house", anthropic(searched)), tokens + 40_000_000);
  // A place multiplies what tokens cost, not what searches do.
  assert.equal(
    await cost("claude-house", anthropic({ ...searched, inference_geo: "us" })),
    2_940_000 + 40_000_000,
  );
  assert.equal(await cost("claude-house", anthropic({ ...USED, inference_geo: "not_available" })), tokens);
  const plain = { input_tokens: 100, output_tokens: 10 };
  assert.equal(await cost("claude-house", anthropic({ ...plain, speed: "fast" })), 4_500_000);
  assert.equal(await cost("claude-house", anthropic({ ...plain, speed: null })), 450_000);
  // The bundled factor of Claude 4.6 and later, and of none before.
  const us = { ...plain, inference_geo: "us" };
  assert.equal(await cost("claude-opus-4-8", anthropic(us)), 825_000);
  assert.equal(await cost("claude-sonnet-4-5", anthropic(us)), 100 * 3_000 + 10 * 15_000);
});

const STEPS = [
  { type: "message", input_tokens: 400, output_tokens: 60 },
  { type: "advisor_message", model: "claude-opus-4-8", input_tokens: 500, output_tokens: 20 },
  { type: "message", input_tokens: 600, output_tokens: 40 },
];

verifies("cost.other-models", "an adviser's tokens cost what its model costs, once", async (t) => {
  const { cost } = await till(t, "anthropic", ["claude-sonnet-5"]);
  const top = { input_tokens: 1000, output_tokens: 100 };
  const own = 1000 * 2_000 + 100 * 10_000;
  assert.equal(
    await cost("claude-sonnet-5", anthropic({ ...top, iterations: STEPS })),
    own + 500 * 5_000 + 20 * 25_000,
  );
  const unknown = STEPS.map((step) => ("model" in step ? { ...step, model: "claude-unheard-of" } : step));
  assert.equal(
    await cost("claude-sonnet-5", anthropic({ ...top, iterations: unknown })),
    own + 500 * 2_000 + 20 * 10_000,
  );
  // A compaction is a step of the same model, cached tokens included.
  const compaction = {
    ...{ type: "compaction", input_tokens: 100, cache_read_input_tokens: 1000, output_tokens: 7 },
  };
  assert.equal(
    await cost("claude-sonnet-5", anthropic({ ...top, iterations: [compaction] })),
    own + 100 * 2_000 + 1000 * 200 + 7 * 10_000,
  );
  const whole = { input_tokens: 1500, output_tokens: 120, iterations: STEPS };
  assert.equal(await cost("claude-sonnet-5", anthropic(whole)), 1500 * 2_000 + 120 * 10_000);
  // More than any context window holds is cut to it.
  const vast = [{ type: "advisor_message", model: "claude-opus-4-8", input_tokens: 1e12, output_tokens: 0 }];
  assert.equal(
    await cost("claude-sonnet-5", anthropic({ ...top, iterations: vast })),
    own + 2_000_000 * 5_000,
  );
});

function events(...all: readonly object[]): ScriptedAnswer {
  const text = all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(text);
  };
}

const STARTED = {
  type: "message_start",
  message: {
    id: "msg_1",
    model: "claude-sonnet-4-5",
    usage: { input_tokens: 1000, cache_read_input_tokens: 5000, output_tokens: 3 },
  },
};

verifies(
  "cost.aborted-input",
  "an Anthropic stream that breaks off costs its reported input and what came of its answer",
  async (t) => {
    const { cost } = await till(t, "anthropic", ["claude-sonnet-4-5"]);
    const text = (index: number) => [
      { type: "content_block_start", index, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index, delta: { type: "text_delta", text: "x".repeat(400) } },
    ];
    const input = 1000 * 3_000 + 5000 * 300;
    const model = "claude-sonnet-4-5";
    const stream = { stream: true };
    assert.equal(await cost(model, events(STARTED, ...text(0)), stream), input + 100 * 15_000);
    const thoughts = [
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "thinking_delta", thinking: "y".repeat(200) },
      },
      { type: "content_block_stop", index: 0 },
    ];
    assert.equal(
      await cost(model, events(STARTED, ...thoughts, ...text(1)), stream),
      input + (50 + 100) * 15_000,
    );
  },
);

test("entries of prices that say two things, or half of one, are errors at their place", async () => {
  const faults = async (entry: object): Promise<string> => {
    const price = { provider: "openai", model: "house", input: 1, output: 2, ...entry };
    const failed = await loaded(fileOf({ root: { prices: [price] } })).then(
      () => "",
      (thrown: unknown) => String(thrown),
    );
    return failed;
  };
  assert.equal(await faults({ tiers: { flex: { factor: 0.5 }, fast: { input: 2, output: 3 } } }), "");
  assert.match(
    await faults({ tiers: { flex: { factor: 0.5, input: 2 } } }),
    /`input` is given beside `factor`/,
  );
  assert.match(await faults({ tiers: { flex: { input: 2 } } }), /missing key `output`/);
  assert.match(await faults({ tiers: { flex: {} } }), /missing key `input`/);
  assert.match(await faults({ tiers: { flex: { factor: -1 } } }), /prices\[0\]\.tiers\.flex\.factor/);
  assert.match(
    await faults({ cache_write: "a dollar" }),
    /cache_write is "a dollar": must be a plain decimal/,
  );
  assert.match(await faults({ long_prompt: { input: 1, output: 2 } }), /missing key `above_tokens`/);
  assert.match(await faults({ next: { from: "soon", input: 1, output: 2 } }), /must be an ISO 8601 date/);
  assert.match(await faults({ geo: { us: 1000 } }), /prices\[0\]\.geo\.us/);
  assert.match(await faults({ cache_writes: 1 }), /unknown key `cache_writes`/);
});
