/**
 * Checks that a provider keeps its contract: every combination of settings, tools and content is encoded or named as
 * unsupported, and no answer makes it throw, whatever a network or a vendor does to it.
 *
 *     testProvider(acmeModels, {
 *       answers: [{ body: '{"words":"Yes."}', text: "Yes." }],
 *       streams: [{ body: '{"words":"Ye"}\n{"words":"s."}\n{"why":"done"}\n', text: "Yes." }],
 *     });
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallOptions, ChatChunk, JsonObject, Message, ProviderRequest } from "../plugin/chat.ts";
import type { ProviderPlugin } from "../plugin/contract.ts";
import { type Credential, isFailure, type StreamDecoder, type WireFormat } from "../plugin/provider.ts";
import { constraintsOf, fitSettings } from "../plugin/settings.ts";
import { isChatChunk, isChatResult, isProviderFailure, isWireRequest } from "../plugin-guard/answers.ts";
import { framing } from "../upstream/framing.ts";
import { checkPluginShape, type PluginCheck } from "./plugin-checks.ts";
import { type TestHost, testHost } from "./test-host.ts";

/** A body as the vendor sends it, and the text that the client gets of it. @since 0.2.0 */
export interface RecordedAnswer {
  readonly body: string;
  readonly text: string;
}

/** What a provider is tested with. @since 0.2.0 */
export interface ProviderCases<C> {
  /** A credential's `options`; checked against the schema. Default `{}`. */
  readonly options?: C;
  /** Default `model-1`. */
  readonly model?: string;
  /** Whole answers of status 200. */
  readonly answers?: readonly RecordedAnswer[];
  /** Bodies of streamed answers, complete, with their framing. */
  readonly streams?: readonly RecordedAnswer[];
  /** Default: a new `testHost()`. */
  readonly host?: TestHost;
}

/** Longest body that is cut at every byte; a longer one is cut at this many positions, evenly spaced. */
const CUTS_MAX = 1000;

/** Registers all checks with Node's test runner. @since 0.2.0 */
export function testProvider<C>(plugin: ProviderPlugin<C>, cases: ProviderCases<C> = {}): void {
  for (const { name, run } of providerChecks(plugin, cases)) test(name, run);
}

/**
 * The checks themselves, for other runners. A plugin that returns a `Provider` of its own has only the first one.
 * @since 0.2.0
 */
export function providerChecks<C>(
  plugin: ProviderPlugin<C>,
  cases: ProviderCases<C> = {},
): readonly PluginCheck[] {
  const { answers = [], streams = [], host = testHost({ plugin: plugin.name }) } = cases;
  // A provider without required options takes none.
  const options = cases.options ?? ({} as C);
  const withFormat = (name: string, check: (format: WireFormat) => void): PluginCheck => ({
    name: `${plugin.name} ${name}`,
    run: async () => {
      const made = await plugin.setup(options, host);
      if ("encode" in made) check(made);
    },
  });
  const model = cases.model ?? "model-1";
  return [
    {
      name: `${plugin.name} is a provider`,
      run: () => checkPluginShape(plugin, { kind: "provider", options, host }),
    },
    withFormat("encodes every request or names the field it does not support", (format) => {
      const credential = {
        name: "test",
        apiKey: "test-key",
        baseUrl: plugin.defaultBaseUrl ?? "https://api.test",
      };
      const constraints = constraintsOf(plugin, options);
      for (const [what, asked] of requests(model)) {
        const { settings } = fitSettings(constraints, model, asked);
        for (const stream of [false, true])
          checkEncoding(format, { what, request: settings, credential, stream });
      }
    }),
    withFormat("fails on answers that are not the vendor's, and does not throw", (format) => {
      for (const body of [...FOREIGN_BODIES, ...answers.flatMap(({ body }) => damaged(body))]) {
        checkWhole(format, body);
        for (const status of [300, 400, 401, 404, 429, 500, 503]) checkFailure(format, status, body);
      }
    }),
    ...answers.map(({ body, text }) =>
      withFormat(`reads an answer: ${shown(body)}`, (format) => {
        const result = format.decode(body);
        assert.ok(!isFailure(result), `it is a failure: ${isFailure(result) ? result.reason : ""}`);
        assert.equal(result.content, text);
      }),
    ),
    withFormat("survives events that are not the vendor's", (format) => {
      for (const body of FOREIGN_BODIES) {
        const decoder = format.decoder();
        const failed = decoder.event("", body, []);
        if (failed !== undefined)
          assert.ok(isProviderFailure(failed), "event returns a failure made with failure()");
      }
    }),
    ...streams.map((recorded) =>
      withFormat(`reads a stream: ${shown(recorded.body)}`, (format) => checkStream(format, recorded)),
    ),
  ];
}

interface Encoding {
  readonly what: string;
  readonly request: ProviderRequest;
  readonly credential: Credential;
  readonly stream: boolean;
}

function checkEncoding(format: WireFormat, { what, request, credential, stream }: Encoding): void {
  const before = JSON.stringify(request);
  if (request.options !== undefined) {
    for (const field of format.dropped?.(request) ?? [])
      assert.match(field, /\S/, `${what}: a dropped hint has a name`);
    const field = format.unsupported?.(request, stream);
    if (field !== undefined) return assert.match(field, /\S/, `${what}: the unsupported field has a name`);
  }
  const encoded = format.encode(request, credential, stream);
  assert.ok(isWireRequest(encoded), `${what}: encode returns method, url, headers and body`);
  assert.ok(URL.canParse(encoded.url), `${what}: ${encoded.url} is not an absolute URL`);
  for (const name of Object.keys(encoded.headers))
    assert.equal(name, name.toLowerCase(), `${what}: header names are in lower case`);
  assert.ok(
    !encoded.body.includes(credential.apiKey),
    `${what}: the API key belongs in a header, not in the body`,
  );
  assert.equal(JSON.stringify(request), before, `${what}: encode must not change the request`);
}

function checkWhole(format: WireFormat, body: string): void {
  const result = format.decode(body);
  const isValid = isFailure(result) ? isProviderFailure(result) : isChatResult(result);
  assert.ok(isValid, `decode of ${shown(body)} returns neither a valid answer nor a failure`);
}

function checkFailure(format: WireFormat, status: number, body: string): void {
  const failed = format.failure(status, {}, body);
  assert.ok(
    isProviderFailure(failed),
    `failure of status ${status} and ${shown(body)} is not a valid failure`,
  );
  assert.ok(!/[\r\n]/.test(failed.reason), `the reason for ${shown(body)} has more than one line`);
}

/** What became of a stream that a decoder has read. */
interface Reading {
  readonly chunks: readonly ChatChunk[];
  readonly text: string;
  readonly failed: boolean;
  readonly complete: boolean;
}

function checkStream(format: WireFormat, { body, text }: RecordedAnswer): void {
  const bytes = Buffer.from(body);
  const whole = read(format, [bytes]);
  assert.ok(!whole.failed, "it is a failure");
  assert.equal(whole.text, text);
  assert.ok(whole.complete, "the decoder is not complete at the end: it has not seen the completion signal");
  assert.equal(
    read(
      format,
      [...bytes].map((byte) => Buffer.of(byte)),
    ).text,
    text,
    "read byte by byte",
  );
  const step = Math.max(1, Math.ceil(bytes.length / CUTS_MAX));
  for (let at = 1; at < bytes.length; at += step) {
    const pieces = read(format, [bytes.subarray(0, at), bytes.subarray(at)]);
    assert.deepEqual(contents(pieces), contents(whole), `cut at byte ${at} it is another stream`);
    const broken = read(format, [bytes.subarray(0, at)]);
    assert.ok(
      text.startsWith(broken.text) || broken.failed,
      `ended at byte ${at} it has text that was not sent`,
    );
  }
  const events = eventsOf(format, body);
  for (let n = 0; n < events.length; n++) {
    const event = events[n];
    if (event === undefined) continue;
    decode(format.decoder(), events.toSpliced(n, 1));
    decode(format.decoder(), events.toSpliced(n, 0, event));
    for (const damage of damaged(event[1]))
      decode(format.decoder(), events.toSpliced(n, 1, [event[0], damage]));
  }
}

/** Without ids, which the decoder makes where the vendor has none. */
function contents({ chunks }: Reading): readonly object[] {
  return chunks.map(({ text, toolCalls, finishReason, usage }) => {
    const calls = toolCalls?.map(({ index, name, arguments: args }) => ({ index, name, args }));
    return { text, calls, finishReason, usage };
  });
}

type Event = readonly [name: string, text: string];

function eventsOf({ framing: kind }: WireFormat, body: string): readonly Event[] {
  const events: Event[] = [];
  const frames = framing(kind, (name, text) => void events.push([name, text]));
  assert.ok(frames.push(Buffer.from(body)) && frames.end(), "a line or event is over the size limit");
  return events;
}

function read(format: WireFormat, pieces: readonly Uint8Array[]): Reading {
  const events: Event[] = [];
  const frames = framing(format.framing, (name, text) => void events.push([name, text]));
  // Copies, since a network read's buffer is used again.
  for (const piece of pieces)
    assert.ok(frames.push(Buffer.from(piece)), "a line or event is over the size limit");
  frames.end();
  return decode(format.decoder(), events);
}

function decode(decoder: StreamDecoder, events: readonly Event[]): Reading {
  const chunks: ChatChunk[] = [];
  let failed = false;
  for (const [name, text] of events) {
    // The gateway's: decoders do not see it.
    if (text.startsWith("[DONE]")) break;
    const failure = decoder.event(name, text, chunks);
    if (failure === undefined) continue;
    assert.ok(isProviderFailure(failure), `event of ${shown(text)} returns something that is not a failure`);
    failed = true;
    break;
  }
  if (!failed) failed = decoder.end?.(chunks) !== undefined;
  for (const chunk of chunks) assert.ok(isChatChunk(chunk), "a chunk is made with eventChunk or textChunk");
  assert.equal(typeof decoder.id, "string", "`id` is a string");
  assert.equal(typeof decoder.model, "string", "`model` is a string");
  return { chunks, text: chunks.map(({ text }) => text).join(""), failed, complete: decoder.complete };
}

/** Bodies that no vendor means. */
const FOREIGN_BODIES: readonly string[] = [
  ...["", " ", "null", "true", "0", '""', "[]", "{}", "[null]", "{", '{"a":', "<html>502</html>", "\0\uffff"],
  ...['{"error":null}', '{"error":"no"}', '{"error":{"message":{"message":[]}}}', '{"choices":[null]}'],
  `${"[".repeat(5000)}${"]".repeat(5000)}`,
];

/** The body with each of its JSON values replaced, and cut short. */
function damaged(body: string): readonly string[] {
  const step = Math.max(1, Math.ceil(body.length / 100));
  const cut = Array.from({ length: Math.ceil(body.length / step) }, (_, n) => body.slice(0, n * step));
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return cut;
  }
  const replaced: string[] = [];
  for (const value of [null, [], {}, "", -1, 1e308, true])
    for (let n = 0, isOver = false; !isOver && n < CUTS_MAX; n++) {
      let at = 0;
      const text = JSON.stringify(json, (_key, old: unknown) => (at++ === n ? value : old));
      isOver = at <= n;
      if (!isOver && text !== undefined) replaced.push(text);
    }
  return [...cut, ...replaced];
}

/** Requests that a gateway may send, each with a name for messages. */
function* requests(model: string): Iterable<readonly [string, ProviderRequest]> {
  const unset = {
    temperature: undefined,
    topP: undefined,
    maxOutputTokens: undefined,
    responseSchema: undefined,
  };
  const schema: JsonObject = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  const set = { temperature: 0.5, topP: 0.9, maxOutputTokens: 100, responseSchema: schema };
  for (const [conversation, messages] of Object.entries(CONVERSATIONS))
    for (const [name, options] of Object.entries(OPTIONS)) {
      yield [`${conversation}, ${name}`, { model, messages, ...unset, options }];
      yield [`${conversation}, ${name}, all settings`, { model, messages, ...set, options }];
    }
}

const TOOL_CALL = { id: "call_1", name: "look_up", arguments: '{"word":"tide"}' };

const CONVERSATIONS: Readonly<Record<string, readonly Message[]>> = {
  "one message": [{ role: "user", content: "Hello." }],
  "no text": [{ role: "user", content: "" }],
  "a system prompt": [
    { role: "system", content: "Answer briefly." },
    { role: "user", content: "Hello." },
    { role: "assistant", content: "Hi." },
    { role: "user", content: "Ahoy \u{1f6a2} \ud800" },
  ],
  "an image": [
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image", url: "data:image/png;base64,iVBORw0KGgo=" },
      ],
    },
  ],
  "a tool's result": [
    { role: "user", content: "When is high tide?" },
    { role: "assistant", content: "", toolCalls: [TOOL_CALL] },
    { role: "tool", content: "At noon.", toolCallId: TOOL_CALL.id },
  ],
};

const TOOL = {
  name: "look_up",
  description: "Looks a word up.",
  parameters: { type: "object", properties: { word: { type: "string" } } },
};

const OPTIONS: Readonly<Record<string, CallOptions | undefined>> = {
  "no options": undefined,
  "empty options": {},
  stop: { stop: ["END"] },
  seed: { seed: 7 },
  "several answers": { n: 2 },
  penalties: { frequencyPenalty: 1, presencePenalty: -1 },
  user: { user: "user-1" },
  JSON: { json: true },
  "tools, choice auto": { tools: [TOOL], toolChoice: "auto" },
  "tools, choice none": { tools: [TOOL], toolChoice: "none" },
  "tools, choice required": { tools: [TOOL], toolChoice: "required", parallelToolCalls: false },
  "tools, choice by name": { tools: [TOOL], toolChoice: { name: "look_up" } },
  embeddings: { embed: { dimensions: 8 } },
  "fields of OpenAI alone": { extra: { logit_bias: { "1": 2 }, service_tier: "flex" } },
};

function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
