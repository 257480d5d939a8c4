/** A verdict that is malformed is a failure of the guardrail: `on_error` and `shadow` decide, and no text goes on unmasked. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { guardrailHooks } from "../../src/guardrails/guardrail.ts";
import { textChunk } from "../../src/plugin/chat.ts";
import type { Guardrail, Hooks } from "../../src/plugin/index.ts";
import { isGatewayError, refuse } from "../../src/plugin/index.ts";
import { testExchange, testHost } from "../../src/testing/test-host.ts";

const TEXT = "order secret text";
const edit = (start: unknown, end: unknown, text: unknown = "*"): object => ({ start, end, text });
const replacing = (...edits: readonly unknown[]): object => ({ verdict: "replace", reason: "r", edits });

const MALFORMED: readonly (readonly [what: string, returned: unknown])[] = [
  ["null", null],
  ["a word", "block"],
  ["true", true],
  ["a number", 0],
  ["a list", []],
  ["an unknown verdict", { verdict: "perhaps", reason: "r" }],
  ["a block without an error", { verdict: "block", reason: "r" }],
  ["a block whose error is a text", { verdict: "block", reason: "r", error: "no" }],
  ["a block without a reason", { verdict: "block", error: refuse(422, "no", "No.") }],
  ["edits that are missing", { verdict: "replace", reason: "r" }],
  ["edits that are a map", { verdict: "replace", reason: "r", edits: {} }],
  ["an edit that is null", replacing(null)],
  ["edits out of order", replacing(edit(6, 12), edit(0, 5))],
  ["edits that overlap", replacing(edit(0, 8), edit(6, 12))],
  ["an edit that ends before it starts", replacing(edit(8, 6))],
  ["an edit beyond the text", replacing(edit(6, 99))],
  ["an edit before the text", replacing(edit(-1, 5))],
  ["an edit at no whole number", replacing(edit(0.5, 5))],
  ["an edit at NaN", replacing(edit(Number.NaN, 5))],
  ["an edit without a text", replacing(edit(0, 5, 7))],
  ["`restore` that is a word", { ...replacing(edit(0, 5)), restore: "yes" }],
];

function hooksOf(returned: unknown, { on_error = "block", shadow = false }: object & Use = {}): Hooks {
  const use = { on: ["input", "output"], on_error, timeout_ms: 1000, shadow, isolate: false } as const;
  const { clock, log } = testHost();
  // As plugins written in JavaScript do it.
  const guardrail = { window: 4, judge: () => returned } as unknown as Guardrail;
  return guardrailHooks({ name: "shaky", guardrail, use, clock, log });
}

interface Use {
  readonly on_error?: "block" | "allow";
  readonly shadow?: boolean;
}

const result = { id: "1", model: "m", content: TEXT, finishReason: "stop" } as const;

for (const [what, returned] of MALFORMED) {
  for (const [how, given] of [
    ["", returned],
    [" in a promise", Promise.resolve(returned)],
  ] as const) {
    test(`${what}${how} is a failure of the guardrail`, async () => {
      const asked = () => testExchange({ received: [{ role: "user", content: TEXT }] });
      const closed = hooksOf(given);
      const x = asked();
      const refusal = await closed.request?.(x);
      assert.ok(isGatewayError(refusal));
      assert.equal(refusal.message, "Request blocked: guardrail 'shaky' could not judge it.");
      assert.deepEqual(
        x.verdicts.map(({ verdict, reason }) => [verdict, reason]),
        [["error", "invalid verdict"]],
      );
      const answer = await closed.response?.(testExchange(), result);
      assert.ok(isGatewayError(answer) && answer.code === "answer_guardrail_failed");
      const chunk = await closed.stream?.(testExchange())?.chunk(textChunk(TEXT));
      assert.ok(isGatewayError(chunk) && chunk.code === "answer_guardrail_failed");

      for (const use of [{ on_error: "allow" }, { shadow: true }] as const) {
        const open = hooksOf(given, use);
        const passed = asked();
        assert.equal(await open.request?.(passed), undefined);
        assert.equal(passed.messages[0]?.content, TEXT);
        assert.equal(await open.response?.(testExchange(), result), result);
      }
    });
  }
}

test("a verdict whose members throw or change between looks is read once", async () => {
  let looks = 0;
  const changing = {
    reason: "r",
    edits: [edit(0, 5)],
    get verdict() {
      looks++;
      return looks > 1 ? "block" : "replace";
    },
  };
  const x = testExchange({ received: [{ role: "user", content: TEXT }] });
  assert.equal(await hooksOf(changing).request?.(x), undefined);
  assert.equal(x.messages[0]?.content, "* secret text");
  const throwing = {
    get verdict(): string {
      throw new Error("no");
    },
  };
  assert.ok(isGatewayError(await hooksOf(throwing).request?.(testExchange({ received: x.received }))));
});
