/** Overrides over compiled configurations: what is shared, what is made anew, and that nothing is left behind. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Layers } from "../../src/gateway/layers.ts";
import { load } from "../../src/gateway/load.ts";
import { createPlatform } from "../../src/gateway/platform.ts";
import { InstancePool } from "../../src/plugins-host/instances.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { ProviderClients } from "../../src/upstream/provider-clients.ts";
import { configOf, echoEntry, hashOf, OTHER_PROJECT, PROJECT, TOKENS } from "../spec/kit/config.ts";

async function layered(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-overlay-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "gateway.config.yaml");
  const guardrails = [{ use: "keyword_blocklist", keywords: ["forbidden"] }];
  const endpoints = [echoEntry({ name: "Tell", guardrails })];
  writeFileSync(path, JSON.stringify(configOf({ endpoint: echoEntry({}), endpoints }, "http://127.0.0.1:9")));
  const { config, registry } = await load({ path, overlays: [], env: {}, secrets: "resolve", strict: false });
  assert.ok(config);
  const platform = await createPlatform(config, registry, { clock: virtualClock(), log: () => {} });
  t.after(() => platform.store.close());
  const pool = new InstancePool(platform);
  const clients = new ProviderClients({ clock: platform.clock, env: {} });
  const layers = new Layers(platform.store.overrides, assert.ifError);
  const input = { config, hash: "h", registry, platform, pool, clients };
  const { overrides } = platform.store;
  const put = (key: string, value: object, replaced: object | null) =>
    overrides.set({
      key,
      value: { ...value },
      replaced: replaced && { ...replaced },
      actor: "a",
      setAtMs: 1,
    });
  return { layers, input, pool, overrides, put };
}

test("a revocation makes the tokens anew and shares every endpoint", async (t) => {
  const { layers, input, put } = await layered(t);
  const first = await layers.use(await layers.prepare(input));
  await put(`revoked:${PROJECT}/web`, { hashes: [hashOf(TOKENS.web)] }, null);
  const next = await layers.again();
  assert.ok(next);
  assert.notEqual(next.compiled.authenticate, first.compiled.authenticate);
  assert.equal(next.compiled.projects.get(PROJECT), first.compiled.projects.get(PROJECT));
  assert.equal(await layers.again(), undefined, "nothing has changed since");
});

test("an endpoint switched off is the same but for that, in its project's listing too", async (t) => {
  const { layers, input, put } = await layered(t);
  const first = await layers.use(await layers.prepare(input));
  await put(`endpoint:${PROJECT}/ask`, { is_active: false }, { is_active: true });
  const next = await layers.again();
  const [before, after] = [first, next].map((one) => one?.compiled.projects.get(PROJECT));
  assert.deepEqual(after?.endpoints.get("ask"), { ...before?.endpoints.get("ask"), isActive: false });
  assert.equal(after?.endpoints.get("tell"), before?.endpoints.get("tell"));
  assert.match(String(after?.listingJson), /"slug":"ask","is_active":false/);
  assert.equal(next?.compiled.projects.get(OTHER_PROJECT), first.compiled.projects.get(OTHER_PROJECT));
});

test("overrides found at a load are applied to it, and stale ones are named", async (t) => {
  const { layers, input, put } = await layered(t);
  await put(`endpoint:${PROJECT}/ask`, { is_active: false }, { is_active: true });
  await put(`endpoint:${PROJECT}/gone`, { is_active: false }, { is_active: true });
  const { compiled, config, stale } = await layers.use(await layers.prepare(input));
  assert.equal(compiled.projects.get(PROJECT)?.endpoints.get("ask")?.isActive, false);
  assert.equal(config.projects[0]?.endpoints[0]?.is_active, false);
  assert.deepEqual(stale, [`endpoint:${PROJECT}/gone`]);
});

test("what the layers hold goes with the last generation that uses it, in whatever order they end", async (t) => {
  const { layers, input, pool, put, overrides } = await layered(t);
  const first = await layers.use(await layers.prepare(input));
  const alone = pool.size;
  await put(`revoked:${PROJECT}/web`, { hashes: [hashOf(TOKENS.web)] }, null);
  const second = await layers.again();
  assert.equal(pool.size, alone + 1, "another authenticate");
  await overrides.delete(`revoked:${PROJECT}/web`);
  const third = await layers.again();
  await second?.compiled.close();
  assert.equal(pool.size, alone);
  await layers.use(await layers.prepare(input));
  await first.compiled.close();
  await third?.compiled.close();
  assert.equal(pool.size, alone, "the second load's");
});

test("when all is closed nothing is left", async (t) => {
  const { layers, input, pool, put } = await layered(t);
  const first = await layers.use(await layers.prepare(input));
  await put(`revoked:${PROJECT}/web`, { hashes: [hashOf(TOKENS.web)] }, null);
  const second = await layers.again();
  await first.compiled.close();
  await layers.close();
  assert.notEqual(pool.size, 0, "calls still run on the second");
  await second?.compiled.close();
  assert.equal(pool.size, 0);
});
