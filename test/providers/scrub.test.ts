/** No secret of ours, and nothing that looks like one, gets into what clients and logs are told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { scrubber } from "../../src/upstream/scrub.ts";

test("the credential is taken out wherever it stands", () => {
  const { reason } = scrubber("hunter2-hunter2");
  assert.equal(reason("key hunter2-hunter2 (hunter2-hunter2) is bad"), "key [redacted] ([redacted]) is bad");
});

test("a credential written as JSON writes it is taken out too", () => {
  assert.equal(scrubber('pass"word\\').text('{"key":"pass\\"word\\\\"}'), '{"key":"[redacted]"}');
});

test("what looks like a credential is removed, of any vendor", () => {
  const { reason } = scrubber("");
  assert.equal(reason("Authorization: Bearer abc.def-ghi, refused"), "Authorization: [redacted], refused");
  assert.equal(
    reason("Incorrect API key provided: sk-proj-ab******yz."),
    "Incorrect API key provided: [redacted]",
  );
});

test("ordinary words stay as they are", () => {
  const said = "The bearer of bad news: invalid_api_key for model gpt-4o, task-12345678 refused";
  assert.equal(scrubber("").reason(said), said);
  assert.equal(scrubber("key").reason("a key, a monkey"), "a key, a monkey");
});

test("a reason is one line of at most 300 characters", () => {
  const { reason } = scrubber("");
  assert.equal(reason("  one\r\n\ttwo\u0000three "), "one two three");
  assert.equal(reason("x".repeat(301)).length, 300);
  assert.equal(reason("x".repeat(300)), "x".repeat(300));
});
