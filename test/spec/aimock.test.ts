/**
 * All eight providers against an imitation of their APIs that is not ours: what it was asked, by its own journal, what
 * comes of its answers, and of the faults that it injects.
 */
import assert from "node:assert/strict";
import { LLMock } from "@copilotkit/aimock";
import { monthOf } from "../../src/base/month.ts";
import { VENDORS, type VendorKey } from "../providers/vendors.ts";
import { KETTLE, UNDER } from "../surfaces/openai/imitation.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { PROJECT } from "./kit/config.ts";
import { chunksOf, textOf } from "./kit/event-stream.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const ask = { message: "What is on the stove?" };

const PATHS: Readonly<Record<VendorKey, RegExp>> = {
  openai: /^\/v1\/chat\/completions$/,
  anthropic: /^\/v1\/messages$/,
  google: /^\/v1beta\/models\/model-1:(?:generateContent|streamGenerateContent)/,
  mistral: /^\/v1\/chat\/completions$/,
  groq: /^\/v1\/chat\/completions$/,
  together: /^\/v1\/chat\/completions$/,
  ollama: /^\/api\/chat$/,
  cohere: /^\/v2\/chat$/,
};

/** An endpoint for each provider, alone on it, and one that can fail over to the kit's fake OpenAI. */
async function startAll(t: Closer): Promise<{ g: Harness; mock: LLMock }> {
  const mock = new LLMock({ port: 0, chunkSize: 7 });
  mock.onMessage(/.*/, { content: KETTLE });
  const url = await mock.start();
  t.after(() => mock.stop());
  const settings = {
    model: "model-1",
    prompt: "You keep the stove.",
    temperature: 0.5,
    max_output_tokens: 77,
    monthly_budget_usd: 100,
    estimated_cost_per_1k_tokens_usd: 1,
  };
  const failover = [{ credential: "main", model: "gpt-4o" }];
  const g = await startGateway(t, {
    credentials: VENDORS.map(({ key }) => ({
      name: key,
      provider: key,
      api_key: "key-of-the-imitation",
      base_url: url + UNDER[key],
    })),
    endpoints: VENDORS.flatMap(({ key }) => [
      { ...settings, name: key, provider: key, credential: key },
      { ...settings, name: `${key}-safe`, provider: key, credential: key, failover },
    ]),
  });
  g.provider.says("From the other.");
  return { g, mock };
}

verifies(
  "provider.built-in",
  "every provider answers whole and streamed, asked for model, messages and settings in its own words",
  async (t) => {
    const { g, mock } = await startAll(t);
    for (const { key } of VENDORS) {
      mock.clearRequests();
      assert.equal(assertAnswered(await g.call(ask, { slug: key })), KETTLE, key);
      const events = await (await g.stream(ask, { slug: key })).rest();
      assert.equal(textOf(events), KETTLE, key);
      assert.equal(events.at(-1), "[DONE]", key);
      const finish = chunksOf(events).map((chunk) => at(chunk, "choices", 0, "finish_reason"));
      assert.equal(finish.findLast(Boolean), "stop", key);
      const journal = mock.getRequests();
      assert.equal(journal.length, 2, key);
      for (const { path, body } of journal) {
        assert.match(path, PATHS[key]);
        assert.equal(at(body, "model"), "model-1", key);
        assert.equal(at(body, "temperature"), 0.5, key);
        assert.equal(at(body, "max_tokens") ?? at(body, "max_completion_tokens"), 77, key);
        assert.deepEqual(
          at(body, "messages"),
          [
            { role: "system", content: "You keep the stove." },
            { role: "user", content: "What is on the stove?" },
          ],
          key,
        );
      }
      await nothingReserved(g, key);
    }
  },
);

const CHAOS = {
  "500": { dropRate: 1 },
  malformed: { malformedRate: 1 },
  "429": { rateLimitRate: 1 },
  disconnect: { disconnectRate: 1 },
} as const;

verifies(
  ["failure.status", "failover.on.failure"],
  "with its chaos on, each call fails over, or is a 502 in the specification's words, and every reservation ends",
  async (t) => {
    const { g, mock } = await startAll(t);
    for (const { key, label } of VENDORS) {
      for (const [name, chaos] of Object.entries(CHAOS)) {
        mock.setChaos(chaos);
        const what = `${key}, ${name}`;
        assertRefused(await g.call(ask, { slug: key }), 502, new RegExp(`^Provider call failed: ${label} `));
        assert.equal(assertAnswered(await g.call(ask, { slug: `${key}-safe` })), "From the other.", what);
        assert.equal((await g.stream(ask, { slug: key })).status, 502, what);
        const events = await (await g.stream(ask, { slug: `${key}-safe` })).rest();
        assert.equal(textOf(events), "From the other.", what);
        mock.clearChaos();
        // Closes the circuit again.
        assert.equal(assertAnswered(await g.call(ask, { slug: key })), KETTLE, what);
      }
      await nothingReserved(g, key);
      await nothingReserved(g, `${key}-safe`);
    }
  },
);

async function nothingReserved(g: Harness, slug: string): Promise<void> {
  const month = monthOf(g.clock.nowMs());
  await until(
    async () => (await g.gateway.store.spending(`spend:${PROJECT}/${slug}`, month)).reservedNanoUsd === 0,
    `nothing reserved on ${slug}`,
  );
}
