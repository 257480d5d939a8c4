/** Masks that are taken off again for the client: numbers, answers in pieces, and what is not put back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { restorable } from "../../src/guardrails/masks.ts";
import { coreExchange } from "../../src/plugin/exchange.ts";
import type { Exchange } from "../../src/plugin/index.ts";
import { testExchange } from "../../src/testing/test-host.ts";

/** Masks each `word:mask` and returns what stands in its place. */
function mask(x: Exchange, ...pairs: readonly (readonly [original: string, mask: string])[]): string[] {
  return pairs.map(([original, text]) => {
    return restorable(x, original, [{ start: 0, end: original.length, text }])[0]?.text ?? "";
  });
}

function delivered(exchange: Exchange, pieces: readonly string[], call?: number): string {
  const x = coreExchange(exchange);
  const out = pieces.map((piece) => x.delivery?.push(piece, call) ?? piece).join("");
  return out + (x.delivery?.flush(call) ?? "");
}

test("masks are numbered by kind, and one original has one mask", () => {
  const x = testExchange();
  const made = mask(
    x,
    ["a@x.org", "[EMAIL]"],
    ["b@x.org", "[EMAIL]"],
    ["a@x.org", "[EMAIL]"],
    ["1", "[SSN]"],
  );
  assert.deepEqual(made, ["[EMAIL_1]", "[EMAIL_2]", "[EMAIL_1]", "[SSN_1]"]);
  assert.deepEqual(mask(x, ["Bob", "NAME"]), ["NAME_1"]);
});

test("an answer cut anywhere shows the originals, and no half of a mask before it is known to be none", () => {
  const answer = "[EMAIL_1][EMAIL_2], [EMAIL_10] and [EMAIL_3], [ EMAIL_1], [[EMAIL_1]] [EMAIL_";
  const expected = "a@x.orgb@x.org, [EMAIL_10] and [EMAIL_3], [ EMAIL_1], [a@x.org] [EMAIL_";
  for (let first = 0; first <= answer.length; first++) {
    for (let second = first; second <= answer.length; second += 3) {
      const x = testExchange();
      mask(x, ["a@x.org", "[EMAIL]"], ["b@x.org", "[EMAIL]"]);
      const pieces = [answer.slice(0, first), answer.slice(first, second), answer.slice(second)];
      assert.equal(delivered(x, pieces), expected, `cut at ${first} and ${second}`);
    }
  }
});

test("text that cannot become a mask goes out at once", () => {
  const x = testExchange();
  mask(x, ["a@x.org", "[EMAIL]"]);
  assert.equal(coreExchange(x).delivery?.push("see [EM"), "see ");
  assert.equal(coreExchange(x).delivery?.push("PTY] and"), "[EMPTY] and");
});

test("masks without brackets that begin alike are told apart", () => {
  const x = testExchange();
  mask(x, ...Array.from({ length: 12 }, (_, n) => [`person ${n + 1}`, "NAME"] as const));
  assert.equal(
    delivered(x, ["NAME_1", "2 and NAME", "_1 and NAME_1"]),
    "person 12 and person 1 and person 1",
  );
});

test("in arguments of a tool call originals are escaped, and channels do not mix", () => {
  const x = testExchange();
  mask(x, ['the "boss"', "[NAME]"]);
  assert.equal(coreExchange(x).delivery?.push('{"to":"[NA', 0), '{"to":"');
  assert.equal(coreExchange(x).delivery?.push("hello [NA"), "hello ");
  assert.equal(delivered(x, ['ME_1]"}'], 0), 'the \\"boss\\""}');
  assert.equal(delivered(x, ["ME_1]"]), 'the "boss"');
});

test("beyond a thousand originals masks stay masks, without a number", () => {
  const x = testExchange();
  for (let n = 0; n < 1000; n++) mask(x, [`${n}@x.org`, "[EMAIL]"]);
  assert.deepEqual(mask(x, ["new@x.org", "[EMAIL]"], ["7@x.org", "[EMAIL]"]), ["[EMAIL]", "[EMAIL_8]"]);
  assert.equal(delivered(x, ["[EMAIL] [EMAIL_1000]"]), "[EMAIL] 999@x.org");
});

test("in a continued conversation numbers do not repeat those of earlier turns", () => {
  const x = testExchange({ body: { session_id: "00000000-0000-4000-8000-000000000000" } });
  assert.match(mask(x, ["a@x.org", "[EMAIL]"])[0] ?? "", /^\[EMAIL_\d{4,6}\]$/);
});
