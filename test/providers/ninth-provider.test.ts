/**
 * Providers as third parties add them: the example's one file, and the one that providers/README.md shows, named in the
 * YAML and asked over real HTTP. Nothing here or there reaches into the gateway.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import {
  cutAnswer,
  type FakeUpstream,
  fakeUpstream,
  jsonAnswer,
  openAiAnswer,
  openAiEvents,
  sseAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { assertAnswered, assertRefused, at } from "../spec/kit/client.ts";
import { chunksOf, textOf } from "../spec/kit/event-stream.ts";
import { type Harness, startGateway } from "../spec/kit/gateway.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

const EXAMPLE = read("examples/plugins/acme-models.ts");
/** The worked example of a format of its own. */
const MURMUR = /```ts\n(\/\/ plugins\/murmur\.ts\n.*?)```/s.exec(read("providers/README.md"))?.[1] ?? "";
const KEY = "acme-key-5be1";

interface Asked {
  readonly options?: object;
  readonly endpoint?: object;
}

/** A gateway whose endpoint `ask` is on a provider of this source. */
async function gatewayOn(
  t: TestContext,
  source: string,
  { options = {}, endpoint = {} }: Asked = {},
): Promise<{ g: Harness; vendor: FakeUpstream }> {
  const vendor = await fakeUpstream();
  t.after(() => vendor.close());
  const provider = source === EXAMPLE ? "acme-models" : "murmur";
  const g = await startGateway(t, {
    files: { "plugins/ninth.ts": source },
    root: { plugins: ["./plugins/ninth.ts"] },
    credentials: [{ name: "ninth", provider, api_key: KEY, base_url: vendor.url, options }],
    endpoint: { provider, model: "large", credential: "ninth", ...endpoint },
  });
  return { g, vendor };
}

test("a provider that speaks OpenAI's format is one file of fewer than 40 lines", () => {
  assert.ok(EXAMPLE.trimEnd().split("\n").length < 40);
  const imported = [...EXAMPLE.matchAll(/from "([^"]+)"/g)].map(([, name]) => name);
  assert.deepEqual(imported, ["sluice/provider"]);
});

test("it answers whole, with the credential's key and options", async (t) => {
  const { g, vendor } = await gatewayOn(t, EXAMPLE, { options: { region: "us" } });
  vendor.answer(jsonAnswer(openAiAnswer("Good day.")));
  const answer = await g.call({ message: "Hello" });
  assert.equal(assertAnswered(answer), "Good day.");
  assert.equal(at(answer.json, "usage", "total_tokens"), 15);
  const [request] = vendor.requests;
  assert.equal(request?.path, "/chat/completions");
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request?.headers["x-acme-region"], "us");
  assert.equal(at(JSON.parse(request?.body ?? ""), "model"), "large");
});

test("it streams", async (t) => {
  const { g, vendor } = await gatewayOn(t, EXAMPLE);
  vendor.answer(sseAnswer(openAiEvents("Good ", "day.")));
  const events = await (await g.stream({ message: "Hello" })).rest();
  assert.equal(textOf(events), "Good day.");
  const reasons = chunksOf(events).map((chunk) => at(chunk, "choices", 0, "finish_reason"));
  assert.deepEqual(reasons.filter(Boolean), ["stop"]);
  assert.equal(at(JSON.parse(vendor.requests[0]?.body ?? ""), "stream"), true);
});

test("its failures have its label, and its key is taken out of them", async (t) => {
  const { g, vendor } = await gatewayOn(t, EXAMPLE);
  vendor.answer(statusAnswer(400, { error: { message: `no such model for ${KEY}` } }));
  const refused = await g.call({ message: "Hello" });
  assertRefused(refused, 502, /^Provider call failed: Acme 400: no such model for /);
  assert.ok(!refused.text.includes(KEY));
});

test("a temperature that it refuses is brought into its range", async (t) => {
  const { g, vendor } = await gatewayOn(t, EXAMPLE, { endpoint: { temperature: 1.5 } });
  vendor.answer(jsonAnswer(openAiAnswer("Good day.")));
  assertAnswered(await g.call({ message: "Hello" }));
  assert.equal(at(JSON.parse(vendor.requests[0]?.body ?? ""), "temperature"), 1);
});

test("a mistake in its options is shown where it stands", async (t) => {
  await assert.rejects(gatewayOn(t, EXAMPLE, { options: { region: "moon" } }), (error) => {
    assert.match(JSON.stringify(error), /options\.region/);
    return true;
  });
});

test("the format of its own that providers/README.md shows answers whole, with what it was asked", async (t) => {
  const { g, vendor } = await gatewayOn(t, MURMUR, {
    endpoint: { prompt: "Be brief.", temperature: 1.5, max_output_tokens: 50 },
  });
  const spent = { heard: 7, said: 2 };
  vendor.answer(jsonAnswer({ id: "m-1", voice: "large", words: "Good day.", why: "hushed", spent }));
  const answer = await g.call({ message: "Hello" });
  assert.equal(assertAnswered(answer), "Good day.");
  assert.equal(at(answer.json, "finish_reason"), "error");
  assert.equal(at(answer.json, "meta", "provider_finish_reason"), "hushed");
  assert.equal(at(answer.json, "usage", "total_tokens"), 9);
  const [request] = vendor.requests;
  assert.deepEqual([request?.path, request?.headers["x-murmur-key"]], ["/speak", KEY]);
  assert.deepEqual(JSON.parse(request?.body ?? ""), {
    voice: "large",
    lines: [
      { by: "system", words: "Be brief." },
      { by: "user", words: "Hello" },
    ],
    warmth: 1,
    words_max: 50,
    stream: false,
  });
});

test("it streams, and a stream that only ends is broken", async (t) => {
  const { g, vendor } = await gatewayOn(t, MURMUR);
  const lines = ['{"words":"Good "}', '{"words":"day."}', '{"over":true,"why":"cut"}'];
  vendor.answer(cutAnswer(lines.join("\n"), 3), cutAnswer('{"words":""}', 3));
  const events = await (await g.stream({ message: "Hello" })).rest();
  assert.equal(textOf(events), "Good day.");
  const reasons = chunksOf(events).map((chunk) => at(chunk, "choices", 0, "finish_reason"));
  assert.deepEqual(reasons.filter(Boolean), ["length"]);
  const broken = await g.call({ message: "Hello", stream: true });
  assertRefused(broken, 502, "Provider call failed: Murmur 200: the answer broke off");
});

test("what it says of its troubles is what the client is told", async (t) => {
  const { g, vendor } = await gatewayOn(t, MURMUR);
  const trouble = { trouble: "lost my voice" };
  vendor.answer(statusAnswer(503, trouble), jsonAnswer(trouble));
  assertRefused(await g.call({ message: "Hello" }), 502, "Provider call failed: Murmur 503: lost my voice");
  assertRefused(await g.call({ message: "Hello" }), 502, "Provider call failed: Murmur 200: lost my voice");
});
