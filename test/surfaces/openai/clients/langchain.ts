/** LangChain for Node, with its OpenAI package. */
import assert from "node:assert/strict";
import { ChatOpenAI, type ChatOpenAIFields, OpenAIEmbeddings } from "@langchain/openai";
import { APIError, AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from "openai";
import { z } from "zod";
import {
  ask,
  CALLS,
  type Cell,
  type Checks,
  failure,
  IMAGE,
  STRANGER,
  TURNS,
  tools,
} from "./client-check.ts";
import { assertBroken, orLacking } from "./openai.ts";

const Stove = z.object({ kettle: z.boolean(), pans: z.number() });

function chat({ baseUrl, token, model }: Cell, fields: ChatOpenAIFields = {}): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey: token,
    configuration: { baseURL: baseUrl },
    maxRetries: 0,
    ...fields,
  });
}

function callsOf(calls: readonly { readonly name: string; readonly args: unknown }[] = []): unknown[] {
  return calls.map(({ name, args }) => [name, args]);
}

async function text(cell: Cell): Promise<void> {
  const answer = await chat(cell).invoke(TURNS);
  assert.equal(answer.text, cell.answer);
  assert.equal(answer.response_metadata["finish_reason"], "stop");
  // It leaves out usage of nothing.
  assert.equal(answer.usage_metadata?.total_tokens ?? 0, cell.used);
}

async function joined<T extends { concat(other: T): T }>(pieces: AsyncIterable<T>): Promise<T | undefined> {
  let whole: T | undefined;
  for await (const piece of pieces) whole = whole?.concat(piece) ?? piece;
  return whole;
}

async function stream(cell: Cell): Promise<void> {
  const whole = await joined(await chat(cell).stream("What is on?"));
  assert.deepEqual([whole?.text, whole?.response_metadata["finish_reason"]], [cell.answer, "stop"]);
}

async function usage(cell: Cell): Promise<void> {
  const whole = await joined(await chat(cell).stream("What is on?"));
  assert.equal(whole?.usage_metadata?.total_tokens, cell.usedStreaming);
}

async function toolCall(cell: Cell): Promise<void> {
  const called = await chat(cell).bindTools(tools).invoke("the tide?");
  assert.deepEqual(callsOf(called.tool_calls), CALLS.slice(0, 1));
}

async function forced(cell: Cell): Promise<void> {
  const bound = chat(cell).bindTools(tools, { tool_choice: "required" });
  const called = await orLacking(() => bound.invoke("the tide?"), "tool_choice");
  assert.deepEqual(callsOf(called.tool_calls), CALLS.slice(0, 1));
}

async function streamedTools(cell: Cell): Promise<void> {
  const whole = await joined(await chat(cell).bindTools(tools).stream("tide and wind?"));
  assert.deepEqual(callsOf(whole?.tool_calls), CALLS);
}

async function toolResults(cell: Cell): Promise<void> {
  const bound = chat(cell).bindTools(tools);
  const called = await bound.invoke("the tide?");
  const result = { role: "tool" as const, content: "14:10", tool_call_id: called.tool_calls?.[0]?.id ?? "" };
  const back = await bound.invoke([...ask("the tide?"), called, result]);
  assert.equal(back.text, cell.answer);
}

async function structured(cell: Cell, method: "jsonSchema" | "functionCalling" | "jsonMode"): Promise<void> {
  const model = chat(cell).withStructuredOutput(Stove, { name: "Stove", method });
  assert.deepEqual(await model.invoke("the stove as JSON"), cell.stove);
}

async function schema(cell: Cell): Promise<void> {
  await structured(cell, "jsonSchema");
  await structured(cell, "functionCalling");
}

async function image(cell: Cell): Promise<void> {
  const picture = { type: "image_url", image_url: { url: IMAGE } };
  const content = [{ type: "text", text: "the picture?" }, picture];
  assert.equal((await chat(cell).invoke([{ role: "user", content }])).text, cell.answer);
}

async function hints(cell: Cell): Promise<void> {
  const content = [{ type: "text", text: "What is on?", cache_control: { type: "ephemeral" } }];
  const bound = chat(cell, { modelKwargs: { user: "u-1", reasoning_effort: "low" } }).bindTools(tools, {
    parallel_tool_calls: false,
  });
  assert.equal((await bound.invoke([{ role: "user", content }])).text, cell.answer);
}

async function errors(cell: Cell): Promise<void> {
  const wrong = await failure(BadRequestError, () => chat(cell, { temperature: 9 }).invoke("x"));
  assert.deepEqual(
    [wrong.code, wrong.type, wrong.param],
    ["invalid_field", "invalid_request_error", "temperature"],
  );
  const denied = await failure(AuthenticationError, () => chat(cell, { apiKey: STRANGER }).invoke("x"));
  assert.deepEqual([denied.code, denied.type], ["token_invalid", "authentication_error"]);
  const absent = await failure(NotFoundError, () => chat(cell, { model: "none" }).invoke("x"));
  assert.deepEqual([absent.code, absent.type], ["alias_not_found", "not_found_error"]);
  // What LangChain's fallbacks for long conversations wait for.
  const long = await failure(Error, () => chat(cell).invoke("refuse this"));
  assert.equal(long.name, "ContextOverflowError");
}

async function limited(cell: Cell): Promise<void> {
  const once = chat(cell, { model: cell.limited });
  await once.invoke("What is on?");
  const error = await failure(RateLimitError, () => once.invoke("What is on?"));
  assert.deepEqual([error.code, error.type], ["rate_limited", "rate_limit_error"]);
  assert.equal(error.headers.get("retry-after"), "60");
}

async function broken(cell: Cell): Promise<void> {
  const pieces = await chat(cell).stream("break off");
  assertBroken(await failure(APIError, () => joined(pieces)));
}

async function embeddings(cell: Cell): Promise<void> {
  const { baseUrl, token, model } = cell;
  const configuration = { baseURL: baseUrl };
  const embedder = new OpenAIEmbeddings({ model, apiKey: token, configuration, maxRetries: 0 });
  const vectors = await orLacking(() => embedder.embedDocuments(["one", "two"]), "input");
  assert.deepEqual(vectors, [cell.vector, cell.vector]);
}

export const langchain: Checks = {
  ...{ text, stream, usage, tools: toolCall, forced, streamedTools, toolResults, schema, image, hints },
  ...{ errors, limited, broken, embeddings },
  json: (cell) => structured(cell, "jsonMode"),
};
