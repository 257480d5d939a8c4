/** What is Groq's own: usage beside `x_groq`, a status for want of capacity, errors as events of their own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { groq } from "../../providers/groq.ts";
import type { ProviderRequest } from "../../src/plugin/chat.ts";
import { bodyOf, brief, countingHost, event, formatOf, streamOf } from "./chat-format.ts";

const format = await formatOf(groq.setup({}, countingHost()));
const usage = { queue_time: 0.1, prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, total_time: 0.2 };

test("Groq is asked in its own words, in its tier", async () => {
  const flex = await formatOf(groq.setup({ service_tier: "flex" }, countingHost()));
  const { messages: _, ...rest } = bodyOf(flex, { about: { maxOutputTokens: 9 }, stream: true });
  assert.deepEqual(rest, {
    model: "tea-1",
    max_completion_tokens: 9,
    service_tier: "flex",
    stream: true,
  });
});

test("a schema goes only to Groq's models that take one, and only where it stands alone", () => {
  const responseSchema = { type: "object" };
  const sent = (model: string, about: Partial<ProviderRequest> = {}, stream = false): boolean =>
    "response_format" in bodyOf(format, { model, about: { responseSchema, ...about }, stream });
  assert.equal(sent("openai/gpt-oss-20b"), true);
  assert.equal(sent("llama-3.3-70b-versatile"), false);
  assert.equal(sent("openai/gpt-oss-20b", {}, true), false);
  assert.equal(sent("openai/gpt-oss-20b", { options: { tools: [{ name: "boil" }] } }), false);
});

test("usage that comes in two places counts once", () => {
  const totals = (rest: object): unknown[] =>
    streamOf(format, [event({ content: "Tea" }), event({}, "stop", rest)]).chunks.map(
      (chunk) => chunk.usage?.totalTokens,
    );
  assert.deepEqual(totals({ x_groq: { id: "req_1", usage } }), [undefined, 12]);
  assert.deepEqual(totals({ x_groq: { id: "req_1", usage }, usage }), [undefined, 12]);
});

test("what a Groq model thinks aloud goes nowhere", () => {
  const { chunks } = streamOf(format, [
    event({ role: "assistant", content: "" }, null, { x_groq: { id: "req_1", seed: 3 } }),
    event({ reasoning: "Water", channel: "analysis" }),
    event({ content: "Tea" }),
    event({ content: ".", reasoning: "Done" }),
    event({}, "stop"),
  ]);
  assert.deepEqual(chunks.map(brief), [
    ["", undefined, undefined, true],
    ["Tea", undefined, undefined, true],
    [".", undefined, undefined, false],
    ["", "stop", undefined, false],
  ]);
});

test("a whole call in one event passes as it came", () => {
  const call = {
    index: 0,
    id: "ab12cd34e",
    type: "function",
    function: { name: "boil", arguments: '{"ml":250}' },
  };
  const { chunks } = streamOf(format, [event({ tool_calls: [call] }), event({}, "tool_calls")]);
  assert.deepEqual(chunks[0]?.toolCalls, [
    { index: 0, id: "ab12cd34e", name: "boil", arguments: '{"ml":250}' },
  ]);
  assert.notEqual(chunks[0]?.native, undefined);
  assert.equal(chunks[1]?.finishReason, "tool_calls");
});

test("an error event within a stream is a failure with the status that it names", () => {
  const error = {
    message: "The call does not fit the tool.",
    code: "tool_use_failed",
    failed_generation: "{}",
    status_code: 400,
  };
  const failed = format.decoder().event("error", JSON.stringify({ error }), []);
  assert.deepEqual(
    [failed?.status, failed?.reason, failed?.retryable, failed?.accepted],
    [400, "The call does not fit the tool.", true, true],
  );
});

test("a stream that Groq stopped early says why", () => {
  const { failed } = streamOf(format, [
    event({ content: "Tea" }),
    { x_groq: { id: "req_1", error: "Out of water." } },
  ]);
  assert.equal(failed?.reason, "Out of water.");
});

test("498, Groq's want of capacity, moves on; a request of the wrong kind does not", () => {
  const moves = (status: number): boolean => format.failure(status, {}, "").retryable;
  assert.deepEqual([498, 429, 503, 408].map(moves), [true, true, true, true]);
  assert.deepEqual([400, 413, 424, 499].map(moves), [false, false, false, true]);
});
