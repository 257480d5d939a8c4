/** Every requirement is verified by a test, and every test names requirements that exist. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gaps, verificationsOf } from "./coverage.ts";
import { AREAS, REQUIREMENTS } from "./requirements.ts";

const TESTS = fileURLToPath(new URL("..", import.meta.url));

function testSources(): Map<string, string> {
  const sources = new Map<string, string>();
  for (const name of readdirSync(TESTS, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".test.ts") && !name.endsWith("coverage.test.ts")) {
      sources.set(`test/${name}`, readFileSync(join(TESTS, name), "utf8"));
    }
  }
  return sources;
}

test("every requirement has a test, every id in a test is a requirement, and a test names at most three", () => {
  assert.deepEqual(gaps(REQUIREMENTS, testSources()), []);
});

test("no two areas use the same id", () => {
  const ids = AREAS.flatMap(({ requirements }) => Object.keys(requirements));
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  assert.deepEqual(twice, []);
  assert.equal(ids.length, Object.keys(REQUIREMENTS).length);
});

test("ids are dotted lower-case words, and behaviors are sentences", () => {
  for (const [id, behavior] of Object.entries(REQUIREMENTS)) {
    assert.match(id, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
    assert.match(behavior, /^[A-Z0-9`].*\.$/, id);
  }
});

test("single ids and lists of them are read from a test's text with its name, and nothing else", () => {
  const source = `
    verifies("a.one", "one \\"quoted\\"", () => {});
    verifies(
      ["a.two", "a.three"],
      \`\${name}: says "a.four"\`,
      () => {},
    );
    notverifies("a.five", "…"); t.verifies("a.six", "…");
  `;
  assert.deepEqual(verificationsOf(source), [
    { ids: ["a.one"], sentence: 'one "quoted"' },
    // The placeholder is part of the text that is read.
    { ids: ["a.two", "a.three"], sentence: "$" + '{name}: says "a.four"' },
  ]);
});

test("an unknown id, a requirement without a test and a test with four ids are reported", () => {
  const requirements = { "a.one": "One.", "a.two": "Two.", "a.three": "Three.", "a.bare": "Bare." };
  const many = 'verifies(["a.one", "a.two", "a.three", "a.none"], "all", run);';
  assert.deepEqual(gaps(requirements, new Map([["x.test.ts", many]])), [
    'x.test.ts: "all" verifies 4 requirements, more than 3.',
    'x.test.ts verifies "a.none", which is not a requirement.',
    '"a.bare" is verified by no test.',
  ]);
});
