/** What calls cost without any configuration of prices, and what `sluice validate` says of prices and settings. */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import { assertAnswered, assertRefused } from "./kit/client.ts";
import { hashOf, PROJECT } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { fileOf, loadFiles } from "./kit/load.ts";
import { verifies } from "./verifies.ts";

const ask = { message: "sixteen letters." };

async function settled(g: Harness): Promise<number> {
  const sum = await g.gateway.store.spending(`spend:${PROJECT}/ask`, monthOf(g.clock.nowMs()));
  assert.equal(sum.reservedNanoUsd, 0);
  return sum.settledNanoUsd;
}

verifies(
  "cost.bundled-prices",
  "models of the bundled table cost what it says, cached input and long prompts too",
  async (t) => {
    const g = await startGateway(t, { endpoint: { model: "gpt-6-sol-2026-03-04" } });
    g.provider.says("Yes.", { usage: { prompt: 1_000, completion: 100, cached: 400 } });
    assertAnswered(await g.call(ask));
    // Dollars per million: 600 x 2 + 400 x 0.2 + 100 x 10.
    const first = 2_280_000;
    assert.equal(await settled(g), first);
    g.provider.says("Yes.", { usage: { prompt: 272_001, completion: 10 } });
    assertAnswered(await g.call(ask));
    // Above 272,000 tokens the whole prompt costs twice as much, the answer half as much again.
    assert.equal(await settled(g), first + 272_001 * 4_000 + 10 * 15_000);
  },
);

verifies("cost.bundled-prices", "a token's cap holds by the bundled table alone", async (t) => {
  const token = "gw_live_thrifty";
  const thrifty = { name: "thrifty", hash: hashOf(token), scopes: ["chat"], monthly_budget_usd_cap: 0.001 };
  const g = await startGateway(t, {
    tokens: [thrifty],
    // 4 tokens in at 0.25 and 400 out at 2 dollars per million are 0.000801 dollars.
    endpoint: { model: "gpt-5-mini", max_output_tokens: 400 },
  });
  g.provider.says("Yes.", { usage: { prompt: 4, completion: 300 } });
  assertAnswered(await g.call(ask, { token }));
  assertRefused(
    await g.call(ask, { token }),
    402,
    "Token monthly budget would be exceeded: ~$0.0006 spent + ~$0.0008 estimated for this request, cap $0.001. Resets at the start of next month.",
  );
});

verifies("cost.warn-unpriced", "a token's cap that relies on an unpriced model is a warning", async () => {
  const tokens = [{ name: "capped", hash: hashOf("gw_live_capped"), monthly_budget_usd_cap: 5 }];
  const warned = async (
    fields: Readonly<Record<string, unknown>>,
    root: Readonly<Record<string, unknown>> = {},
  ): Promise<string | undefined> => {
    const { errors, warnings } = await loadFiles(fileOf({ tokens, endpoint: fields, root }));
    assert.deepEqual(errors, []);
    const found = warnings.filter(({ code }) => code === "W0102");
    assert.ok(found.length <= 1);
    assert.ok(found.every(({ path }) => path.endsWith(".monthly_budget_usd_cap")));
    return found[0]?.message;
  };
  assert.match((await warned({ model: "house-blend" })) ?? "", /openai\/house-blend: no price is known/);
  const failover = [{ credential: "main", model: "spare-blend" }];
  assert.match((await warned({ failover })) ?? "", /for openai\/spare-blend:/);
  assert.equal(await warned({ model: "gpt-5-mini-2025-08-07" }), undefined);
  assert.equal(await warned({ provider: "mock", model: "house-blend", credential: "echo" }), undefined);
  assert.equal(await warned({ model: "house-blend", estimated_cost_per_1k_tokens_usd: 1 }), undefined);
  const prices = [{ provider: "openai", model: "house-blend", input: 1, output: 1 }];
  assert.equal(await warned({ model: "house-blend" }, { prices }), undefined);
});

verifies(
  "provider.settings.warned",
  "a setting that the model rejects is a warning at its position, with the reason",
  async () => {
    const { errors, warnings } = await loadFiles(
      fileOf({
        endpoint: {
          temperature: 0.2,
          failover: [{ credential: "main", model: "o3-mini" }],
        },
      }),
    );
    assert.deepEqual(errors, []);
    const [warning, ...more] = warnings.filter(({ code }) => code === "W0109");
    assert.deepEqual(more, []);
    assert.equal(warning?.path, "projects[0].endpoints[0].temperature");
    assert.match(
      warning?.message ?? "",
      /^temperature 0\.2 is not sent to failover\[0\]\.model `o3-mini`: .{10,}/,
    );
  },
);

verifies(
  "cost.warn-estimate",
  "an estimate far from the list price is warned of with both figures",
  async () => {
    const warned = async (usd: number): Promise<readonly string[]> => {
      const file = fileOf({ endpoint: { model: "gpt-5-mini", estimated_cost_per_1k_tokens_usd: usd } });
      const { errors, warnings } = await loadFiles(file);
      assert.deepEqual(errors, []);
      return warnings.flatMap(({ code, message }) => (code === "W0121" ? [message] : []));
    };
    // Three tokens in at 0.25 and one out at 2 dollars per million: 0.0006875 dollars for 1,000.
    assert.deepEqual(await warned(0.002), [
      "the estimate is $0.002 for 1,000 tokens, and the list price of `gpt-5-mini` is about $0.000688",
    ]);
    assert.deepEqual(await warned(0.0007), []);
  },
);
