/**
 * The fake OpenAI behind the gateway: the fake upstream, with words for what the specification's tests want of it.
 * Each thing it is told is played for one call, the last one for every call after it.
 */
import {
  type FakeUpstream,
  fakeUpstream,
  type HandPlayedStream,
  handPlayedStream,
  jsonAnswer,
  type ScriptedAnswer,
  sseAnswer,
  statusAnswer,
  type UpstreamRequest,
} from "../../../src/testing/fake-upstream.ts";
import { at } from "./client.ts";
import { PROVIDER_KEY } from "./config.ts";

export interface Words {
  readonly id?: string;
  readonly model?: string;
  readonly finish?: string;
  /** Present and undefined: the provider reports none. */
  readonly usage?:
    | { readonly prompt: number; readonly completion: number; readonly cached?: number }
    | undefined;
}

export interface FakeProvider extends FakeUpstream {
  /** The key that calls must come with. */
  readonly key: string;
  /** The latest request. */
  readonly last: UpstreamRequest;
  /** A field of the latest request's JSON body. */
  sent(field: string): unknown;
  /** Answers with this text, whole or streamed as it is asked. */
  says(text: string, words?: Words): void;
  /** Answers with these pieces of text, one event each. */
  streams(pieces: readonly string[], words?: Words): void;
  failsWith(status: number, message?: string): void;
  /** A stream that the test plays by hand. */
  opens(): HandPlayedStream;
}

export async function fakeProvider(): Promise<FakeProvider> {
  const upstream = await fakeUpstream();
  const last = (): UpstreamRequest => {
    const request = upstream.requests.at(-1);
    if (request === undefined) throw new Error("the provider was not asked");
    return request;
  };
  const streams = (pieces: readonly string[], words: Words = {}): ScriptedAnswer => {
    const whole = jsonAnswer(completion(pieces.join(""), words));
    const events = sseAnswer(chunks(pieces, words));
    return (response, request) => (asksForStream(request) ? events : whole)(response, request);
  };
  return {
    ...upstream,
    key: PROVIDER_KEY,
    get last() {
      return last();
    },
    sent: (field) => at(JSON.parse(last().body), field),
    says: (text, words) => upstream.answer(streams([text], words)),
    streams: (pieces, words) => upstream.answer(streams(pieces, words)),
    failsWith: (status, message = "out of order") =>
      upstream.answer(statusAnswer(status, { error: { message } })),
    opens() {
      const stream = handPlayedStream();
      upstream.answer(stream.answer);
      return stream;
    },
  };
}

/** A whole answer in OpenAI's shape. */
export function completion(content: string, words: Words = {}): object {
  return {
    id: words.id ?? "chatcmpl-fake",
    object: "chat.completion",
    created: 1_770_000_000,
    model: words.model ?? "gpt-4o-mini",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: words.finish ?? "stop" }],
    usage: usageOf(words),
  };
}

/** One chunk in OpenAI's shape. `finish`: its finish_reason. */
export function chunk(delta: object, finish: string | null = null, words: Words = {}): object {
  return { ...chunkHead(words), choices: [{ index: 0, delta, finish_reason: finish }] };
}

/** The last chunk of a stream: usage and no choices. */
export function usageChunk(words: Words = {}): object {
  return { ...chunkHead(words), choices: [], usage: usageOf(words) };
}

function chunks(pieces: readonly string[], words: Words): unknown[] {
  return [
    chunk({ role: "assistant", content: "" }, null, words),
    ...pieces.map((content) => chunk({ content }, null, words)),
    chunk({}, words.finish ?? "stop", words),
    ...(usageOf(words) === undefined ? [] : [usageChunk(words)]),
    "[DONE]",
  ];
}

function chunkHead({ id = "chatcmpl-fake", model = "gpt-4o-mini" }: Words): object {
  return { id, object: "chat.completion.chunk", created: 1_770_000_000, model };
}

function usageOf(words: Words): object | undefined {
  if (Object.hasOwn(words, "usage") && words.usage === undefined) return undefined;
  const { prompt, completion, cached } = words.usage ?? { prompt: 5, completion: 2 };
  const details = cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } };
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...details,
  };
}

function asksForStream(request: UpstreamRequest): boolean {
  return at(JSON.parse(request.body), "stream") === true;
}
