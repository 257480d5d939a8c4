/** Vercel's AI SDK with its provider for servers of OpenAI's format. */
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embedMany, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import { at } from "../../../spec/kit/at.ts";
import { PORT, type STOVE, TIDE } from "../imitation.ts";
import {
  CALLS,
  type Cell,
  type Checks,
  failure,
  IMAGE,
  parameters,
  STRANGER,
  stoveSchema,
  TURNS,
  VendorLacks,
} from "./client-check.ts";

function provider({ baseUrl, token }: Cell, supportsStructuredOutputs = true) {
  return createOpenAICompatible({
    name: "sluice",
    apiKey: token,
    baseURL: baseUrl,
    includeUsage: true,
    supportsStructuredOutputs,
  });
}

function asking(cell: Cell) {
  return { model: provider(cell)(cell.model), maxRetries: 0 };
}

const tools = Object.fromEntries(
  [TIDE, PORT].map(({ name }) => [name, tool({ inputSchema: jsonSchema<object>(parameters) })]),
);

function callsOf(calls: readonly { readonly toolName: string; readonly input: unknown }[]): unknown[] {
  return calls.map(({ toolName, input }) => [toolName, input]);
}

async function text(cell: Cell): Promise<void> {
  const [system, ...messages] = TURNS;
  const answer = await generateText({
    ...asking(cell),
    system: system?.content ?? "",
    messages: turns(messages),
  });
  assert.deepEqual([answer.text, answer.finishReason], [cell.answer, "stop"]);
  assert.equal(answer.usage.totalTokens, cell.used);
}

function turns(messages: readonly { readonly role: string; readonly content: string }[]) {
  return messages.map(({ role, content }) =>
    role === "assistant" ? { role: "assistant" as const, content } : { role: "user" as const, content },
  );
}

async function stream(cell: Cell): Promise<void> {
  const streamed = streamText({ ...asking(cell), prompt: "What is on?" });
  assert.deepEqual([await streamed.text, await streamed.finishReason], [cell.answer, "stop"]);
}

async function usage(cell: Cell): Promise<void> {
  const streamed = streamText({ ...asking(cell), prompt: "What is on?" });
  assert.equal((await streamed.usage).totalTokens, cell.usedStreaming);
}

async function toolCall(cell: Cell): Promise<void> {
  const called = await generateText({ ...asking(cell), prompt: "the tide?", tools });
  assert.deepEqual(callsOf(called.toolCalls), CALLS.slice(0, 1));
  assert.equal(called.finishReason, "tool-calls");
}

async function forced(cell: Cell): Promise<void> {
  const asked = { ...asking(cell), prompt: "the tide?", tools, toolChoice: "required" as const };
  const called = await orLacking(() => generateText(asked), "tool_choice");
  assert.deepEqual(callsOf(called.toolCalls), CALLS.slice(0, 1));
}

async function orLacking<T>(call: () => PromiseLike<T>, field: string): Promise<T> {
  try {
    return await call();
  } catch (error) {
    assert.ok(APICallError.isInstance(error), String(error));
    const told = at(error.data, "error");
    assert.deepEqual([at(told, "code"), at(told, "param")], ["unsupported_field", field]);
    throw new VendorLacks(error.message);
  }
}

async function streamedTools(cell: Cell): Promise<void> {
  const calling = streamText({ ...asking(cell), prompt: "tide and wind?", tools });
  assert.deepEqual(callsOf(await calling.toolCalls), CALLS);
}

/** The SDK itself calls the tools and sends their results. */
async function toolResults(cell: Cell): Promise<void> {
  const inputs: unknown[] = [];
  const inputSchema = jsonSchema<object>(parameters);
  const execute = (input: object): string => {
    inputs.push(input);
    return "14:10";
  };
  const answer = await generateText({
    ...asking(cell),
    prompt: "the tide?",
    tools: { [TIDE.name]: tool({ inputSchema, execute }) },
    stopWhen: stepCountIs(2),
  });
  assert.deepEqual(inputs, [CALLS[0]?.[1]]);
  assert.equal(answer.text, cell.answer);
}

async function schema(cell: Cell): Promise<void> {
  const output = Output.object({ schema: jsonSchema<typeof STOVE>(stoveSchema) });
  const answer = await generateText({ ...asking(cell), prompt: "the stove as JSON", output });
  assert.deepEqual(answer.output, cell.stove);
}

/** What the SDK asks of servers that know no schemas. */
async function json(cell: Cell): Promise<void> {
  const model = provider(cell, false)(cell.model);
  const answer = await generateText({
    model,
    maxRetries: 0,
    prompt: "the stove as JSON",
    output: Output.json(),
  });
  assert.deepEqual(answer.output, cell.stove);
}

async function image(cell: Cell): Promise<void> {
  const content = [
    { type: "text" as const, text: "the picture?" },
    { type: "image" as const, image: IMAGE },
  ];
  const answer = await generateText({ ...asking(cell), messages: [{ role: "user", content }] });
  assert.equal(answer.text, cell.answer);
}

async function hints(cell: Cell): Promise<void> {
  const mark = { sluice: { cache_control: { type: "ephemeral" } } };
  const content = [{ type: "text" as const, text: "What is on?", providerOptions: mark }];
  const answer = await generateText({
    ...asking(cell),
    messages: [{ role: "user", content }],
    tools,
    providerOptions: { sluice: { user: "u-1", reasoningEffort: "low", parallel_tool_calls: false } },
  });
  assert.equal(answer.text, cell.answer);
}

async function errors(cell: Cell): Promise<void> {
  const told = (error: APICallError): unknown[] => {
    const body = at(error.data, "error");
    return [error.statusCode, at(body, "code"), at(body, "type")];
  };
  const wrong = await failure(APICallError, () =>
    generateText({ ...asking(cell), prompt: "x", temperature: 9 }),
  );
  assert.deepEqual(told(wrong), [400, "invalid_field", "invalid_request_error"]);
  assert.match(wrong.message, /^Field 'temperature' must be/);
  const stranger = provider({ ...cell, token: STRANGER })(cell.model);
  const denied = await failure(APICallError, () =>
    generateText({ model: stranger, maxRetries: 0, prompt: "x" }),
  );
  assert.deepEqual(told(denied), [401, "token_invalid", "authentication_error"]);
  const none = provider(cell)("none");
  const absent = await failure(APICallError, () => generateText({ model: none, maxRetries: 0, prompt: "x" }));
  assert.deepEqual(told(absent), [404, "alias_not_found", "not_found_error"]);
  const refused = await failure(APICallError, () => generateText({ ...asking(cell), prompt: "refuse this" }));
  assert.equal(refused.statusCode, 502);
  assert.match(refused.message, /^Provider call failed: /);
}

async function limited(cell: Cell): Promise<void> {
  const model = provider(cell)(cell.limited);
  const call = () => generateText({ model, maxRetries: 0, prompt: "What is on?" });
  await call();
  const error = await failure(APICallError, call);
  assert.deepEqual([error.statusCode, at(error.data, "error", "code")], [429, "rate_limited"]);
  assert.equal(error.responseHeaders?.["retry-after"], "60");
  assert.ok(error.isRetryable);
}

async function broken(cell: Cell): Promise<void> {
  const streamed = streamText({ ...asking(cell), prompt: "break off", onError: () => {} });
  let said = "";
  const failures: unknown[] = [];
  for await (const part of streamed.fullStream) {
    if (part.type === "text-delta") said += part.text;
    if (part.type === "error") failures.push(part.error);
  }
  assert.ok(said !== "" && cell.answer.startsWith(said), said);
  assert.equal(failures.length, 1);
  assert.match(String(at(failures[0], "message")), /^Provider call failed: /);
  assert.equal(at(failures[0], "code"), "provider_failed");
}

async function embeddings(cell: Cell): Promise<void> {
  const model = provider(cell).embeddingModel(cell.model);
  const answer = await orLacking(() => embedMany({ model, values: ["one", "two"], maxRetries: 0 }), "input");
  assert.deepEqual(answer.embeddings, [cell.vector, cell.vector]);
}

export const vercelAi: Checks = {
  ...{ text, stream, usage, tools: toolCall, forced, streamedTools, toolResults, schema, json, image },
  ...{ hints, errors, limited, broken, embeddings },
};
