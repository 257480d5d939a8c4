/** OpenAI's own SDK for Node. */
import assert from "node:assert/strict";
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  type ClientOptions,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
import { zodFunction } from "openai/helpers/zod";
import { z } from "zod";
import { at } from "../../../spec/kit/at.ts";
import { TIDE } from "../imitation.ts";
import {
  ask,
  CALLS,
  type Cell,
  type Checks,
  countingFetch,
  failure,
  IMAGE,
  STRANGER,
  stoveSchema,
  TURNS,
  tools,
  VendorLacks,
} from "./client-check.ts";

export function sdk({ baseUrl, token }: Cell, options: ClientOptions = {}): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: token, maxRetries: 0, ...options });
}

export function callsOf(calls: readonly OpenAI.ChatCompletionMessageToolCall[] = []): unknown[] {
  return calls.map((call) =>
    call.type === "function" ? [call.function.name, JSON.parse(call.function.arguments)] : call,
  );
}

async function text(cell: Cell): Promise<void> {
  const whole = await sdk(cell).chat.completions.create({ model: cell.model, messages: TURNS });
  assert.equal(whole.choices[0]?.message.content, cell.answer);
  assert.equal(whole.choices[0]?.finish_reason, "stop");
  assert.match(whole._request_id ?? "", /^[0-9a-f-]{36}$/);
  assert.equal(whole.usage?.total_tokens, cell.used);
}

async function stream(cell: Cell): Promise<void> {
  const events = sdk(cell).chat.completions.stream({ model: cell.model, messages: ask("What is on?") });
  const final = await events.finalChatCompletion();
  assert.equal(final.choices[0]?.message.content, cell.answer);
  assert.equal(final.choices[0]?.finish_reason, "stop");
}

async function usage(cell: Cell): Promise<void> {
  const events = sdk(cell).chat.completions.stream({
    model: cell.model,
    messages: ask("What is on?"),
    stream_options: { include_usage: true },
  });
  assert.equal((await events.totalUsage()).total_tokens, cell.usedStreaming);
}

async function toolCall(cell: Cell): Promise<void> {
  const asked = { model: cell.model, messages: ask("the tide?"), tools };
  const called = await sdk(cell).chat.completions.create(asked);
  assert.deepEqual(callsOf(called.choices[0]?.message.tool_calls), CALLS.slice(0, 1));
  assert.equal(called.choices[0]?.finish_reason, "tool_calls");
}

async function forced(cell: Cell): Promise<void> {
  const asked = { model: cell.model, messages: ask("the tide?"), tools, tool_choice: "required" as const };
  const called = await orLacking(() => sdk(cell).chat.completions.create(asked), "tool_choice");
  assert.deepEqual(callsOf(called.choices[0]?.message.tool_calls), CALLS.slice(0, 1));
}

/** What `call` answers, unless it fails since the vendor does not have `field`. */
export async function orLacking<T>(call: () => PromiseLike<T>, field: string): Promise<T> {
  try {
    return await call();
  } catch (error) {
    // LlamaIndex has a copy of this SDK of its own.
    assert.equal(at(error, "status"), 400, String(error));
    assert.deepEqual([at(error, "code"), at(error, "param")], ["unsupported_field", field]);
    throw new VendorLacks(String(error));
  }
}

async function streamedTools(cell: Cell): Promise<void> {
  const asked = { model: cell.model, messages: ask("tide and wind?"), tools };
  const final = await sdk(cell).chat.completions.stream(asked).finalChatCompletion();
  assert.deepEqual(callsOf(final.choices[0]?.message.tool_calls), CALLS);
  assert.equal(final.choices[0]?.finish_reason, "tool_calls");
}

/** The message goes back as it came, from a whole answer and from the helper for streams, which parses arguments. */
async function toolResults(cell: Cell): Promise<void> {
  const { completions } = sdk(cell).chat;
  const asked = { model: cell.model, messages: ask("the tide?"), tools };
  const whole = await completions.create(asked);
  const parsing = [zodFunction({ name: TIDE.name, parameters: z.object({ port: z.string() }) })];
  const streamed = await completions.stream({ ...asked, tools: parsing }).finalChatCompletion();
  for (const { message } of [...whole.choices, ...streamed.choices]) {
    const id = message.tool_calls?.[0]?.id;
    assert.ok(id !== undefined);
    const result = { role: "tool" as const, tool_call_id: id, content: "14:10" };
    const back = await completions.create({ ...asked, messages: [...asked.messages, message, result] });
    assert.equal(back.choices[0]?.message.content, cell.answer);
  }
}

async function json(cell: Cell, response_format: OpenAI.ChatCompletionCreateParams["response_format"]) {
  const asked = {
    model: cell.model,
    messages: ask("the stove as JSON"),
    ...(response_format && { response_format }),
  };
  const answer = await sdk(cell).chat.completions.create(asked);
  assert.deepEqual(JSON.parse(answer.choices[0]?.message.content ?? ""), cell.stove);
}

async function image(cell: Cell): Promise<void> {
  const picture = { type: "image_url" as const, image_url: { url: IMAGE } };
  const answer = await sdk(cell).chat.completions.create({
    model: cell.model,
    messages: [{ role: "user", content: [{ type: "text", text: "the picture?" }, picture] }],
  });
  assert.equal(answer.choices[0]?.message.content, cell.answer);
}

async function hints(cell: Cell): Promise<void> {
  const marked = { type: "text" as const, text: "What is on?", cache_control: { type: "ephemeral" } };
  const answer = await sdk(cell).chat.completions.create({
    model: cell.model,
    messages: [{ role: "user", content: [marked] }],
    ...{ tools, parallel_tool_calls: false, reasoning_effort: "low", user: "u-1" },
  });
  assert.equal(answer.choices[0]?.message.content, cell.answer);
}

async function errors(cell: Cell): Promise<void> {
  const counting = countingFetch();
  const { completions } = sdk(cell, { fetch: counting.fetch, maxRetries: 1 }).chat;
  const stranger = sdk(cell, { apiKey: STRANGER, fetch: counting.fetch, maxRetries: 1 }).chat.completions;
  const asked = { model: cell.model, messages: ask("x") };
  const wrong = await failure(BadRequestError, () => completions.create({ ...asked, temperature: 9 }));
  assert.deepEqual(
    [wrong.code, wrong.type, wrong.param],
    ["invalid_field", "invalid_request_error", "temperature"],
  );
  const denied = await failure(AuthenticationError, () => stranger.create(asked));
  assert.deepEqual([denied.code, denied.type], ["token_invalid", "authentication_error"]);
  const absent = await failure(NotFoundError, () => completions.create({ ...asked, model: "none" }));
  assert.deepEqual([absent.code, absent.type], ["alias_not_found", "not_found_error"]);
  assert.match(absent.message, /Alias 'none' not found or inactive\./);
  const refused = await failure(InternalServerError, () =>
    completions.create({ ...asked, messages: ask("refuse this") }),
  );
  assert.equal(refused.type, "server_error");
  for (const error of [wrong, denied, absent, refused])
    assert.match(error.requestID ?? "", /^[0-9a-f-]{36}$/);
  assert.equal(counting.count(), 4, "what cannot work was sent again");
}

async function limited(cell: Cell): Promise<void> {
  const call = () => sdk(cell).chat.completions.create({ model: cell.limited, messages: ask("What is on?") });
  await call();
  const error = await failure(RateLimitError, call);
  assert.deepEqual([error.code, error.type], ["rate_limited", "rate_limit_error"]);
  assert.equal(error.headers.get("retry-after"), "60");
}

/** A stream that breaks off is an error of the SDK without a status, with what the gateway says of it. */
export function assertBroken(error: APIError): void {
  assert.equal(error.status, undefined, "the error came before the stream");
  assert.deepEqual([error.code, error.type], ["provider_failed", "server_error"]);
  assert.match(error.message, /^Provider call failed: /);
}

async function broken(cell: Cell): Promise<void> {
  const events = await sdk(cell).chat.completions.create({
    model: cell.model,
    messages: ask("break off"),
    stream: true,
  });
  let said = "";
  const read = async (): Promise<void> => {
    for await (const event of events) said += event.choices[0]?.delta.content ?? "";
  };
  assertBroken(await failure(APIError, read));
  assert.ok(said !== "" && cell.answer.startsWith(said), said);
}

async function embeddings(cell: Cell): Promise<void> {
  const asked = { model: cell.model, input: ["one", "two"] };
  const { data, usage: used } = await orLacking(() => sdk(cell).embeddings.create(asked), "input");
  assert.deepEqual(
    data.map(({ index, embedding }) => [index, embedding]),
    [
      [0, cell.vector],
      [1, cell.vector],
    ],
  );
  assert.equal(typeof used.prompt_tokens, "number");
}

export const openai: Checks = {
  ...{ text, stream, usage, tools: toolCall, forced, streamedTools, toolResults, image, hints, errors },
  ...{ limited, broken, embeddings },
  schema: (cell) =>
    json(cell, { type: "json_schema", json_schema: { name: "stove", strict: true, schema: stoveSchema } }),
  json: (cell) => json(cell, { type: "json_object" }),
};
