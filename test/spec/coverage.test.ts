/** The gate: every rule has a test, every test names rules that exist. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gaps, idsOf } from "./coverage.ts";
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

test("every rule has a test, and every id in a test is a rule", () => {
  assert.deepEqual(gaps(REQUIREMENTS, testSources()), []);
});

test("no two areas claim one id", () => {
  const ids = AREAS.flatMap((area) => Object.keys(area));
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  assert.deepEqual(twice, []);
});

test("ids are dotted lower-case words, and behaviours are sentences", () => {
  for (const [id, rule] of Object.entries(REQUIREMENTS)) {
    assert.match(id, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
    assert.match(rule.behaviour, /^[A-Z`].*\.$/, id);
    assert.match(rule.source, /^(SPEC|CONTRACT) /, id);
  }
});

test("the gate reads single ids and lists of them from a test's text, and nothing else", () => {
  const source = `
    verifies("a.one", "…", () => {});
    verifies(
      ["a.two", "a.three"],
      "says \\"a.four\\"",
      () => {},
    );
    notverifies("a.five"); t.verifies("a.six");
  `;
  assert.deepEqual(idsOf(source), ["a.one", "a.two", "a.three"]);
});

test("the gate names an unknown id, and a rule without a test", () => {
  const rules = {
    "a.held": { source: "SPEC A", behaviour: "It is held." },
    "a.bare": { source: "SPEC A", behaviour: "It is not." },
  } as const;
  const tests = new Map([["x.test.ts", 'verifies(["a.held", "a.none"], "…", run);']]);
  assert.deepEqual(gaps(rules, tests), [
    'x.test.ts verifies "a.none", which is no rule.',
    '"a.bare" (SPEC A) has no test.',
  ]);
});
