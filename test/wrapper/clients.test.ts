/**
 * OpenAI's own client and those that are built for its format, unmodified, against an alias on each provider: whole and
 * streamed answers, tools, JSON by schema, embeddings. Behind the gateway stands an imitation of the providers that is
 * not ours.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Instructor from "@instructor-ai/instructor";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { FunctionTool } from "@llamaindex/core/tools";
import { OpenAI as LlamaIndex, OpenAIEmbedding } from "@llamaindex/openai";
import { generateText, jsonSchema, Output, streamText, tool } from "ai";
import OpenAI, { APIError } from "openai";
import { z } from "zod";
import { at } from "../spec/kit/at.ts";
import { hashOf, PROJECT } from "../spec/kit/config.ts";
import { type Closer, startGateway } from "../spec/kit/gateway.ts";
import { ClientMatrix } from "./client-matrix.ts";
import {
  aliasFor,
  credentialsFor,
  EMBEDDING,
  KETTLE,
  PORT,
  STOVE,
  startImitation,
  TIDE,
  USED,
  VECTOR,
} from "./imitation.ts";

const TOKEN = "gw_live_client0Of0Wrapper";
const ALIASES = ["openai", "anthropic", "google", "mistral", "groq", "together", "ollama", "cohere"] as const;
const matrix = new ClientMatrix(ALIASES);
/** A pixel. */
const IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Of Ollama the imitation counts nothing, and of the streams of three nothing unless it is asked: that is estimated. */
const used = (model: string): number => (model === "ollama" ? 0 : USED);
const usedStreaming = (model: string): number => ESTIMATED.get(model) ?? used(model);
/** 15 for the texts, and what the models' chat templates add. */
const ESTIMATED: ReadonlyMap<string, number> = new Map([
  ["mistral", 15 + 17],
  ["groq", 15 + 9],
  ["together", 15 + 34],
]);

const baseURL = await startAll();
const openai = new OpenAI({ apiKey: TOKEN, baseURL, maxRetries: 0 });

async function startAll(): Promise<string> {
  const closers: (() => Promise<void>)[] = [];
  after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const closer: Closer = { after: (close) => closers.push(close) };
  const url = await startImitation(closer);
  const g = await startGateway(closer, {
    project: {
      type: "ai_wrapper",
      endpoints: [],
      tokens: [{ name: "client", hash: hashOf(TOKEN), scopes: ["chat", "models"] }],
      credentials: credentialsFor(ALIASES, url),
      aliases: ALIASES.map((alias) => ({ alias, credential: alias, ...aliasFor(alias) })),
    },
  });
  return `${g.client.origin}/api/${PROJECT}/v1`;
}

const ask = (content: string) => [{ role: "user" as const, content }];
const parameters = {
  type: "object",
  properties: { port: { type: "string" } },
  required: ["port"],
  additionalProperties: false,
} as const;
const tools = [TIDE, PORT].map(({ name }) => ({
  type: "function" as const,
  function: { name, description: "What a port has.", parameters },
}));
const stoveSchema = {
  type: "object" as const,
  properties: { kettle: { type: "boolean" as const }, pans: { type: "integer" as const } },
  required: ["kettle", "pans"],
  additionalProperties: false,
};
const Stove = z.object({ kettle: z.boolean(), pans: z.number() });

for (const model of ALIASES) {
  test(`openai, ${model}: whole, streamed with usage, tools, JSON`, async () => {
    const whole = await openai.chat.completions.create({ model, messages: ask("What is on?") });
    assert.equal(whole.choices[0]?.message.content, KETTLE);
    assert.equal(whole.choices[0]?.finish_reason, "stop");
    assert.match(whole._request_id ?? "", /^[0-9a-f-]{36}$/);
    assert.equal(whole.usage?.total_tokens, used(model));

    const stream = openai.chat.completions.stream({
      model,
      messages: ask("What is on?"),
      stream_options: { include_usage: true },
    });
    assert.equal(await stream.finalContent(), KETTLE);
    assert.equal((await stream.totalUsage()).total_tokens, usedStreaming(model));
    matrix.held("OpenAI SDK", model, "text", "stream", "usage");

    const called = await openai.chat.completions.create({ model, messages: ask("the tide?"), tools });
    assert.deepEqual(called.choices[0]?.message.tool_calls?.map(functionOf), [TIDE]);
    assert.equal(called.choices[0]?.finish_reason, "tool_calls");

    const calling = openai.chat.completions.stream({ model, messages: ask("tide and wind?"), tools });
    const final = await calling.finalChatCompletion();
    assert.deepEqual(final.choices[0]?.message.tool_calls?.map(functionOf), [TIDE, PORT]);
    assert.equal(final.choices[0]?.finish_reason, "tool_calls");

    const back = await openai.chat.completions.create({
      model,
      tools,
      messages: [
        ...ask("And after that?"),
        { role: "assistant", content: null, tool_calls: called.choices[0]?.message.tool_calls ?? [] },
        {
          role: "tool",
          tool_call_id: called.choices[0]?.message.tool_calls?.[0]?.id ?? "",
          content: "14:10",
        },
      ],
    });
    assert.equal(back.choices[0]?.message.content, KETTLE);
    matrix.held("OpenAI SDK", model, "tools", "streamedTools", "toolResults");

    const json = await openai.chat.completions.create({
      model,
      messages: ask("the stove as JSON"),
      response_format: {
        type: "json_schema",
        json_schema: { name: "stove", strict: true, schema: stoveSchema },
      },
    });
    assert.deepEqual(JSON.parse(json.choices[0]?.message.content ?? ""), STOVE);
    matrix.held("OpenAI SDK", model, "schema");
  });

  test(`openai, ${model}: images, hints and errors`, async () => {
    const image = { type: "image_url" as const, image_url: { url: IMAGE } };
    const marked = { type: "text" as const, text: "What is on?", cache_control: { type: "ephemeral" } };
    const looked = await openai.chat.completions.create({
      model,
      messages: [{ role: "user", content: [{ type: "text", text: "What is on?" }, image] }],
    });
    assert.equal(looked.choices[0]?.message.content, KETTLE);
    const hinted = await openai.chat.completions.create({
      model,
      messages: [{ role: "user", content: [marked] }],
      ...{ tools, parallel_tool_calls: false, reasoning_effort: "low", user: "u-1" },
    });
    assert.equal(hinted.choices[0]?.message.content, KETTLE);
    const failed = await openai.chat.completions
      .create({ model, messages: ask("x"), temperature: 9 })
      .catch((error: unknown) => error);
    assert.ok(failed instanceof APIError);
    assert.deepEqual([failed.code, failed.type], ["invalid_field", "invalid_request_error"]);
    matrix.held("OpenAI SDK", model, "image", "hints", "errors");
  });

  // Anthropic has no JSON mode: its answer is a tool's arguments, which the imitation does not give unasked.
  if (model !== "anthropic")
    test(`openai, ${model}: JSON mode`, async () => {
      const json = await openai.chat.completions.create({
        model,
        messages: ask("the stove as JSON"),
        response_format: { type: "json_object" },
      });
      assert.deepEqual(JSON.parse(json.choices[0]?.message.content ?? ""), STOVE);
      matrix.held("OpenAI SDK", model, "json");
    });

  test(`the AI SDK, ${model}: whole, streamed with usage, tools, JSON`, async () => {
    const provider = createOpenAICompatible({
      name: "sluice",
      apiKey: TOKEN,
      baseURL,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    const asked = { model: provider(model), maxRetries: 0 };
    assert.equal((await generateText({ ...asked, prompt: "What is on?" })).text, KETTLE);

    const stream = streamText({ ...asked, prompt: "What is on?" });
    assert.equal(await stream.text, KETTLE);
    assert.equal(await stream.finishReason, "stop");
    assert.equal((await stream.usage).totalTokens, usedStreaming(model));

    const offered = Object.fromEntries(
      [TIDE, PORT].map(({ name }) => [name, tool({ inputSchema: jsonSchema<object>(parameters) })]),
    );
    const called = await generateText({ ...asked, prompt: "the tide?", tools: offered });
    assert.deepEqual(called.toolCalls.map(inputOf), [[TIDE.name, { port: "Brest" }]]);
    const calling = streamText({ ...asked, prompt: "tide and wind?", tools: offered });
    const expected = [
      [TIDE.name, { port: "Brest" }],
      [PORT.name, { port: "Lorient" }],
    ];
    assert.deepEqual((await calling.toolCalls).map(inputOf), expected);

    const output = Output.object({ schema: jsonSchema<typeof STOVE>(stoveSchema) });
    const json = await generateText({ ...asked, prompt: "the stove as JSON", output });
    assert.deepEqual(json.output, STOVE);
    matrix.held("Vercel AI SDK", model, "text", "stream", "usage", "tools", "streamedTools", "schema");
  });

  test(`LangChain, ${model}: whole, streamed with usage, tools, JSON`, async () => {
    const chat = new ChatOpenAI({ model, apiKey: TOKEN, configuration: { baseURL }, maxRetries: 0 });
    assert.equal((await chat.invoke("What is on?")).text, KETTLE);
    let text = "";
    let total = 0;
    for await (const piece of await chat.stream("What is on?")) {
      text += piece.text;
      total += piece.usage_metadata?.total_tokens ?? 0;
    }
    assert.equal(text, KETTLE);
    assert.equal(total, usedStreaming(model));
    const bound = chat.bindTools(tools);
    const called = await bound.invoke("the tide?");
    assert.deepEqual(called.tool_calls?.map(argsOf), [[TIDE.name, { port: "Brest" }]]);
    let pieces: Awaited<ReturnType<typeof bound.invoke>> | undefined;
    for await (const piece of await bound.stream("tide and wind?")) pieces = pieces?.concat(piece) ?? piece;
    assert.deepEqual(pieces?.tool_calls?.map(argsOf), [
      [TIDE.name, { port: "Brest" }],
      [PORT.name, { port: "Lorient" }],
    ]);
    const structured = chat.withStructuredOutput(Stove, { name: "stove", method: "jsonSchema" });
    assert.deepEqual(await structured.invoke("the stove as JSON"), STOVE);
    matrix.held("LangChain", model, "text", "stream", "usage", "tools", "streamedTools", "schema");
  });

  test(`LlamaIndex, ${model}: whole, streamed with usage, tools, JSON`, async () => {
    const chat = new LlamaIndex({ model, apiKey: TOKEN, baseURL, maxRetries: 0 });
    const whole = await chat.chat({ messages: ask("What is on?") });
    assert.equal(whole.message.content, KETTLE);

    const additionalChatOptions = { stream_options: { include_usage: true } };
    let text = "";
    let last: unknown;
    for await (const piece of await chat.chat({
      messages: ask("What is on?"),
      stream: true,
      additionalChatOptions,
    })) {
      text += piece.delta;
      last = piece.raw;
    }
    assert.equal(text, KETTLE);
    assert.equal(at(last, "usage", "total_tokens"), usedStreaming(model));

    const offered = [TIDE, PORT].map(({ name }) =>
      FunctionTool.from(() => "14:10", { name, description: "What a port has.", parameters }),
    );
    const called = await chat.exec({ messages: ask("the tide?"), tools: offered });
    assert.deepEqual(called.toolCalls.map(parsedInputOf), [[TIDE.name, { port: "Brest" }]]);
    const back = await chat.exec({
      messages: [...ask("And after that?"), ...called.newMessages],
      tools: offered,
    });
    assert.equal(back.newMessages[0]?.content, KETTLE);

    // A call is told with each of its pieces, as text, and when it is whole as what the text says.
    const calls: unknown[] = [];
    const calling = await chat.chat({ messages: ask("tide and wind?"), tools: offered, stream: true });
    for await (const { options = {} } of calling)
      for (const call of "toolCall" in options ? options.toolCall : [])
        if (typeof call.input === "object") calls.push(parsedInputOf(call));
    assert.deepEqual(calls, [
      [TIDE.name, { port: "Brest" }],
      [PORT.name, { port: "Lorient" }],
    ]);

    const json = await chat.chat({ messages: ask("the stove as JSON"), responseFormat: Stove });
    assert.deepEqual(JSON.parse(String(json.message.content)), STOVE);
    matrix.held(
      "LlamaIndex",
      model,
      "text",
      "stream",
      "usage",
      "tools",
      "streamedTools",
      "toolResults",
      "schema",
    );
  });

  test(`Instructor, ${model}: a tool's arguments as an object`, async () => {
    const instructor = Instructor({ client: openai, mode: "TOOLS" });
    const stove = await instructor.chat.completions.create({
      model,
      messages: ask("for instructor"),
      response_model: { schema: Stove, name: "Stove" },
    });
    assert.deepEqual({ kettle: stove.kettle, pans: stove.pans }, STOVE);
    matrix.held("Instructor", model, "tools");
  });
}

for (const model of EMBEDDING) {
  test(`embeddings of ${model}, by OpenAI's client in base64, by LangChain and LlamaIndex`, async () => {
    const { data, usage } = await openai.embeddings.create({ model, input: ["one", "two"] });
    assert.deepEqual(
      data.map(({ index, embedding }) => [index, embedding]),
      [
        [0, VECTOR],
        [1, VECTOR],
      ],
    );
    assert.equal(typeof usage.prompt_tokens, "number");
    const chain = new OpenAIEmbeddings({ model, apiKey: TOKEN, configuration: { baseURL }, maxRetries: 0 });
    assert.deepEqual(await chain.embedQuery("one"), VECTOR);
    const index = new OpenAIEmbedding({ model, apiKey: TOKEN, baseURL, maxRetries: 0 });
    assert.deepEqual(await index.getTextEmbedding("one"), VECTOR);
    for (const client of ["OpenAI SDK", "LangChain", "LlamaIndex"] as const)
      matrix.held(client, model, "embeddings");
  });
}

test("a client's list of models is the aliases, and its errors have status and request id", async () => {
  const models = await openai.models.list();
  assert.deepEqual(
    models.data.map(({ id }) => id),
    ALIASES,
  );
  const failed = await openai.chat.completions
    .create({ model: "none", messages: ask("x") })
    .catch((error: unknown) => error);
  assert.ok(failed instanceof APIError);
  assert.equal(failed.status, 404);
  assert.match(failed.message, /Alias 'none' not found or inactive\./);
  assert.match(failed.requestID ?? "", /^[0-9a-f-]{36}$/);
});

test("a vendor without embeddings is named in a 400", async () => {
  for (const model of ["anthropic", "groq"] as const) {
    const failed = await openai.embeddings.create({ model, input: "one" }).catch((error: unknown) => error);
    assert.ok(failed instanceof APIError);
    assert.deepEqual([failed.status, failed.code, failed.param], [400, "unsupported_field", "input"]);
    for (const client of ["OpenAI SDK", "LangChain", "LlamaIndex"] as const)
      matrix.absent(client, model, "embeddings");
  }
});

test("docs/clients.md is what these tests have tried", () => {
  const path = new URL("../../docs/clients.md", import.meta.url);
  if (process.env["SLUICE_WRITE_DOCS"] === "1") writeFileSync(path, matrix.page());
  assert.equal(readFileSync(path, "utf8"), matrix.page());
});

function functionOf(call: OpenAI.ChatCompletionMessageToolCall): unknown {
  return call.type === "function" ? withoutId(call.function) : undefined;
}

function withoutId({ name, arguments: text }: { readonly name: string; readonly arguments: string }): object {
  return { name, arguments: JSON.stringify(JSON.parse(text)) };
}

function inputOf({ toolName, input }: { readonly toolName: string; readonly input: unknown }): unknown {
  return [toolName, input];
}

function parsedInputOf({ name, input }: { readonly name: string; readonly input: unknown }): unknown {
  return [name, typeof input === "string" ? JSON.parse(input) : input];
}

function argsOf({ name, args }: { readonly name: string; readonly args: unknown }): unknown {
  return [name, args];
}
