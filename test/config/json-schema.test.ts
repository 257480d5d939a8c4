/** Schemas made into functions: which are taken, what a check says, and that no value makes one throw. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileSchema, forgetUnusedSchemas } from "../../src/base/json-schema.ts";
import type { JsonSchema } from "../../src/plugin/chat.ts";
import type { SchemaCheck } from "../../src/plugin/host.ts";

function checkOf(schema: JsonSchema): SchemaCheck {
  const compiled = compileSchema(schema);
  assert.ok(compiled.ok, JSON.stringify(compiled));
  return compiled.check;
}

test("a valid value gives nothing, an invalid one its first errors with readable paths", () => {
  const check = checkOf({
    type: "object",
    properties: {
      messages: { type: "array", items: { type: "object", properties: { content: { type: "string" } } } },
      mode: { enum: ["a", "b"] },
    },
    required: ["messages"],
    additionalProperties: false,
  });
  assert.equal(check({ messages: [{ content: "x" }] }), undefined);
  assert.deepEqual(check({ mode: "c", extra: 1 }), [
    "body must have required property 'messages'",
    "body must NOT have additional properties: 'extra'",
    'mode must be equal to one of the allowed values: "a", "b"',
  ]);
  assert.deepEqual(check({ messages: [{}, { content: 5 }] }), ["messages[1].content must be string"]);
  assert.equal(check({ messages: Array(20).fill({ content: 5 }) })?.length, 5);
});

test("of a huge value only the first error is said", () => {
  const check = checkOf({ type: "array", items: { type: "string" } });
  assert.deepEqual(check(Array(100_000).fill(1)), ["[0] must be string"]);
});

test("only a value's own properties count", () => {
  const check = checkOf({ required: ["toString"], properties: { constructor: { type: "string" } } });
  assert.deepEqual(check({}), ["body must have required property 'toString'"]);
  assert.equal(check({ toString: 1 }), undefined);
});

test("draft-07 is spoken where the schema says so, other drafts are refused", () => {
  const tuple = { type: "array", items: [{ type: "string" }], additionalItems: false };
  const check = checkOf({ $schema: "http://json-schema.org/draft-07/schema#", ...tuple });
  assert.equal(check(["a"]), undefined);
  assert.notEqual(check(["a", "b"]), undefined);
  const old = compileSchema({ $schema: "http://json-schema.org/draft-04/schema#" });
  assert.deepEqual(!old.ok && old.path, ["$schema"]);
});

test("a schema that is none says where it is wrong", () => {
  const cases: readonly (readonly [JsonSchema, readonly (string | number)[]])[] = [
    [{ type: "strng" }, ["type"]],
    [{ properties: { a: { required: "b" } } }, ["properties", "a", "required"]],
    [{ properties: { a: "string" } }, ["properties", "a"]],
    [{ anyOf: [true, { pattern: "(" }] }, ["anyOf", 1, "pattern"]],
    [{ minLength: -1 }, ["minLength"]],
    [{ items: { maximum: "9" } }, ["items", "maximum"]],
  ];
  for (const [schema, path] of cases) {
    const compiled = compileSchema(schema);
    assert.deepEqual(!compiled.ok && compiled.path, path, JSON.stringify(schema));
  }
});

test("nothing outside a schema is looked for", () => {
  for (const $ref of ["https://example.com/a.json", "other.json", "#/$defs/none"]) {
    const compiled = compileSchema({ $ref });
    assert.ok(!compiled.ok && compiled.message.includes("leads nowhere"));
  }
  assert.deepEqual(checkOf({ $ref: "#/$defs/a", $defs: { a: { type: "string" } } })(1), [
    "body must be string",
  ]);
});

test("a schema's own name does not reach the next schema", () => {
  assert.deepEqual(checkOf({ $id: "https://example.com/a", type: "string" })(1), ["body must be string"]);
  assert.deepEqual(checkOf({ $id: "https://example.com/a", type: "number" })("x"), ["body must be number"]);
  const other = compileSchema({ $ref: "https://example.com/a" });
  assert.equal(other.ok, false);
});

test("a schema that takes seconds to compile is cut off, and the next one compiles", () => {
  const properties = (n: number) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, k) => [`p${k}`, { type: "string", minLength: n }]));
  const compiled = compileSchema({
    anyOf: Array.from({ length: 20_000 }, (_, n) => ({ properties: properties(n) })),
  });
  assert.ok(!compiled.ok && compiled.message.includes("over 2 s"));
  assert.deepEqual(checkOf({ type: "string", title: "next" })(1), ["body must be string"]);
});

test("a value nested a hundred thousand deep is an error, not a crash", () => {
  const check = checkOf({
    $ref: "#/$defs/n",
    $defs: { n: { type: "object", properties: { n: { $ref: "#/$defs/n" } } } },
  });
  let value: unknown = {};
  for (let depth = 0; depth < 100_000; depth++) value = { n: value };
  assert.deepEqual(check(value), ["body is nested too deeply to be validated"]);
});

test("properties that patterns and a choice both name are no reason to fail", () => {
  const choice = [{ type: "boolean", properties: { a: { const: 1 } } }, true];
  const check = checkOf({ patternProperties: { "^[ab]$": { type: "number" } }, anyOf: choice });
  assert.equal(check({ a: 1, b: 2 }), undefined);
  assert.deepEqual(check({ a: "x" }), ["a must be number"]);
  const strict = checkOf({ properties: { a: {} }, unevaluatedProperties: false });
  assert.deepEqual(strict({ b: 1 })?.length, 1);
});

test("lengths count code points, though they are decided by code units where that is enough", () => {
  const check = checkOf({ type: "string", minLength: 2, maxLength: 3 });
  const verdicts = [
    "a",
    "ab",
    "abc",
    "abcd",
    "😀",
    "😀😀",
    "😀😀😀",
    "😀😀😀😀",
    "\ud83d\ud83d\ud83d\ud83d",
  ].map((text) => check(text) === undefined);
  assert.deepEqual(verdicts, [false, true, true, false, false, true, true, false, false]);
});

test("unique items are told apart by value, whatever the order of keys", () => {
  const check = checkOf({ type: "array", uniqueItems: true });
  assert.equal(check([1, "1", { a: 1, b: [2] }, { a: 1, b: 2 }, null, "null"]), undefined);
  assert.deepEqual(
    check([
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ]),
    ["body must NOT have duplicate items"],
  );
  assert.equal(check(Array.from({ length: 50_000 }, (_, n) => ({ n }))), undefined);
});

test("equal schemas share one check", () => {
  assert.equal(checkOf({ type: "string", title: "same" }), checkOf({ type: "string", title: "same" }));
});

test("a schema that two loads in a row do not ask for is forgotten, and no other", () => {
  const used: JsonSchema = { const: "used in each load" };
  const gone: JsonSchema = { const: "used in the first" };
  const [first, other] = [checkOf(used), checkOf(gone)];
  forgetUnusedSchemas();
  assert.equal(checkOf(used), first);
  forgetUnusedSchemas();
  assert.equal(checkOf(used), first);
  assert.notEqual(checkOf(gone), other);
});
