/** LlamaIndex for Node, with its OpenAI package. */
import assert from "node:assert/strict";
import { FunctionTool } from "@llamaindex/core/tools";
import { OpenAI as LlamaIndex, OpenAIEmbedding } from "@llamaindex/openai";
import { z } from "zod";
import { at } from "../../../spec/kit/at.ts";
import { PORT, TIDE } from "../imitation.ts";
import {
  ask,
  CALLS,
  type Cell,
  type Checks,
  failureNamed,
  IMAGE,
  parameters,
  STRANGER,
  TURNS,
} from "./client-check.ts";
import { orLacking } from "./openai.ts";

const Stove = z.object({ kettle: z.boolean(), pans: z.number() });

type Options = Partial<ConstructorParameters<typeof LlamaIndex>[0]>;

function chat({ baseUrl, token, model }: Cell, options: Options = {}): LlamaIndex {
  return new LlamaIndex({ model, apiKey: token, baseURL: baseUrl, maxRetries: 0, ...options });
}

const tools = [TIDE, PORT].map(({ name }) =>
  FunctionTool.from(() => "14:10", { name, description: "Looks up a port.", parameters }),
);

function callsOf(calls: readonly { readonly name: string; readonly input: unknown }[]): unknown[] {
  return calls.map(({ name, input }) => [name, typeof input === "string" ? JSON.parse(input) : input]);
}

async function text(cell: Cell): Promise<void> {
  const { message, raw } = await chat(cell).chat({ messages: TURNS });
  assert.equal(message.content, cell.answer);
  assert.equal(at(raw, "choices", 0, "finish_reason"), "stop");
  assert.equal(at(raw, "usage", "total_tokens"), cell.used);
}

async function streamed(cell: Cell, content: string, additionalChatOptions: object = {}) {
  const pieces = await chat(cell, { additionalChatOptions }).chat({ messages: ask(content), stream: true });
  let said = "";
  let last: unknown;
  for await (const piece of pieces) {
    said += piece.delta;
    last = piece.raw;
  }
  return { said, last };
}

async function stream(cell: Cell): Promise<void> {
  assert.equal((await streamed(cell, "What is on?")).said, cell.answer);
}

async function usage(cell: Cell): Promise<void> {
  const { last } = await streamed(cell, "What is on?", { stream_options: { include_usage: true } });
  assert.equal(at(last, "usage", "total_tokens"), cell.usedStreaming);
}

async function toolCall(cell: Cell): Promise<void> {
  const called = await chat(cell).exec({ messages: ask("the tide?"), tools });
  assert.deepEqual(callsOf(called.toolCalls), CALLS.slice(0, 1));
}

async function forced(cell: Cell): Promise<void> {
  const forcing = chat(cell, { additionalChatOptions: { tool_choice: "required" } });
  const called = await orLacking(() => forcing.exec({ messages: ask("the tide?"), tools }), "tool_choice");
  assert.deepEqual(callsOf(called.toolCalls), CALLS.slice(0, 1));
}

/** A call is told with each of its pieces, as text, and when it is whole as what the text says. */
async function streamedTools(cell: Cell): Promise<void> {
  const calls: unknown[] = [];
  const pieces = await chat(cell).chat({ messages: ask("tide and wind?"), tools, stream: true });
  for await (const { options = {} } of pieces)
    for (const call of "toolCall" in options ? options.toolCall : [])
      if (typeof call.input === "object") calls.push(...callsOf([call]));
  assert.deepEqual(calls, CALLS);
}

async function toolResults(cell: Cell): Promise<void> {
  const called = await chat(cell).exec({ messages: ask("the tide?"), tools });
  const messages = [...ask("the tide?"), ...called.newMessages];
  const back = await chat(cell).exec({ messages, tools });
  assert.equal(back.newMessages[0]?.content, cell.answer);
}

async function schema(cell: Cell): Promise<void> {
  const answer = await chat(cell).chat({ messages: ask("the stove as JSON"), responseFormat: Stove });
  assert.deepEqual(JSON.parse(String(answer.message.content)), cell.stove);
}

async function json(cell: Cell): Promise<void> {
  const responseFormat = { type: "json_object" as const };
  const answer = await chat(cell).chat({ messages: ask("the stove as JSON"), responseFormat });
  assert.deepEqual(JSON.parse(String(answer.message.content)), cell.stove);
}

async function image(cell: Cell): Promise<void> {
  const picture = { type: "image_url" as const, image_url: { url: IMAGE } };
  const content = [{ type: "text" as const, text: "the picture?" }, picture];
  const answer = await chat(cell).chat({ messages: [{ role: "user", content }] });
  assert.equal(answer.message.content, cell.answer);
}

async function hints(cell: Cell): Promise<void> {
  const additionalChatOptions = { user: "u-1", reasoning_effort: "low" as const, parallel_tool_calls: false };
  const answer = await chat(cell, { additionalChatOptions }).chat({ messages: ask("What is on?"), tools });
  assert.equal(answer.message.content, cell.answer);
}

/** The package has a copy of OpenAI's SDK of its own, whose classes have the same names. */
const told = (error: Error): unknown[] => ["code", "type"].map((member) => at(error, member));

async function errors(cell: Cell): Promise<void> {
  const asked = { messages: ask("x") };
  const wrong = await failureNamed("BadRequestError", () => chat(cell, { temperature: 9 }).chat(asked));
  assert.deepEqual(told(wrong), ["invalid_field", "invalid_request_error"]);
  assert.equal(at(wrong, "param"), "temperature");
  const denied = await failureNamed("AuthenticationError", () =>
    chat(cell, { apiKey: STRANGER }).chat(asked),
  );
  assert.deepEqual(told(denied), ["token_invalid", "authentication_error"]);
  const absent = await failureNamed("NotFoundError", () => chat({ ...cell, model: "none" }).chat(asked));
  assert.deepEqual(told(absent), ["alias_not_found", "not_found_error"]);
  const refusing = () => chat(cell).chat({ messages: ask("refuse this") });
  assert.equal(at(await failureNamed("InternalServerError", refusing), "type"), "server_error");
}

async function limited(cell: Cell): Promise<void> {
  const call = () => chat({ ...cell, model: cell.limited }).chat({ messages: ask("What is on?") });
  await call();
  const error = await failureNamed("RateLimitError", call);
  assert.deepEqual(told(error), ["rate_limited", "rate_limit_error"]);
  const headers = at(error, "headers");
  assert.equal(headers instanceof Headers ? headers.get("retry-after") : at(headers, "retry-after"), "60");
}

async function broken(cell: Cell): Promise<void> {
  const error = await failureNamed("APIError", () => streamed(cell, "break off"));
  assert.deepEqual(told(error), ["provider_failed", "server_error"]);
  assert.match(error.message, /^Provider call failed: /);
}

async function embeddings(cell: Cell): Promise<void> {
  const { model, token, baseUrl } = cell;
  const embedder = new OpenAIEmbedding({ model, apiKey: token, baseURL: baseUrl, maxRetries: 0 });
  const vector = await orLacking(() => embedder.getTextEmbedding("one"), "input");
  assert.deepEqual(vector, cell.vector);
}

export const llamaIndex: Checks = {
  ...{ text, stream, usage, tools: toolCall, forced, streamedTools, toolResults, schema, json, image },
  ...{ hints, errors, limited, broken, embeddings },
};
