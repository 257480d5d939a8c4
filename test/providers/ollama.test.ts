/** Ollama without a wire: settings in their own object, images and tools its own way, lines that end with `done`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ollama } from "../../providers/ollama.ts";
import type { ChatResult, Message } from "../../src/plugin/index.ts";
import { isFailure } from "../../src/provider-kit/index.ts";
import { bodyOf, brief, CREDENTIAL, countingHost, formatOf, reasonOf, streamOf } from "./chat-format.ts";
import { requestFor } from "./stand-ins.ts";

const format = await formatOf(ollama.setup({}, countingHost()));
const DONE = {
  model: "tea:3b",
  message: { role: "assistant", content: "" },
  done: true,
  done_reason: "stop",
};
const COUNTS = { prompt_eval_count: 5, eval_count: 2 };

function answer(about: object = {}): ChatResult {
  const message = { role: "assistant", content: "Tea." };
  const decoded = format.decode(JSON.stringify({ ...DONE, message, ...COUNTS, ...about }));
  assert.ok(!isFailure(decoded));
  return decoded;
}

const line = (message: object, rest: object = {}): object => ({
  model: "tea:3b",
  created_at: "2026-05-14T12:00:00.25Z",
  message: { role: "assistant", content: "", ...message },
  done: false,
  ...rest,
});

test("a call says whether it wants a stream, since Ollama streams unless told not to", () => {
  const messages = [{ role: "user", content: "Is the kettle on?" }];
  assert.deepEqual(bodyOf(format), { model: "tea-1", messages, stream: false, options: {} });
  assert.equal(bodyOf(format, { stream: true })["stream"], true);
});

test("all settings go out in options, where Ollama reads them", () => {
  const about = { temperature: 0, topP: 0.5, maxOutputTokens: 9, options: { stop: ["."], seed: 7 } };
  const { options, ...beside } = bodyOf(format, { about });
  assert.deepEqual(options, { temperature: 0, top_p: 0.5, num_predict: 9, stop: ["."], seed: 7 });
  assert.deepEqual(Object.keys(beside), ["model", "messages", "stream"]);
});

test("a credential's options say how long the context is, how the model thinks, how long it stays", async () => {
  const options = { num_ctx: 8192, truncate: false, keep_alive: "10m", think: "low" } as const;
  const own = await formatOf(ollama.setup(options, countingHost()));
  const { num_ctx, ...beside } = options;
  const { messages: _, model: __, stream: ___, ...rest } = bodyOf(own);
  assert.deepEqual(rest, { options: { num_ctx }, ...beside });
});

test("the format of the answer is the schema, or any JSON", () => {
  const responseSchema = { type: "object", properties: { kettle: { type: "boolean" } } };
  assert.deepEqual(bodyOf(format, { about: { responseSchema } })["format"], responseSchema);
  const json = { options: { json: true } };
  assert.equal(bodyOf(format, { about: json })["format"], "json");
  assert.deepEqual(bodyOf(format, { about: { responseSchema, ...json } })["format"], responseSchema);
  assert.equal("format" in bodyOf(format, { about: { responseSchema: true } }), false);
});

test("content is a text, and images stand beside it as bare base64", () => {
  const content = [
    { type: "text", text: "Which pot? " },
    { type: "image", url: "data:image/png;base64,UE5H" },
    { type: "text", text: "Look." },
    { type: "image", url: "data:image/jpeg;name=a;base64,SlBH", detail: "low" },
  ] as const;
  const { messages } = bodyOf(format, { about: { messages: [{ role: "user", content }] } });
  assert.deepEqual(messages, [{ role: "user", content: "Which pot? Look.", images: ["UE5H", "SlBH"] }]);
});

test("an image that only has an address is not lost on the way: Ollama refuses it", () => {
  const content = [{ type: "image", url: "https://tea.example/pot.png" }] as const;
  const { messages } = bodyOf(format, { about: { messages: [{ role: "user", content }] } });
  assert.deepEqual(messages, [{ role: "user", content: "", images: ["https://tea.example/pot.png"] }]);
});

test("arguments of tool calls go out as objects, and results name their tool", () => {
  const toolCalls = [
    { id: "call_a", name: "boil", arguments: '{"litres":1}' },
    { id: "call_b", name: "pour", arguments: "not an object" },
  ];
  const messages: Message[] = [
    { role: "user", content: "Tea." },
    { role: "assistant", content: "", toolCalls },
    { role: "tool", content: "poured", toolCallId: "call_b" },
    { role: "tool", content: "boiled", toolCallId: "call_a" },
    { role: "tool", content: "lost", toolCallId: "call_z" },
  ];
  assert.deepEqual(bodyOf(format, { about: { messages } })["messages"], [
    { role: "user", content: "Tea." },
    {
      role: "assistant",
      content: "",
      tool_calls: [
        { id: "call_a", function: { name: "boil", arguments: { litres: 1 } } },
        { id: "call_b", function: { name: "pour", arguments: {} } },
      ],
    },
    { role: "tool", content: "poured", tool_name: "pour", tool_call_id: "call_b" },
    { role: "tool", content: "boiled", tool_name: "boil", tool_call_id: "call_a" },
    { role: "tool", content: "lost", tool_call_id: "call_z" },
  ]);
});

test("a tool that may not be called is not offered: Ollama has no word for a choice", () => {
  const parameters = { type: "object", properties: { litres: { type: "number" } } };
  const tools = [{ name: "boil", description: "Boils.", parameters, strict: true }, { name: "pour" }];
  const offered = (toolChoice: "auto" | "none" | "required" | { readonly name: string }): unknown =>
    bodyOf(format, { about: { options: { tools, toolChoice, parallelToolCalls: false } } })["tools"];
  const pour = {
    type: "function",
    function: { name: "pour", parameters: { type: "object", properties: {} } },
  };
  const boil = { type: "function", function: { name: "boil", description: "Boils.", parameters } };
  assert.deepEqual(offered("auto"), [boil, pour]);
  assert.deepEqual(offered("required"), [boil, pour]);
  assert.deepEqual(offered({ name: "pour" }), [pour]);
  assert.equal(offered("none"), undefined);
});

test("a call goes to /api/chat, with a key where there is one", () => {
  const { method, url, headers } = format.encode(requestFor("m"), { ...CREDENTIAL, apiKey: "" }, false);
  assert.deepEqual([method, url], ["POST", "https://api.example/v1/api/chat"]);
  assert.deepEqual(headers, { "content-type": "application/json" });
  const cloud = format.encode(requestFor("m"), CREDENTIAL, false);
  assert.equal(cloud.headers["authorization"], "Bearer sk-test");
});

test("an answer is its text, its end and what it used", () => {
  assert.deepEqual(answer(), {
    id: "",
    model: "tea:3b",
    content: "Tea.",
    finishReason: "stop",
    providerFinishReason: undefined,
    usage: { promptTokens: 5, completionTokens: 2, totalTokens: 7 },
  });
});

test("usage is unknown when a count is missing, as that of a cached prompt is", () => {
  assert.equal(answer({ prompt_eval_count: undefined }).usage, undefined);
  assert.equal(answer({ eval_count: undefined }).usage, undefined);
  assert.equal(answer({ prompt_eval_count: 0 }).usage?.totalTokens, 2);
});

test("finish reasons become the four that there are, whole and streamed", () => {
  const call = { tool_calls: [{ function: { name: "boil", arguments: {} } }] };
  const said = { content: "Tea." };
  const rows: [message: object, word: unknown, reason: string, own: string | undefined][] = [
    [said, "stop", "stop", undefined],
    [said, "length", "length", undefined],
    [said, undefined, "stop", undefined],
    [said, "", "stop", undefined],
    [{}, "load", "stop", "load"],
    [{}, "unload", "stop", "unload"],
    [call, "stop", "tool_calls", "stop"],
    [call, undefined, "tool_calls", undefined],
    [call, "length", "length", undefined],
    [said, "brand_new", "stop", "brand_new"],
    [{}, "brand_new", "error", "brand_new"],
  ];
  for (const [message, done_reason, reason, own] of rows) {
    const whole = answer({ message, done_reason });
    assert.deepEqual([whole.finishReason, whole.providerFinishReason], [reason, own], `${done_reason}`);
    const { chunks } = streamOf(format, [line(message), { ...DONE, done_reason }]);
    assert.deepEqual(brief(chunks.at(-1) ?? assert.fail()).slice(1, 3), [reason, own], `${done_reason}`);
  }
});

test("a stream is its lines' texts; the done line ends it and says what was used", () => {
  const { chunks, complete } = streamOf(format, [
    line({ content: "Hot " }),
    line({ content: "tea" }),
    { ...DONE, message: { role: "assistant", content: "." }, ...COUNTS },
  ]);
  assert.deepEqual(chunks.map(brief), [
    ["Hot ", undefined, undefined, false],
    ["tea", undefined, undefined, false],
    [".", undefined, undefined, false],
    ["", "stop", undefined, false],
  ]);
  assert.equal(chunks.at(-1)?.usage?.totalTokens, 7);
  assert.equal(complete, true);
});

test("a stream without its done line is not complete", () => {
  assert.equal(streamOf(format, [line({ content: "Hot" })]).complete, false);
});

test("what a model thinks is not part of its answer, and is not in a stream", () => {
  assert.equal(answer({ message: { content: "Tea.", thinking: "Water first." } }).content, "Tea.");
  const { chunks } = streamOf(format, [line({ thinking: "Water" }), line({ thinking: " first." }), DONE]);
  assert.deepEqual(chunks.map(brief), [["", "stop", undefined, false]]);
});

test("tool calls come before the done line, whole, each with a number and an id of its own", async () => {
  const own = await formatOf(ollama.setup({}, countingHost()));
  const boil = { id: "call_a", function: { index: 0, name: "boil", arguments: { litres: 1 } } };
  const pour = { function: { index: 0, name: "pour", arguments: {} } };
  const { chunks } = streamOf(own, [
    line({ tool_calls: [boil, pour] }),
    line({ tool_calls: [boil, { function: { name: "" } }] }),
    DONE,
  ]);
  assert.deepEqual(
    chunks.flatMap(({ toolCalls = [] }) => toolCalls),
    [
      { index: 0, id: "call_a", name: "boil", arguments: '{"litres":1}' },
      { index: 1, id: "call_made1", name: "pour", arguments: "{}" },
      { index: 2, id: "call_made2", name: "boil", arguments: '{"litres":1}' },
    ],
  );
  assert.equal(chunks.at(-1)?.finishReason, "tool_calls");
});

test("a whole answer has its tool calls with arguments as JSON text, whatever they came as", () => {
  const call = (args: unknown): object => ({ id: "", function: { name: "boil", arguments: args } });
  const tool_calls = [call({ a: [1] }), call('{"a":1}'), call(null), call(""), call([1])];
  const { toolCalls = [] } = answer({ message: { content: "", tool_calls } });
  assert.deepEqual(
    toolCalls.map((one) => one.arguments),
    ['{"a":[1]}', '{"a":1}', "{}", "{}", "{}"],
  );
  assert.equal(new Set(toolCalls.map(({ id }) => id)).size, 5);
  assert.equal("toolCalls" in answer(), false);
});

test("an answer that asks for endless tools is not believed", () => {
  const tool_calls = Array.from({ length: 257 }, () => ({ function: { name: "boil", arguments: {} } }));
  const { failed } = streamOf(format, [line({ tool_calls })]);
  assert.equal(failed?.reason, "the answer asks for too many tools");
  assert.ok(isFailure(format.decode(JSON.stringify({ ...DONE, message: { tool_calls } }))));
});

test("an error within an answer is a failure that moves on", () => {
  const error = "model runner has unexpectedly stopped\nsee the log";
  for (const failed of [
    format.decode(JSON.stringify({ error })),
    streamOf(format, [line({ content: "Hot" }), { error }]).failed,
  ]) {
    assert.ok(failed !== undefined && "kind" in failed);
    assert.deepEqual(
      [failed.reason, failed.retryable, failed.accepted],
      ["model runner has unexpectedly stopped", true, true],
    );
  }
});

test("an answer that is not Ollama's is a failure that moves on", () => {
  for (const text of ["", "<html>", "[]", "{}", '{"message":"tea"}']) {
    const failed = format.decode(text);
    assert.ok(isFailure(failed) && failed.retryable, text);
  }
  assert.equal(streamOf(format, ["<html>"]).failed?.retryable, true);
});

test("the reason of an error status is what Ollama says, on either of its surfaces", () => {
  assert.equal(reasonOf(format, '{"error":"model \'tea\' not found"}', 404), "model 'tea' not found");
  assert.equal(reasonOf(format, '{"error":{"message":"Unauthorized","type":"api_error"}}'), "Unauthorized");
  assert.equal(reasonOf(format, "502 bad gateway"), "no reason given");
  const busy = format.failure(503, { "retry-after": "3" }, '{"error":"server busy"}');
  assert.deepEqual([busy.retryable, busy.retryAfterSeconds], [true, 3]);
  assert.equal(format.failure(404, {}, "").retryable, false);
});

test("whatever a field holds, an answer is read without a throw", () => {
  const odd: unknown[] = [null, 0, "x", [], {}, [null], [{}], [{ function: 1 }]];
  for (const value of odd) {
    for (const field of ["model", "message", "done", "done_reason", "eval_count"]) {
      const text = JSON.stringify({ ...DONE, [field]: value });
      format.decode(text);
      format.decoder().event("", text, []);
    }
    for (const field of ["content", "tool_calls", "thinking"]) {
      const text = JSON.stringify(line({ [field]: value }));
      format.decode(text);
      format.decoder().event("", text, []);
      format.failure(500, {}, text);
    }
  }
});
