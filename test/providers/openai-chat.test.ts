/** OpenAI's chat format as `sluice/provider` offers it, without a wire: what any provider gets that speaks it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatChunk, ProviderRequest } from "../../src/plugin/chat.ts";
import { isFailure, openAiChat } from "../../src/provider-kit/index.ts";
import {
  answerOf,
  bodyOf,
  brief,
  CREDENTIAL,
  countingHost,
  event,
  formatOf,
  reasonOf,
  streamOf,
} from "./chat-format.ts";
import { requestFor } from "./stand-ins.ts";

const format = await formatOf(openAiChat(countingHost()));

const sent = (about: Partial<ProviderRequest>, stream = false): Record<string, unknown> => {
  const { model: _, messages: __, ...rest } = bodyOf(format, { about, stream });
  return rest;
};

const sentMessages = (messages: ProviderRequest["messages"]): unknown =>
  bodyOf(format, { about: { messages } })["messages"];

test("a call names its model and messages, and nothing that was not asked for", () => {
  const messages = [
    { role: "system", content: 'Say "please".\nAlways.' },
    { role: "user", content: "na\u00efve \u{1f375} \\ \ud800" },
    { role: "assistant", content: "" },
  ] as const;
  const asked = { about: { messages, options: {} } };
  assert.deepEqual(bodyOf(format, asked), { model: "tea-1", messages });
  assert.deepEqual(bodyOf(format, asked), { model: "tea-1", messages }, "also the second time");
});

test("settings go out as they are", () => {
  assert.deepEqual(sent({ temperature: 0, topP: 0.5, maxOutputTokens: 100 }), {
    temperature: 0,
    top_p: 0.5,
    max_tokens: 100,
  });
  assert.deepEqual(sent({}, true), { stream: true, stream_options: { include_usage: true } });
});

test("a user's parts go out in their order, images with how closely to look", () => {
  const url = "data:image/png;base64,iVBORw0KGgo=";
  const content = [
    { type: "text", text: "Which pot?" },
    { type: "image", url, detail: "low" },
    { type: "image", url: "https://pots.example/1.png" },
  ] as const;
  assert.deepEqual(sentMessages([{ role: "user", content }]), [
    {
      role: "user",
      content: [
        { type: "text", text: "Which pot?" },
        { type: "image_url", image_url: { url, detail: "low" } },
        { type: "image_url", image_url: { url: "https://pots.example/1.png" } },
      ],
    },
  ]);
  const said = [
    { type: "text", text: "Be " },
    { type: "text", text: "kind." },
  ] as const;
  assert.deepEqual(sentMessages([{ role: "system", content: said }]), [
    { role: "system", content: "Be kind." },
  ]);
});

test("tool calls and their results go out as the model wrote them", () => {
  const call = { id: "call_1", name: "boil", arguments: '{"ml": 250}' };
  const wire = { id: "call_1", type: "function", function: { name: "boil", arguments: '{"ml": 250}' } };
  assert.deepEqual(
    sentMessages([
      { role: "assistant", content: "", toolCalls: [call] },
      { role: "tool", content: "boiling", toolCallId: "call_1" },
      { role: "assistant", content: "It boils.", toolCalls: [call] },
      { role: "assistant", content: "Done.", toolCalls: [] },
    ]),
    [
      { role: "assistant", content: null, tool_calls: [wire] },
      { role: "tool", tool_call_id: "call_1", content: "boiling" },
      { role: "assistant", content: "It boils.", tool_calls: [wire] },
      { role: "assistant", content: "Done." },
    ],
  );
});

test("ids of tool calls are brought to OpenAI's length, the same in a call and its result", () => {
  const id = `call_0~${"signature".repeat(20)}`;
  const long = "x".repeat(64);
  const messages = [id, long].flatMap((toolCallId): ProviderRequest["messages"] => [
    { role: "assistant", content: "", toolCalls: [{ id: toolCallId, name: "boil", arguments: "{}" }] },
    { role: "tool", toolCallId, content: "boiling" },
  ]);
  const sent = JSON.stringify(sentMessages(messages));
  assert.deepEqual(
    [...sent.matchAll(/"(?:tool_call_)?id":"([^"]*)"/g)].map(([, sentId]) => sentId),
    ["call_0", "call_0", long.slice(0, 40), long.slice(0, 40)],
  );
});

test("what a caller asks for goes out under OpenAI's names", () => {
  const parameters = { type: "object", properties: { ml: { type: "integer" } } };
  const options = {
    stop: ["\n", "END"],
    seed: 0,
    tools: [{ name: "boil", description: "Boils water.", parameters, strict: true }, { name: "wait" }],
    toolChoice: "required",
    parallelToolCalls: false,
    json: true,
  } as const;
  assert.deepEqual(sent({ options }), {
    response_format: { type: "json_object" },
    stop: ["\n", "END"],
    seed: 0,
    tools: [
      {
        type: "function",
        function: { name: "boil", description: "Boils water.", parameters, strict: true },
      },
      { type: "function", function: { name: "wait", parameters: { type: "object", properties: {} } } },
    ],
    tool_choice: "required",
    parallel_tool_calls: false,
  });
});

test("a tool may be named, and without tools there is no choice of them", () => {
  const tools = [{ name: "boil" }];
  assert.deepEqual(sent({ options: { tools, toolChoice: { name: "boil" } } })["tool_choice"], {
    type: "function",
    function: { name: "boil" },
  });
  assert.equal(sent({ options: { tools, toolChoice: "none" } })["tool_choice"], "none");
  assert.deepEqual(
    sent({ options: { tools: [], stop: [], toolChoice: "auto", parallelToolCalls: true, json: false } }),
    {},
  );
});

test("a schema of objects is told, other ones are not; it says more than `json`", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const told = { type: "json_schema", json_schema: { name: "answer", schema } };
  assert.deepEqual(sent({ responseSchema: schema, options: { json: true } }), { response_format: told });
  for (const responseSchema of [true, { type: "string" }, { type: ["object", "null"] }]) {
    assert.deepEqual(sent({ responseSchema }), {});
  }
});

test("a dialect changes what it names, and nothing else", async () => {
  const dialect = await formatOf(
    openAiChat(countingHost(), {
      path: "/v2/talk?version=3",
      headers: { "x-tea": "green" },
      fields: { leaf: "whole", cup: undefined, ml: 100 },
      streamFields: { stream: true },
      model: (name) => (name === "tea-2" ? { fields: { ml: 250 }, fieldsWithTools: { ml: 500 } } : {}),
    }),
  );
  const { url, method, headers } = dialect.encode(requestFor("tea-1"), CREDENTIAL, false);
  assert.deepEqual([method, url], ["POST", "https://api.example/v1/v2/talk?version=3"]);
  assert.deepEqual(headers, {
    "content-type": "application/json",
    authorization: "Bearer sk-test",
    "x-tea": "green",
  });
  const members = (model: string, about: Partial<ProviderRequest>): unknown => {
    const { leaf, ml, stream, stream_options } = bodyOf(dialect, { model, about, stream: true });
    return { leaf, ml, stream, stream_options };
  };
  const asked = { leaf: "whole", stream: true, stream_options: undefined };
  assert.deepEqual(members("tea-1", {}), { ...asked, ml: 100 });
  assert.deepEqual(members("tea-2", {}), { ...asked, ml: 250 });
  assert.deepEqual(members("tea-2", { options: { tools: [{ name: "boil" }] } }), { ...asked, ml: 500 });
});

test("without a key there is no authorization", () => {
  const { url, headers } = format.encode(requestFor("tea-1"), { ...CREDENTIAL, apiKey: "" }, false);
  assert.equal(url, "https://api.example/v1/chat/completions");
  assert.deepEqual(headers, { "content-type": "application/json" });
});

test("an answer is its text, its end and what it used", () => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 3,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  assert.deepEqual(answerOf(format, { rest: { usage } }), {
    id: "answer-1",
    model: "tea-1-large",
    content: "Tea.",
    toolCalls: undefined,
    finishReason: "stop",
    providerFinishReason: undefined,
    usage: {
      promptTokens: 9,
      completionTokens: 3,
      totalTokens: 12,
      cachedPromptTokens: 4,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
    },
  });
  assert.equal(answerOf(format, { rest: { usage: null } }).usage, undefined);
  const short = { prompt_tokens: 2, completion_tokens: 1 };
  assert.equal(answerOf(format, { rest: { usage: short } }).usage?.totalTokens, 3);
});

test("finish reasons become the four that there are, with the provider's own word beside them", () => {
  const said = { content: "Tea." };
  const silent = { content: null };
  const calls = { content: null, tool_calls: [{ id: "call_1", function: { name: "boil" } }] };
  const older = { content: null, function_call: { name: "boil", arguments: "{}" } };
  const rows: [message: object, word: unknown, reason: string, own: string | undefined][] = [
    [said, "stop", "stop", undefined],
    [said, "eos", "stop", "eos"],
    [said, "length", "length", undefined],
    [said, "model_length", "length", "model_length"],
    [calls, "tool_calls", "tool_calls", undefined],
    [calls, "stop", "tool_calls", "stop"],
    [calls, "length", "length", undefined],
    [older, "function_call", "tool_calls", "function_call"],
    [silent, "tool_calls", "error", "tool_calls"],
    [said, "content_filter", "error", "content_filter"],
    [said, "error", "error", "error"],
    [{ content: null, refusal: "I cannot." }, "stop", "error", "refusal"],
    [said, "brand_new", "stop", "brand_new"],
    [silent, "brand_new", "error", "brand_new"],
    [said, null, "stop", undefined],
    [calls, null, "tool_calls", undefined],
  ];
  for (const [message, finish_reason, reason, own] of rows) {
    const whole = answerOf(format, { message, finish_reason });
    assert.deepEqual([whole.finishReason, whole.providerFinishReason], [reason, own], `${finish_reason}`);
    if (finish_reason === null) continue;
    const last = streamOf(format, [event(message), event({}, `${finish_reason}`)]).chunks.at(-1);
    assert.deepEqual([last?.finishReason, last?.providerFinishReason], [reason, own], `${finish_reason}`);
  }
});

test("a refusal is the answer's text", () => {
  assert.equal(answerOf(format, { message: { content: null, refusal: "I cannot." } }).content, "I cannot.");
  const { chunks } = streamOf(format, [event({ refusal: "I can" }), event({ refusal: "not." }, "stop")]);
  assert.deepEqual(chunks.map(brief), [
    ["I can", undefined, undefined, false],
    ["not.", undefined, undefined, false],
    ["", "error", "refusal", false],
  ]);
});

test("chunks that may go out unchanged keep the provider's text, the others do not", () => {
  const text = JSON.stringify(event({ content: "Tea" }));
  const { chunks, complete } = streamOf(format, [
    event({ role: "assistant", content: "", refusal: null }),
    text,
    event({ content: "." }, "stop"),
    { id: "answer-1", choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
  ]);
  assert.deepEqual(chunks.map(brief), [
    ["", undefined, undefined, true],
    ["Tea", undefined, undefined, true],
    [".", undefined, undefined, false],
    ["", "stop", undefined, false],
    ["", undefined, undefined, false],
  ]);
  assert.equal(chunks[1]?.native, text);
  assert.equal(chunks[4]?.usage?.totalTokens, 3);
  assert.equal(complete, true);
});

test("what hooks cannot see does not pass beside what they can", () => {
  const passes = (delta: object, rest = {}): unknown =>
    streamOf(format, [event({ content: "Tea", ...delta }, null, rest)]).chunks.map(brief)[0];
  const unchanged = ["Tea", undefined, undefined, true];
  const rewritten = ["Tea", undefined, undefined, false];
  for (const delta of [
    { role: "assistant" },
    { refusal: null },
    { tool_calls: [] },
    { reasoning_content: "" },
    { token_id: 7 },
  ]) {
    assert.deepEqual(passes(delta), unchanged, JSON.stringify(delta));
  }
  for (const delta of [
    { reasoning: "Hm" },
    { role: "" },
    { audio: { transcript: "Tea" } },
    { thoughts: ["Hm"] },
    { tool_calls: [null] },
  ]) {
    assert.deepEqual(passes(delta), rewritten, JSON.stringify(delta));
  }
  assert.deepEqual(passes({}, { id: null }), rewritten, "an event without an id");
});

test("a first event without id and model leaves them to the next", () => {
  const decoder = format.decoder();
  const empty = { id: "", model: "", choices: [], prompt_filter_results: [] };
  for (const one of [empty, event({ content: "Tea" })]) decoder.event("", JSON.stringify(one), []);
  assert.deepEqual([decoder.id, decoder.model], ["answer-1", "tea-1-large"]);
});

test("a usage object without counts is not passed on to clients of OpenAI's format", () => {
  const chunks: ChatChunk[] = [];
  const decoder = format.decoder({ native: true });
  decoder.event("", JSON.stringify(event({ content: "Tea" }, null, { usage: {} })), chunks);
  const [first] = chunks;
  assert.equal(first?.text, "Tea");
  assert.doesNotMatch(first?.native ?? "", /usage/);
  assert.match(first?.native ?? "", /"content":"Tea"/);
});

test("usage that comes before the end does not end the answer", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const { chunks, complete } = streamOf(format, [
    { id: "answer-1", choices: [], usage },
    event({ content: "Tea" }, null, { usage }),
  ]);
  assert.deepEqual(
    chunks.map((chunk) => [chunk.text, chunk.usage?.totalTokens]),
    [
      ["", 3],
      ["Tea", undefined],
      ["", 3],
    ],
  );
  assert.equal(complete, false);
});

test("an event over several lines is not sent on as it is", () => {
  const { chunks } = streamOf(format, [JSON.stringify(event({ content: "Tea" }), null, 1)]);
  assert.deepEqual(chunks.map(brief), [["Tea", undefined, undefined, false]]);
});

test("events that repeat their shape give the same as events read one by one", () => {
  const plain = [
    "plain",
    '"quoted"',
    "back\\slash",
    "new\nline",
    "\u{1f375}",
    "",
    '","role":"user',
    "\u2028",
  ];
  const call = { index: 0, id: "call_1", type: "function", function: { name: "boil", arguments: "{}" } };
  const tricky = [
    event({ content: "a" }, null, { note: { content: "a" } }),
    event({ content: "note" }, null, { note: "b" }),
    event({ role: "assistant", content: "c" }),
    event({ content: "d" }, null, { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    event({ content: "e", refusal: "no" }),
    event({ content: "f", reasoning: "f" }),
    event({ content: "g", tool_calls: [call] }),
    event({ content: "h" }, "length"),
  ];
  const events = [...plain, ...plain].map((content) => event({ content }));
  const facts = (sequence: readonly unknown[]): unknown[] =>
    streamOf(format, sequence).chunks.map(({ text, usage, native }) => [text, usage, native]);
  for (const sequence of [events, [...events, ...tricky], [...tricky, ...events]]) {
    assert.deepEqual(
      facts(sequence),
      sequence.flatMap((one) => facts([one])),
    );
  }
});

test("an event of a known shape that is not JSON is still seen", () => {
  const one = JSON.stringify(event({ content: "Tea" }));
  const { chunks, failed } = streamOf(format, [one, one.replace('"Tea"', "Tea")]);
  assert.equal(chunks.length, 1);
  assert.equal(failed?.reason, "an event of the answer is not JSON");
});

test("errors within an answer are failures that move on", () => {
  const error = { message: "The server had an error\nTry later", type: "server_error" };
  const whole = format.decode(JSON.stringify({ error }));
  for (const failed of [isFailure(whole) ? whole : undefined, streamOf(format, [{ error }]).failed]) {
    assert.equal(failed?.reason, "The server had an error");
    assert.deepEqual([failed?.status, failed?.retryable, failed?.accepted], [undefined, true, true]);
  }
  assert.equal(format.decoder().event("error", '{"message":"bare"}', [])?.reason, "bare");
  const status = (about: object): unknown =>
    streamOf(format, [{ error: { message: "m", ...about } }]).failed?.status;
  assert.deepEqual(
    [{ status_code: 400 }, { code: 529 }, { code: 3280 }, { code: "rate_limit" }].map(status),
    [400, 529, undefined, undefined],
  );
});

test("an answer without choices is of no use, whatever its status", () => {
  for (const text of ['{"id":"a","choices":[]}', '{"id":"a"}', '{"choices":[{}]}']) {
    const answer = format.decode(text);
    assert.ok(isFailure(answer));
    assert.deepEqual([answer.reason, answer.retryable], ["the answer has no choices", true]);
  }
});

test("the reason of an error status is the provider's message, short", () => {
  const reasons: Record<string, string> = {
    '{"error":{"message":"Overloaded","type":"server_error"}}': "Overloaded",
    '{"error":"Overloaded"}': "Overloaded",
    '{"message":"Overloaded"}': "Overloaded",
    '{"detail":"Overloaded"}': "Overloaded",
    '[{"error":{"code":503,"message":"Overloaded"}}]': "Overloaded",
    '{"error":{"message":"  first\\r\\nsecond"}}': "first",
    '{"error":{"error":{"error":{"error":{"error":"too deep"}}}}}': "no reason given",
  };
  for (const [text, reason] of Object.entries(reasons)) assert.equal(reasonOf(format, text), reason, text);
  assert.equal(reasonOf(format, JSON.stringify({ error: { message: "x".repeat(500) } })).length, 200);
  for (const text of ["", "<html>", "null", "[]", '{"error":{}}']) {
    assert.equal(reasonOf(format, text), "no reason given");
  }
});

test("a hint when to come back is whole seconds", () => {
  const seconds = (headers: Record<string, string>): unknown =>
    format.failure(429, headers, "").retryAfterSeconds;
  const date = "Sat, 21 Nov 2026 07:28:00 GMT";
  assert.equal(seconds({ "retry-after": "7" }), 7);
  assert.equal(seconds({ "retry-after": "9", "retry-after-ms": "1200" }), 2);
  assert.equal(seconds({ "retry-after": "Sat, 21 Nov 2026 07:29:30 GMT", date }), 90);
  assert.equal(seconds({ "retry-after": "Sat, 21 Nov 2026 07:27:00 GMT", date }), undefined, "past");
  for (const value of ["", "0", "-1", "soon", "Sat, 21 Nov 2026 07:29:30 GMT", "999999999"]) {
    assert.equal(seconds({ "retry-after": value }), undefined, value);
  }
});

test("whatever a field holds, an answer is read without a throw", () => {
  const odd: unknown[] = [null, 0, "x", [], {}, [null], [{}], [{ message: 1, delta: 1 }]];
  const inner = odd.flatMap((value) =>
    ["content", "refusal", "tool_calls", "function_call"].map((field) => ({ [field]: value })),
  );
  const holding = inner.map((one) => [{ message: one, delta: one, finish_reason: "stop" }]);
  for (const value of [...odd, ...holding]) {
    for (const field of ["id", "model", "choices", "usage", "error", "x_groq"]) {
      const text = JSON.stringify({ id: "a", choices: [{ message: {}, delta: {} }], [field]: value });
      format.decode(text);
      format.decoder().event("", text, []);
      format.failure(500, {}, text);
    }
  }
});
