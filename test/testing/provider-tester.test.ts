/** The tester of providers passes the built-in ones, and finds each kind of mistake. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineProvider, failure, type WireFormat } from "sluice/provider";
import { providerChecks, testHost } from "sluice/testing";
import { BUILT_IN } from "../../src/plugins-host/builtin.ts";
import { ANSWER_SHAPES, streamText } from "../fuzz/answer-shapes.ts";

for (const shape of ANSWER_SHAPES) {
  test(`${shape.provider} passes every check of its recorded answers`, async () => {
    const plugin = BUILT_IN.find(({ kind, name }) => kind === "provider" && name === shape.provider);
    assert.ok(plugin?.kind === "provider");
    const checks = providerChecks(plugin, {
      // Its schema accepts no options; `BUILT_IN` does not say which type they have.
      options: {} as never,
      model: shape.model,
      answers: [{ body: JSON.stringify(shape.whole), text: "High tide." }],
      streams: [{ body: streamText(shape), text: "High tide." }],
    });
    assert.equal(checks.length, 6);
    for (const { name, run } of checks) await assert.doesNotReject(run(), name);
  });
}

const head = {
  ...{ name: "murmur", label: "Murmur", description: "A vendor of one format.", needsApiKey: true },
  ...{ schema: { type: "object", additionalProperties: false }, examples: [{}] },
  defaultBaseUrl: "https://murmur.example",
};

/** The whole of a stream is `{"text":"…"}` lines, then `{"done":true}`. */
function format(changes: Partial<WireFormat> = {}): WireFormat {
  const broken = failure({ status: 200, reason: "broken", retryable: true, accepted: true });
  const textOf = (body: string): string | undefined => {
    try {
      const { text } = JSON.parse(body);
      return typeof text === "string" ? text : undefined;
    } catch {
      return undefined;
    }
  };
  return {
    framing: "ndjson",
    encode: ({ messages }, { baseUrl, apiKey }) => ({
      ...{ method: "POST", url: `${baseUrl}/ask`, headers: { authorization: apiKey } },
      body: JSON.stringify(messages),
    }),
    decode(body) {
      const text = textOf(body);
      return text === undefined ? broken : { id: "1", model: "m", content: text, finishReason: "stop" };
    },
    failure: (status) => failure({ status, reason: "refused", retryable: status >= 500, accepted: false }),
    decoder() {
      const state = {
        ...{ id: "1", model: "m", complete: false },
        event(_name: string, body: string, out: Parameters<ReturnType<WireFormat["decoder"]>["event"]>[2]) {
          if (body.includes('"done"')) state.complete = true;
          const text = textOf(body);
          if (text !== undefined) {
            const none = { toolCalls: undefined, finishReason: undefined, providerFinishReason: undefined };
            out.push({ text, ...none, usage: undefined, native: undefined });
          }
          return undefined;
        },
      };
      return state;
    },
    ...changes,
  };
}

const STREAM = '{"text":"High "}\n{"text":"tide \u{1f6a2}"}\n{"done":true}\n';

async function mistake(changes: Partial<WireFormat>): Promise<string> {
  const plugin = defineProvider<object>({ ...head, setup: () => format(changes) });
  const answers = [{ body: '{"text":"Hi."}', text: "Hi." }];
  const cases = { answers, streams: [{ body: STREAM, text: "High tide \u{1f6a2}" }], host: testHost() };
  for (const { run } of providerChecks(plugin, cases)) {
    try {
      await run();
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
  return "none";
}

test("a provider without mistakes passes", async () => {
  assert.equal(await mistake({}), "none");
});

const good = format();
const credentialAt = (changes: object): Partial<WireFormat> => ({
  encode: (...asked) => ({ ...good.encode(...asked), ...changes }),
});

for (const [what, changes, expected] of [
  ["a relative URL", credentialAt({ url: "/ask" }), /returns method, url|not an absolute URL/],
  ["headers in upper case", credentialAt({ headers: { Authorization: "k" } }), /lower case|returns method/],
  [
    "an API key in the body",
    { encode: (r, c, s) => ({ ...good.encode(r, c, s), body: c.apiKey }) },
    /API key/,
  ],
  ["a decode that throws", { decode: (body) => JSON.parse(body).text.trim() }, /JSON|undefined|null/],
  // What a plugin written in JavaScript may return.
  ["a decode that returns nothing", { decode: () => undefined as never }, /undefined|neither/],
  [
    "a failure of two lines",
    { failure: (status) => failure({ status, reason: "a\nb", retryable: true, accepted: false }) },
    /one line|valid failure/,
  ],
  [
    "an event that throws on what is not JSON",
    { decoder: () => ({ ...good.decoder(), event: (_name, body) => void JSON.parse(body) }) },
    /JSON/,
  ],
  [
    "a decoder that never completes",
    { decoder: () => ({ ...good.decoder(), complete: false, event: good.decoder().event }) },
    /not complete/,
  ],
] satisfies readonly (readonly [string, Partial<WireFormat>, RegExp])[]) {
  test(`the tester finds ${what}`, async () => {
    assert.match(await mistake(changes), expected);
  });
}
