/** patterns: expressions of the configuration that block or mask. */
import assert from "node:assert/strict";
import { test } from "node:test";
import patterns from "../../plugins/patterns/index.ts";
import { testGuardrail } from "../../src/testing/index.ts";
import { judgeOf } from "./guardrail-kit.ts";

const TICKET = { "ticket number": "\\bTICKET-\\d{4,8}\\b" };

test("a match is refused under the pattern's name, on either side", () => {
  const { judge, refusal } = judgeOf(patterns, { patterns: TICKET });
  assert.equal(refusal("see ticket-12345"), "Request blocked: pattern 'ticket number' detected in input.");
  assert.equal(
    refusal("TICKET-1234", { side: "output", role: "assistant" }),
    "Response blocked: pattern 'ticket number' detected in output.",
  );
  assert.equal(judge("TICKET-123, TICKETS-12345"), undefined);
  assert.equal(judge("TICKET-12345")?.reason, "pattern 'ticket number'");
});

test("every match is masked with the pattern's name or the replacement", () => {
  const both = { ...TICKET, "employee id": "\\bE\\d{6}\\b" };
  const named = judgeOf(patterns, { patterns: both, mode: "mask" });
  assert.equal(
    named.masked("E123456 opened TICKET-1234, TICKET-5678 é 隼"),
    "[EMPLOYEE_ID] opened [TICKET_NUMBER], [TICKET_NUMBER] é 隼",
  );
  assert.equal(named.masked("E12345 and TICKET-12"), "E12345 and TICKET-12");
  const own = judgeOf(patterns, { patterns: both, mode: "mask", replacement: "" });
  assert.equal(own.masked("a E123456 b"), "a  b");
  const cased = judgeOf(patterns, { patterns: TICKET, mode: "mask", case_sensitive: true });
  assert.equal(cased.masked("ticket-1234 TICKET-1234"), "ticket-1234 [TICKET_NUMBER]");
});

test("of two patterns that overlap the first match stays, and of two at one place the longer", () => {
  const { masked } = judgeOf(patterns, {
    patterns: { short: "ab", long: "abcd", late: "cde" },
    mode: "mask",
  });
  assert.equal(masked("abcde ab cde"), "[LONG]e [SHORT] [LATE]");
});

test("hundreds of matches in a row are masked, every one of them", () => {
  const { masked } = judgeOf(patterns, { patterns: { digit: "\\d" }, mode: "mask", replacement: "#" });
  assert.equal(masked("1".repeat(200)), "#".repeat(200));
  assert.doesNotMatch(masked("1".repeat(2000)), /\d/);
});

test("options that cannot be used are faults", () => {
  const place = { on: ["input"] } as const;
  const faults = (options: Parameters<NonNullable<typeof patterns.validateOptions>>[0]) =>
    patterns.validateOptions?.(options, place).map(({ message }) => message) ?? [];
  assert.deepEqual(faults({ patterns: TICKET, mode: "mask", replacement: "x" }), []);
  assert.match(faults({ patterns: { ahead: "a(?=b)" } })[0] ?? "", /pattern `ahead`/);
  assert.match(faults({ patterns: { empty: "a*" } })[0] ?? "", /matches the empty text/);
  assert.match(faults({ patterns: TICKET, replacement: "x" })[0] ?? "", /needs `mode: mask`/);
});

testGuardrail(patterns, {
  options: { patterns: TICKET, mode: "mask" },
  pass: ["TICKET-12", "no ticket at all"],
  mask: [{ text: "see TICKET-12345 please", becomes: "see [TICKET_NUMBER] please" }],
});

test("a piece costs a bounded number of searches, whatever the pattern", () => {
  // Each search of such a pattern reads to the end of the piece.
  const { guardrail, judge, masked } = judgeOf(patterns, { patterns: { open: "a(?:.*z)?" }, mode: "mask" });
  const piece = "a ".repeat(1000);
  const verdict = judge(piece);
  assert.equal(verdict?.verdict === "replace" && verdict.edits.length, 256);
  assert.doesNotMatch(masked(piece), /a/);
  assert.equal(guardrail.slice, 1024);
});
