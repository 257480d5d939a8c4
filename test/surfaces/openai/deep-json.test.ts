/** JSON nested beyond reason, from clients and from providers of every format: a refusal or a failed attempt, nothing else. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fakeUpstream, type ScriptedAnswer, statusAnswer } from "../../../src/testing/fake-upstream.ts";
import { ANSWER_SHAPES, SHAPED_ARGUMENTS, streamText } from "../../fuzz/answer-shapes.ts";
import { assertRefused, at } from "../../spec/kit/client.ts";
import { endpointEntry, PROVIDER_KEY } from "../../spec/kit/config.ts";
import { startGateway } from "../../spec/kit/gateway.ts";
import { bridgeParts, use } from "../../spec/kit/mcp.ts";
import { startWrapper, type Wrapper } from "./kit.ts";

const LEVELS = 8_000;
const DEEP_LIST = "[".repeat(LEVELS) + "]".repeat(LEVELS);
const DEEP_OBJECT = `${'{"a":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`;
const TOO_DEEP = /nests deeper than 100 levels/;

interface Bench {
  readonly g: Wrapper;
  /** What the upstream says from now on. */
  says(answer: ScriptedAnswer): void;
}

/** Aliases `<provider>`, `<provider>-spare` with the mock behind it, and `to-<provider>` behind a target that fails. */
async function bench(t: TestContext): Promise<Bench> {
  const upstream = await fakeUpstream();
  t.after(() => upstream.close());
  let current = statusAnswer(500);
  upstream.answer((response, request) => current(response, request));
  const credentials = ANSWER_SHAPES.map(({ provider }) => ({
    ...{ name: `key-${provider}`, provider, api_key: PROVIDER_KEY, base_url: upstream.url },
  }));
  const aliases = ANSWER_SHAPES.flatMap(({ provider, model }) => {
    const target = { provider, model, credential: `key-${provider}` };
    const failover = [{ model: "echo", credential: "echo" }];
    return [
      endpointEntry({ alias: provider, ...target }),
      endpointEntry({ alias: `${provider}-spare`, ...target, failover }),
      endpointEntry({ alias: `to-${provider}`, failover: [{ model, credential: target.credential }] }),
    ];
  });
  const g = await startWrapper(t, {}, { credentials, aliases });
  return { g, says: (answer) => (current = answer) };
}

const withMember = (json: string): string => `{"unknown_member":${DEEP_LIST},${json.slice(1)}`;
const withArguments = (json: string): string => json.replace(JSON.stringify(SHAPED_ARGUMENTS), DEEP_OBJECT);

function answer(type: string, text: string): ScriptedAnswer {
  return (response) => response.writeHead(200, { "content-type": type }).end(text);
}

test("a provider's deep JSON is a failed attempt, whole and streamed, in all formats", async (t) => {
  const { g, says } = await bench(t);
  for (const shape of ANSWER_SHAPES) {
    const { provider, streamType } = shape;
    const whole = JSON.stringify(shape.whole);
    for (const text of [withMember(whole), withArguments(whole)].filter((text) => text !== whole)) {
      says(answer("application/json", text));
      const refused = await g.ask({ model: provider });
      assert.equal(refused.status, 502, provider);
      assert.match(refused.text, TOO_DEEP, provider);
      assert.equal((await g.ask({ model: `${provider}-spare` })).status, 200, provider);
    }
    const last = shape.events.length - 1;
    for (const change of [withMember, withArguments]) {
      for (let n = 0; n <= last; n++) {
        const text = streamText(shape, (json, at) => (at === n ? change(json) : json));
        if (text.length < LEVELS) continue;
        says(answer(streamType, text));
        const stream = await g.asStream({ model: provider });
        const said = (await stream.rest()).join() + stream.remainder;
        assert.match(said, TOO_DEEP, `${provider}, event ${n}`);
      }
    }
    says(answer("application/json", whole));
    assert.equal((await g.ask({ model: provider })).status, 200, `${provider} works afterwards`);
  }
});

test("deep embeddings are a failed attempt", async (t) => {
  const { g, says } = await bench(t);
  const embeddings = { object: "list", model: "e", data: [{ index: 0, embedding: [1, 2] }], unknown: {} };
  const text = JSON.stringify(embeddings);
  says(answer("application/json", withMember(text)));
  const input = { model: "openai", input: "tea" };
  const refused = await g.post("embeddings", input);
  assert.deepEqual([refused.status, TOO_DEEP.test(refused.text)], [502, true]);
  says(answer("application/json", text));
  assert.equal((await g.post("embeddings", input)).status, 200);
});

test("a client's deep tool-call arguments are a 400 that names them, deep tool content is text, with failover and without", async (t) => {
  const { g, says } = await bench(t);
  const conversation = (args: string, content: string): object => ({
    tools: [{ type: "function", function: { name: "tide", parameters: { type: "object" } } }],
    messages: [
      { role: "user", content: "Tide?" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "tide", arguments: args } }],
      },
      { role: "tool", tool_call_id: "call_1", content },
    ],
  });
  for (const shape of ANSWER_SHAPES) {
    for (const model of [shape.provider, `to-${shape.provider}`]) {
      for (const stream of [false, true]) {
        const text = stream ? streamText(shape) : JSON.stringify(shape.whole);
        says(answer(stream ? shape.streamType : "application/json", text));
        const refused = await g.ask({ model, stream, ...conversation(DEEP_OBJECT, "high") });
        assertRefused(refused, 400, /'messages\[1\]\.tool_calls\[0\]\.function\.arguments' must be/);
        for (const content of [DEEP_OBJECT, DEEP_LIST]) {
          const answered = await g.ask({ model, stream, ...conversation("{}", content) });
          assert.equal(answered.status, 200, `${model}: ${answered.text.slice(0, 200)}`);
        }
      }
    }
  }
});

test("a tool of the MCP bridge whose structured answer is deep is refused, and the bridge answers afterwards", async (t) => {
  const parts = bridgeParts({
    endpoint: endpointEntry({ name: "Ask", expose_as_mcp_tool: true, output_schema: { type: "array" } }),
  });
  const g = await startGateway(t, parts);
  for (const text of ["[".repeat(6_000), DEEP_LIST]) {
    g.provider.says(text);
    const refused = await use(g.client, "ask", { message: "Repeat." });
    assert.equal(refused.status, 200);
    assert.match(String(at(refused.json, "error", "message")), /not JSON|levels/);
  }
  g.provider.says("[[1]]");
  const answered = await use(g.client, "ask", { message: "Again." });
  assert.deepEqual(at(answered.json, "result", "structuredContent"), { result: [[1]] });
});
