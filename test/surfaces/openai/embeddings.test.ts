/** Embeddings of every provider that makes them: what each is asked in its own words, and OpenAI's answer to it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonAnswer } from "../../../src/testing/fake-upstream.ts";
import { assertRefused, at } from "../../spec/kit/client.ts";
import { PROJECT } from "../../spec/kit/config.ts";
import { startWrapper, type Wrapper } from "./kit.ts";

const VECTORS = [
  [0.5, -0.25],
  [1, 0],
];
const OPENAI = {
  object: "list",
  model: "embed-1",
  // In any order: each says which text it belongs to.
  data: [
    { object: "embedding", index: 1, embedding: VECTORS[1] },
    { object: "embedding", index: 0, embedding: VECTORS[0] },
  ],
  usage: { prompt_tokens: 6, total_tokens: 6 },
};

interface Vendor {
  readonly path: string;
  readonly sent: object;
  readonly answer: object;
  readonly tokens: number;
}

const input = ["red", "blue"];
const shaped = (dimensions: object): Vendor => ({
  path: "/embeddings",
  sent: { model: "model-1", input, ...dimensions },
  answer: OPENAI,
  tokens: 6,
});

const VENDORS: Readonly<Record<string, Vendor>> = {
  openai: shaped({ dimensions: 2 }),
  mistral: shaped({ output_dimension: 2 }),
  google: {
    path: "/v1beta/models/model-1:batchEmbedContents",
    sent: {
      requests: input.map((text) => ({
        model: "models/model-1",
        content: { parts: [{ text }] },
        outputDimensionality: 2,
      })),
    },
    answer: { embeddings: VECTORS.map((values) => ({ values })) },
    // Not told: seven characters are two tokens.
    tokens: 2,
  },
  ollama: {
    path: "/api/embed",
    sent: { model: "model-1", input, dimensions: 2 },
    answer: { model: "model-1", embeddings: VECTORS, prompt_eval_count: 6 },
    tokens: 6,
  },
  cohere: {
    path: "/v2/embed",
    sent: {
      model: "model-1",
      texts: input,
      input_type: "search_document",
      embedding_types: ["float"],
      output_dimension: 2,
    },
    answer: { id: "e-1", embeddings: { float: VECTORS }, meta: { billed_units: { input_tokens: 6 } } },
    tokens: 6,
  },
};

function startWith(t: Parameters<typeof startWrapper>[0], provider: string): Promise<Wrapper> {
  return startWrapper(t, { provider, model: "model-1", credential: "other" }, { other: provider });
}

for (const [provider, { path, sent, answer, tokens }] of Object.entries(VENDORS)) {
  test(`${provider} embeds texts, and answers in OpenAI's shape`, async (t) => {
    const g = await startWith(t, provider);
    g.provider.answer(jsonAnswer(answer));
    const { status, json, text } = await g.post("embeddings", { model: "default", input, dimensions: 2 });
    assert.equal(status, 200, text);
    assert.equal(g.provider.last.path, path);
    assert.deepEqual(JSON.parse(g.provider.last.body), sent);
    assert.equal(at(json, "object"), "list");
    assert.deepEqual(
      at(json, "data"),
      VECTORS.map((embedding, index) => ({ object: "embedding", index, embedding })),
    );
    assert.deepEqual(at(json, "usage"), { prompt_tokens: tokens, total_tokens: tokens });
  });
}

test("vectors are told in base64 to who asks for that", async (t) => {
  const g = await startWith(t, "openai");
  g.provider.answer(jsonAnswer(OPENAI));
  const asked = { model: "default", input: "red", encoding_format: "base64" };
  const { json } = await g.post("embeddings", asked);
  const bytes = Buffer.from(String(at(json, "data", 0, "embedding")), "base64");
  assert.deepEqual([bytes.readFloatLE(0), bytes.readFloatLE(4)], VECTORS[0]);
});

test("a provider without embeddings, or a field that it has no word for, is a 400 that says so", async (t) => {
  const body = { model: "default", input: "red" };
  for (const provider of ["anthropic", "groq"]) {
    const g = await startWith(t, provider);
    assertRefused(
      await g.post("embeddings", body),
      400,
      /^Field 'input' is not supported by (?:Anthropic|Groq)\.$/,
    );
  }
  const g = await startWith(t, "together");
  const asked = await g.post("embeddings", { ...body, dimensions: 2 });
  assertRefused(asked, 400, "Field 'dimensions' is not supported by Together.");
});

test("input that is not text is refused, since no guardrail could read it", async (t) => {
  const g = await startWith(t, "openai");
  for (const wrong of ["", [], [1, 2, 3], [[1, 2]], undefined]) {
    const refused = await g.post("embeddings", { model: "default", input: wrong });
    assertRefused(
      refused,
      400,
      "Field 'input' must be a non-empty string, or an array of up to 2048 of them.",
    );
  }
});

test("guardrails, failover and the ledger are those of every call", async (t) => {
  const g = await startWrapper(t, {
    guardrails: [{ use: "pii", mode: "mask", kinds: ["email"] }],
    estimated_cost_per_1k_tokens_usd: 1,
    failover: [{ credential: "main", model: "embed-2" }],
  });
  g.provider.answer((response) => {
    response.writeHead(500).end("{}");
  }, jsonAnswer(OPENAI));
  const { status } = await g.post("embeddings", { model: "default", input: ["mail a@b.example", "blue"] });
  assert.equal(status, 200);
  assert.deepEqual(g.provider.sent("input"), ["mail [EMAIL]", "blue"]);
  assert.equal(g.provider.sent("model"), "embed-2");
  const { settledNanoUsd } = await g.gateway.store.spending(`spend:${PROJECT}/default`, "2026-05");
  assert.equal(settledNanoUsd, 6_000_000);
});

test("an answer that has no vectors is a failure of the provider", async (t) => {
  for (const provider of Object.keys(VENDORS)) {
    const g = await startWith(t, provider);
    for (const answer of [{}, { data: [], embeddings: [] }, { data: [{ embedding: ["x"] }] }]) {
      g.provider.answer(jsonAnswer(answer));
      const failed = await g.post("embeddings", { model: "default", input: "red" });
      assertRefused(failed, 502, /the answer has no embeddings$/);
    }
  }
});
