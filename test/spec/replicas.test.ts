/** Three gateway processes on one Redis: limits and budgets are those of all three together. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monthOf } from "../../src/base/month.ts";
import { LEASE_MS } from "../../src/plugin/store.ts";
import { type FakeUpstream, fakeUpstream, jsonAnswer, stallAnswer } from "../../src/testing/fake-upstream.ts";
import { openStore, skipWithoutRedis, startRedis } from "../state/redis-server.ts";
import { type Answer, assertRefused, at, until } from "./kit/client.ts";
import { configOf, PROJECT, TOKENS } from "./kit/config.ts";
import type { Closer } from "./kit/gateway.ts";
import { type GatewayProcess, gatewayProcess } from "./kit/process.ts";
import { completion } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
/** A call costs what it reserves: 2 tokens of input, 98 of output, at 1 dollar a thousand. */
const money = { estimated_cost_per_1k_tokens_usd: 1, max_output_tokens: 98 };
const used = { usage: { prompt: 2, completion: 98 } };

interface Replicas {
  readonly upstream: FakeUpstream;
  readonly gateways: readonly [GatewayProcess, GatewayProcess, GatewayProcess];
  readonly redisUrl: string;
}

async function threeGateways(t: Closer, endpoints: Readonly<Record<string, object>>): Promise<Replicas> {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const upstream = await fakeUpstream();
  t.after(() => upstream.close());
  upstream.answer(jsonAnswer(completion("Yes.", used)));
  const place = { provider: "openai", model: "gpt-4o-mini", credential: "main" };
  const config = configOf(
    {
      root: { state: { driver: "redis", url: redis.url, key_prefix: "replicas" }, log: { level: "warn" } },
      endpoints: Object.entries(endpoints).map(([name, fields]) => ({ name, ...place, ...fields })),
    },
    upstream.url,
  );
  const start = (): Promise<GatewayProcess> => gatewayProcess(t, config);
  const gateways = await Promise.all([start(), start(), start()] as const);
  return { upstream, gateways, redisUrl: redis.url };
}

/** A number of calls at once, distributed over the gateways. */
function calls({ gateways }: Replicas, slug: string, count: number): Promise<Answer[]> {
  const path = `/api/${PROJECT}/${slug}`;
  return Promise.all(
    Array.from({ length: count }, (_, n) =>
      (gateways[n % 3] ?? gateways[0]).client.send(path, { token: TOKENS.web, body: hello }),
    ),
  );
}

const withStatus = (answers: readonly Answer[], status: number): readonly Answer[] =>
  answers.filter((answer) => answer.status === status);

verifies(
  "state.redis.shared",
  "three processes answer exactly what one budget, and one limit, allow; what a killed one held is freed",
  async (t) => {
    if (skipWithoutRedis) return t.skip(skipWithoutRedis);
    const replicas = await threeGateways(t, {
      budget: { ...money, monthly_budget_usd: 3.7 },
      limit: { rate_limit_per_minute: 50 },
      held: { ...money, monthly_budget_usd: 0.5 },
    });

    const priced = await calls(replicas, "budget", 600);
    assert.equal(withStatus(priced, 200).length, 37);
    assert.equal(withStatus(priced, 402).length, 563);

    const limited = await calls(replicas, "limit", 600);
    assert.equal(withStatus(limited, 200).length, 50);
    for (const refused of withStatus(limited, 429)) assert.equal(at(refused.json, "scope"), "minute");

    // Five calls hold all of the budget; the process that two of them are in is killed.
    const { upstream, gateways, redisUrl } = replicas;
    upstream.answer(stallAnswer());
    const asked = upstream.requests.length;
    const open = calls(replicas, "held", 5).catch(() => undefined);
    await upstream.received(asked + 5);
    const path = `/api/${PROJECT}/held`;
    const [killed, ...left] = gateways;
    const full = await left[0]?.client.send(path, { token: TOKENS.web, body: hello });
    assert.ok(full !== undefined);
    assertRefused(full, 402, /budget/i);
    await killed.kill();

    // Another replica's view when the leases of a dead process have run out.
    const later = await openStore({
      url: redisUrl,
      keyPrefix: "replicas",
      serverTimeMs: () => Date.now() + LEASE_MS + 1000,
    });
    t.after(async () => void (await later.close()));
    const month = monthOf(Date.now());
    await later.admit("anyone", [
      {
        kind: "spend",
        key: `spend:${PROJECT}/held`,
        capNanoUsd: undefined,
        estimateNanoUsd: 0,
        inputNanoUsd: 0,
      },
    ]);
    const { reservedNanoUsd, settledNanoUsd } = await later.spending(`spend:${PROJECT}/held`, month);
    assert.equal(reservedNanoUsd, 0);
    assert.equal(settledNanoUsd, 5 * 2_000_000, "each at its input estimate");
    await Promise.all(left.map((gateway) => gateway.kill()));
    await open;
  },
);

verifies(
  "state.redis.lost",
  "a lost Redis refuses with 503, or lets calls pass, as the config says",
  async (t) => {
    if (skipWithoutRedis) return t.skip(skipWithoutRedis);
    for (const on_unavailable of ["deny", "allow"]) {
      const redis = await startRedis();
      t.after(() => redis.stop());
      const upstream = await fakeUpstream();
      t.after(() => upstream.close());
      upstream.answer(jsonAnswer(completion("Yes.", used)));
      const directory = mkdtempSync(join(tmpdir(), "sluice-state-"));
      t.after(() => rmSync(directory, { recursive: true }));
      const state = { driver: "redis", url: redis.url, on_unavailable, directory };
      const config = configOf(
        { root: { state }, endpoint: { ...money, monthly_budget_usd: 1 } },
        upstream.url,
      );
      const { client, lines } = await gatewayProcess(t, config);
      const call = (): Promise<Answer> =>
        client.send(`/api/${PROJECT}/ask`, { token: TOKENS.web, body: hello });
      assert.equal((await call()).status, 200);
      await redis.kill();
      const answer = await call();
      if (on_unavailable === "deny") assertRefused(answer, 503, "The state store is not available.");
      else assert.equal(answer.status, 200, answer.text);
      const ready = await client.send("/readyz", { method: "GET" });
      assert.equal(ready.status, on_unavailable === "deny" ? 503 : 200);
      await until(() => lines.some((line) => line.includes("redis")), "it says so in its log");
    }
  },
);
