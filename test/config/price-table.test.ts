/** The bundled price table: its shape, a few prices by heart, and how names find their row. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findPrice, PRICE_TABLE, type PriceRow } from "../../src/config/price-table.ts";
import { BUILT_IN } from "../../src/plugins-host/builtin.ts";

const rows: readonly (readonly [name: string, row: PriceRow])[] = Object.entries(PRICE_TABLE).flatMap(
  ([provider, models]) =>
    Object.entries(models).map(([model, row]) => [`${provider}/${model}`, row] as const),
);

function bundled(provider: string, model: string): PriceRow | undefined {
  return findPrice<never>(provider, model, () => undefined);
}

test("every row is well-formed: no negative price, no cached input dearer than input", () => {
  for (const [name, { usd, next }] of rows) {
    for (const [input, output, cached = input, written = input] of next === undefined
      ? [usd]
      : [usd, next.usd]) {
      for (const amount of [input, output, cached, written]) assert.ok(amount >= 0 && amount < 1_000, name);
      assert.ok(cached <= input, `${name}: cached input costs more than input`);
      assert.ok(written >= input, `${name}: a cache write costs less than input`);
      assert.equal(input === 0, output === 0, `${name}: half free`);
    }
  }
});

test("no price is finer than a millionth of a nano-dollar a token, so that none is rounded", () => {
  for (const [name, { usd, long }] of rows) {
    const [input, output, cached = 0, written = 0] = usd;
    const times = long ?? { input: 1, output: 1 };
    for (const amount of [input, cached, written]
      .map((one) => one * times.input)
      .concat(output * times.output)) {
      const nano = amount * 1_000_000_000;
      assert.ok(Math.abs(nano - Math.round(nano)) < 1e-3, `${name}: ${amount}`);
    }
  }
});

test("long prompts cost more above a threshold, and announced changes have a date that exists", () => {
  for (const [name, { long, next }] of rows) {
    if (long !== undefined) {
      assert.ok(Number.isInteger(long.above) && long.above >= 10_000, name);
      assert.ok(long.input > 1 && long.output > 1, name);
    }
    if (next !== undefined) {
      assert.match(next.from, /^\d{4}-\d{2}-\d{2}$/, name);
      assert.ok(Number.isFinite(Date.parse(next.from)), name);
    }
  }
});

test("every provider of the table is one of the eight or the mock, and none is missing", () => {
  const eight = ["anthropic", "cohere", "google", "groq", "mistral", "ollama", "openai", "together"];
  assert.deepEqual(Object.keys(PRICE_TABLE).sort(), [...eight, "mock"].sort());
  const builtIn = BUILT_IN.filter(({ kind }) => kind === "provider").map(({ name }) => name);
  assert.ok(builtIn.length >= 2);
  for (const name of builtIn) assert.ok(Object.hasOwn(PRICE_TABLE, name), name);
});

test("prices known by heart", () => {
  assert.deepEqual(bundled("openai", "gpt-5-mini")?.usd, [0.25, 2, 0.025]);
  assert.deepEqual(bundled("openai", "gpt-4o-mini")?.usd, [0.15, 0.6, 0.075]);
  assert.deepEqual(bundled("anthropic", "claude-haiku-4-5")?.usd, [1, 5, 0.1, 1.25]);
  assert.deepEqual(bundled("groq", "llama-3.1-8b-instant")?.usd, [0.05, 0.08]);
  assert.deepEqual(bundled("openai", "gpt-6-sol")?.long, { above: 272_000, input: 2, output: 1.5 });
  assert.equal(bundled("google", "gemini-4-argon")?.next?.from, "2026-12-01");
});

test("a dated, staged or prefixed name finds the row of its model", () => {
  const finds: readonly (readonly [provider: string, model: string, row: string])[] = [
    ["openai", "gpt-5-mini-2025-08-07", "gpt-5-mini"],
    ["openai", "gpt-4o-2024-08-06", "gpt-4o"],
    ["openai", "gpt-4o-latest", "gpt-4o"],
    ["anthropic", "claude-haiku-4-5-20251001", "claude-haiku-4-5"],
    ["google", "models/gemini-2.5-flash", "gemini-2.5-flash"],
    ["google", "models/gemini-2.5-flash-001", "gemini-2.5-flash"],
    ["google", "gemini-2.5-pro-preview-06-05", "gemini-2.5-pro"],
    ["google", "gemini-3.1-pro-preview-09-2026", "gemini-3.1-pro-preview"],
    ["mistral", "mistral-small-2603", "mistral-small-latest"],
    ["mistral", "mistral-large", "mistral-large-latest"],
    ["cohere", "command-r-08-2024", "command-r-08-2024"],
    ["ollama", "anything:70b", "*"],
    ["mock", "anything", "*"],
  ];
  for (const [provider, model, row] of finds) {
    const expected = PRICE_TABLE[provider]?.[row];
    assert.ok(expected, `${provider}/${row} is listed`);
    assert.equal(bundled(provider, model), expected, `${provider}/${model}`);
  }
});

test("another model is not taken for a version of a listed one", () => {
  for (const [provider, model] of [
    ["openai", "gpt-5-mega"],
    ["openai", "gpt-5-7"],
    ["openai", "gpt-4o-audio-preview"],
    ["openai", "ft:gpt-4o-mini:acme::abc123"],
    ["anthropic", "claude-opus-5-7"],
    ["cohere", "command-a"],
    ["acme", "gpt-5-mini"],
    ["constructor", "name"],
    ["openai", "constructor"],
  ] as const) {
    assert.equal(bundled(provider, model), undefined, `${provider}/${model}`);
  }
});

test("a configured price wins over the bundled one, by its exact name first", () => {
  const configured = new Map([
    ["gpt-5-mini", "ours"],
    ["gpt-5-mini-2025-08-07", "our dated"],
  ]);
  const find = (model: string): unknown => findPrice("openai", model, (name) => configured.get(name));
  assert.equal(find("gpt-5-mini"), "ours");
  assert.equal(find("gpt-5-mini-2025-08-07"), "our dated");
  assert.equal(find("gpt-5-mini-2026-01-01"), "ours");
  assert.equal(find("gpt-5-nano"), PRICE_TABLE["openai"]?.["gpt-5-nano"]);
});
