/** What is Together's own: `eos`, a text beside each delta, seeds beyond what numbers hold, its options. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { together } from "../../providers/together.ts";
import { answerOf, bodyOf, brief, countingHost, formatOf, streamOf } from "./chat-format.ts";

const format = await formatOf(together.setup({}, countingHost()));

/** Events carry the text twice, its token, and the seed on the last. */
function event(content: string, finish_reason: string | null = null, usage: object | null = null): string {
  const delta = { token_id: content.length, role: "assistant", content, tool_calls: null };
  const choice = { index: 0, text: content, logprobs: null, finish_reason, seed: null, delta };
  const text = JSON.stringify({ id: "tg-1", choices: [choice], model: "tea-1-turbo", usage });
  return text.replace('"seed":null', '"seed":14963699883243452999');
}

test("Together is asked in its own words", async () => {
  const truncating = await formatOf(
    together.setup({ context_length_exceeded_behavior: "truncate" }, countingHost()),
  );
  const options = { stop: ["."], seed: 3 };
  const { messages: _, ...rest } = bodyOf(truncating, {
    about: { maxOutputTokens: 9, options },
    stream: true,
  });
  assert.deepEqual(rest, {
    model: "tea-1",
    max_tokens: 9,
    seed: 3,
    stop: ["."],
    context_length_exceeded_behavior: "truncate",
    stream: true,
  });
});

test("a temperature over Together's range is brought into it", () => {
  assert.deepEqual(together.constraints, [
    { setting: "temperature", range: { min: 0, max: 1 }, reason: "Together takes 0 to 1" },
  ]);
});

test("eos is a stop, and an empty list of calls asks for no tool", () => {
  const answer = answerOf(format, {
    message: { role: "assistant", content: "Tea.", tool_calls: [] },
    finish_reason: "eos",
    rest: {
      prompt: [],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12, cached_tokens: 4 },
    },
  });
  assert.deepEqual(
    [answer.finishReason, answer.providerFinishReason, answer.toolCalls],
    ["stop", "eos", undefined],
  );
  assert.equal(answer.usage?.cachedPromptTokens, 4);
});

test("a stream's texts count once, and its usage comes with its end", () => {
  const usage = { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 };
  const events = [event("Tea"), event(" is"), event(" ready"), event("", "eos", usage)];
  const { chunks, complete } = streamOf(format, events);
  assert.deepEqual(chunks.map(brief), [
    ["Tea", undefined, undefined, true],
    [" is", undefined, undefined, true],
    [" ready", undefined, undefined, true],
    ["", "stop", "eos", false],
  ]);
  assert.equal(chunks[0]?.native, events[0]);
  assert.equal(chunks[3]?.usage?.totalTokens, 7);
  assert.equal(complete, true);
});
