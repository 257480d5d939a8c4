/** Google without a wire: its parts, the signatures that travel in ids, and streams that end when their body does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { google } from "../../providers/google.ts";
import type { ToolChoice } from "../../src/plugin/chat.ts";
import type { ChatChunk, ChatResult, Message } from "../../src/plugin/index.ts";
import { constraintsOf, fitSettings } from "../../src/plugin/settings.ts";
import { isFailure, type ProviderFailure } from "../../src/provider-kit/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { bodyOf, brief, CREDENTIAL, formatOf, reasonOf, type Streamed } from "./chat-format.ts";
import { hostWith, requestFor } from "./stand-ins.ts";

const host = hostWith(virtualClock());
const format = await formatOf(google.setup({}, host));
/** The id that the gateway makes where Google gives none. */
const MADE = `call_${host.random.uuid().replaceAll("-", "")}`;
const USAGE = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 };

/** A whole answer, or an event of a stream. */
const said = (parts: readonly object[], finishReason?: string, rest: object = {}): object => ({
  candidates: [{ content: { role: "model", parts }, finishReason, index: 0 }],
  usageMetadata: USAGE,
  modelVersion: "gemini-tea-1",
  responseId: "google-1",
  ...rest,
});
const text = (words: string): object => ({ text: words });
const call = (name: string, about: object = {}, rest: object = {}): object => ({
  functionCall: { name, ...about },
  ...rest,
});

function answer(body: object): ChatResult {
  const decoded = format.decode(JSON.stringify(body));
  assert.ok(!isFailure(decoded));
  return decoded;
}

/** Feeds events to a fresh decoder, and then the end of the body. */
function stream(events: readonly unknown[]): Streamed {
  const decoder = format.decoder();
  const chunks: ChatChunk[] = [];
  let failed: ProviderFailure | undefined;
  for (const event of events) {
    failed ??= decoder.event("", typeof event === "string" ? event : JSON.stringify(event), chunks);
  }
  failed ??= decoder.end?.(chunks);
  return { chunks, complete: decoder.complete, failed };
}

function contentsOf(messages: readonly Message[], model = "gemini-3.5-flash"): unknown[] {
  return [bodyOf(format, { model, about: { messages } })["contents"]].flat();
}

test("the model is in the path, whole and streamed, and the key in a header", () => {
  const url = (model: string, streamed: boolean): string =>
    format.encode(requestFor(model), CREDENTIAL, streamed).url.replace(CREDENTIAL.baseUrl, "");
  assert.equal(url("gemini-2.5-pro", false), "/v1beta/models/gemini-2.5-pro:generateContent");
  assert.equal(url("gemini-2.5-pro", true), "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
  assert.equal(url("tunedModels/tea", false), "/v1beta/tunedModels/tea:generateContent");
  assert.equal(url("models/a b?", false), "/v1beta/models/a%20b%3F:generateContent");
  const { method, headers } = format.encode(requestFor("m"), CREDENTIAL, false);
  assert.equal(method, "POST");
  assert.deepEqual(headers, { "content-type": "application/json", "x-goog-api-key": "sk-test" });
});

test("settings go out under Google's names, and nothing that Google does not know", () => {
  assert.deepEqual(bodyOf(format, { stream: true }), {
    contents: [{ role: "user", parts: [{ text: "Is the kettle on?" }] }],
  });
  const options = { stop: ["1", "2", "3", "4", "5", "6"], seed: 7, parallelToolCalls: false };
  const about = { temperature: 0, topP: 0.5, maxOutputTokens: 9, options };
  const { contents: _, ...rest } = bodyOf(format, { about });
  assert.deepEqual(rest, {
    generationConfig: {
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 9,
      stopSequences: ["1", "2", "3", "4", "5"],
      seed: 7,
    },
  });
});

test("a credential's options go to the models that know them", async () => {
  const safety_settings = [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "OFF" }];
  const own = await formatOf(
    google.setup({ safety_settings, thinking_budget: 0, thinking_level: "low" }, host),
  );
  const sent = (model: string): unknown => {
    const body = bodyOf(own, { model });
    assert.deepEqual(body["safetySettings"], safety_settings);
    return body["generationConfig"];
  };
  assert.deepEqual(sent("gemini-2.5-flash"), { thinkingConfig: { thinkingBudget: 0 } });
  assert.deepEqual(sent("models/gemini-3.5-flash"), { thinkingConfig: { thinkingLevel: "LOW" } });
  assert.equal(sent("gemma-3-27b-it"), undefined);
});

test("what models ignore is left out, and no more is asked for than they write", () => {
  const fitted = (model: string): unknown => {
    const wanted = { temperature: 0.3, topP: 0.5, maxOutputTokens: 500_000 };
    const { temperature, topP, maxOutputTokens } = fitSettings(
      constraintsOf(google, {}),
      model,
      wanted,
    ).settings;
    return [temperature, topP, maxOutputTokens];
  };
  assert.deepEqual(fitted("gemini-2.0-flash"), [0.3, 0.5, 8192]);
  assert.deepEqual(fitted("gemini-2.5-flash"), [0.3, 0.5, 65_536]);
  assert.deepEqual(fitted("gemini-3.8-flash"), [0.3, 0.5, 65_536]);
  assert.deepEqual(fitted("gemini-4-argon"), [undefined, undefined, 500_000]);
});

test("what the system says stands apart, and neighbours of one side are one turn", () => {
  const parts = [
    { type: "text", text: "Or coffee?" },
    { type: "text", text: " " },
  ] as const;
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Tea?" },
    { role: "user", content: parts },
    { role: "assistant", content: "Tea." },
    { role: "assistant", content: "" },
    { role: "user", content: "Thanks." },
  ];
  const body = bodyOf(format, { about: { messages } });
  assert.deepEqual(body["systemInstruction"], { parts: [{ text: "Be brief." }] });
  assert.deepEqual(body["contents"], [
    { role: "user", parts: [{ text: "Tea?" }, { text: "Or coffee?" }] },
    { role: "model", parts: [{ text: "Tea." }] },
    { role: "user", parts: [{ text: "Thanks." }] },
  ]);
});

test("gemma gets the system's words in its first turn, and is told no schema", () => {
  const system: Message = { role: "system", content: "Be brief." };
  const words = { text: "Be brief.\n\n" };
  const asked = { role: "user", parts: [words, { text: "Tea?" }] };
  assert.deepEqual(contentsOf([system, { role: "user", content: "Tea?" }], "gemma-3-27b-it"), [asked]);
  assert.deepEqual(contentsOf([system, { role: "assistant", content: "Tea." }], "models/gemma-3-4b-it"), [
    { role: "user", parts: [words] },
    { role: "model", parts: [{ text: "Tea." }] },
  ]);
  const body = bodyOf(format, { model: "gemma-3-27b-it", about: { responseSchema: { type: "object" } } });
  assert.deepEqual(Object.keys(body), ["contents"]);
});

test("what the system alone says is asked as a user", () => {
  const body = bodyOf(format, { about: { messages: [{ role: "system", content: "Say tea." }] } });
  assert.deepEqual(body, { contents: [{ role: "user", parts: [{ text: "Say tea." }] }] });
});

test("images go out as bytes, or by their address", () => {
  const content = [
    { type: "image", url: "data:image/png;base64,UE5H" },
    { type: "image", url: "https://tea.example/pot.JPG?size=1" },
    { type: "image", url: "https://tea.example/pot" },
  ] as const;
  assert.deepEqual(contentsOf([{ role: "user", content }]), [
    {
      role: "user",
      parts: [
        { inlineData: { mimeType: "image/png", data: "UE5H" } },
        { fileData: { fileUri: "https://tea.example/pot.JPG?size=1", mimeType: "image/jpeg" } },
        { fileData: { fileUri: "https://tea.example/pot" } },
      ],
    },
  ]);
});

/** A conversation in which tools were called under these ids. */
const conversation = (...ids: readonly string[]): Message[] => [
  { role: "user", content: "Tea and nuts." },
  {
    role: "assistant",
    content: "",
    toolCalls: ids.map((id, n) => ({ id, name: `tool-${n}`, arguments: `{"n":${n}}` })),
  },
  ...ids.map((toolCallId): Message => ({ role: "tool", toolCallId, content: "done" })),
];

test("a call's signature is returned by the client alone", () => {
  const parts = [call("tool-0", { args: { n: 0 } }, { thoughtSignature: "c2ln/+a=" }), call("tool-1")];
  const ids = (answer(said(parts, "STOP")).toolCalls ?? []).map(({ id }) => id);
  assert.deepEqual(ids, [`${MADE}~c2ln/+a=`, MADE]);
  const [, asked, given] = contentsOf(conversation(...ids));
  assert.deepEqual(asked, {
    role: "model",
    parts: [
      { functionCall: { name: "tool-0", args: { n: 0 } }, thoughtSignature: "c2ln/+a=" },
      { functionCall: { name: "tool-1", args: { n: 1 } } },
    ],
  });
  assert.deepEqual(given, {
    role: "user",
    parts: [
      { functionResponse: { name: "tool-0", response: { result: "done" } } },
      { functionResponse: { name: "tool-1", response: { result: "done" } } },
    ],
  });
});

test("Google's own ids come back to it, signed or not", () => {
  const parts = [call("tool-0", { id: "g~1" }, { thoughtSignature: "c2ln" }), call("tool-1", { id: "g~2" })];
  const ids = (answer(said(parts, "STOP")).toolCalls ?? []).map(({ id }) => id);
  assert.deepEqual(ids, ["g~1~c2ln", "g~2~"]);
  const [, asked, given] = contentsOf(conversation(...ids));
  assert.deepEqual(asked, {
    role: "model",
    parts: [
      { functionCall: { id: "g~1", name: "tool-0", args: { n: 0 } }, thoughtSignature: "c2ln" },
      { functionCall: { id: "g~2", name: "tool-1", args: { n: 1 } } },
    ],
  });
  assert.match(JSON.stringify(given), /"id":"g~1".*"id":"g~2"/);
});

test("another vendor's call goes without its id, and says that it was never signed where that is wanted", () => {
  const callsFor = (model: string): unknown => contentsOf(conversation("toolu_1", "toolu_2"), model)[1];
  const functionCall = (n: number): object => ({ name: `tool-${n}`, args: { n } });
  assert.deepEqual(callsFor("gemini-3.5-flash"), {
    role: "model",
    parts: [
      { functionCall: functionCall(0), thoughtSignature: "skip_thought_signature_validator" },
      { functionCall: functionCall(1) },
    ],
  });
  assert.deepEqual(callsFor("gemini-2.5-flash"), {
    role: "model",
    parts: [{ functionCall: functionCall(0) }, { functionCall: functionCall(1) }],
  });
});

test("a tool's result is an object, its own where it is one, before what else its turn says", () => {
  const image = { type: "image", url: "data:image/png;base64,UE5H" } as const;
  const messages: Message[] = [
    ...conversation("a", "b").slice(0, 2),
    { role: "user", content: "Hurry." },
    { role: "tool", toolCallId: "a", content: '{"hot":true}' },
    { role: "tool", toolCallId: "b", content: [{ type: "text", text: "[1]" }, image] },
    { role: "tool", toolCallId: "of-nobody", content: "" },
  ];
  assert.deepEqual(contentsOf(messages)[2], {
    role: "user",
    parts: [
      { functionResponse: { name: "tool-0", response: { hot: true } } },
      { functionResponse: { name: "tool-1", response: { result: "[1]" } } },
      { inlineData: { mimeType: "image/png", data: "UE5H" } },
      { functionResponse: { name: "of-nobody", response: { result: "" } } },
      { text: "Hurry." },
    ],
  });
});

test("tools and the choice among them are told in Google's words", () => {
  const parameters = {
    type: "object",
    properties: { litres: { type: "number" } },
    additionalProperties: false,
  };
  const tools = [{ name: "boil", description: "Boils.", parameters, strict: true }, { name: "pour" }];
  const sent = (toolChoice?: ToolChoice): unknown => {
    const options = toolChoice === undefined ? { tools } : { tools, toolChoice };
    const body = bodyOf(format, { about: { options } });
    assert.deepEqual(body["tools"], [
      {
        functionDeclarations: [
          { name: "boil", description: "Boils.", parametersJsonSchema: parameters },
          { name: "pour" },
        ],
      },
    ]);
    return body["toolConfig"];
  };
  const config = (mode: string, rest: object = {}): object => ({ functionCallingConfig: { mode, ...rest } });
  assert.equal(sent(), undefined);
  assert.deepEqual(sent("auto"), config("AUTO"));
  assert.deepEqual(sent("none"), config("NONE"));
  assert.deepEqual(sent("required"), config("ANY"));
  assert.deepEqual(sent({ name: "pour" }), config("ANY", { allowedFunctionNames: ["pour"] }));
});

test("a schema is told, but not beside tools where the model takes one of them", () => {
  const responseSchema = { type: "object", properties: { kettle: { type: "boolean" } } };
  const told = (about: object, model = "gemini-2.5-flash"): unknown =>
    bodyOf(format, { model, about })["generationConfig"];
  const json = { responseMimeType: "application/json" };
  const schema = { ...json, responseJsonSchema: responseSchema };
  assert.deepEqual(told({ responseSchema }), schema);
  assert.deepEqual(told({ options: { json: true } }), json);
  assert.equal(told({ responseSchema: true }), undefined);
  const options = { tools: [{ name: "boil" }] };
  assert.equal(told({ responseSchema, options }), undefined);
  assert.deepEqual(told({ responseSchema, options }, "gemini-3.5-flash"), schema);
});

test("an answer is its text without the thoughts, its end and what it used, thoughts counted in", () => {
  const usageMetadata = {
    promptTokenCount: 15,
    toolUsePromptTokenCount: 2,
    candidatesTokenCount: 9,
    thoughtsTokenCount: 72,
    cachedContentTokenCount: 8,
    totalTokenCount: 98,
  };
  const parts = [
    { text: "Water first.", thought: true },
    text("Hot "),
    { ...text("tea."), thoughtSignature: "c2ln" },
  ];
  assert.deepEqual(answer(said(parts, "STOP", { usageMetadata })), {
    id: "google-1",
    model: "gemini-tea-1",
    content: "Hot tea.",
    finishReason: "stop",
    providerFinishReason: "STOP",
    usage: {
      promptTokens: 17,
      completionTokens: 81,
      totalTokens: 98,
      cachedPromptTokens: 8,
      reasoningTokens: 72,
    },
  });
  assert.equal(answer(said(parts, "STOP", { usageMetadata: undefined })).usage, undefined);
});

const FILTERED = [
  ...["FINISH_REASON_UNSPECIFIED", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "SPII"],
  ...["PROHIBITED_CONTENT", "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"],
  ...["TOO_MANY_TOOL_CALLS", "NO_IMAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"],
  ...["IMAGE_RECITATION", "IMAGE_OTHER"],
];

test("finish reasons become the four that there are, whole and streamed", () => {
  const words = [text("Tea.")];
  const calls = [call("boil")];
  const rows: [parts: object[], word: string, reason: string][] = [
    [words, "STOP", "stop"],
    [calls, "STOP", "tool_calls"],
    [words, "MAX_TOKENS", "length"],
    [[], "MAX_TOKENS", "length"],
    [calls, "MAX_TOKENS", "length"],
    [words, "CONTINUATION", "length"],
    ...FILTERED.map((word): [object[], string, string] => [words, word, "error"]),
    [words, "BRAND_NEW", "stop"],
    [[], "BRAND_NEW", "error"],
  ];
  for (const [parts, word, reason] of rows) {
    const whole = answer(said(parts, word));
    assert.deepEqual([whole.finishReason, whole.providerFinishReason], [reason, word], word);
    const { chunks, complete } = stream([said(parts), said([], word)]);
    assert.deepEqual(brief(chunks.at(-1) ?? assert.fail()).slice(1, 3), [reason, word], `${word}, streamed`);
    assert.equal(complete, true);
  }
});

test("a candidate without parts, or without content, is an answer of no text", () => {
  for (const content of [{}, { role: "model" }, undefined]) {
    const body = { ...said([]), candidates: [{ content, finishReason: "MAX_TOKENS" }] };
    assert.deepEqual([answer(body).content, answer(body).finishReason], ["", "length"]);
  }
});

test("a prompt that is blocked has no candidates, and the word for it", () => {
  const body = {
    promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
    usageMetadata: { promptTokenCount: 5 },
  };
  const { content, finishReason, providerFinishReason, usage } = answer(body);
  assert.deepEqual([content, finishReason, providerFinishReason], ["", "error", "PROHIBITED_CONTENT"]);
  assert.equal(usage?.promptTokens, 5);
  const { chunks, complete } = stream([body]);
  assert.deepEqual(chunks.map(brief).at(-1), ["", "error", "PROHIBITED_CONTENT", false]);
  assert.equal(complete, true);
});

test("a stream ends when its body does, though older models say STOP in every event", () => {
  const events = [said([text("Hot ")], "STOP"), said([text("tea")], "STOP"), said([text(".")], "MAX_TOKENS")];
  const { chunks, complete } = stream(events);
  assert.deepEqual(chunks.map(brief), [
    ["Hot ", undefined, undefined, false],
    ["tea", undefined, undefined, false],
    [".", undefined, undefined, false],
    ["", "length", "MAX_TOKENS", false],
  ]);
  assert.equal(complete, true);
});

test("a stream that gives no reason to stop is not complete, and has no end", () => {
  const { chunks, complete } = stream([said([text("Hot ")])]);
  assert.deepEqual(chunks.map(brief), [["Hot ", undefined, undefined, false]]);
  assert.equal(complete, false);
});

test("a stream has the id and model of its first event, and the usage of its last", () => {
  const decoder = format.decoder();
  const chunks: ChatChunk[] = [];
  const counted = (candidatesTokenCount: number): object => ({
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount, thoughtsTokenCount: 5 },
  });
  decoder.event("", JSON.stringify(said([text("Hot ")], undefined, counted(1))), chunks);
  decoder.event(
    "",
    JSON.stringify(said([text("tea.")], "STOP", { ...counted(3), responseId: "google-2" })),
    chunks,
  );
  decoder.event("", JSON.stringify({ candidates: [{ content: { parts: [] } }] }), chunks);
  decoder.end?.(chunks);
  assert.deepEqual([decoder.id, decoder.model], ["google-1", "gemini-tea-1"]);
  assert.deepEqual(
    chunks.map(({ usage }) => usage?.completionTokens),
    [6, 8, 8],
  );
});

test("tool calls come whole, several in an event or over several, and have ids", () => {
  const { chunks } = stream([
    said([text("At once."), call("boil", { args: { litres: 1 } }), call("pour")]),
    said([call("crack", { id: "g-1", args: null }, { thoughtSignature: "c2ln" })]),
    said([], "STOP"),
  ]);
  assert.deepEqual(
    chunks.flatMap(({ toolCalls = [] }) => toolCalls),
    [
      { index: 0, id: MADE, name: "boil", arguments: '{"litres":1}' },
      { index: 1, id: MADE, name: "pour", arguments: "{}" },
      { index: 2, id: "g-1~c2ln", name: "crack", arguments: "{}" },
    ],
  );
  assert.equal(chunks[0]?.text, "At once.");
  assert.equal(chunks.at(-1)?.finishReason, "tool_calls");
});

test("an answer that asks for endless tools is not believed", () => {
  const many = Array.from({ length: 257 }, () => call("boil"));
  const reason = "the answer asks for too many tools";
  assert.equal(stream(many.map((one) => said([one]))).failed?.reason, reason);
  const whole = format.decode(JSON.stringify(said(many, "STOP")));
  assert.equal(isFailure(whole) && whole.reason, reason);
});

test("an error within an answer is a failure that moves on, with its status by number or by name", () => {
  const rows: [error: object, status: number | undefined][] = [
    [{ code: 503, message: "overloaded\nfor now", status: "UNAVAILABLE" }, 503],
    [{ message: "overloaded", status: "RESOURCE_EXHAUSTED" }, 429],
    [{ code: "DEADLINE_EXCEEDED", message: "overloaded" }, 504],
    [{ message: "overloaded" }, undefined],
  ];
  for (const [error, status] of rows) {
    for (const body of [{ error }, [{ error }]]) {
      for (const failed of [
        format.decode(JSON.stringify(body)),
        stream([said([text("Tea")]), body]).failed,
      ]) {
        assert.ok(failed !== undefined && "kind" in failed);
        assert.deepEqual([failed.status, failed.reason, failed.retryable], [status, "overloaded", true]);
      }
    }
  }
});

test("an answer that is not Google's is a failure that moves on", () => {
  for (const body of ["", "<html>", "[]", "{}", '{"candidates":[]}', '{"promptFeedback":{}}']) {
    const failed = format.decode(body);
    assert.ok(isFailure(failed) && failed.retryable, body);
  }
  assert.equal(stream(["<html>"]).failed?.retryable, true);
});

test("the time to wait is in the body, and ignored when the day's quota is used up", () => {
  const details = (...more: object[]): string => {
    const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" };
    const error = {
      code: 429,
      message: "slow down",
      status: "RESOURCE_EXHAUSTED",
      details: [...more, retry],
    };
    return JSON.stringify([{ error }]);
  };
  const quota = (quotaId: string): object => ({ violations: [{ quotaMetric: "requests", quotaId }] });
  const failed = format.failure(429, {}, details(quota("RequestsPerMinutePerProject")));
  assert.deepEqual([failed.reason, failed.retryable, failed.retryAfterSeconds], ["slow down", true, 35]);
  assert.equal(
    format.failure(429, {}, details(quota("RequestsPerDayPerProject"))).retryAfterSeconds,
    undefined,
  );
  assert.equal(format.failure(503, { "retry-after": "3" }, "{}").retryAfterSeconds, 3);
});

test("an error status has its reason, and a bad key does not move on, being a bad request to Google", () => {
  const error = {
    code: 400,
    message: "API key not valid.",
    status: "INVALID_ARGUMENT",
    details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }],
  };
  const failed = format.failure(400, {}, JSON.stringify({ error }));
  assert.deepEqual([failed.status, failed.reason, failed.retryable], [400, "API key not valid.", false]);
  assert.equal(reasonOf(format, "<html>"), "no reason given");
  for (const status of [408, 409, 425, 429, 499, 500, 503])
    assert.equal(format.failure(status, {}, "").retryable, true, `${status}`);
  for (const status of [401, 403, 404])
    assert.equal(format.failure(status, {}, "").retryable, false, `${status}`);
});

test("whatever a field holds, an answer is read without a throw", () => {
  const odd: unknown[] = [null, 0, "x", [], {}, [null], [{}], [{ functionCall: 1 }], [{ violations: [{}] }]];
  for (const value of odd) {
    for (const field of ["candidates", "promptFeedback", "usageMetadata", "responseId", "error"]) {
      const body = JSON.stringify({ ...said([]), [field]: value });
      format.decode(body);
      stream([body]);
    }
    for (const field of ["content", "finishReason"]) {
      const body = JSON.stringify({ candidates: [{ [field]: value }] });
      format.decode(body);
      stream([body]);
    }
    for (const field of ["parts", "text", "functionCall", "thoughtSignature"]) {
      const content = field === "parts" ? { parts: value } : { parts: [{ [field]: value }] };
      stream([{ candidates: [{ content }] }]);
    }
    format.failure(429, {}, JSON.stringify({ error: { details: value } }));
    format.failure(429, {}, JSON.stringify(value));
  }
});
