/** content_length: what it counts and how it words its refusals. */
import assert from "node:assert/strict";
import { test } from "node:test";
import contentLength from "../../plugins/content-length/index.ts";
import { judgeOf } from "./guardrail-kit.ts";

const { guardrail, judge, refusal } = judgeOf(contentLength, { max: 10 });

test("text up to the maximum passes, and a character more does not", () => {
  assert.equal(judge("0123456789"), undefined);
  assert.equal(refusal("0123456789!"), "Request blocked: content length 11 exceeds maximum 10.");
});

test("all messages of a call count together", () => {
  assert.equal(
    refusal("short", { totalCharacters: 12 }),
    "Request blocked: content length 12 exceeds maximum 10.",
  );
});

test("an answer that grows too long is refused in the words for answers", () => {
  assert.equal(
    refusal("more", { side: "output", role: "assistant", totalCharacters: 11, partial: true }),
    "Response blocked: content length 11 exceeds maximum 10.",
  );
});

test("a stream is not held back, since counting needs no text", () => {
  assert.equal(guardrail.window, 0);
});

test("characters are UTF-16 code units", () => {
  assert.equal(refusal("🙂".repeat(6)), "Request blocked: content length 12 exceeds maximum 10.");
});
