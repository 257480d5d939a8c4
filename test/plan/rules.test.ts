/** Every rule: its example and its near miss, in both directions. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { RULE_EXAMPLES, type RuleExample } from "../../src/plan/rule-examples.ts";
import { RULES } from "../../src/plan/rules.ts";
import { verifies } from "../spec/verifies.ts";
import { judgedAround, rulesOf } from "./kit.ts";

async function holds(t: TestContext, { before, after, rules, reverse }: RuleExample): Promise<void> {
  const forth = await judgedAround(t, before, after);
  assert.deepEqual(rulesOf(forth), [...rules].sort(), `${before}\n->\n${after}`);
  assert.deepEqual(
    rulesOf(await judgedAround(t, after, before)),
    [...reverse].sort(),
    `${after}\n->\n${before}`,
  );
  for (const { rule, risk } of forth) assert.equal(risk, RULES[rule].risk);
}

for (const [rule, { example, nearMiss }] of Object.entries(RULE_EXAMPLES)) {
  verifies(
    "plan.rules",
    `${rule}: its example, and a near miss that is another rule, in both directions`,
    async (t) => {
      assert.ok(example.rules.some((one) => one === rule));
      assert.ok(!nearMiss.rules.some((one) => one === rule));
      await holds(t, example);
      await holds(t, nearMiss);
    },
  );
}
