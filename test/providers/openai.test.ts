/** OpenAI's wire format without a wire: what goes out for which model, and what is made of what comes back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openAiModel, openai } from "../../providers/openai.ts";
import {
  type ChatChunk,
  type ChatResult,
  isFailure,
  type ProviderFailure,
  type ProviderRequest,
  type WireFormat,
} from "../../src/plugin/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { hostWith, requestFor } from "./stand-ins.ts";

const CREDENTIAL = { name: "main", apiKey: "sk-test", baseUrl: "https://api.example/v1" };

const host = hostWith(virtualClock());
// openai's setup gives a WireFormat, always.
const format = (await openai.setup({}, host)) as WireFormat;

function body(model: string, about: Partial<ProviderRequest> = {}, stream = false): Record<string, unknown> {
  return JSON.parse(format.encode(requestFor(model, about), CREDENTIAL, stream).body);
}

function answer(about: {
  readonly message?: object;
  readonly finish_reason?: unknown;
  readonly usage?: unknown;
}): ChatResult {
  const { message = { content: "Tea." }, finish_reason = "stop", usage } = about;
  const decoded = format.decode(
    JSON.stringify({
      id: "chatcmpl-1",
      model: "gpt-4o-2024",
      choices: [{ index: 0, message, finish_reason }],
      usage,
    }),
  );
  assert.ok(!isFailure(decoded));
  return decoded;
}

/** Feeds events to a fresh decoder. */
function decoded(events: readonly unknown[]): {
  chunks: ChatChunk[];
  complete: boolean;
  failed: ProviderFailure | undefined;
} {
  const decoder = format.decoder();
  const chunks: ChatChunk[] = [];
  let failed: ProviderFailure | undefined;
  for (const event of events) {
    failed ??= decoder.event("", typeof event === "string" ? event : JSON.stringify(event), chunks);
  }
  return { chunks, complete: decoder.complete, failed };
}

function event(delta: object, finish_reason: string | null = null, rest: object = {}): object {
  return { id: "chatcmpl-1", model: "gpt-4o-2024", choices: [{ index: 0, delta, finish_reason }], ...rest };
}

const brief = ({ text, finishReason, providerFinishReason, raw }: ChatChunk): unknown[] => [
  text,
  finishReason,
  providerFinishReason,
  raw !== undefined,
];

test("a call names its model and messages, and nothing that was not asked for", () => {
  const messages = [
    { role: "system", content: 'Say "please".\nAlways.' },
    { role: "user", content: "na\u00efve \u{1f375} \\ \ud800" },
    { role: "assistant", content: "" },
  ] as const;
  assert.deepEqual(body("gpt-4o", { messages }), { model: "gpt-4o", messages });
  assert.deepEqual(body("gpt-4o", { messages }), { model: "gpt-4o", messages }, "also the second time");
});

test("settings go out under the names that the model knows", () => {
  const settings = { temperature: 0, topP: 0.5, maxOutputTokens: 100 };
  const { messages: _, ...older } = body("gpt-4o-mini", settings);
  assert.deepEqual(older, { model: "gpt-4o-mini", temperature: 0, top_p: 0.5, max_tokens: 100 });
  const { messages: __, ...newer } = body("gpt-5-mini", settings);
  assert.deepEqual(newer, { model: "gpt-5-mini", max_completion_tokens: 100 });
});

test("each family of models has its rules", () => {
  const rules = (name: string): string => {
    const { maxTokensField, temperature, topP, responseSchema } = openAiModel(name);
    const takes = [temperature && "temperature", topP && "top_p", responseSchema && "schema"];
    return [maxTokensField, ...takes.filter(Boolean)].join(" ");
  };
  const families: Record<string, string[]> = {
    "max_tokens temperature top_p schema": [
      "gpt-4o",
      "gpt-4.1-nano",
      "ft:gpt-4o-mini:acme::1",
      "llama-3",
      "gpt-oss-20b",
    ],
    "max_tokens temperature top_p": ["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "gpt-35-turbo"],
    "max_tokens top_p schema": ["gpt-4o-search-preview", "gpt-4o-mini-search-preview"],
    "max_completion_tokens temperature top_p schema": ["gpt-5-chat-latest"],
    "max_completion_tokens schema": [
      "o1",
      "o3-mini",
      "o4-mini",
      "gpt-5",
      "gpt-5.6",
      "gpt-6-luna",
      "gpt-6.1-sol",
      "gpt-10",
    ],
  };
  for (const [expected, names] of Object.entries(families)) {
    for (const name of names) assert.equal(rules(name), expected, name);
  }
});

test("a setting that the model refuses is told to the log, once a model", () => {
  host.warnings.length = 0;
  for (const model of ["o3", "o3", "o4-mini"]) body(model, { temperature: 1, topP: 1 });
  assert.deepEqual(
    host.warnings.map(({ fields }) => fields),
    ["o3", "o4-mini"].flatMap((model) => ["temperature", "top_p"].map((setting) => ({ model, setting }))),
  );
});

test("a schema of objects is told to models that can be told one", () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const told = { type: "json_schema", json_schema: { name: "answer", schema } };
  assert.deepEqual(body("gpt-4o", { responseSchema: schema })["response_format"], told);
  assert.equal(body("gpt-4-turbo", { responseSchema: schema })["response_format"], undefined);
  for (const responseSchema of [true, { type: "string" }, { type: ["object", "null"] }]) {
    assert.equal(body("gpt-4o", { responseSchema })["response_format"], undefined);
  }
});

test("a stream asks for usage and for no padding", () => {
  const { stream, stream_options } = body("gpt-4o", {}, true);
  assert.deepEqual([stream, stream_options], [true, { include_usage: true, include_obfuscation: false }]);
});

test("a call goes to the credential's address with its key and the account's headers", async () => {
  const accounts = (await openai.setup({ organization: "org-a", project: "proj-b" }, host)) as WireFormat; // as above
  const { url, method, headers } = accounts.encode(requestFor("gpt-4o"), CREDENTIAL, false);
  assert.deepEqual([method, url], ["POST", "https://api.example/v1/chat/completions"]);
  assert.deepEqual(headers, {
    "content-type": "application/json",
    authorization: "Bearer sk-test",
    "openai-organization": "org-a",
    "openai-project": "proj-b",
  });
  const open = format.encode(requestFor("gpt-4o"), { ...CREDENTIAL, apiKey: "" }, false);
  assert.equal("authorization" in open.headers, false);
});

test("an answer is its text, its end and what it used", () => {
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 3,
    total_tokens: 12,
    prompt_tokens_details: { cached_tokens: 4 },
  };
  assert.deepEqual(answer({ usage }), {
    id: "chatcmpl-1",
    model: "gpt-4o-2024",
    content: "Tea.",
    finishReason: "stop",
    providerFinishReason: undefined,
    usage: { promptTokens: 9, completionTokens: 3, totalTokens: 12, cachedPromptTokens: 4 },
  });
  assert.equal(answer({ usage: null }).usage, undefined);
  assert.equal(answer({ usage: { prompt_tokens: 2, completion_tokens: 1 } }).usage?.totalTokens, 3);
});

test("finish reasons become the four that there are, with the provider's own word beside them", () => {
  const said = { content: "Tea." };
  const silent = { content: null };
  const calls = { content: null, tool_calls: [{ id: "call_1" }] };
  const rows: [message: object, word: unknown, reason: string, own: string | undefined][] = [
    [said, "stop", "stop", undefined],
    [said, "length", "length", undefined],
    [calls, "tool_calls", "tool_calls", undefined],
    [calls, "stop", "tool_calls", "stop"],
    [calls, "length", "length", undefined],
    [said, "function_call", "tool_calls", "function_call"],
    [said, "content_filter", "error", "content_filter"],
    [{ content: null, refusal: "I cannot." }, "stop", "error", "refusal"],
    [said, "brand_new", "stop", "brand_new"],
    [silent, "brand_new", "error", "brand_new"],
    [said, null, "stop", undefined],
  ];
  for (const [message, finish_reason, reason, own] of rows) {
    const { finishReason, providerFinishReason } = answer({ message, finish_reason });
    assert.deepEqual([finishReason, providerFinishReason], [reason, own], `${finish_reason}`);
    const { chunks } = decoded([event(message), event({}, `${finish_reason ?? "unsaid"}`)]);
    if (finish_reason !== null) {
      assert.deepEqual(
        brief(chunks.at(-1) ?? assert.fail()).slice(1, 3),
        [reason, own],
        `${finish_reason}, streamed`,
      );
    }
  }
});

test("a refusal is the answer's text", () => {
  assert.equal(answer({ message: { content: null, refusal: "I cannot." } }).content, "I cannot.");
  const { chunks } = decoded([event({ refusal: "I can" }), event({ refusal: "not." }, "stop")]);
  assert.deepEqual(chunks.map(brief), [
    ["I can", undefined, undefined, false],
    ["not.", undefined, undefined, false],
    ["", "error", "refusal", false],
  ]);
});

test("chunks that may go out unchanged keep the provider's text, the others do not", () => {
  const text = JSON.stringify(event({ content: "Tea" }));
  const { chunks, complete } = decoded([
    event({ role: "assistant", content: "" }),
    text,
    event({ content: "." }, "stop"),
    { id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
  ]);
  assert.deepEqual(chunks.map(brief), [
    ["", undefined, undefined, true],
    ["Tea", undefined, undefined, true],
    [".", undefined, undefined, false],
    ["", "stop", undefined, false],
    ["", undefined, undefined, false],
  ]);
  assert.equal(chunks[1]?.raw, text);
  assert.equal(chunks[4]?.usage?.totalTokens, 3);
  assert.equal(complete, true);
});

test("an event over several lines is not sent on as it is", () => {
  const { chunks } = decoded([JSON.stringify(event({ content: "Tea" }), null, 1)]);
  assert.deepEqual(chunks.map(brief), [["Tea", undefined, undefined, false]]);
});

test("events that repeat their shape give the same as events read one by one", () => {
  const texts = [
    "plain",
    '"quoted"',
    "back\\slash",
    "new\nline",
    "\u{1f375}",
    "",
    "plain",
    '","role":"user',
    "\u2028",
  ];
  const tricky = [
    event({ content: "a" }, null, { note: { content: "a" } }),
    event({ content: "note" }, null, { note: "b" }),
    event({ role: "assistant", content: "c" }),
    event({ content: "d" }, null, { usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    event({ content: "e", refusal: "no" }),
    event({ content: null, tool_calls: [{ index: 0 }] }),
    event({ content: "f" }, "length"),
  ];
  const events = [...texts, ...texts].map((content) => event({ content }));
  for (const sequence of [events, [...events, ...tricky], [...tricky, ...events], [...tricky, ...tricky]]) {
    const together = decoded(sequence).chunks.map(({ text, usage, raw }) => [text, usage, raw]);
    const alone = sequence
      .flatMap((one) => decoded([one]).chunks)
      .map(({ text, usage, raw }) => [text, usage, raw]);
    assert.deepEqual(together, alone);
  }
});

test("an event of a known shape that is not JSON is still seen", () => {
  const one = JSON.stringify(event({ content: "Tea" }));
  const { chunks, failed } = decoded([one, one.replace('"Tea"', "Tea")]);
  assert.equal(chunks.length, 1);
  assert.equal(failed?.reason, "an event of the answer is not JSON");
});

test("errors within an answer are failures that move on", () => {
  const error = { message: "The server had an error\nTry later", type: "server_error" };
  const expected = { status: undefined, reason: "The server had an error", movesOn: true };
  for (const failed of [format.decode(JSON.stringify({ error })), decoded([{ error }]).failed]) {
    assert.ok(failed !== undefined && isFailure(failed as ChatResult | ProviderFailure)); // either gives one
    const { status, reason, movesOn } = failed as ProviderFailure; // as asserted
    assert.deepEqual({ status, reason, movesOn }, expected);
  }
  const named = format.decoder().event("error", '{"message":"bare"}', []);
  assert.equal(named?.reason, "bare");
  assert.equal(decoded([{ error: { message: "m", status_code: 400 } }]).failed?.status, 400);
});

test("the reason of an error status is the provider's message, short", () => {
  const reason = (text: string): string => format.failure(500, {}, text).reason;
  assert.equal(reason('{"error":{"message":"Overloaded","type":"server_error"}}'), "Overloaded");
  assert.equal(reason('{"error":"Overloaded"}'), "Overloaded");
  assert.equal(reason('{"message":"Overloaded"}'), "Overloaded");
  assert.equal(reason('{"error":{"message":"  first\\r\\nsecond"}}'), "first");
  assert.equal(reason(JSON.stringify({ error: { message: "x".repeat(500) } })).length, 200);
  for (const text of ["", "<html>", "null", "[]", '{"error":{}}'])
    assert.equal(reason(text), "no reason given");
});

test("a hint when to come back is whole seconds", () => {
  const seconds = (headers: Record<string, string>): unknown =>
    format.failure(429, headers, "").retryAfterSeconds;
  assert.equal(seconds({ "retry-after": "7" }), 7);
  assert.equal(seconds({ "retry-after": "9", "retry-after-ms": "1200" }), 2);
  for (const value of ["", "0", "-1", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "999999999"]) {
    assert.equal(seconds({ "retry-after": value }), undefined);
  }
});

test("whatever a field holds, an answer is read without a throw", () => {
  const odd: unknown[] = [
    null,
    0,
    "x",
    [],
    {},
    [null],
    [{}],
    [{ message: 1, delta: 1 }],
    [{ message: {}, delta: {} }],
  ];
  for (const value of odd) {
    for (const field of ["id", "model", "choices", "usage", "error"]) {
      const text = JSON.stringify({ id: "a", choices: [{ message: {}, delta: {} }], [field]: value });
      format.decode(text);
      format.decoder().event("", text, []);
      format.failure(500, {}, text);
    }
  }
});
