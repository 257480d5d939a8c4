/**
 * A gateway with a wrapper project before the fake OpenAI, and calls of its paths. What an answer must look like in
 * OpenAI's format is asserted here, once.
 */
import assert from "node:assert/strict";
import { type Answer, at } from "../../spec/kit/client.ts";
import {
  type ConfigParts,
  endpointEntry,
  PROJECT,
  PROVIDER_KEY,
  TOKENS,
  tokenEntry,
} from "../../spec/kit/config.ts";
import type { EventStream } from "../../spec/kit/event-stream.ts";
import { type Closer, type Harness, startGateway } from "../../spec/kit/gateway.ts";
import { fakeProvider } from "../../spec/kit/provider.ts";

type Fields = Readonly<Record<string, unknown>>;

export const BASE = `/api/${PROJECT}/v1`;
export const HELLO = [{ role: "user", content: "Hello" }] as const;

export interface Wrapper extends Harness {
  /** `POST …/v1/chat/completions` of alias `default`. */
  ask(body?: Fields): Promise<Answer>;
  asStream(body?: Fields): Promise<EventStream>;
  /** Any path under the project's `/v1`. */
  post(path: string, body: unknown): Promise<Answer>;
}

export interface WrapperParts extends ConfigParts {
  /** More aliases, after `default`. */
  readonly aliases?: readonly Fields[];
  /** Provider of a credential `other`, at the fake OpenAI's address. */
  readonly other?: string;
}

/** `alias`: fields of alias `default`, on the fake OpenAI unless they say otherwise. */
export async function startWrapper(
  t: Closer,
  alias: Fields = {},
  parts: WrapperParts = {},
): Promise<Wrapper> {
  const { aliases = [], other, ...rest } = parts;
  const provider = await fakeProvider();
  t.after(() => provider.close());
  const elsewhere = { name: "other", provider: other, api_key: PROVIDER_KEY, base_url: provider.url };
  const started = await startGateway(t, {
    ...rest,
    credentials: [...(other === undefined ? [] : [elsewhere]), ...(rest.credentials ?? [])],
    tokens: [tokenEntry("unknown", { name: "both", scopes: ["chat", "models"] }), ...(rest.tokens ?? [])],
    project: {
      type: "ai_wrapper",
      endpoints: [],
      aliases: [endpointEntry({ alias: "default", ...alias }), ...aliases],
      ...rest.project,
    },
  });
  const g = other === undefined ? started : { ...started, provider };
  const post = (path: string, body: unknown): Promise<Answer> =>
    g.client.send(`${BASE}/${path}`, { token: TOKENS.web, body });
  return {
    ...g,
    post,
    ask: (body = {}) => post("chat/completions", { model: "default", messages: HELLO, ...body }),
    asStream: (body = {}) =>
      g.client.stream(`${BASE}/chat/completions`, {
        token: TOKENS.web,
        body: { model: "default", messages: HELLO, stream: true, ...body },
      }),
  };
}

const WORDS = ["stop", "length", "tool_calls", "content_filter", "function_call"];

/** What OpenAI's schema asks of a whole answer. Returns its first message. */
export function assertCompletion(answer: Answer): unknown {
  assert.equal(answer.status, 200, answer.text);
  const { json } = answer;
  assert.equal(at(json, "object"), "chat.completion");
  for (const key of ["id", "model"]) assert.equal(typeof at(json, key), "string");
  assert.ok(Number.isInteger(at(json, "created")));
  const choices = at(json, "choices");
  assert.ok(Array.isArray(choices) && choices.length > 0);
  choices.forEach((choice, n) => {
    assert.equal(at(choice, "index"), n);
    assert.ok(WORDS.includes(String(at(choice, "finish_reason"))), String(at(choice, "finish_reason")));
    assert.notEqual(at(choice, "logprobs"), undefined);
    assert.equal(at(choice, "message", "role"), "assistant");
    for (const key of ["content", "refusal"]) {
      const said = at(choice, "message", key);
      assert.ok(said === null || typeof said === "string", `${key}: ${said}`);
    }
    assertCalls(at(choice, "message", "tool_calls"));
  });
  assertUsage(at(json, "usage"));
  return at(choices, 0, "message");
}

function assertCalls(calls: unknown): void {
  if (calls === undefined) return;
  assert.ok(Array.isArray(calls) && calls.length > 0);
  for (const call of calls) {
    assert.equal(at(call, "type"), "function");
    assert.equal(typeof at(call, "id"), "string");
    for (const key of ["name", "arguments"]) assert.equal(typeof at(call, "function", key), "string");
  }
}

function assertUsage(usage: unknown): void {
  for (const key of ["prompt_tokens", "completion_tokens", "total_tokens"])
    assert.ok(Number.isInteger(at(usage, key)), key);
}

/** What OpenAI's schema asks of each event of a stream. Returns them without the last, which is `[DONE]`. */
export function assertChunks(events: readonly unknown[]): readonly unknown[] {
  assert.equal(events.at(-1), "[DONE]");
  const chunks = events.slice(0, -1).map((event) => (typeof event === "string" ? JSON.parse(event) : event));
  for (const chunk of chunks) {
    assert.equal(at(chunk, "object"), "chat.completion.chunk", JSON.stringify(chunk));
    for (const key of ["id", "model"]) assert.equal(typeof at(chunk, key), "string");
    assert.ok(Number.isInteger(at(chunk, "created")));
    assert.notEqual(at(chunk, "system_fingerprint"), null);
    const choices = at(chunk, "choices");
    assert.ok(Array.isArray(choices));
    for (const choice of choices) {
      assert.ok(Number.isInteger(at(choice, "index")));
      const word = at(choice, "finish_reason");
      assert.ok(word === null || WORDS.includes(String(word)), String(word));
      const delta = at(choice, "delta");
      assert.ok(typeof delta === "object" && delta !== null);
      assert.notEqual(at(delta, "tool_calls"), null);
    }
  }
  return chunks;
}
