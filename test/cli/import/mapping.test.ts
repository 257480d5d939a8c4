/** The mappings as data: each row is reported for its key, and advice for unknown keys points to what is known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stringify } from "yaml";
import { convert, PRODUCTS } from "../../../src/cli/import/convert.ts";
import type { MappingRow } from "../../../src/cli/import/mapping.ts";
import type { Product } from "../../../src/cli/import/upstreams.ts";
import { verifies } from "../../spec/verifies.ts";

/** Sources that import without findings of their own on most keys. */
const BASE: Readonly<Record<Product, object>> = {
  litellm: { model_list: [{ model_name: "m", litellm_params: { model: "openai/gpt-5-mini" } }] },
  portkey: { provider: "openai", override_params: { model: "gpt-5-mini" } },
  bifrost: {
    providers: { openai: { keys: [{ name: "k", value: "env.K", models: ["gpt-5-mini"], weight: 1 }] } },
  },
};

const SEGMENT = /\.?("(?:[^"\\]|\\.)*"|\[\]|[^.[]+)/g;

/** The source with a value at the key; `[]` is the first entry, `*` some name. */
function withKey(product: Product, key: string, value: unknown): object {
  const source = structuredClone(BASE[product]);
  const path = [...key.matchAll(SEGMENT)].map(([, name = ""]) =>
    name === "[]" ? 0 : name === "*" ? "openai" : name,
  );
  let current: object = source;
  for (const [index, step] of path.entries()) {
    const next = path[index + 1];
    const existing: unknown = Reflect.get(current, step);
    const isHolder = typeof existing === "object" && existing !== null;
    const made = next === undefined ? value : isHolder ? existing : typeof next === "number" ? [] : {};
    Reflect.set(current, step, made);
    if (typeof made === "object" && made !== null) current = made;
  }
  return source;
}

for (const [product, { mapping }] of Object.entries(PRODUCTS)) {
  verifies(
    "import.every-key",
    `each key in the mapping of ${product} is one that ${product} knows, with a level it foresees`,
    () => {
      for (const row of mapping.rows) for (const key of row.keys) checkRow(product, row, key);
    },
  );
}

function checkRow(name: string, row: MappingRow, key: string): void {
  const product = (["litellm", "portkey", "bifrost"] satisfies Product[]).find((one) => one === name);
  assert.ok(product !== undefined);
  const { findings } = convert(product, "config.yaml", stringify(withKey(product, key, "some text")));
  const own = findings.filter(({ pattern }) => PRODUCTS[product].mapping.find(pattern) === row);
  const holders = findings.filter(({ pattern }) => key.replaceAll("*", "openai").startsWith(pattern));
  assert.ok(own.length + holders.length > 0, `${key}: nothing is reported`);
  for (const { level, message } of own) {
    if (level === "no effect") assert.ok(row.or?.includes(level), `${key}: ${message}`);
  }
}

test("rows of a mapping name each key once", () => {
  for (const { mapping, label } of Object.values(PRODUCTS)) {
    const keys = mapping.rows.flatMap((row) => row.keys);
    const twice = keys.filter((key, index) => keys.indexOf(key) !== index);
    assert.deepEqual(twice, [], label);
  }
});

const ADVICE: readonly (readonly [source: object, message: string])[] = [
  [
    { general_settings: { num_retries: 3 } },
    "LiteLLM does not read this key; it is read as `litellm_settings.num_retries`.",
  ],
  [
    { litellm_settings: { drop_parms: true } },
    "LiteLLM does not read this key; `drop_params` was probably meant.",
  ],
  [
    { router_setings: { timeout: 3 } },
    "LiteLLM does not read this key; `router_settings` was probably meant.",
  ],
  [{ general_settings: { enable_cors: true } }, "LiteLLM does not read this key."],
  [{ litellm_settings: { qzx: 1 } }, "LiteLLM does not read this key."],
];

verifies(
  "import.every-key",
  "a key that the product does not read has no effect, and the message suggests what was meant",
  () => {
    for (const [more, message] of ADVICE) {
      const { findings } = convert("litellm", "c.yaml", stringify({ ...BASE.litellm, ...more }));
      const [dead, ...others] = findings.filter(({ level }) => level === "no effect");
      assert.deepEqual([dead?.message, others], [message, []]);
    }
  },
);

verifies(
  "import.every-key",
  "the keys from public files that do nothing have no effect in any section",
  () => {
    const dead = PRODUCTS.litellm.mapping.dead;
    assert.equal(dead.length, 9);
    for (const key of dead) {
      for (const place of [
        `general_settings.${key}`,
        `litellm_settings.${key}`,
        `model_list[].litellm_params.${key}`,
      ]) {
        const { findings } = convert("litellm", "c.yaml", stringify(withKey("litellm", place, true)));
        assert.equal(findings.find(({ pattern }) => pattern === place)?.level, "no effect", place);
      }
    }
  },
);
