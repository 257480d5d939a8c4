/** The worked example of a guardrail: its words, its options, its refusals. */
import assert from "node:assert/strict";
import { test } from "node:test";
import acmeTone from "../../examples/plugins/acme-tone.ts";
import { judgeOf } from "./guardrail-kit.ts";

test("insults are refused, in any case, and only as words", () => {
  const { judge, refusal } = judgeOf(acmeTone, {});
  assert.equal(refusal("You IDIOTS!"), "Request blocked: please mind the tone.");
  assert.equal(judge("What an idiotic idiom."), undefined);
  assert.equal(
    refusal("such a nitwit", { side: "output", role: "assistant" }),
    "Response blocked: please mind the tone.",
  );
});

test("grumbling is refused at high strictness only", () => {
  const text = "This damn thing sucks.";
  assert.equal(judgeOf(acmeTone, { strictness: "low" }).judge(text), undefined);
  assert.notEqual(judgeOf(acmeTone, { strictness: "high" }).judge(text), undefined);
});

test("the refusal has a code of its own, and the log learns nothing of the text", () => {
  const verdict = judgeOf(acmeTone, {}).judge("you moron");
  assert.ok(verdict?.verdict === "block");
  assert.equal(verdict.error.status, 422);
  assert.equal(verdict.error.code, "tone_blocked");
  assert.doesNotMatch(verdict.reason, /moron/);
});

test("the window holds the longest word", () => {
  const { guardrail } = judgeOf(acmeTone, {});
  assert.ok(typeof guardrail.window === "number" && guardrail.window > "numbskulls".length);
});
