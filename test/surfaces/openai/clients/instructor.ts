/** Instructor for Node over OpenAI's SDK: it reads objects out of answers, and passes on calls without a model of one. */
import assert from "node:assert/strict";
import Instructor from "@instructor-ai/instructor";
import type OpenAI from "openai";
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
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
import { assertBroken, callsOf, orLacking, sdk } from "./openai.ts";

type Mode = "TOOLS" | "JSON" | "JSON_SCHEMA";

const response_model = {
  schema: z.object({ kettle: z.boolean(), pans: z.number() }),
  name: "Stove",
};

function over(client: OpenAI, mode: Mode = "TOOLS") {
  return Instructor({ client, mode }).chat.completions;
}

async function text(cell: Cell): Promise<void> {
  const whole = await over(sdk(cell)).create({ model: cell.model, messages: TURNS });
  assert.equal(whole.choices[0]?.message.content, cell.answer);
  assert.equal(whole.choices[0]?.finish_reason, "stop");
  assert.equal(whole.usage?.total_tokens, cell.used);
}

/** Grows with each piece of the stream. */
async function stream(cell: Cell): Promise<void> {
  const objects = await over(sdk(cell)).create({
    model: cell.model,
    messages: ask("the stove?"),
    response_model,
    stream: true,
  });
  let last: unknown;
  for await (const object of objects) last = stoveIn(object);
  assert.deepEqual(last, cell.stove);
}

function stoveIn(object: { readonly kettle?: unknown; readonly pans?: unknown }): unknown {
  return { kettle: object.kettle, pans: object.pans };
}

async function usage(cell: Cell): Promise<void> {
  const events = await over(sdk(cell)).create({
    model: cell.model,
    messages: ask("What is on?"),
    stream: true,
    stream_options: { include_usage: true },
  });
  let total = 0;
  for await (const event of events) total += event.usage?.total_tokens ?? 0;
  assert.equal(total, cell.usedStreaming);
}

async function structured(cell: Cell, mode: Mode): Promise<void> {
  const asked = { model: cell.model, messages: ask("the stove as JSON"), response_model };
  assert.deepEqual(stoveIn(await over(sdk(cell), mode).create(asked)), cell.stove);
}

async function forced(cell: Cell): Promise<void> {
  const asked = { model: cell.model, messages: ask("the tide?"), tools, tool_choice: "required" as const };
  const called = await orLacking(() => over(sdk(cell)).create(asked), "tool_choice");
  assert.deepEqual(callsOf(called.choices[0]?.message.tool_calls), CALLS.slice(0, 1));
}

async function toolResults(cell: Cell): Promise<void> {
  const call = { id: "call_1", type: "function" as const, function: { name: "get_tide", arguments: "{}" } };
  const messages = [
    ...ask("the tide?"),
    { role: "assistant" as const, content: null, tool_calls: [call] },
    { role: "tool" as const, tool_call_id: call.id, content: "14:10" },
  ];
  const back = await over(sdk(cell)).create({ model: cell.model, messages, tools });
  assert.equal(back.choices[0]?.message.content, cell.answer);
}

async function image(cell: Cell): Promise<void> {
  const picture = { type: "image_url" as const, image_url: { url: IMAGE } };
  const content = [{ type: "text" as const, text: "the picture?" }, picture];
  const messages = [{ role: "user" as const, content }];
  const answer = await over(sdk(cell)).create({ model: cell.model, messages, response_model });
  assert.deepEqual(stoveIn(answer), cell.stove);
}

async function hints(cell: Cell): Promise<void> {
  const marked = { type: "text" as const, text: "the stove?", cache_control: { type: "ephemeral" } };
  const answer = await over(sdk(cell)).create({
    model: cell.model,
    messages: [{ role: "user", content: [marked] }],
    response_model,
    ...{ parallel_tool_calls: false, reasoning_effort: "low", user: "u-1" },
  });
  assert.deepEqual(stoveIn(answer), cell.stove);
}

async function errors(cell: Cell): Promise<void> {
  const asked = { model: cell.model, messages: ask("the stove?"), response_model };
  const wrong = await failure(BadRequestError, () => over(sdk(cell)).create({ ...asked, temperature: 9 }));
  assert.deepEqual(
    [wrong.code, wrong.type, wrong.param],
    ["invalid_field", "invalid_request_error", "temperature"],
  );
  const stranger = over(sdk(cell, { apiKey: STRANGER }));
  const denied = await failure(AuthenticationError, () => stranger.create(asked));
  assert.deepEqual([denied.code, denied.type], ["token_invalid", "authentication_error"]);
  const absent = await failure(NotFoundError, () => over(sdk(cell)).create({ ...asked, model: "none" }));
  assert.deepEqual([absent.code, absent.type], ["alias_not_found", "not_found_error"]);
  const refused = await failure(InternalServerError, () =>
    over(sdk(cell)).create({ model: cell.model, messages: ask("refuse this") }),
  );
  assert.equal(refused.type, "server_error");
}

async function limited(cell: Cell): Promise<void> {
  const asked = { model: cell.limited, messages: ask("the stove?"), response_model };
  await over(sdk(cell)).create(asked);
  const error = await failure(RateLimitError, () => over(sdk(cell)).create(asked));
  assert.deepEqual([error.code, error.type], ["rate_limited", "rate_limit_error"]);
  assert.equal(error.headers.get("retry-after"), "60");
}

async function broken(cell: Cell): Promise<void> {
  const asked = { model: cell.model, messages: ask("break off"), stream: true as const };
  const events = await over(sdk(cell)).create(asked);
  const read = async (): Promise<void> => {
    for await (const event of events) void event;
  };
  assertBroken(await failure(APIError, read));
}

export const instructor: Checks = {
  ...{ text, stream, usage, forced, toolResults, image, hints, errors, limited, broken },
  tools: (cell) => structured(cell, "TOOLS"),
  schema: (cell) => structured(cell, "JSON_SCHEMA"),
  json: (cell) => structured(cell, "JSON"),
};
