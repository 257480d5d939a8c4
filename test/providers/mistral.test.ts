/** What is Mistral's own: names, ids of nine characters, thoughts among the content, four shapes of error. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mistral } from "../../providers/mistral.ts";
import { answerOf, bodyOf, brief, countingHost, event, formatOf, reasonOf, streamOf } from "./chat-format.ts";

const format = await formatOf(mistral.setup({}, countingHost()));
const thought = { type: "thinking", thinking: [{ type: "text", text: "Water first." }] };

test("Mistral is told nothing that it does not know", () => {
  const options = {
    seed: 7,
    stop: ["."],
    tools: [{ name: "boil" }],
    toolChoice: "required",
    parallelToolCalls: false,
  } as const;
  const {
    messages: _,
    tools: __,
    ...rest
  } = bodyOf(format, {
    about: { maxOutputTokens: 9, options },
    stream: true,
  });
  assert.deepEqual(rest, {
    model: "tea-1",
    max_tokens: 9,
    random_seed: 7,
    stop: ["."],
    tool_choice: "any",
    parallel_tool_calls: false,
    stream: true,
  });
});

test("Mistral's own safety prompt is asked for by option", async () => {
  const safe = await formatOf(mistral.setup({ safe_prompt: true }, countingHost()));
  assert.equal(bodyOf(safe)["safe_prompt"], true);
});

test("ids of tool calls have nine letters and digits, the same for the call and its result", () => {
  const sent = (id: string): unknown[] => {
    const { messages } = bodyOf(format, {
      about: {
        messages: [
          { role: "user", content: "Boil." },
          { role: "assistant", content: "", toolCalls: [{ id, name: "boil", arguments: "{}" }] },
          { role: "tool", content: "done", toolCallId: id },
        ],
      },
    });
    // As this body was just written.
    const [, call, result] = messages as [
      unknown,
      { tool_calls: { id: string }[] },
      { tool_call_id: string },
    ];
    return [call.tool_calls[0]?.id, result.tool_call_id];
  };
  assert.deepEqual(sent("aB3dE6gH9"), ["aB3dE6gH9", "aB3dE6gH9"], "its own stay as they are");
  const ids = ["call_kettle", "call_pot", "toolu_01", "x", ""].map((id) => {
    const [call, result] = sent(id);
    assert.match(`${call}`, /^[A-Za-z0-9]{9}$/);
    assert.equal(call, result);
    assert.deepEqual(sent(id), [call, result], "the same each time");
    return call;
  });
  assert.equal(new Set(ids).size, ids.length);
});

test("a temperature over Mistral's range is brought into it", () => {
  assert.deepEqual(mistral.constraints, [
    { setting: "temperature", range: { min: 0, max: 1 }, reason: "Mistral takes 0 to 1" },
  ]);
});

test("what a Mistral model thinks is not part of its answer", () => {
  const content = [thought, { type: "text", text: "Then " }, { type: "text", text: "tea." }];
  assert.equal(answerOf(format, { message: { content } }).content, "Then tea.");
  assert.equal(answerOf(format, { message: { content: [thought] } }).content, "");
});

test("in a stream thoughts leave no trace, and content may be a list or a text", () => {
  const { chunks } = streamOf(format, [
    event({ role: "assistant", content: "" }),
    event({ content: [thought] }),
    event({ content: [{ type: "text", text: "Then" }] }),
    event({ content: " tea." }, null, { p: "abcdef" }),
    event({ content: "" }, "stop", { usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 } }),
  ]);
  assert.deepEqual(chunks.map(brief), [
    ["", undefined, undefined, true],
    ["Then", undefined, undefined, false],
    [" tea.", undefined, undefined, true],
    ["", "stop", undefined, false],
  ]);
  assert.equal(chunks.at(-1)?.usage?.totalTokens, 6);
});

test("whole tool calls may come in the event that ends the answer", () => {
  const calls = [
    { id: "aB3dE6gH9", function: { name: "boil", arguments: '{"ml":250}' } },
    { id: "bC4eF7hI0", function: { name: "steep", arguments: { minutes: 3 } } },
  ];
  const { chunks, complete } = streamOf(format, [event({ content: null, tool_calls: calls }, "tool_calls")]);
  assert.deepEqual(
    chunks.map(({ toolCalls, finishReason }) => [toolCalls, finishReason]),
    [
      [
        [
          { index: 0, id: "aB3dE6gH9", name: "boil", arguments: '{"ml":250}' },
          { index: 1, id: "bC4eF7hI0", name: "steep", arguments: '{"minutes":3}' },
        ],
        undefined,
      ],
      [undefined, "tool_calls"],
    ],
  );
  assert.equal(complete, true);
});

test("Mistral's words for an end, and its count of cached tokens, are understood", () => {
  const end = (finish_reason: string): unknown => answerOf(format, { finish_reason }).finishReason;
  assert.deepEqual(["stop", "length", "model_length", "error"].map(end), [
    "stop",
    "length",
    "length",
    "error",
  ]);
  const usage = { prompt_tokens: 9, total_tokens: 12, completion_tokens: 3, num_cached_tokens: 4 };
  assert.equal(answerOf(format, { rest: { usage } }).usage?.cachedPromptTokens, 4);
});

test("each of the four shapes of Mistral's errors gives its reason", () => {
  const shapes: Record<string, object> = {
    "No such cup.": { object: "error", message: "No such cup.", type: "invalid_cup", code: "1500" },
    "Bad key.": { detail: "Bad key." },
    "No key in request.": { message: "No key in request.", request_id: "8d2f" },
    "seed: Not known here.": { detail: [{ type: "extra", loc: ["body", "seed"], msg: "Not known here." }] },
    "stop: Too long.": {
      object: "error",
      message: { detail: [{ loc: ["body", "stop"], msg: "Too long." }] },
    },
  };
  for (const [reason, body] of Object.entries(shapes)) {
    assert.equal(reasonOf(format, JSON.stringify(body), 422), reason);
  }
});

test("an error of Mistral's own shape within an answer moves on", () => {
  const told = { object: "error", message: "Cup is full.", code: "3280", raw_status_code: 500 };
  const { failed } = streamOf(format, [told]);
  assert.deepEqual([failed?.reason, failed?.retryable], ["Cup is full.", true]);
});
