/** What calls cost by their schedule, and what is reserved for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { costNanoUsd, worstCaseCost as worstCase } from "../../plugins/budget/price-schedule.ts";
import type { PriceSchedule } from "../../src/plugin/price-schedule.ts";

const NOON = Date.UTC(2026, 4, 14, 12);
const NEXT_MONTH = Date.UTC(2026, 5, 1);

/** Nano-dollars a token: 100 in, 10 cached, 125 written, 1,000 out. */
const rates = { input: 100, cached_input: 10, cache_write: 125, output: 1_000 };
const plain: PriceSchedule = [{ from_ms: 0, rates }];

/** Of models whose answers nothing but the call limits. */
function worstCaseCost(
  schedules: readonly PriceSchedule[],
  call: Parameters<typeof worstCase>[1],
  atMs: number,
) {
  const models = schedules.map((schedule) => ({ schedule, outputMax: Infinity, outputAssumed: 0 }));
  return worstCase(models, call, atMs);
}

function used(prompt: number, completion: number, more: object = {}) {
  return { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion, ...more };
}

test("fresh input, cached input, cache writes and output each have their price", () => {
  const usage = used(1_000, 50, { cachedPromptTokens: 300, cacheWriteTokens: 200, reasoningTokens: 40 });
  assert.equal(costNanoUsd(plain, usage, NOON), 500 * 100 + 300 * 10 + 200 * 125 + 50 * 1_000);
});

test("tokens beyond prompt and completion are paid as output", () => {
  assert.equal(costNanoUsd(plain, { ...used(10, 5), totalTokens: 22 }, NOON), 10 * 100 + 12 * 1_000);
});

test("a provider that counts more cached tokens than prompt tokens makes no call cheaper than its cache", () => {
  assert.equal(costNanoUsd(plain, used(10, 0, { cachedPromptTokens: 30 }), NOON), 30 * 10);
});

test("only the sum is rounded, to a whole nano-dollar", () => {
  const fine: PriceSchedule = [
    { from_ms: 0, rates: { input: 37.5, cached_input: 12.4, cache_write: 37.5, output: 0.3 } },
  ];
  assert.equal(
    costNanoUsd(fine, used(4, 1, { cachedPromptTokens: 1 }), NOON),
    Math.round(112.5 + 12.4 + 0.3),
  );
});

const long: PriceSchedule = [
  {
    from_ms: 0,
    rates,
    long: {
      above_tokens: 1_000,
      rates: { input: 200, cached_input: 20, cache_write: 250, output: 1_500 },
    },
  },
];

test("a prompt above the threshold costs more for the whole request, cached tokens counted in", () => {
  assert.equal(costNanoUsd(long, used(1_000, 1), NOON), 1_000 * 100 + 1_000);
  assert.equal(costNanoUsd(long, used(1_001, 1), NOON), 1_001 * 200 + 1_500);
  const cached = used(1_001, 1, { cachedPromptTokens: 1_000 });
  assert.equal(costNanoUsd(long, cached, NOON), 1 * 200 + 1_000 * 20 + 1_500);
});

const changing: PriceSchedule = [
  { from_ms: 0, rates },
  { from_ms: NEXT_MONTH, rates: { ...rates, output: 2_000 } },
];

test("an announced price holds from its first millisecond on", () => {
  assert.equal(costNanoUsd(changing, used(0, 1), NEXT_MONTH - 1), 1_000);
  assert.equal(costNanoUsd(changing, used(0, 1), NEXT_MONTH), 2_000);
});

test("what is reserved covers the most expensive model, and input that is written to a cache", () => {
  const cheap: PriceSchedule = [
    { from_ms: 0, rates: { input: 500, cached_input: 500, cache_write: 500, output: 1 } },
  ];
  const tokens = { inputTokens: 10, outputTokens: 20 };
  assert.deepEqual(worstCaseCost([plain], tokens, NOON), {
    inputNanoUsd: 10 * 125,
    estimateNanoUsd: 10 * 125 + 20 * 1_000,
  });
  // One is dearer for its input, the other in all.
  assert.deepEqual(worstCaseCost([cheap, plain], tokens, NOON), {
    inputNanoUsd: 10 * 500,
    estimateNanoUsd: 10 * 125 + 20 * 1_000,
  });
  assert.deepEqual(worstCaseCost([], tokens, NOON), { inputNanoUsd: 0, estimateNanoUsd: 0 });
});

test("what is reserved reaches into the price of long prompts and of the day", () => {
  assert.equal(
    worstCaseCost([long], { inputTokens: 1_001, outputTokens: 2 }, NOON).estimateNanoUsd,
    1_001 * 250 + 2 * 1_500,
  );
  assert.equal(
    worstCaseCost([changing], { inputTokens: 0, outputTokens: 2 }, NEXT_MONTH).estimateNanoUsd,
    4_000,
  );
});
