/** Options of plugins: their types follow from the schema, and their defaults are filled in before the plugin sees them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  defineGuardrail,
  definePlugin,
  defineProvider,
  defineStore,
  type OptionsOf,
} from "../../src/plugin/index.ts";
import { testHost } from "../../src/testing/index.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <Fact extends true>(fact: Fact): void => assert.ok(fact);

const about = { name: "acme", description: "Made up.", examples: [{ words: ["a"] }] };
const schema = {
  type: "object",
  additionalProperties: false,
  required: ["words"],
  properties: {
    words: { type: "array", items: { type: "string" } },
    mode: { enum: ["block", "mask"], default: "block" },
    limit: { type: ["integer", "null"], default: null },
    fate: { anyOf: [{ type: "integer" }, { enum: ["ok"] }] },
    retries: { type: "object", properties: { most: { type: "integer", default: 3 } } },
  },
} as const;

interface Filled {
  readonly words: readonly string[];
  readonly mode: "block" | "mask";
  readonly limit: number | null;
  readonly fate?: number | "ok";
  readonly retries: { readonly most: number };
}

interface Given {
  readonly words: readonly string[];
  readonly mode?: "block" | "mask";
  readonly limit?: number | null;
  readonly fate?: number | "ok";
  readonly retries?: { readonly most?: number };
}

const FILLED: Filled = { words: ["a"], mode: "block", limit: null, retries: { most: 3 } };

test("a guardrail's options are of its schema's type and filled in, wherever it is handed them", async () => {
  const seen: unknown[] = [];
  const guardrail = defineGuardrail({
    ...about,
    schema,
    buffersStream(options) {
      isTrue<Same<Pick<typeof options, keyof Filled>, Filled>>(true);
      seen.push(options);
      return options.mode === "block";
    },
    validateOptions(options) {
      isTrue<Same<typeof options.retries.most, number>>(true);
      seen.push(options);
      return [];
    },
    setup(options) {
      isTrue<Same<typeof options.words, readonly string[]>>(true);
      seen.push(options);
      return { judge: () => undefined };
    },
  });
  isTrue<Same<Pick<Parameters<typeof guardrail.setup>[0], keyof Given>, Given>>(true);
  assert.equal(guardrail.buffersStream?.({ words: ["a"] }), true);
  assert.deepEqual(guardrail.validateOptions?.({ words: ["a"] }, { on: ["input"] }), []);
  await guardrail.setup({ words: ["a"] }, testHost());
  assert.deepEqual(seen, [FILLED, FILLED, FILLED]);
});

test("options that are given are not replaced by defaults, and those of other plugins are not touched", async () => {
  const seen: unknown[] = [];
  const options = { words: ["b"], mode: "mask", limit: 5, retries: { most: 1 } } as const;
  const stage = definePlugin({
    ...{ ...about, schema, stage: "validate" },
    setup: (own) => {
      seen.push(own);
      return {};
    },
  });
  await stage.setup(options, testHost());
  const plain = defineStore<{ readonly url: string }>({
    ...{ ...about, schema: { type: "object", properties: { url: { type: "string" } } } },
    setup: (own) => {
      seen.push(own);
      throw new Error("no store");
    },
  });
  const own = { url: "x" };
  const { clock, random, log } = testHost();
  assert.throws(() => plain.setup(own, { clock, random, log, maxSessions: 1 }), /no store/);
  assert.deepEqual(seen[0], options);
  assert.equal(seen[1], own);
});

test("a provider's constraints and setup see filled options", async () => {
  const seen: unknown[] = [];
  const provider = defineProvider({
    ...{ ...about, schema, label: "Acme", defaultBaseUrl: undefined, needsApiKey: false },
    constraints(options) {
      isTrue<Same<typeof options.mode, "block" | "mask">>(true);
      seen.push(options);
      return [];
    },
    setup(options) {
      seen.push(options);
      throw new Error("no provider");
    },
  });
  assert.ok(typeof provider.constraints === "function");
  provider.constraints({ words: ["a"] });
  assert.throws(() => provider.setup({ words: ["a"] }, testHost()), /no provider/);
  assert.deepEqual(seen, [FILLED, FILLED]);
});

test("a mistake in the use of an option does not compile", () => {
  defineGuardrail({
    ...about,
    schema,
    setup(options) {
      // @ts-expect-error The schema has no such option.
      assert.equal(options.word, undefined);
      // @ts-expect-error The option is a list of texts.
      const words: readonly number[] = options.words;
      return { judge: () => (words.length === 0 ? undefined : undefined) };
    },
  });
  const typed: OptionsOf<typeof schema> = FILLED;
  assert.equal(typed.mode, "block");
});
