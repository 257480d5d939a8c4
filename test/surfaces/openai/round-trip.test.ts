/** An upstream of OpenAI's format: what it says reaches the client whole, and what a client says reaches it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonAnswer, sseAnswer } from "../../../src/testing/fake-upstream.ts";
import { assertRefused, at } from "../../spec/kit/client.ts";
import { chunksOf } from "../../spec/kit/event-stream.ts";
import { chunk, completion, usageChunk } from "../../spec/kit/provider.ts";
import { assertChunks, assertCompletion, HELLO, startWrapper } from "./kit.ts";
import { RICH_ANSWERS, RICH_STREAMS } from "./stand-ins.ts";

const WITH_USAGE = { stream_options: { include_usage: true } };

test("whole answers come through with every member that OpenAI's format has", async (t) => {
  const g = await startWrapper(t);
  for (const said of RICH_ANSWERS) {
    g.provider.answer(jsonAnswer(said));
    const answer = await g.ask();
    assertCompletion(answer);
    assert.deepEqual(answer.json, said);
  }
});

test("events come through with every member, and the usage to who asks for it", async (t) => {
  const g = await startWrapper(t);
  for (const said of RICH_STREAMS) {
    g.provider.answer(sseAnswer([...said, "[DONE]"]));
    assert.deepEqual(assertChunks(await (await g.asStream(WITH_USAGE)).rest()), said);
    const without = chunksOf(await (await g.asStream()).rest());
    assert.deepEqual(
      without.map((one) => at(one, "choices")),
      said.slice(0, -1).map((one) => at(one, "choices")),
    );
  }
});

const TIDE_TOLD = { role: "function", name: "tide", content: "14:10" };
const CUSTOM = { id: "call_1", type: "custom", custom: { name: "note", input: "tea, then cake" } };
const CUSTOM_TOOL = { type: "custom", custom: { name: "note" } };
const customAnswer = {
  ...completion(""),
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: null, refusal: null, tool_calls: [CUSTOM] },
      logprobs: null,
      finish_reason: "tool_calls",
    },
  ],
};

test("tools that take text are called with it, whole and streamed, and their results come back", async (t) => {
  const g = await startWrapper(t);
  g.provider.answer(jsonAnswer(customAnswer));
  const answer = await g.ask({ tools: [CUSTOM_TOOL] });
  assert.deepEqual(at(answer.json, "choices"), customAnswer.choices);
  const { custom, ...called } = CUSTOM;
  const events = [
    chunk({ role: "assistant", content: null }),
    chunk({ tool_calls: [{ index: 0, ...called, custom: { name: custom.name, input: "" } }] }),
    chunk({ tool_calls: [{ index: 0, custom: { input: custom.input } }] }),
    chunk({}, "tool_calls"),
    usageChunk(),
  ];
  g.provider.answer(sseAnswer([...events, "[DONE]"]));
  const stream = await g.asStream({ tools: [CUSTOM_TOOL], ...WITH_USAGE });
  assert.deepEqual(assertChunks(await stream.rest()), events);
  const messages = [
    ...HELLO,
    { role: "assistant", content: null, tool_calls: [CUSTOM] },
    { role: "tool", tool_call_id: CUSTOM.id, content: "Noted." },
  ];
  g.provider.says("Yes.");
  assertCompletion(await g.ask({ tools: [CUSTOM_TOOL], messages }));
  assert.deepEqual(at(g.provider.sent("messages"), 1, "tool_calls"), [CUSTOM]);
});

test("functions, as OpenAI's format had them before tools, are called and answered as they were", async (t) => {
  const g = await startWrapper(t);
  const functions = [{ name: "tide", parameters: { type: "object", properties: {} } }];
  const function_call = { name: "tide", arguments: '{"port":"Brest"}' };
  const message = { role: "assistant", content: null, refusal: null, function_call };
  const said = { index: 0, message, logprobs: null, finish_reason: "function_call" };
  g.provider.answer(jsonAnswer({ ...completion(""), choices: [said] }));
  const answer = await g.ask({ functions, function_call: "auto" });
  assert.deepEqual(at(answer.json, "choices"), [said]);
  assert.deepEqual(g.provider.sent("functions"), functions);
  const events = [
    chunk({ role: "assistant", content: null, function_call: { name: "tide", arguments: "" } }),
    chunk({ function_call: { arguments: '{"port":"Brest"}' } }),
    chunk({}, "function_call"),
    usageChunk(),
  ];
  g.provider.answer(sseAnswer([...events, "[DONE]"]));
  const stream = await g.asStream({ functions, ...WITH_USAGE });
  assert.deepEqual(assertChunks(await stream.rest()), events);
  g.provider.says("Yes.");
  const back = [...HELLO, { role: "assistant", content: "", function_call }, TIDE_TOLD];
  assertCompletion(await g.ask({ functions, messages: back }));
  assert.deepEqual(g.provider.sent("messages"), back);
  const claude = { provider: "anthropic", model: "claude-haiku-4-5", credential: "other" };
  const elsewhere = await startWrapper(t, claude, { other: "anthropic" });
  const refused = await elsewhere.ask({ messages: [...HELLO, TIDE_TOLD] });
  assertRefused(refused, 400, "Field 'messages[1].role' is not supported by Anthropic.");
});

test("a guardrail sees what such a tool is called with", async (t) => {
  const guardrails = [{ use: "keyword_blocklist", keywords: ["cake"], on: ["output"] }];
  const g = await startWrapper(t, { guardrails });
  g.provider.answer(jsonAnswer(customAnswer));
  const refused = await g.ask({ tools: [CUSTOM_TOOL] });
  assertRefused(refused, 422, "Response blocked: keyword 'cake' detected in output.");
});

test("what a stream's options ask for beside the usage is passed on", async (t) => {
  const g = await startWrapper(t);
  g.provider.says("Yes.");
  await (await g.asStream({ stream_options: { include_obfuscation: true } })).rest();
  assert.deepEqual(g.provider.sent("stream_options"), { include_obfuscation: true, include_usage: true });
  // Several answers are asked for whole.
  await (await g.asStream({ n: 2, stream_options: { include_obfuscation: true } })).rest();
  assert.equal(g.provider.sent("stream_options"), undefined);
});

const CALL = { id: "call_1", type: "function", function: { name: "tide", arguments: "{}" } };
const SIGNED = { ...CALL, signature: "s-1" };
const CACHED_TOOL = { type: "function", function: { name: "tide" }, cache: { ttl: "5m" } };

test("members that the gateway has no words for stay with tools, and with calls that a client sends back", async (t) => {
  const g = await startWrapper(t);
  g.provider.says("Yes.");
  const messages = [...HELLO, { role: "assistant", content: null, tool_calls: [SIGNED] }];
  assertCompletion(await g.ask({ tools: [CACHED_TOOL], messages }));
  assert.deepEqual(g.provider.sent("tools"), [CACHED_TOOL]);
  assert.deepEqual(at(g.provider.sent("messages"), 1, "tool_calls"), [SIGNED]);
  const claude = { provider: "anthropic", model: "claude-haiku-4-5", credential: "other" };
  const elsewhere = await startWrapper(t, claude, { other: "anthropic" });
  const not = (field: string): string => `Field '${field}' is not supported by Anthropic.`;
  assertRefused(await elsewhere.ask({ tools: [CACHED_TOOL] }), 400, not("tools"));
  assertRefused(await elsewhere.ask({ messages }), 400, not("messages[1].tool_calls"));
});

test("members that the gateway has no words for stay with the parts of every message", async (t) => {
  const g = await startWrapper(t);
  g.provider.says("Yes.");
  const content = [
    { type: "text", text: "Tea" },
    { type: "text", text: "time.", cache: { ttl: "5m" } },
  ];
  const messages = [
    { role: "system", content },
    {
      role: "user",
      content: [
        ...content,
        { type: "image_url", image_url: { url: "https://tea.example/a.png" }, cache: {} },
      ],
    },
    { role: "assistant", content, tool_calls: [CALL] },
    { role: "tool", tool_call_id: CALL.id, content },
  ];
  assertCompletion(await g.ask({ messages }));
  assert.deepEqual(g.provider.sent("messages"), messages);
  const claude = { provider: "anthropic", model: "claude-haiku-4-5", credential: "other" };
  const elsewhere = await startWrapper(t, claude, { other: "anthropic" });
  const field = "messages[0].content[1].cache";
  assertRefused(await elsewhere.ask({ messages }), 400, `Field '${field}' is not supported by Anthropic.`);
  const guarded = await startWrapper(t, { guardrails: [{ use: "prompt_injection" }] });
  assertRefused(await guarded.ask({ messages }), 400, `Field '${field}' is not allowed.`);
});

test("a member that could not be passed on from where it stands is refused by its name", async (t) => {
  const g = await startWrapper(t);
  const text = { type: "text", text: "Hi." };
  const image = { type: "image_url", image_url: { url: "https://tea.example/a.png", crop: 1 } };
  const said = (part: object): object => ({ messages: [{ role: "user", content: [text, part] }] });
  const refused: readonly (readonly [body: object, field: string])[] = [
    [said(image), "messages[0].content[1].image_url.crop"],
    [{ response_format: { type: "text", grammar: "x" } }, "response_format.grammar"],
  ];
  for (const [body, field] of refused)
    assertRefused(await g.ask({ ...body }), 400, `Field '${field}' is not allowed.`);
  assert.equal(g.provider.requests.length, 0);
});

test("likelihoods and counts that a server tells in part have the members that clients read", async (t) => {
  const g = await startWrapper(t);
  const [choice] = RICH_ANSWERS.map((one) => at(one, "choices", 0, "logprobs", "content"));
  const said = completion("Tea.");
  g.provider.answer(
    jsonAnswer({
      ...said,
      choices: [
        { ...Object(at(said, "choices", 0)), logprobs: { content: choice } },
        { ...Object(at(said, "choices", 0)), logprobs: { tokens: ["Tea"], token_logprobs: [-0.1] } },
      ],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 2,
        completion_tokens_details: { reasoning_tokens: null },
      },
    }),
  );
  const { json } = await g.ask({ n: 2, logprobs: true });
  assert.deepEqual(at(json, "choices", 0, "logprobs"), { content: choice, refusal: null });
  const own = { content: null, refusal: null, tokens: ["Tea"], token_logprobs: [-0.1] };
  assert.deepEqual(at(json, "choices", 1, "logprobs"), own);
  assert.deepEqual(at(json, "usage", "completion_tokens_details"), {});
});

test("of several answers in a stream each tool call has an event of its own", async (t) => {
  const g = await startWrapper(t);
  const [rich] = RICH_ANSWERS;
  g.provider.answer(jsonAnswer(rich));
  const chunks = assertChunks(await (await g.asStream({ n: 3 })).rest());
  const calls = chunks.map((one) => at(one, "choices", 0, "delta", "tool_calls")).filter(Array.isArray);
  assert.deepEqual(
    calls.map((list) => list.map((call: unknown) => [at(call, "index"), at(call, "id")])),
    [[[0, "call_1"]], [[1, "call_2"]]],
  );
});

test("calls that a server leaves without number or type have an event each, with all that came beside", async (t) => {
  const g = await startWrapper(t);
  const call = (id: string): object => ({ id, function: { name: "tide", arguments: "{}" } });
  const said = chunk(
    { role: "assistant", content: "Well.", tool_calls: [call("a"), call("b")] },
    "tool_calls",
  );
  const beside = { system_fingerprint: "fp_1", p: "pad" };
  g.provider.answer(sseAnswer([{ ...said, ...beside }, "[DONE]"]));
  const chunks = assertChunks(await (await g.asStream()).rest());
  const own = (id: string, index: number): object => ({ ...call(id), index, type: "function" });
  assert.deepEqual(chunks, [
    { ...chunk({ role: "assistant", content: "Well.", tool_calls: [own("a", 0)] }), ...beside },
    { ...chunk({ tool_calls: [own("b", 1)] }), ...beside },
    { ...chunk({}, "tool_calls"), ...beside },
  ]);
});

test("embeddings keep what their server says beside the vectors", async (t) => {
  const g = await startWrapper(t);
  const said = {
    id: "embd-1",
    object: "list",
    model: "embed-1",
    data: [{ object: "embedding", index: 0, embedding: [0.5, -0.25], truncated: true }],
    usage: { prompt_tokens: 6, total_tokens: 6, prompt_tokens_details: { cached_tokens: 2 } },
  };
  g.provider.answer(jsonAnswer(said));
  const { json } = await g.post("embeddings", { model: "default", input: "red" });
  assert.deepEqual(json, said);
});
