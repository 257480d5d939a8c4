/** What calls are settled by where the provider reports no usage, unusable usage, or more than the call could use. */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import { jsonAnswer, sseAnswer } from "../../src/testing/fake-upstream.ts";
import { startWrapper } from "../surfaces/openai/kit.ts";
import { assertAnswered, assertRefused, until } from "./kit/client.ts";
import { PROJECT } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { chunk, completion } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

/** A token costs a tenth of a cent: a million nano-dollars. */
const PRICED = { estimated_cost_per_1k_tokens_usd: 1, max_output_tokens: 1000 };
const TOKEN_NANO_USD = 1_000_000;

/** Settled tokens of an endpoint or alias; nothing may be left reserved. */
async function settledTokens({ gateway, clock }: Harness, slug: string): Promise<number> {
  const month = monthOf(clock.nowMs());
  const key = `spend:${PROJECT}/${slug}`;
  await until(
    async () => (await gateway.store.spending(key, month)).reservedNanoUsd === 0,
    "nothing is reserved",
  );
  return (await gateway.store.spending(key, month)).settledNanoUsd / TOKEN_NANO_USD;
}

const ARGUMENTS = JSON.stringify({ text: "x".repeat(3989) });
const CALL = { id: "call_1", type: "function", function: { name: "write", arguments: ARGUMENTS } };
/** Name and arguments, and about ten tokens that models write around a call. */
const CALL_TOKENS = Math.ceil((5 + ARGUMENTS.length) / 4) + 10;
const TOOLS = [
  {
    type: "function",
    function: { name: "write", description: "d".repeat(40_000), parameters: { type: "object" } },
  },
];
const ASK = { messages: [{ role: "user", content: "sixteen letters." }] };

function called(members: object = {}): object {
  const message = { role: "assistant", content: null, tool_calls: [CALL] };
  return {
    ...completion("", { usage: undefined }),
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    ...members,
  };
}

verifies(
  "cost.estimate.everything",
  "without usage, tool definitions, tool calls and all choices are estimated",
  async (t) => {
    const g = await startWrapper(t, PRICED);
    g.provider.answer(jsonAnswer(called()));
    await g.ask({ ...ASK, tools: TOOLS });
    // 16 characters and the definitions in, name and arguments out.
    const tools = JSON.stringify(TOOLS).length;
    const first = Math.ceil((16 + tools) / 4) + CALL_TOKENS;
    assert.equal(await settledTokens(g, "default"), first);
    const choices = Array.from({ length: 8 }, (_, index) => {
      return { index, message: { role: "assistant", content: "eight ch" }, finish_reason: "stop" };
    });
    g.provider.answer(jsonAnswer({ ...completion("", { usage: undefined }), choices }));
    await g.ask({ ...ASK, n: 8 });
    assert.equal(await settledTokens(g, "default"), first + 4 + 16);
  },
);

verifies(
  "cost.estimate.everything",
  "a streamed tool call without usage is estimated by its arguments",
  async (t) => {
    const g = await startWrapper(t, PRICED);
    const delta = { tool_calls: [{ index: 0, ...CALL }] };
    const usage = { usage: undefined };
    g.provider.answer(sseAnswer([chunk(delta, null, usage), chunk({}, "tool_calls", usage), "[DONE]"]));
    await (await g.asStream({ ...ASK })).rest();
    assert.equal(await settledTokens(g, "default"), 4 + CALL_TOKENS);
  },
);

verifies("cost.estimate.everything", "an agent's call that is aborted costs what had come", async (t) => {
  const g = await startWrapper(t, PRICED);
  const upstream = g.provider.opens();
  const begun = chunk({ tool_calls: [{ index: 0, ...CALL }] });
  const [stream] = await Promise.all([g.asStream({ ...ASK, tools: TOOLS }), upstream.send(begun)]);
  stream.leave();
  const tools = JSON.stringify(TOOLS).length;
  const expected = Math.ceil((16 + tools) / 4) + CALL_TOKENS;
  await until(async () => (await settledTokens(g, "default")) > 0, "the call is settled");
  assert.equal(await settledTokens(g, "default"), expected);
});

const ask = { message: "sixteen letters." };

function withUsage(usage: unknown): object {
  return { ...completion("Twelve chars", { usage: undefined }), usage };
}

verifies(
  "cost.usage-unusable",
  "negative, fractional and textual usage is estimated, marked and logged",
  async (t) => {
    const g = await startGateway(t, { endpoint: PRICED });
    const unusable = [
      { prompt_tokens: -5, completion_tokens: 3, total_tokens: -2 },
      { prompt_tokens: 1.5, completion_tokens: 2 },
      { prompt_tokens: "4", completion_tokens: "2" },
      { prompt_tokens: 4, completion_tokens: 1e300 },
      {},
    ];
    for (const [n, usage] of unusable.entries()) {
      g.provider.answer(jsonAnswer(withUsage(usage)));
      assertAnswered(await g.call(ask));
      // 4 in and 3 out by the 4-characters rule.
      assert.equal(await settledTokens(g, "ask"), 7 * (n + 1), JSON.stringify(usage));
      await until(
        () => g.lines.filter((line) => line.includes('"estimated":true')).length === n + 1,
        "it is logged",
      );
    }
  },
);

verifies("cost.usage-implausible", "usage beyond what the call could use is capped and logged", async (t) => {
  const g = await startGateway(t, { endpoint: PRICED });
  g.provider.answer(jsonAnswer(withUsage({ prompt_tokens: 4, completion_tokens: 9007199254740991 })));
  assertAnswered(await g.call(ask));
  const capped = await settledTokens(g, "ask");
  assert.ok(capped <= 4 + 2 * 1000, `${capped}`);
  assert.ok(capped >= 1000, `${capped}`);
  await until(() => g.lines.some((line) => line.includes("implausible usage: it is capped")), "it is logged");
  g.provider.answer(jsonAnswer(withUsage({ prompt_tokens: 9007199254740991, completion_tokens: 2 })));
  assertAnswered(await g.call(ask));
  // No model's context window is larger than that.
  assert.ok((await settledTokens(g, "ask")) - capped < 2_100_000);
});

verifies(
  "cost.accepted-attempts",
  "an attempt that the provider accepted and that gave no answer costs its input, alone or before a spare",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: PRICED,
      endpoints: [
        {
          name: "Pair",
          ...{ provider: "openai", model: "gpt-4o-mini", credential: "main" },
          ...{ failover: [{ credential: "main", model: "gpt-4o" }], ...PRICED },
        },
      ],
    });
    const odd = jsonAnswer({ odd: true });
    g.provider.answer(odd);
    assertRefused(await g.call(ask), 502, /^Provider call failed: /);
    assert.equal(await settledTokens(g, "ask"), 4);
    g.provider.answer(odd);
    g.provider.says("Twelve chars", { usage: { prompt: 10, completion: 5 } });
    assertAnswered(await g.call(ask, { slug: "pair" }));
    assert.equal(await settledTokens(g, "pair"), 4 + 15);
    g.provider.failsWith(503);
    assertRefused(await g.call(ask), 502, /^Provider call failed: /);
    assert.equal(await settledTokens(g, "ask"), 4);
  },
);

verifies(
  "cost.fields",
  "members that cost beyond what is reserved are refused, unless the alias allows them",
  async (t) => {
    const g = await startWrapper(t, PRICED, {
      aliases: [
        {
          ...{ alias: "open", provider: "openai", model: "gpt-4o-mini", credential: "main", ...PRICED },
          allowed_fields: ["best_of"],
        },
      ],
    });
    g.provider.says("Yes.");
    for (const [field, value] of [
      ["best_of", 20],
      ["web_search_options", {}],
      ["max_output_tokens", 5000],
    ] as const) {
      assertRefused(await g.ask({ ...ASK, [field]: value }), 400, `Field '${field}' is not allowed.`);
    }
    const passed = await g.ask({ ...ASK, store: false });
    assert.equal(passed.status, 200, passed.text);
    const allowed = await g.ask({ ...ASK, model: "open", best_of: 2 });
    assert.equal(allowed.status, 200, allowed.text);
    assertRefused(await g.ask({ ...ASK, model: "open", store: false }), 400, "Field 'store' is not allowed.");
  },
);
