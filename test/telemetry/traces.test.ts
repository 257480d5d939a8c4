/** Spans of calls made up for the test, and the ids and headers that hold a trace together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { spanIdOf, traceIdOf, traceParentOf } from "../../src/base/trace-context.ts";
import type { Attempt } from "../../src/plugin/exchange.ts";
import type { CallEnd, Exchange } from "../../src/plugin/index.ts";
import { CONTENT_MAX, spansOf } from "../../src/telemetry/traces-spans.ts";
import { testExchange } from "../../src/testing/index.ts";
import { type SeenSpan, spansIn } from "../spec/kit/collector.ts";

const TRACE = "5b8aa5a2d2c872e8321cf37308d69df2";
const PARENT = "051581bf3cb55c13";

test("a traceparent is read in version 00 and in versions to come, and nothing else is", () => {
  const valid = `00-${TRACE}-${PARENT}-01`;
  assert.deepEqual(traceParentOf(valid), { text: valid, traceId: TRACE, spanId: PARENT, sampled: true });
  assert.equal(traceParentOf(`00-${TRACE}-${PARENT}-02`)?.sampled, false);
  assert.equal(traceParentOf(`cc-${TRACE}-${PARENT}-03-what-ever`)?.sampled, true);
  const zero = "0".repeat(32);
  for (const wrong of [
    undefined,
    "",
    [valid],
    `${valid}-more`,
    valid.toUpperCase(),
    ` ${valid}`,
    `ff-${TRACE}-${PARENT}-01`,
    `00-${zero}-${PARENT}-01`,
    `00-${TRACE}-${zero.slice(16)}-01`,
    `00-${TRACE}-${PARENT}-1`,
    `cc-${TRACE}-${PARENT}-01more`,
  ]) {
    assert.equal(traceParentOf(wrong), undefined, String(wrong));
  }
});

test("ids of a call's spans are made of its request id: valid, and told apart", () => {
  const requestId = "00000000-0000-4000-8000-000000000000";
  const ids = Array.from({ length: 256 }, (_, n) => spanIdOf(requestId, n));
  assert.equal(new Set(ids).size, 256);
  for (const id of ids) assert.ok(traceParentOf(`00-${traceIdOf(requestId)}-${id}-01`) !== undefined, id);
});

const END: CallEnd = {
  ...{ outcome: "done", status: 200, error: undefined, result: undefined, provider: "", model: "" },
  ...{ usage: undefined, finishReason: undefined, costNanoUsd: 0, durationMs: 100, firstByteMs: undefined },
  stageMs: [],
};

function attempt(fields: Partial<Attempt>): Attempt {
  return {
    ...{ provider: "openai", model: "m", credential: "main", outcome: "ok", status: 200 },
    ...{ startedAtMs: 1010, durationMs: 50 },
    ...fields,
  };
}

function spans(x: Partial<Exchange>, end: Partial<CallEnd> = {}, content = false): readonly SeenSpan[] {
  const call = {
    x: testExchange({ startedAtMs: 1000, ...x }),
    end: { ...END, ...end },
    parent: undefined,
    content,
  };
  return spansIn(`{"resourceSpans":[{"scopeSpans":[{"spans":[${spansOf(call).join()}]}]}]}`);
}

test("an attempt is within its call, also one that was not awaited", () => {
  const attempts = [
    attempt({ durationMs: 95 }),
    attempt({ outcome: "cancelled", status: undefined, durationMs: 0 }),
  ];
  const [server, overlong, left] = spans({ attempts }, { outcome: "client_gone", status: 499 });
  assert.deepEqual([server?.startMs, server?.endMs], [1000, 1100]);
  assert.deepEqual([overlong?.startMs, overlong?.endMs], [1010, 1100]);
  assert.deepEqual([left?.startMs, left?.endMs], [1010, 1100]);
  assert.equal(left?.attributes["error.type"], "cancelled");
});

test("kinds of failures have words of their own, and providers the conventions' names", () => {
  const outcomes = [
    "timed out after 10 ms",
    "unreachable",
    "skipped: circuit open",
    "not this provider's JSON",
  ];
  const attempts = outcomes.map((outcome) => attempt({ outcome, status: undefined, provider: "google" }));
  const [, ...tries] = spans({ attempts });
  const types = tries.map(({ attributes }) => attributes["error.type"]);
  assert.deepEqual(types, ["timeout", "unreachable", "skipped", "_OTHER"]);
  assert.deepEqual(
    tries.map(({ error }) => error),
    outcomes,
  );
  assert.equal(tries[0]?.attributes["gen_ai.provider.name"], "gcp.gemini");
});

test("of a conversation longer than a span carries, the end is shown; images never are", () => {
  const messages = [
    { role: "user", content: "first" },
    { role: "assistant", content: "y".repeat(CONTENT_MAX) },
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image", url: "data:image/png;base64,AA" },
      ],
    },
  ] as const;
  const result = { id: "a", model: "m", content: "z".repeat(CONTENT_MAX * 2), finishReason: "stop" } as const;
  const [, client] = spans({ messages, attempts: [attempt({})] }, { result, finishReason: "stop" }, true);
  const input = String(client?.attributes["gen_ai.input.messages"]);
  assert.doesNotMatch(input, /first|base64/);
  assert.match(input, /What is this\?\\n\[IMAGE\]/);
  assert.ok(input.length < CONTENT_MAX + 300, String(input.length));
  assert.ok(String(client?.attributes["gen_ai.output.messages"]).length < CONTENT_MAX + 300);
});

test("what guardrails did is told, without the text they judged", () => {
  const about = { side: "input", shadow: false, reason: "an address of ada" } as const;
  const verdicts = [
    { ...about, guardrail: "pii", verdict: "replace" },
    { ...about, guardrail: "keyword_blocklist", verdict: "pass" },
    { ...about, guardrail: "tone", verdict: "block", shadow: true },
  ] as const;
  const [server] = spans({ verdicts: [...verdicts] });
  assert.deepEqual(server?.attributes["sluice.guardrails"], ["pii: replace", "tone: block (shadow)"]);
});
