/** Errors of the wrapper: the specification's body, or OpenAI's object for clients that read that, whole and in streams. */
import assert from "node:assert/strict";
import OpenAI from "openai";
import { statusAnswer } from "../../../src/testing/fake-upstream.ts";
import { at } from "../../spec/kit/client.ts";
import { PROJECT, TOKENS } from "../../spec/kit/config.ts";
import type { Closer } from "../../spec/kit/gateway.ts";
import { chunk } from "../../spec/kit/provider.ts";
import { verifies } from "../../spec/verifies.ts";
import { BASE, HELLO, startWrapper, type Wrapper } from "./kit.ts";

type Headers = Readonly<Record<string, string>>;

const AI_SDK = {
  "user-agent": "ai-sdk/openai-compatible/2.0.87 ai-sdk/provider-utils/4.0.0 runtime/node.js/22",
};
const STAINLESS = { "user-agent": "OpenAI/Python 2.54", "x-stainless-lang": "python" };
const CURL = { "user-agent": "curl/8.5.0" };

const TOO_LONG = { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" };

function send(g: Wrapper, headers: Headers, body: object = {}) {
  const all = { model: "default", messages: HELLO, ...body };
  return g.client.send(`${BASE}/chat/completions`, { token: TOKENS.web, body: all, headers });
}

verifies(
  "wrapper.error-format",
  "by default an SDK gets OpenAI's object, any other client the text",
  async (t) => {
    const g = await startWrapper(t);
    g.provider.answer(statusAnswer(400, { error: TOO_LONG }));
    const text = "Provider call failed: OpenAI 400: too long";
    for (const headers of [AI_SDK, STAINLESS]) {
      const { json, status } = await send(g, headers);
      assert.equal(status, 502);
      assert.equal(at(json, "ok"), false);
      const error = { message: text, type: "server_error", code: "context_length_exceeded", param: null };
      assert.deepEqual(at(json, "error"), error);
    }
    assert.deepEqual((await send(g, CURL)).json, { ok: false, error: text });
  },
);

verifies("wrapper.error-format", "`error_format` decides for all clients where it is set", async (t) => {
  for (const [error_format, headers, kind] of [
    ["openai", CURL, "object"],
    ["specification", STAINLESS, "string"],
  ] as const) {
    const g = await startWrapper(t, {}, { project: { error_format } });
    assert.equal(typeof at((await send(g, headers, { model: "nope" })).json, "error"), kind);
    const unknown = await g.client.send(`${BASE}/responses`, { token: TOKENS.web, body: {}, headers });
    assert.equal(typeof at(unknown.json, "error"), kind, "a path that there is not");
  }
});

verifies(
  "wrapper.error-format",
  "each refusal has its type, code and member, and the other members beside them",
  async (t) => {
    const g = await startWrapper(t, { rate_limit_per_minute: 1 });
    const wrong = at((await send(g, STAINLESS, { temperature: 9 })).json, "error");
    assert.deepEqual(
      [at(wrong, "type"), at(wrong, "code"), at(wrong, "param")],
      ["invalid_request_error", "invalid_field", "temperature"],
    );
    const unknown = await g.client.send(`${BASE}/chat/completions`, { body: {}, headers: STAINLESS });
    assert.deepEqual([unknown.status, at(unknown.json, "error", "code")], [401, "missing_bearer"]);
    g.provider.says("Yes.");
    await send(g, STAINLESS);
    const limited = await send(g, STAINLESS);
    assert.equal(limited.status, 429);
    assert.equal(at(limited.json, "error", "type"), "rate_limit_error");
    assert.equal(at(limited.json, "scope"), "minute");
    assert.equal(at(limited.json, "retry_after"), 60);
  },
);

verifies(
  "wrapper.error-format",
  "OpenAI's SDK reads errors of whole answers and of streams, and does not repeat them in vain",
  async (t) => {
    const { g, client } = await sdk(t);
    g.provider.answer(statusAnswer(400, { error: TOO_LONG }));
    const before = g.provider.requests.length;
    await assert.rejects(
      client.chat.completions.create({ model: "default", messages: [...HELLO] }),
      (error) => {
        assert.ok(error instanceof OpenAI.APIError);
        assert.deepEqual([error.code, error.type], ["context_length_exceeded", "server_error"]);
        return true;
      },
    );
    assert.equal(g.provider.requests.length, before + 1);

    const played = g.provider.opens();
    const [stream] = await Promise.all([
      client.chat.completions.create({ model: "default", messages: [...HELLO], stream: true }),
      played.send(chunk({ content: "Half" })).then(() => played.hangUp()),
    ]);
    const read = async (): Promise<void> => {
      for await (const event of stream) void event;
    };
    await assert.rejects(read(), (error) => {
      assert.ok(error instanceof OpenAI.APIError);
      assert.match(error.message, /^Provider call failed: OpenAI/);
      assert.equal(error.code, "provider_failed");
      return true;
    });
  },
);

verifies(
  "answer.cost",
  "`server.expose_cost` tells what a whole answer has cost, and only then",
  async (t) => {
    for (const expose_cost of [true, false]) {
      const alias = { estimated_cost_per_1k_tokens_usd: "0.5", max_output_tokens: 10 };
      const g = await startWrapper(t, alias, { server: { expose_cost } });
      g.provider.says("Yes.", { usage: { prompt: 5, completion: 2 } });
      const cost = (await g.ask()).headers["x-sluice-cost-usd"];
      assert.equal(cost, expose_cost ? "0.0035" : undefined);
    }
  },
);

async function sdk(t: Closer): Promise<{ g: Wrapper; client: OpenAI }> {
  const g = await startWrapper(t);
  const client = new OpenAI({ baseURL: `${g.client.origin}/api/${PROJECT}/v1`, apiKey: TOKENS.web });
  return { g, client };
}
