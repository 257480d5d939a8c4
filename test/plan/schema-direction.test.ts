/** What plans say of two schemas is held against documents: a wider one refuses none that the other accepts. */
import assert from "node:assert/strict";
import { compileSchema } from "../../src/base/json-schema.ts";
import { bySchema } from "../../src/plan/directions/schema.ts";
import { verifies } from "../spec/verifies.ts";
import { type Json, type JsonMap, Random } from "./random-config.ts";

const TYPES = ["null", "boolean", "object", "array", "string", "integer", "number"];
const NUMBERS = [0, 1, 2, 5];

const KEYWORDS: Readonly<Record<string, (random: Random, depth: number) => Json>> = {
  type: (random) => (random.chance(0.6) ? random.of(TYPES) : random.some(TYPES, 1)),
  enum: (random) => random.some([null, 1, 2, "a", "abc", true], 1),
  const: (random) => random.of<Json>([1, "a", null]),
  minimum: (random) => random.of(NUMBERS),
  exclusiveMinimum: (random) => random.of(NUMBERS),
  maximum: (random) => random.of(NUMBERS),
  minLength: (random) => random.of(NUMBERS),
  maxLength: (random) => random.of(NUMBERS),
  minItems: (random) => random.of(NUMBERS),
  maxItems: (random) => random.of(NUMBERS),
  uniqueItems: (random) => random.chance(0.5),
  minProperties: (random) => random.of(NUMBERS),
  required: (random) => random.some(["a", "b"]),
  properties: (random, depth) =>
    Object.fromEntries(random.some(["a", "b", "c"]).map((key) => [key, schemaOf(random, depth + 1)])),
  additionalProperties: (random, depth) => schemaOf(random, depth + 1),
  patternProperties: (random, depth) => ({ "^[ab]$": schemaOf(random, depth + 1) }),
  items: (random, depth) => schemaOf(random, depth + 1),
  pattern: (random) => random.of(["a", "^b"]),
  title: (random) => random.of(["A", "B"]),
  not: (random, depth) => schemaOf(random, depth + 1),
  anyOf: (random, depth) => [schemaOf(random, depth + 1), schemaOf(random, depth + 1)],
};

function schemaOf(random: Random, depth = 0): Json {
  if (depth > 2 || random.chance(0.1)) return random.chance(0.7);
  return Object.fromEntries(
    Object.entries(KEYWORDS)
      .filter(() => random.chance(0.15))
      .map(([key, value]) => [key, value(random, depth)]),
  );
}

/** The same but for one keyword, at the top or in what is below it. */
function varied(random: Random, schema: Json, depth = 0): Json {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema) || random.chance(0.1))
    return schemaOf(random, depth);
  const copy: JsonMap = structuredClone(schema);
  const below = Object.keys(copy).filter(
    (key) => key === "properties" || key === "items" || key === "additionalProperties",
  );
  if (below.length > 0 && random.chance(0.5)) {
    const key = random.of(below);
    const { [key]: child } = copy;
    const names = Object.keys(Object(child));
    if (key !== "properties") copy[key] = varied(random, child ?? true, depth + 1);
    else if (names.length > 0) {
      const name = random.of(names);
      const properties = child as JsonMap; // What the generator puts there.
      copy[key] = { ...properties, [name]: varied(random, properties[name] ?? true, depth + 1) };
    }
    return copy;
  }
  const key = random.of(Object.keys(KEYWORDS));
  if (random.chance(0.4)) delete copy[key];
  else copy[key] = KEYWORDS[key]?.(random, depth) ?? true;
  return copy;
}

function documentOf(random: Random, depth = 0): Json {
  const kind = random.below(depth > 2 ? 5 : 7);
  if (kind < 5) return random.of<Json>([null, true, 0, 1, 2, 2.5, 7, "", "a", "abc", "b12345"]);
  if (kind === 5) return Array.from({ length: random.below(4) }, () => documentOf(random, depth + 1));
  return Object.fromEntries(
    random.some(["a", "b", "c", "d"]).map((key) => [key, documentOf(random, depth + 1)]),
  );
}

/** undefined: it is no schema. */
function acceptance(schema: Json): ((document: Json) => boolean) | undefined {
  const compiled = compileSchema(schema as never); // A map or a flag.
  return compiled.ok ? (document) => compiled.check(document) === undefined : undefined;
}

verifies(
  "plan.schema",
  "of random schemas, one that is not called narrower accepts all that the other accepts",
  () => {
    const random = new Random(3);
    const told = { stricter: 0, weaker: 0, same: 0, both: 0 };
    for (let draw = 0; draw < 120; draw++) {
      const before = schemaOf(random);
      const after = varied(random, before);
      const { stricter, weaker } = bySchema(before, after);
      told[stricter ? (weaker ? "both" : "stricter") : weaker ? "weaker" : "same"]++;
      const [was, is] = [before, after].map((schema) => acceptance(schema));
      assert.ok(was !== undefined && is !== undefined, JSON.stringify([before, after]));
      for (let n = 0; n < 40; n++) {
        const document = documentOf(random);
        const [accepted, accepts] = [was(document), is(document)];
        const text = () =>
          `${JSON.stringify(document)} by ${JSON.stringify(before)} and ${JSON.stringify(after)}`;
        assert.ok(stricter || !accepted || accepts, `said not to be narrower: ${text()}`);
      }
    }
    for (const [direction, count] of Object.entries(told)) assert.ok(count >= 3, `${direction}: ${count}`);
  },
);
