/** Cohere without a wire: its names for settings, events by their type, two counts of what was used. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cohere } from "../../providers/cohere.ts";
import type { ToolChoice } from "../../src/plugin/chat.ts";
import type { ChatResult, Message } from "../../src/plugin/index.ts";
import { isFailure } from "../../src/provider-kit/index.ts";
import { bodyOf, brief, CREDENTIAL, countingHost, formatOf, reasonOf, streamOf } from "./chat-format.ts";
import { requestFor } from "./stand-ins.ts";

const format = await formatOf(cohere.setup({}, countingHost()));
const USAGE = {
  billed_units: { input_tokens: 4, output_tokens: 2 },
  tokens: { input_tokens: 90, output_tokens: 5 },
  cached_tokens: 80,
};

function answer(about: { readonly message?: object; readonly [field: string]: unknown } = {}): ChatResult {
  const message = { role: "assistant", content: [{ type: "text", text: "Tea." }] };
  const decoded = format.decode(
    JSON.stringify({ id: "c-1", finish_reason: "COMPLETE", message, usage: USAGE, ...about }),
  );
  assert.ok(!isFailure(decoded));
  return decoded;
}

/** Events of a stream. */
const START = { type: "message-start", id: "c-1", delta: { message: { role: "assistant", content: [] } } };
const contentStart = (content: object): object => ({
  type: "content-start",
  index: 0,
  delta: { message: { content } },
});
const content = (part: object): object => ({
  type: "content-delta",
  index: 0,
  delta: { message: { content: part } },
});
const callStart = (index: number, tool_calls: unknown): object => ({
  type: "tool-call-start",
  index,
  delta: { message: { tool_calls } },
});
const callDelta = (index: number, text: string): object => ({
  type: "tool-call-delta",
  index,
  delta: { message: { tool_calls: { function: { arguments: text } } } },
});
const callEnd = (index: number): object => ({ type: "tool-call-end", index });
const end = (finish_reason: string, rest: object = {}): object => ({
  type: "message-end",
  delta: { finish_reason, usage: USAGE, ...rest },
});
const boil = (args: unknown = "", id = "boil_1"): object => ({
  id,
  type: "function",
  function: { name: "boil", arguments: args },
});

test("settings go out under Cohere's names", () => {
  const about = { temperature: 0, topP: 0.5, maxOutputTokens: 9, options: { stop: ["."], seed: 7 } };
  const { messages: _, ...rest } = bodyOf(format, { about, stream: true });
  assert.deepEqual(rest, {
    model: "tea-1",
    stream: true,
    max_tokens: 9,
    temperature: 0,
    p: 0.5,
    stop_sequences: ["."],
    seed: 7,
  });
  assert.deepEqual(Object.keys(bodyOf(format)), ["model", "messages", "stream"]);
});

test("settings outside of Cohere's ranges are brought into them", () => {
  assert.deepEqual(cohere.constraints, [
    { setting: "temperature", range: { min: 0, max: 1 }, reason: "Cohere takes 0 to 1" },
    { setting: "top_p", range: { min: 0.01, max: 0.99 }, reason: "Cohere takes 0.01 to 0.99" },
  ]);
});

test("a credential's options go into the body, its client's name into a header", async () => {
  const own = await formatOf(
    cohere.setup({ safety_mode: "STRICT", thinking: "disabled", client_name: "tea-shop" }, countingHost()),
  );
  const { safety_mode, thinking } = bodyOf(own);
  assert.deepEqual([safety_mode, thinking], ["STRICT", { type: "disabled" }]);
  const { method, url, headers } = own.encode(requestFor("m"), CREDENTIAL, false);
  assert.deepEqual([method, url], ["POST", "https://api.example/v1/v2/chat"]);
  assert.deepEqual(headers, {
    "content-type": "application/json",
    authorization: "Bearer sk-test",
    "x-client-name": "tea-shop",
  });
});

test("system messages stand at the front, and images go out as they are", () => {
  const parts = [
    { type: "text", text: "Which pot?" },
    { type: "image", url: "https://tea.example/pot.png", detail: "low" },
    { type: "image", url: "data:image/png;base64,UE5H" },
  ] as const;
  const messages: Message[] = [
    { role: "user", content: parts },
    { role: "system", content: "Be brief." },
    { role: "assistant", content: [{ type: "text", text: "The blue one." }] },
  ];
  assert.deepEqual(bodyOf(format, { about: { messages } })["messages"], [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "Which pot?" },
        { type: "image_url", image_url: { url: "https://tea.example/pot.png", detail: "low" } },
        { type: "image_url", image_url: { url: "data:image/png;base64,UE5H" } },
      ],
    },
    { role: "assistant", content: "The blue one." },
  ]);
});

test("a tool call and its result go back as they came", () => {
  const messages: Message[] = [
    { role: "user", content: "Tea." },
    {
      role: "assistant",
      content: "",
      toolCalls: [{ id: "boil_1", name: "boil", arguments: '{"litres":1}' }],
    },
    { role: "tool", content: "boiled", toolCallId: "boil_1" },
  ];
  const [, call, result] = [bodyOf(format, { about: { messages } })["messages"]].flat();
  assert.deepEqual(call, { role: "assistant", tool_calls: [boil('{"litres":1}')] });
  assert.deepEqual(result, { role: "tool", tool_call_id: "boil_1", content: "boiled" });
});

test("a tool is chosen by offering no other, since Cohere takes no name", () => {
  const parameters = { type: "object", properties: { litres: { type: "number" } } };
  const tools = [{ name: "boil", description: "Boils.", parameters, strict: true }, { name: "pour" }];
  const sent = (toolChoice?: ToolChoice): unknown[] => {
    const options = { tools, parallelToolCalls: false, ...(toolChoice !== undefined && { toolChoice }) };
    const body = bodyOf(format, { about: { options } });
    return [[body["tools"]].flat(), body["tool_choice"]];
  };
  const first = { type: "function", function: { name: "boil", description: "Boils.", parameters } };
  const empty = { type: "object", properties: {} };
  const second = { type: "function", function: { name: "pour", parameters: empty } };
  assert.deepEqual(sent(), [[first, second], undefined]);
  assert.deepEqual(sent("auto"), [[first, second], undefined]);
  assert.deepEqual(sent("none"), [[first, second], "NONE"]);
  assert.deepEqual(sent("required"), [[first, second], "REQUIRED"]);
  assert.deepEqual(sent({ name: "pour" }), [[second], "REQUIRED"]);
});

test("a schema is told directly, and not beside tools", () => {
  const responseSchema = { type: "object", properties: { kettle: { type: "boolean" } } };
  const told = (about: object): unknown => bodyOf(format, { about })["response_format"];
  assert.deepEqual(told({ responseSchema }), { type: "json_object", json_schema: responseSchema });
  assert.deepEqual(told({ options: { json: true } }), { type: "json_object" });
  assert.equal(told({ responseSchema: { type: "array" } }), undefined);
  assert.equal(told({ responseSchema, options: { tools: [{ name: "boil" }], json: true } }), undefined);
});

test("an answer is its text, its end, what it used and what is billed; Cohere names no model", () => {
  assert.deepEqual(answer(), {
    id: "c-1",
    model: "",
    content: "Tea.",
    finishReason: "stop",
    providerFinishReason: "COMPLETE",
    usage: {
      ...{ promptTokens: 90, completionTokens: 5, totalTokens: 95, cachedPromptTokens: 80 },
      billed: { promptTokens: 4, completionTokens: 2 },
    },
  });
});

test("usage is all tokens, or what is billed where the credential says so", async () => {
  const billed = await formatOf(cohere.setup({ count: "billed_units" }, countingHost()));
  const { chunks } = streamOf(billed, [START, end("COMPLETE")]);
  const expected = { promptTokens: 4, completionTokens: 2, totalTokens: 6, cachedPromptTokens: 0 };
  assert.deepEqual(chunks.at(-1)?.usage, expected);
  const { tokens: _, ...billedOnly } = USAGE;
  assert.equal(answer({ usage: billedOnly }).usage?.totalTokens, 6, "the one that is there");
  assert.equal(answer({ usage: undefined }).usage, undefined);
});

test("finish reasons become the four that there are, whole and streamed", () => {
  const said = { content: [{ type: "text", text: "Tea." }] };
  const called = { tool_calls: [boil()] };
  const rows: [message: object, word: string, reason: string][] = [
    [said, "COMPLETE", "stop"],
    [said, "STOP_SEQUENCE", "stop"],
    [said, "MAX_TOKENS", "length"],
    [called, "TOOL_CALL", "tool_calls"],
    [called, "COMPLETE", "tool_calls"],
    [called, "MAX_TOKENS", "length"],
    [{}, "TOOL_CALL", "error"],
    [said, "ERROR", "error"],
    [said, "TIMEOUT", "error"],
    [said, "BRAND_NEW", "stop"],
    [{}, "BRAND_NEW", "error"],
  ];
  for (const [message, word, reason] of rows) {
    const whole = answer({ message, finish_reason: word });
    assert.deepEqual([whole.finishReason, whole.providerFinishReason], [reason, word]);
    const before =
      message === said ? [content({ text: "Tea." })] : message === called ? [callStart(0, boil())] : [];
    const { chunks } = streamOf(format, [START, ...before, end(word)]);
    assert.deepEqual(brief(chunks.at(-1) ?? assert.fail()).slice(1, 3), [reason, word], `${word}, streamed`);
  }
});

test("neither thoughts nor plans are part of an answer", () => {
  const thought = { type: "thinking", thinking: "Water first." };
  const message = {
    tool_plan: "I will boil.",
    content: [thought, { type: "text", text: "Hot " }, { type: "text", text: "tea." }],
  };
  assert.equal(answer({ message }).content, "Hot tea.");
  const { chunks } = streamOf(format, [
    START,
    contentStart({ type: "thinking", thinking: "" }),
    content({ thinking: "Water" }),
    { type: "tool-plan-delta", delta: { message: { tool_plan: "I will boil." } } },
    end("COMPLETE"),
  ]);
  assert.deepEqual(chunks.map(brief), [["", "stop", "COMPLETE", false]]);
});

test("a stream is its content events; message-end completes it, and what is unknown is passed over", () => {
  const events = [
    START,
    contentStart({ type: "text", text: "" }),
    content({ text: "Hot " }),
    { type: "citation-start", index: 0, delta: { message: { citations: { text: "Hot" } } } },
    { type: "debug", prompt: "…" },
    content({ text: "tea." }),
    { type: "content-end", index: 0 },
  ];
  assert.equal(streamOf(format, events).complete, false);
  const { chunks, complete } = streamOf(format, [...events, end("COMPLETE")]);
  assert.deepEqual(chunks.map(brief), [
    ["Hot ", undefined, undefined, false],
    ["tea.", undefined, undefined, false],
    ["", "stop", "COMPLETE", false],
  ]);
  assert.equal(chunks.at(-1)?.usage?.cachedPromptTokens, 80);
  assert.equal(complete, true);
});

test("a stream's id is that of its start", () => {
  const decoder = format.decoder();
  decoder.event("message-start", JSON.stringify(START), []);
  assert.deepEqual([decoder.id, decoder.model], ["c-1", ""]);
});

test("tool calls come as objects, one an event, and are numbered from 0", () => {
  const { chunks } = streamOf(format, [
    START,
    callStart(3, boil()),
    callDelta(3, '{"lit'),
    callDelta(3, 'res":1}'),
    callEnd(3),
    callStart(4, [boil("nu", "")]),
    callDelta(4, "ts"),
    callEnd(4),
    callDelta(9, "of nobody"),
    end("TOOL_CALL"),
  ]);
  const more = { id: undefined, name: undefined };
  const [first, , , second] = chunks.flatMap(({ toolCalls = [] }) => toolCalls);
  assert.deepEqual(first, { index: 0, id: "boil_1", name: "boil", arguments: "" });
  assert.match(second?.id ?? "", /^call_made\d+$/);
  assert.deepEqual(
    chunks.flatMap(({ toolCalls = [] }) => toolCalls).filter(({ id }) => id === undefined),
    [
      { index: 0, ...more, arguments: '{"lit' },
      { index: 0, ...more, arguments: 'res":1}' },
      { index: 1, ...more, arguments: "nuts" },
    ],
  );
});

test("arguments of nothing are an empty object, however Cohere writes nothing", () => {
  const whole = (text: string): unknown => answer({ message: { tool_calls: [boil(text)] } }).toolCalls;
  for (const text of ["", "null"]) {
    assert.deepEqual(whole(text), [{ id: "boil_1", name: "boil", arguments: "{}" }]);
  }
  const streams: object[][] = [
    [callStart(0, boil()), callEnd(0)],
    [callStart(0, boil("null")), callEnd(0)],
    [callStart(0, boil("nu")), callDelta(0, "ll"), callEnd(0)],
    [callStart(0, boil())],
  ];
  for (const events of streams) {
    const { chunks } = streamOf(format, [START, ...events, end("TOOL_CALL")]);
    const texts = chunks.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.arguments));
    assert.deepEqual(texts, ["", "{}"]);
  }
});

test("an answer that asks for endless tools is not believed", () => {
  const many = Array.from({ length: 257 }, (_, n) => callStart(n, boil()));
  assert.equal(streamOf(format, [START, ...many]).failed?.reason, "the answer asks for too many tools");
});

test("an error within an answer is a failure that moves on", () => {
  const error = "the model is overloaded\nplease wait";
  for (const failed of [
    format.decode(JSON.stringify({ error })),
    streamOf(format, [START, end("ERROR", { error })]).failed,
    streamOf(format, [START, { error: { message: error } }]).failed,
    format.decoder().event("error", JSON.stringify({ message: error }), []),
  ]) {
    assert.ok(failed !== undefined && "kind" in failed);
    assert.deepEqual([failed.reason, failed.retryable], ["the model is overloaded", true]);
  }
});

test("an answer that is not Cohere's is a failure that moves on", () => {
  for (const text of ["", "<html>", "[]", "{}", '{"message":"tea"}']) {
    const failed = format.decode(text);
    assert.ok(isFailure(failed) && failed.retryable, text);
  }
  assert.equal(streamOf(format, ["<html>"]).failed?.retryable, true);
});

test("an error status has its reason at the top, and a blocked token does not move on", () => {
  assert.equal(reasonOf(format, '{"id":"e-1","message":"invalid api token"}', 401), "invalid api token");
  assert.equal(reasonOf(format, "<html>"), "no reason given");
  const retryable = (status: number): boolean => format.failure(status, {}, "").retryable;
  for (const status of [429, 499, 500, 503]) assert.equal(retryable(status), true, `${status}`);
  for (const status of [400, 401, 422, 498]) assert.equal(retryable(status), false, `${status}`);
  assert.equal(format.failure(429, { "retry-after": "3" }, "").retryAfterSeconds, 3);
});

test("whatever a field holds, an answer is read without a throw", () => {
  const odd: unknown[] = [null, 0, "x", [], {}, [null], [{}], [{ function: 1 }], { function: 1 }];
  const types = ["message-start", "content-start", "content-delta", "tool-call-start", "message-end"];
  for (const value of odd) {
    for (const field of ["id", "message", "finish_reason", "usage", "delta", "index", "type"]) {
      format.decode(JSON.stringify({ message: {}, [field]: value }));
      for (const type of types) {
        format.decoder().event("", JSON.stringify({ type, delta: { message: {} }, [field]: value }), []);
      }
    }
    for (const field of ["content", "tool_calls"]) {
      const message = { [field]: value };
      format.decode(JSON.stringify({ message }));
      for (const type of types) {
        format.decoder().event(type, JSON.stringify({ delta: { message } }), []);
      }
    }
  }
});
