/** Anthropic without a wire: its two sides of a conversation, its blocks, and what its models refuse. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { anthropic } from "../../providers/anthropic.ts";
import type { JsonSchema, ToolChoice } from "../../src/plugin/chat.ts";
import type { ChatResult, Message } from "../../src/plugin/index.ts";
import { constraintsOf, fitSettings } from "../../src/plugin/settings.ts";
import { isFailure } from "../../src/provider-kit/index.ts";
import { blockStart, boil, end, say, start } from "./anthropic-events.ts";
import {
  type Asked,
  bodyOf,
  brief,
  CREDENTIAL,
  countingHost,
  formatOf,
  reasonOf,
  streamOf,
} from "./chat-format.ts";
import { requestFor } from "./stand-ins.ts";

const format = await formatOf(anthropic.setup({}, countingHost()));
const USAGE = { input_tokens: 7, output_tokens: 3 };

function answer(about: Readonly<Record<string, unknown>> = {}): ChatResult {
  const content = [{ type: "text", text: "Tea." }];
  const whole = { id: "msg_1", type: "message", model: "claude-tea-1", content, stop_reason: "end_turn" };
  const decoded = format.decode(JSON.stringify({ ...whole, usage: USAGE, ...about }));
  assert.ok(!isFailure(decoded));
  return decoded;
}

function messagesOf(messages: readonly Message[], asked: Asked = {}): unknown {
  return bodyOf(format, { ...asked, about: { messages } })["messages"];
}

test("a call goes out with its version, its key and the number of tokens that the API wants", () => {
  const { method, url, headers } = format.encode(requestFor("m"), CREDENTIAL, false);
  assert.deepEqual([method, url], ["POST", "https://api.example/v1/v1/messages"]);
  assert.deepEqual(headers, {
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
    "x-api-key": "sk-test",
  });
  assert.deepEqual(bodyOf(format), {
    model: "tea-1",
    max_tokens: 4096,
    messages: [{ role: "user", content: "Is the kettle on?" }],
  });
});

test("settings go out under Anthropic's names, and a seed not at all", () => {
  const options = { stop: ["END", "\n"], seed: 7 };
  const about = { temperature: 0, topP: 0.5, maxOutputTokens: 9, options };
  const { messages: _, ...rest } = bodyOf(format, { about, stream: true });
  assert.deepEqual(rest, {
    model: "tea-1",
    max_tokens: 9,
    temperature: 0,
    top_p: 0.5,
    stop_sequences: ["END"],
    stream: true,
  });
});

test("a credential's options choose version, features and cache", async () => {
  const options = {
    anthropic_version: "2026-10-21",
    anthropic_beta: ["tea-2026-01-01", "pot-2026-02-02"],
    prompt_cache: "1h",
  } as const;
  const own = await formatOf(anthropic.setup(options, countingHost()));
  const { headers } = own.encode(requestFor("m"), CREDENTIAL, false);
  assert.equal(headers["anthropic-version"], "2026-10-21");
  assert.equal(headers["anthropic-beta"], "tea-2026-01-01,pot-2026-02-02");
  assert.deepEqual(bodyOf(own)["cache_control"], { type: "ephemeral", ttl: "1h" });
});

test("without a limit in the call, the model's maximum is requested", () => {
  const rows: [model: string, tokens: number][] = [
    ["claude-3-haiku-20240307", 4096],
    ["claude-3-5-sonnet-20241022", 8192],
    ["claude-opus-4-20250514", 32_000],
    ["claude-opus-4-1-20250805", 32_000],
    ["claude-sonnet-4-20250514", 64_000],
    ["claude-haiku-4-5", 64_000],
    ["claude-opus-4-5-20251101", 64_000],
    ["claude-opus-4-6", 128_000],
    ["anthropic.claude-sonnet-5-5-v1", 128_000],
    ["somebody-elses", 4096],
  ];
  for (const [model, tokens] of rows) {
    assert.equal(bodyOf(format, { model })["max_tokens"], tokens, model);
    const asked = { temperature: undefined, topP: undefined, maxOutputTokens: 500_000 };
    const { settings } = fitSettings(constraintsOf(anthropic, {}), model, asked);
    assert.equal(settings.maxOutputTokens, model === "somebody-elses" ? 500_000 : tokens, model);
  }
});

test("what models refuse of sampling is clamped or left out, by model and by version", () => {
  const fitted = (model: string, temperature?: number, topP?: number, version?: string): unknown => {
    const options = version === undefined ? {} : { anthropic_version: version };
    const wanted = { temperature, topP, maxOutputTokens: undefined };
    const { settings } = fitSettings(constraintsOf(anthropic, options), model, wanted);
    return [settings.temperature, settings.topP];
  };
  assert.deepEqual(fitted("claude-3-7-sonnet-latest", 1.4, 0.5), [1, 0.5]);
  for (const model of [
    "claude-opus-4-1",
    "claude-sonnet-4-5-20250929",
    "claude-haiku-4-5",
    "claude-opus-4-6",
  ]) {
    assert.deepEqual(fitted(model, 0.3, 0.5), [0.3, undefined], model);
    assert.deepEqual(fitted(model, undefined, 0.5), [undefined, 0.5], model);
  }
  for (const model of [
    "claude-opus-4-7",
    "claude-opus-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-fable-5",
  ]) {
    assert.deepEqual(fitted(model, 0.3, 0.5), [undefined, undefined], model);
  }
  assert.deepEqual(fitted("claude-opus-4-20250514", 0.3, 0.5), [0.3, 0.5]);
  assert.deepEqual(fitted("claude-3-7-sonnet-latest", 0.3, 0.5, "2026-10-21"), [undefined, undefined]);
});

test("what the system says stands apart, and neighbours of one side are one turn", () => {
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Tea?" },
    { role: "user", content: "Or coffee?" },
    { role: "assistant", content: "Tea." },
    { role: "system", content: "Be kind." },
    { role: "user", content: "Thanks." },
  ];
  const body = bodyOf(format, { about: { messages } });
  assert.equal(body["system"], "Be brief.\n\nBe kind.");
  assert.deepEqual(body["messages"], [
    {
      role: "user",
      content: [
        { type: "text", text: "Tea?" },
        { type: "text", text: "Or coffee?" },
      ],
    },
    { role: "assistant", content: "Tea." },
    { role: "user", content: "Thanks." },
  ]);
});

test("what the system alone says is asked as a user", () => {
  const body = bodyOf(format, { about: { messages: [{ role: "system", content: "Say tea." }] } });
  assert.deepEqual([body["system"], body["messages"]], [undefined, [{ role: "user", content: "Say tea." }]]);
});

test("no text is empty, and an answer to go on with ends in no white space", () => {
  const messages: Message[] = [
    {
      role: "user",
      content: [
        { type: "text", text: " " },
        { type: "text", text: "Tea?" },
      ],
    },
    { role: "assistant", content: "" },
    { role: "user", content: "\n" },
    { role: "assistant", content: "The kettle is \n" },
  ];
  assert.deepEqual(messagesOf(messages), [
    { role: "user", content: [{ type: "text", text: "Tea?" }] },
    { role: "assistant", content: "The kettle is" },
  ]);
});

test("images go out as bytes, or by their address", () => {
  const content = [
    { type: "text", text: "Which pot?" },
    { type: "image", url: "data:image/png;base64,UE5H", detail: "low" },
    { type: "image", url: "https://tea.example/pot.jpg" },
  ] as const;
  assert.deepEqual(messagesOf([{ role: "user", content }]), [
    {
      role: "user",
      content: [
        { type: "text", text: "Which pot?" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "UE5H" } },
        { type: "image", source: { type: "url", url: "https://tea.example/pot.jpg" } },
      ],
    },
  ]);
});

test("results of tools come first in their turn, under ids that Anthropic takes", () => {
  const messages: Message[] = [
    { role: "user", content: "Tea and nuts." },
    {
      role: "assistant",
      content: "At once.",
      toolCalls: [
        { id: "functions.boil:0", name: "boil", arguments: '{"litres":1}' },
        { id: "call_1~c2ln+/=", name: "crack", arguments: "not JSON" },
      ],
    },
    { role: "tool", toolCallId: "functions.boil:0", content: "boiled" },
    { role: "user", content: "Hurry." },
    { role: "tool", toolCallId: "call_1~c2ln+/=", content: [{ type: "text", text: "cracked" }] },
  ];
  const [, asked, given] = [messagesOf(messages)].flat();
  assert.deepEqual(asked, {
    role: "assistant",
    content: [
      { type: "text", text: "At once." },
      { type: "tool_use", id: "functions_boil_0", name: "boil", input: { litres: 1 } },
      { type: "tool_use", id: "call_1", name: "crack", input: {} },
    ],
  });
  assert.deepEqual(given, {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "functions_boil_0", content: "boiled" },
      { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: "cracked" }] },
      { type: "text", text: "Hurry." },
    ],
  });
});

test("tools and the choice among them are told in Anthropic's words", () => {
  const parameters = { type: "object", properties: { litres: { type: "number" } } };
  const tools = [{ name: "boil", description: "Boils.", parameters, strict: true }, { name: "pour" }];
  const sent = (
    toolChoice?: ToolChoice,
    parallelToolCalls?: boolean,
    model = "claude-opus-4-6",
  ): unknown[] => {
    const options = { tools, toolChoice, parallelToolCalls };
    // What is undefined counts as absent.
    const about = { options: options as { tools: typeof tools } };
    const body = bodyOf(format, { model, about });
    return [body["tools"], body["tool_choice"]];
  };
  const first = { name: "boil", description: "Boils.", input_schema: parameters };
  const second = { name: "pour", input_schema: { type: "object", properties: {} } };
  const both = [first, second];
  assert.deepEqual(sent(), [both, undefined]);
  assert.deepEqual(sent("auto"), [both, { type: "auto" }]);
  assert.deepEqual(sent("none", false), [both, { type: "none" }]);
  assert.deepEqual(sent("required"), [both, { type: "any" }]);
  assert.deepEqual(sent({ name: "pour" }), [both, { type: "tool", name: "pour" }]);
  assert.deepEqual(sent(undefined, false), [both, { type: "auto", disable_parallel_tool_use: true }]);
  assert.deepEqual(sent("required", false), [both, { type: "any", disable_parallel_tool_use: true }]);
  for (const model of ["claude-opus-5-5", "claude-sonnet-5-5-20261001", "claude-fable-5-1"]) {
    assert.deepEqual(sent("required", undefined, model), [both, { type: "auto" }], model);
    assert.deepEqual(sent({ name: "pour" }, undefined, model), [[second], { type: "auto" }], model);
  }
});

/** The schema that a model is told. */
function told(responseSchema: JsonSchema, model = "claude-haiku-4-5"): unknown {
  const config = bodyOf(format, { model, about: { responseSchema } })["output_config"];
  if (config === undefined) return undefined;
  assert.ok(typeof config === "object" && config !== null && "format" in config);
  const { type, schema } = Object(config.format);
  assert.equal(type, "json_schema");
  return schema;
}

test("a schema is told to the models that can be held to it, in the part that they take", () => {
  const responseSchema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", minLength: 1, format: "email", description: "Whose." },
      litres: { type: ["number", "null"], minimum: 0 },
      cups: { type: "array", minItems: 2, items: { $ref: "#/$defs/cup" } },
      milk: { oneOf: [{ const: "oat" }, { type: "boolean" }] },
    },
    $defs: { cup: { type: "object", properties: { size: { enum: ["S", "L"] } } } },
  };
  const cup = { type: "object", properties: { size: { enum: ["S", "L"] } }, additionalProperties: false };
  assert.deepEqual(told(responseSchema), {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", format: "email", description: "Whose." },
      litres: { type: ["number", "null"] },
      cups: { type: "array", items: cup },
      milk: { anyOf: [{ const: "oat" }, { type: "boolean" }] },
    },
    additionalProperties: false,
  });
  assert.equal(told(responseSchema, "claude-sonnet-4-20250514"), undefined);
});

test("a schema that no model can be held to is left to the gateway's own check", () => {
  const open: JsonSchema[] = [
    true,
    { type: "array", items: { type: "string" } },
    { type: "object" },
    { type: "object", properties: { cup: {} } },
    { type: "object", properties: { cup: true } },
    { type: "object", properties: {}, additionalProperties: { type: "number" } },
    { type: "object", properties: {}, required: ["cup"] },
    { type: "object", properties: { next: { $ref: "#/$defs/cup" } } },
    {
      type: "object",
      properties: { cup: { $ref: "#/$defs/cup" } },
      $defs: { cup: { type: "object", properties: { next: { $ref: "#/$defs/cup" } } } },
    },
  ];
  for (const schema of open) assert.equal(told(schema), undefined, JSON.stringify(schema));
});

test("an answer is its text, its end and what it used, the cached part counted in", () => {
  const usage = {
    input_tokens: 4,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 2000,
    output_tokens: 40,
    output_tokens_details: { thinking_tokens: 25 },
    service_tier: "standard",
  };
  assert.deepEqual(answer({ usage }), {
    id: "msg_1",
    model: "claude-tea-1",
    content: "Tea.",
    finishReason: "stop",
    providerFinishReason: "end_turn",
    usage: {
      promptTokens: 2104,
      completionTokens: 40,
      totalTokens: 2144,
      cachedPromptTokens: 2000,
      cacheWriteTokens: 100,
      reasoningTokens: 25,
      serviceTier: "standard",
    },
  });
  assert.equal(answer({ usage: undefined }).usage, undefined);
});

test("thoughts and blocks of other kinds are no part of an answer", () => {
  const content = [
    { type: "thinking", thinking: "Water first.", signature: "c2ln" },
    { type: "text", text: "Hot ", citations: null },
    { type: "server_tool_use", id: "srvtoolu_1", name: "search", input: {} },
    { type: "text", text: "tea." },
  ];
  assert.deepEqual((({ content: text, toolCalls }) => [text, toolCalls])(answer({ content })), [
    "Hot tea.",
    undefined,
  ]);
});

test("finish reasons become the four that there are, whole and streamed", () => {
  const said = [{ type: "text", text: "Tea." }];
  const rows: [content: object[], word: string, reason: string][] = [
    [said, "end_turn", "stop"],
    [said, "stop_sequence", "stop"],
    [said, "pause_turn", "stop"],
    [said, "max_tokens", "length"],
    [said, "model_context_window_exceeded", "length"],
    [[boil()], "tool_use", "tool_calls"],
    [[boil()], "end_turn", "tool_calls"],
    [[boil()], "max_tokens", "length"],
    [[], "tool_use", "error"],
    [said, "refusal", "error"],
    [[], "refusal", "error"],
    [said, "brand_new", "stop"],
    [[], "brand_new", "error"],
  ];
  for (const [content, word, reason] of rows) {
    const whole = answer({ content, stop_reason: word });
    assert.deepEqual([whole.finishReason, whole.providerFinishReason], [reason, word], word);
    const before = content.map((block) => (content === said ? say("Tea.") : blockStart(0, block)));
    const { chunks } = streamOf(format, [start(), ...before, ...end(word)]);
    assert.deepEqual(brief(chunks.at(-1) ?? assert.fail()).slice(1, 3), [reason, word], `${word}, streamed`);
  }
});

test("tool calls have their arguments as JSON text, and an id in any case", () => {
  const content = [boil("toolu_1", { litres: 1 }), { type: "tool_use", name: "pour" }];
  const [first, second] = answer({ content, stop_reason: "tool_use" }).toolCalls ?? [];
  assert.deepEqual(first, { id: "toolu_1", name: "boil", arguments: '{"litres":1}' });
  assert.deepEqual([second?.name, second?.arguments], ["pour", "{}"]);
  assert.match(second?.id ?? "", /^call_made\d+$/);
});

test("an error within an answer is a failure that moves on", () => {
  const body = {
    type: "error",
    error: { type: "overloaded_error", message: "Overloaded\nfor now" },
    request_id: "req_1",
  };
  for (const failed of [
    format.decode(JSON.stringify(body)),
    streamOf(format, [start(), say("Tea"), body]).failed,
    format.decoder().event("error", JSON.stringify({ message: "Overloaded" }), []),
  ]) {
    assert.ok(failed !== undefined && "kind" in failed);
    assert.deepEqual([failed.reason, failed.retryable, failed.accepted], ["Overloaded", true, true]);
  }
});

test("an answer that is not Anthropic's is a failure that moves on", () => {
  for (const text of ["", "<html>", "[]", "{}", '{"content":"tea"}']) {
    const failed = format.decode(text);
    assert.ok(isFailure(failed) && failed.retryable, text);
  }
  assert.equal(streamOf(format, ["<html>"]).failed?.retryable, true);
});

test("an error status has its reason and its hint, and moves on where another may do better", () => {
  const body = { type: "error", error: { type: "authentication_error", message: "no such key" } };
  assert.equal(reasonOf(format, JSON.stringify(body), 401), "no such key");
  assert.equal(reasonOf(format, "<html>"), "no reason given");
  const retryable = (status: number): boolean => format.failure(status, {}, "").retryable;
  for (const status of [429, 500, 504, 529]) assert.equal(retryable(status), true, `${status}`);
  for (const status of [400, 401, 402, 403, 404, 413]) assert.equal(retryable(status), false, `${status}`);
  assert.equal(format.failure(529, { "retry-after": "3" }, "").retryAfterSeconds, 3);
});

test("whatever a field holds, an answer is read without a throw", () => {
  const odd: unknown[] = [null, 0, "x", [], {}, [null], [{}], [{ type: "tool_use" }], { type: "tool_use" }];
  const types = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_stop",
  ];
  for (const value of odd) {
    for (const field of ["id", "model", "content", "stop_reason", "usage", "type"]) {
      format.decode(JSON.stringify({ content: [], [field]: value }));
    }
    for (const field of ["message", "index", "content_block", "delta", "usage", "type"]) {
      for (const type of types) format.decoder().event(type, JSON.stringify({ type, [field]: value }), []);
    }
    for (const field of ["type", "text", "partial_json", "stop_reason", "id", "input", "usage"]) {
      const about = { type: "text_delta", [field]: value };
      for (const type of types) {
        const event = { type, delta: about, content_block: about, message: about };
        format.decoder().event("", JSON.stringify(event), []);
      }
    }
  }
});
