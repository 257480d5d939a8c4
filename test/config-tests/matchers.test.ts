/** Matchers: each holds for what it says and for nothing else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mismatches, pathText } from "../../src/config-tests/matchers.ts";
import { verifies } from "../spec/verifies.ts";

const holds = (expected: unknown, actual: unknown): boolean => mismatches(expected, actual).length === 0;

verifies("tests.matchers", "each matcher holds for what it says and not for its neighbor", () => {
  const cases: readonly (readonly [expected: unknown, yes: unknown, no: unknown])[] = [
    ["a", "a", "b"],
    [1, 1, "1"],
    [null, null, undefined],
    [0.1 + 0.2, 0.3, 0.31],
    [{ contains: "bc" }, "abcd", "acbd"],
    [{ contains: { a: 1 } }, [{ a: 1, b: 2 }], [{ a: 2 }]],
    [{ matches: "^b+$" }, "bbb", "abbb"],
    [{ matches: "b" }, "abc", 5],
    [{ excludes: "x" }, "abc", "axc"],
    [{ excludes: ["x", "y"] }, "abc", "aby"],
    [{ excludes: "x" }, ["y"], ["x"]],
    [{ min: 2 }, 2, 1.9],
    [{ max: 2 }, 2, 2.1],
    [{ min: 1, max: 2 }, 1.5, 3],
    [{ max: 2 }, 0, undefined],
    [{ one_of: [200, { min: 500 }] }, 503, 404],
    [{ any: true }, "", undefined],
    [{ any: true }, null, undefined],
    [{ none: true }, undefined, null],
    [{ length: 2 }, "äö", "abc"],
    [{ length: 2 }, "😀😀", "😀"],
    [{ length: 0 }, [], [1]],
    [{ a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }, { a: { c: 1 } }],
    [{ a: { none: true } }, { b: 1 }, { a: 1 }],
    [[1, { any: true }], [1, 2], [1]],
    [[], [], [1]],
    [[], [], undefined],
    [
      { min: 1, other: 2 },
      { min: 1, other: 2 },
      { min: 2, other: 2 },
    ],
  ];
  for (const [expected, yes, no] of cases) {
    assert.ok(holds(expected, yes), `${JSON.stringify(expected)} holds for ${JSON.stringify(yes)}`);
    assert.ok(!holds(expected, no), `${JSON.stringify(expected)} does not hold for ${JSON.stringify(no)}`);
  }
});

test("a mismatch names the path, what was expected in words, and what came", () => {
  assert.deepEqual(mismatches({ a: [{ b: { min: 2, max: 4 } }], c: "x" }, { a: [{ b: 5 }] }), [
    { path: ["a", 0, "b"], expected: "at most 4", actual: "5" },
    { path: ["c"], expected: '"x"', actual: "nothing" },
  ]);
  assert.deepEqual(mismatches([1, 2], [1]), [
    { path: [], expected: "2 items: [1,2]", actual: "1 item: [1]" },
  ]);
  assert.equal(pathText(["sent", "messages", 0, "a b", "c/d"]), 'sent.messages[0]["a b"].c/d');
});

test("a pattern that would hang a backtracking engine answers at once", () => {
  assert.ok(!holds({ matches: "^(a+)+$" }, `${"a".repeat(50_000)}b`));
});
