/** JSON files are read by a reader of their own: the same values and places as YAML's parser gives, and no leniency. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readJson } from "../../src/config/read/json-file.ts";
import { parseFile } from "../../src/config/read/parse.ts";
import { Source } from "../../src/config/read/source.ts";
import { type Key, type Spot, Tree } from "../../src/config/read/tree.ts";
import { createReporter } from "../../src/config/report/diagnostic.ts";

function read(text: string): unknown {
  return readJson(new Source("/c.json", text), new Tree());
}

/** Every place that can be asked for, with where its key and its value stand. */
function places(text: string): unknown[] {
  const tree = new Tree();
  const file = parseFile(new Source("/c.json", text), tree, createReporter(tree, new Set()));
  assert.ok(file.isSound);
  const found: unknown[] = [];
  const visit = (value: unknown, parent: Spot | undefined): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, item] of Object.entries(value)) {
      const key: Key = Array.isArray(value) ? Number(name) : name;
      const spot: Spot = { container: value, key, parent };
      const key_ = tree.keyRange(spot);
      const range = tree.valueRange(spot);
      found.push([tree.path(spot), item, key_?.start, key_?.end, range?.start, range?.end]);
      visit(item, spot);
    }
    const missing = tree.valueRange({ container: value, key: "not there", parent });
    found.push([missing?.start, missing?.end]);
  };
  visit(file.plain(), undefined);
  return found;
}

const key = fc.stringMatching(/^[a-z "\\é]{1,8}$/);
const json = fc.dictionary(key, fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true });

test("values and places are those that YAML's parser finds", () => {
  fc.assert(
    fc.property(json, fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      if (/"(?:__proto__|constructor|prototype)"/.test(text)) return;
      assert.deepEqual(read(text), JSON.parse(text));
      // A comment is not JSON, and behind the value it moves nothing.
      assert.deepEqual(places(text), places(`${text}\n# not JSON`));
    }),
    { numRuns: 200 },
  );
});

test("what is not JSON to the letter is left to YAML's parser", () => {
  const texts = [
    ...[
      "{a: 1}",
      '{"a": 1,}',
      '{"a": 01}',
      '{"a": "\\x41"}',
      '{"a": 1} x',
      '{"a": [1 2]}',
      '{"a"}',
      '{"a": 1',
    ],
    ...['{"a": 1, "a": 2}', '{"__proto__": 1}', '{"a": "x\ny"}', '{"a": tru}', "[1]", '"a"', "", "{"],
    `${'{"a":'.repeat(102)}1${"}".repeat(102)}`,
  ];
  for (const text of texts) assert.equal(read(text), undefined, text);
});

test("each reading of a JSON file makes values of its own", () => {
  const tree = new Tree();
  const file = parseFile(new Source("/c.json", '{"a": [1]}'), tree, createReporter(tree, new Set()));
  const [first, second] = [file.plain(), file.plain()];
  assert.deepEqual(first, second);
  assert.notEqual(first, second);
});
