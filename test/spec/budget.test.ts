/** Budgets and costs. A token costs a tenth of a cent here, so that sums can be done in the head. */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import { type Answer, assertAnswered, assertRefused, until } from "./kit/client.ts";
import { echoEntry, hashOf, PROJECT } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

/** 16 characters: 4 tokens in; the mock answers with 2: a call is estimated at 10 tokens and costs 6. */
const ask = { message: "sixteen letters." };
const priced = { max_output_tokens: 6, estimated_cost_per_1k_tokens_usd: 1 };
const metered = {
  name: "metered",
  provider: "mock",
  options: { reply: "Yes.", usage: { prompt_tokens: 4, completion_tokens: 2 }, latency_ms: 0 },
};

function mock(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { provider: "mock", model: "m", credential: "metered", ...priced, ...fields };
}

function endpointRefusal(spent: string, estimate: string, cap: string): string {
  return `Endpoint monthly budget would be exceeded: ~$${spent} spent + ~$${estimate} estimated for this request, budget $${cap}. Resets at the start of next month.`;
}

function tokenRefusal(spent: string, estimate: string, cap: string): string {
  return `Token monthly budget would be exceeded: ~$${spent} spent + ~$${estimate} estimated for this request, cap $${cap}. Resets at the start of next month.`;
}

async function standing(
  g: Harness,
  slug = "ask",
): Promise<{ settledNanoUsd: number; reservedNanoUsd: number }> {
  return await g.gateway.store.spending(`spend:${PROJECT}/${slug}`, monthOf(g.clock.nowMs()));
}

verifies(
  ["budget.endpoint.message", "budget.settle", "cost.endpoint-price"],
  "calls are admitted while spent and estimate fit the cap, and the refusal shows the sum",
  async (t) => {
    const g = await startGateway(t, {
      credentials: [metered],
      endpoint: mock({ monthly_budget_usd: 0.022 }),
    });
    assertAnswered(await g.call(ask));
    assertAnswered(await g.call(ask));
    // Two calls settled at 0.006 each, so that the third fits the cap exactly: 0.012 + 0.010.
    assertAnswered(await g.call(ask));
    assertRefused(await g.call(ask), 402, endpointRefusal("0.0180", "0.0100", "0.022"));
    assert.deepEqual(await standing(g), { settledNanoUsd: 18_000_000, reservedNanoUsd: 0 });
  },
);

verifies("budget.boundary", "a nano-dollar too little refuses", async (t) => {
  const budget = mock({ monthly_budget_usd: "0.009999999" });
  const g = await startGateway(t, { credentials: [metered], endpoint: budget });
  assertRefused(await g.call(ask), 402, endpointRefusal("0.0000", "0.0100", "0.009999999"));
});

verifies(
  ["budget.estimate.worst-case", "estimate.characters"],
  "the estimate is prompt, template, history and input, and the most the answer may have",
  async (t) => {
    const g = await startGateway(t, {
      credentials: [metered],
      endpoint: mock({
        monthly_budget_usd: 0.001,
        prompt: "p".repeat(10),
        user_prompt_template: "<<{{input}}>>{{input}}",
      }),
    });
    // 10 + 2 x 16 + 4 = 46 characters: 12 tokens, and 6 of the answer.
    assertRefused(await g.call(ask), 402, endpointRefusal("0.0000", "0.0180", "0.001"));
  },
);

verifies(
  ["budget.token.message", "budget.token-over-endpoints", "error.status.402"],
  "a token's cap sums what it spent on all endpoints",
  async (t) => {
    const capped = {
      name: "capped",
      hash: hashOf("gw_live_capped"),
      scopes: ["chat"],
      monthly_budget_usd_cap: 0.02,
    };
    const g = await startGateway(t, {
      credentials: [metered],
      tokens: [capped],
      endpoint: mock({}),
      endpoints: [mock({ name: "Second" })],
    });
    const token = "gw_live_capped";
    assertAnswered(await g.call(ask, { token }));
    assertAnswered(await g.call(ask, { token, slug: "second" }));
    for (const slug of ["ask", "second"]) {
      assertRefused(await g.call(ask, { token, slug }), 402, tokenRefusal("0.0120", "0.0100", "0.02"));
      assertAnswered(await g.call(ask, { slug }));
    }
  },
);

verifies(["budget.month", "budget.utc-month"], "budgets begin again with the month, in UTC", async (t) => {
  const g = await startGateway(t, { credentials: [metered], endpoint: mock({ monthly_budget_usd: 0.01 }) });
  assertAnswered(await g.call(ask));
  const untilJune = Date.UTC(2026, 5, 1) - g.clock.nowMs();
  g.clock.advance(untilJune - 1);
  assertRefused(await g.call(ask), 402, endpointRefusal("0.0060", "0.0100", "0.01"));
  g.clock.advance(1);
  assertAnswered(await g.call(ask));
});

verifies(
  "budget.month-of-reservation",
  "a call across midnight settles in the month that it began in",
  async (t) => {
    const slow = { ...metered, options: { ...metered.options, latency_ms: 2_000 } };
    const g = await startGateway(t, { credentials: [slow], endpoint: mock({ monthly_budget_usd: 1 }) });
    g.clock.advance(Date.UTC(2026, 5, 1) - g.clock.nowMs() - 1_000);
    let over = false;
    const answer = g.call(ask).finally(() => (over = true));
    let reserved = 0;
    await until(() => {
      void standing(g).then(({ reservedNanoUsd }) => (reserved = reservedNanoUsd));
      return reserved > 0;
    }, "the call is admitted");
    while (!over) {
      g.clock.advance(2_000);
      await new Promise(setImmediate);
    }
    assertAnswered(await answer);
    assert.deepEqual(await standing(g), { settledNanoUsd: 0, reservedNanoUsd: 0 });
    const may = await g.gateway.store.spending(`spend:${PROJECT}/ask`, "2026-05");
    assert.deepEqual(may, { settledNanoUsd: 6_000_000, reservedNanoUsd: 0 });
  },
);

verifies(
  ["budget.unlimited", "cost.none"],
  "without price and budget nothing is refused for money",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry({}) });
    for (let n = 0; n < 20; n += 1) assertAnswered(await g.call(ask));
    assert.deepEqual(await standing(g), { settledNanoUsd: 0, reservedNanoUsd: 0 });
  },
);

verifies(
  ["budget.concurrent", "budget.reserve", "cost.exact"],
  "of 200 simultaneous calls on a budget for exactly k, k are answered and the rest refused",
  async (t) => {
    const k = 23;
    const slow = { ...metered, options: { ...metered.options, latency_ms: 1_000 } };
    const g = await startGateway(t, {
      credentials: [slow],
      endpoint: mock({ monthly_budget_usd: 0.01 * k }),
    });
    const early: Answer[] = [];
    const calls = Array.from({ length: 200 }, async () => {
      const answer = await g.call(ask);
      early.push(answer);
      return answer;
    });
    await until(() => early.length === 200 - k, "all but k have been refused");
    for (const answer of early) {
      // All k are running, so that what is spent is what they have reserved.
      assertRefused(answer, 402, endpointRefusal("0.2300", "0.0100", "0.23"));
    }
    assert.deepEqual(await standing(g), { settledNanoUsd: 0, reservedNanoUsd: k * 10_000_000 });
    g.clock.advance(1_000);
    const answers = await Promise.all(calls);
    assert.equal(answers.filter(({ status }) => status === 200).length, k);
    assert.deepEqual(await standing(g), { settledNanoUsd: k * 6_000_000, reservedNanoUsd: 0 });
  },
);

verifies(
  ["budget.release", "budget.refused-later", "budget.upstream-untouched"],
  "what no provider accepted costs nothing, and what is refused reaches none",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: {
        ...priced,
        monthly_budget_usd: 0.01,
        guardrails: [{ use: "keyword_blocklist", keywords: ["forbidden"] }],
        input_schema: { properties: { mood: { const: "good" } } },
      },
    });
    assertRefused(await g.call({ message: "forbidden word." }), 422, /keyword/);
    assertRefused(await g.call({ ...ask, mood: "bad" }), 422, /^Validation failed/);
    assert.equal(g.provider.requests.length, 0);
    g.provider.failsWith(500);
    assertRefused(await g.call(ask), 502, /^Provider call failed/);
    assert.deepEqual(await standing(g), { settledNanoUsd: 0, reservedNanoUsd: 0 });
    g.provider.says("Yes.", { usage: { prompt: 4, completion: 2 } });
    assertAnswered(await g.call(ask));
    const asked = g.provider.requests.length;
    assertRefused(await g.call(ask), 402, endpointRefusal("0.0060", "0.0100", "0.01"));
    assert.equal(g.provider.requests.length, asked);
  },
);

verifies(
  ["rate.before-money", "order.rate-before-budget", "rate.together"],
  "a full window is reported before a spent budget, and a spent budget does not count in a window",
  async (t) => {
    const g = await startGateway(t, {
      credentials: [metered],
      endpoint: mock({ monthly_budget_usd: 0.01, rate_limit_per_minute: 2 }),
    });
    assertAnswered(await g.call(ask));
    assertRefused(await g.call(ask), 402, /^Endpoint monthly budget/);
    assertRefused(await g.call(ask), 402, /^Endpoint monthly budget/);
    const other = await startGateway(t, {
      credentials: [metered],
      endpoint: mock({ monthly_budget_usd: 0.01, rate_limit_per_minute: 1 }),
    });
    assertAnswered(await other.call(ask));
    assertRefused(await other.call(ask), 429, "Rate limit exceeded.");
  },
);

verifies(
  ["cost.price-table", "cost.price-table.cached"],
  "without a price of the endpoint the configured table counts input, cached input and output apart",
  async (t) => {
    const prices = [{ provider: "openai", model: "gpt-4o-mini", input: 2, output: 10, cached_input: 0.5 }];
    const g = await startGateway(t, { root: { prices } });
    g.provider.says("Yes.", { usage: { prompt: 1_000, completion: 100, cached: 400 } });
    assertAnswered(await g.call(ask));
    // 600 x 2 + 400 x 0.5 + 100 x 10 dollars per million.
    assert.equal((await standing(g)).settledNanoUsd, 2_400_000);
  },
);

verifies("cost.usage-estimated", "without usage of the provider 4 characters are a token", async (t) => {
  const g = await startGateway(t, { endpoint: { ...priced, monthly_budget_usd: 1 } });
  g.provider.says("Twelve chars", { usage: undefined });
  assertAnswered(await g.call(ask));
  assert.equal((await standing(g)).settledNanoUsd, 7_000_000);
  assert.match(g.lines.join("\n"), /estimated/);
});

verifies(
  "budget.estimate.expected",
  "an estimate as expected reserves what 95 of 100 recent answers took, and the worst case while there are none",
  async (t) => {
    const expected = { budget_estimate: "expected", max_output_tokens: 100 };
    const g = await startGateway(t, {
      credentials: [metered],
      endpoint: mock({ ...expected, monthly_budget_usd: 0.11 }),
    });
    // 4 in and 100 out fit; afterwards 2 out are what is expected.
    assertAnswered(await g.call(ask));
    for (let call = 2; call <= 18; call++) {
      await until(async () => (await standing(g)).reservedNanoUsd === 0, "the call before is settled");
      assertAnswered(await g.call(ask));
    }
    // 18 calls at 0.006: one more would be 0.114.
    assertRefused(await g.call(ask), 402, endpointRefusal("0.1080", "0.0060", "0.11"));
  },
);
