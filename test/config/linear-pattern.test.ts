/** Patterns of schemas: JavaScript's meaning, RE2's running time, and a reason where RE2 has no algorithm. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compileRules, compileSchema } from "../../src/base/json-schema.ts";
import { linearPattern, patternRefusal } from "../../src/base/linear-pattern.ts";
import type { JsonSchema } from "../../src/plugin/chat.ts";
import { growth } from "../plugins/guardrail-kit.ts";

/** Patterns that ask JavaScript's engine for a lifetime, and what they are asked of. */
const EXPLOSIVE: readonly (readonly [pattern: string, unit: string])[] = [
  ["^(a+)+$", "a"],
  ["^(a|aa)+$", "a"],
  ["^(a|a?)+$", "a"],
  ["^(?:.*,){11}P", ","],
  ["(x+x+)+y", "x"],
  [
    "^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$",
    "a",
  ],
  ["\\s*,\\s*$", " "],
];

test("no pattern of a schema takes longer than its text is long", () => {
  for (const [pattern, unit] of EXPLOSIVE) {
    const schemas: readonly (readonly [JsonSchema, (text: string) => unknown])[] = [
      [{ pattern }, (text) => text],
      [{ patternProperties: { [pattern]: false } }, (text) => ({ [text]: 1 })],
      [{ propertyNames: { pattern } }, (text) => ({ [text]: 1 })],
      [{ $schema: "http://json-schema.org/draft-07/schema#", items: { pattern } }, (text) => [text]],
    ];
    for (const [schema, wrap] of schemas) {
      const compiled = compileSchema(schema);
      assert.ok(compiled.ok, JSON.stringify(compiled));
      assert.ok(growth(unit, (text) => compiled.check(wrap(`${text}!`))) < 6, pattern);
    }
  }
});

test("a pattern means what it means in JavaScript", () => {
  const sources = [
    ...[
      "^a.c$",
      "^\\s+$",
      "\\S",
      "[\\s\\d]+",
      "[^\\s]",
      "[\\S]",
      "\\bfoo\\b",
      "[\\b]",
      "^[[]$",
      "[[\\]:alpha:]+x",
      "[^]",
      "[]",
    ],
    ...[
      "\\u0041",
      "\\u{1F600}",
      "\\uD83D\\uDE00",
      "^.$",
      "\\cJ",
      "\\0",
      "\\/\\-\\.".replace("\\-", ""),
      "(?<year>\\d{4})-(?:0[1-9])",
    ],
    ...[
      "\\p{L}+",
      "\\p{Script=Greek}",
      "\\p{gc=Lu}",
      "\\P{L}",
      "a{2,3}?",
      "x*?y",
      "\\x41",
      "\\v\\f\\t",
      "^$",
      "a$|^b",
      "[a-c&&b]",
    ],
  ];
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.string({
      unit: fc.constantFrom(
        ..."abcxyAZ09-/.:[]& \n\r\t\v\f\b\0",
        "\u00a0",
        "\u2028",
        "\ufeff",
        "Ω",
        "é",
        "\u{1f600}",
        "foo",
        "2024-01",
      ),
      maxLength: 6,
    }),
  );
  for (const source of sources) {
    const linear = linearPattern(source);
    const script = new RegExp(source, "u");
    fc.assert(
      fc.property(texts, (text) => {
        assert.equal(linear.test(text), script.test(text), `${source} of ${JSON.stringify(text)}`);
      }),
      { numRuns: 200, seed: 10 },
    );
  }
});

test("what RE2 has no algorithm for is refused with its place and what to do", () => {
  const cases: readonly (readonly [pattern: string, message: RegExp, help: string | undefined])[] = [
    ["(?=a)b", /look-around `\(\?=` is not supported/, "look-around: RE2 has none"],
    ["a(?!b)", /look-around `\(\?!`/, "look-around: RE2 has none"],
    ["(?<=a)b", /look-around `\(\?<=`/, "look-around: RE2 has none"],
    ["(?<!a)b", /look-around `\(\?<!`/, "look-around: RE2 has none"],
    ["(a)\\1", /back-reference `\\1`/, "back-references: RE2 has none"],
    ["(?<n>a)\\k<n>", /back-reference/, "back-references: RE2 has none"],
    ["^.{1,5000}$", /invalid repeat count/, "RE2 repeats at most 1000 times; use `maxLength` for lengths"],
    ["(?:[a-z]{900}){20}", /./, undefined],
    ["a(", /./, undefined],
  ];
  for (const [pattern, message, help] of cases) {
    assert.match(patternRefusal(pattern)?.message ?? "", message, pattern);
    if (help !== undefined) assert.equal(patternRefusal(pattern)?.help, help);
    const schemas: readonly (readonly [JsonSchema, readonly (string | number)[]])[] = [
      [{ anyOf: [true, { properties: { a: { pattern } } }] }, ["anyOf", 1, "properties", "a", "pattern"]],
      [{ patternProperties: { [pattern]: true } }, ["patternProperties", pattern]],
    ];
    for (const [schema, path] of schemas) {
      for (const compiled of [compileSchema(schema), compileRules(schema)]) {
        assert.ok(!compiled.ok, pattern);
        // A pattern that is none in JavaScript is found before, as the map that it is a key of.
        if (pattern !== "a(") assert.deepEqual(compiled.path, path);
      }
    }
  }
  assert.equal(patternRefusal("a look-around in a text: (\\?=)"), undefined);
});

test("a pattern as a value of `enum` or `const` is not a pattern", () => {
  assert.ok(compileSchema({ enum: [{ pattern: "(?=a)" }], const: { patternProperties: { "(?=a)": 1 } } }).ok);
});

test("a text that would take too many steps does not match", () => {
  const large = linearPattern("^[a-z]{900}[a-z]*$");
  assert.equal(large.test("a".repeat(1000)), true);
  assert.equal(large.test("a".repeat(1_200_000)), false);
});
