/** Reloads of large configurations: what has not changed is neither sent between threads nor compiled again. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { compileConfig } from "../../src/compile/compile.ts";
import type { CompiledConfig } from "../../src/compile/model.ts";
import type { ResolvedConfig } from "../../src/config/model.ts";
import { entryKeys } from "../../src/config/read/entry-keys.ts";
import { Comparer, sideOf } from "../../src/gateway/compared.ts";
import { ConfigReceiver, ConfigSender } from "../../src/gateway/config-transfer.ts";
import { load } from "../../src/gateway/load.ts";
import { createPlatform } from "../../src/gateway/platform.ts";
import { keepSide } from "../../src/plan/kept-side.ts";
import { InstancePool } from "../../src/plugins-host/instances.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { ProviderClients } from "../../src/upstream/provider-clients.ts";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";

const ENDPOINTS = 250;

interface Shape {
  /** What the prompt of endpoint 7 is. */
  readonly prompt?: string;
  readonly reply?: string;
  /** Lines on top. */
  readonly comment?: string;
  readonly endpoints?: number;
  /** What the prompts of all others begin with. */
  readonly every?: string;
}

function textOf(shape: Shape): string {
  const {
    prompt = "As ever.",
    reply = "yes",
    comment = "",
    every = "You are",
    endpoints: length = ENDPOINTS,
  } = shape;
  const endpoints = Array.from(
    { length },
    (_, index) => `      - name: E${index}
        provider: mock
        model: m
        credential: demo
        prompt: ${JSON.stringify(index === 7 ? prompt : `${every} number ${index}.`)}
        guardrails: [{ use: keyword_blocklist, keywords: [word${index}] }]
`,
  );
  return `version: 1
${comment}projects:
  - uuid: ${PROJECT}
    name: Many
    type: ai_gateway
    credentials: [{ name: demo, provider: mock, options: { reply: ${reply} } }]
    tokens: [{ name: web, hash: "${hashOf(TOKENS.web)}", scopes: [chat] }]
    endpoints:
${endpoints.join("")}`;
}

/** Loads one shape after the other from the same file. */
function loads(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-incremental-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "gateway.yaml");
  return async (shape: Shape) => {
    writeFileSync(path, textOf(shape));
    const loaded = await load({
      path,
      overlays: [],
      env: {},
      secrets: "resolve",
      strict: false,
      shows: true,
    });
    assert.ok(loaded.config, JSON.stringify(loaded.errors));
    const side = sideOf(loaded);
    assert.ok(side);
    return { config: loaded.config, registry: loaded.registry, side };
  };
}

/** Over a thread's boundary, where objects are copied. Returns the configuration and how many entries were sent. */
function sent(from: ResolvedConfig, inUse: ResolvedConfig) {
  const receiver = new ConfigReceiver(inUse);
  const sender = new ConfigSender(from, new Set(receiver.known));
  let entries = 0;
  let largest = 0;
  for (let piece = sender.next(); piece !== undefined; piece = sender.next()) {
    entries += piece.length;
    largest = Math.max(largest, piece.length);
    receiver.take(structuredClone(piece));
  }
  return { config: receiver.config(structuredClone(sender.outline)), entries, largest };
}

test("only entries that the other thread lacks are sent, in pieces, and the configuration is the same", async (t) => {
  const loaded = loads(t);
  const { config: first } = await loaded({});
  const { config: second } = await loaded({ prompt: "Changed." });
  const one = sent(second, first);
  assert.deepEqual(one.config, second);
  assert.equal(one.entries, 1);
  const [before, after] = [first, one.config].map(({ projects }) => projects[0]?.endpoints ?? []);
  assert.equal(after?.[8], before?.[8], "what is unchanged is the very object");
  assert.notEqual(after?.[7], before?.[7]);
  const { config: moved } = await loaded({ prompt: "Changed.", comment: "# One line more.\n" });
  const all = sent(moved, one.config);
  assert.deepEqual(all.config, moved, "places are those of now");
  assert.equal(all.entries, ENDPOINTS);
  assert.ok(all.largest <= 100);
  const [entry, same] = [one.config, all.config].map(({ projects }) => projects[0]?.endpoints[3]);
  assert.ok(entry && same);
  assert.notEqual(entryKeys(entry).exact, entryKeys(same).exact);
  assert.equal(entryKeys(entry).content, entryKeys(same).content);
});

test("moved lines change nothing, a changed prompt one endpoint, and a changed credential all of them", async (t) => {
  const loaded = loads(t);
  const shapes = [{}, { comment: "# More.\n" }, { prompt: "Changed." }, { prompt: "Changed.", reply: "no" }];
  const clock = virtualClock();
  const nothing = (): void => {};
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const pool = new InstancePool({ clock, log });
  const clients = new ProviderClients({ clock, env: {} });
  const compiled: CompiledConfig[] = [];
  for (const shape of shapes) {
    const { config, registry } = await loaded(shape);
    const platform = await createPlatform(config, registry, { clock, log: () => {} });
    t.after(() => platform.store.close());
    compiled.push(await compileConfig({ config, hash: "h", registry, platform, pool, clients }));
  }
  const shared = compiled.map(({ projects }, index) => {
    const before = compiled[index - 1]?.projects.get(PROJECT)?.endpoints;
    const endpoints = [...(projects.get(PROJECT)?.endpoints ?? [])];
    return endpoints.filter(([slug, endpoint]) => before?.get(slug) === endpoint).length;
  });
  assert.deepEqual(shared, [0, ENDPOINTS, ENDPOINTS - 1, 0]);
  for (const one of compiled) await one.close();
  assert.equal(pool.size, 0, "nothing is held by generations that are gone");
});

test("events name what has changed, and moved lines raise none", async (t) => {
  const loaded = loads(t);
  const first = await loaded({});
  const moved = await loaded({ comment: "# More.\n" });
  const changed = await loaded({ prompt: "Changed." });
  const compared = (from: typeof first, to: typeof first): Comparer =>
    new Comparer(to.side, { inUse: keepSide(from.side), registry: to.registry, nowMs: 0 });
  const none = compared(first, moved);
  assert.equal(none.next(), undefined);
  assert.equal(none.comparison.summary.total, 0);
  const one = compared(moved, changed);
  const [change, ...more] = one.next() ?? [];
  assert.deepEqual(more, []);
  assert.deepEqual(
    [change?.event, change?.target, change?.metadata],
    ["endpoint.updated", "E7", { kind: "endpoint", slug: "e7", fields: ["prompt"] }],
  );
  assert.equal(one.next(), undefined);
  const { summary, fault } = one.comparison;
  assert.equal(fault, undefined);
  assert.deepEqual(
    [summary.counts.change, summary.counts.behavior, summary.total, summary.changes[0]?.rule],
    [1, 1, 1, "P401"],
  );
});

test("however many events there are, each message to the calls' thread has a few hundred", async (t) => {
  const loaded = loads(t);
  const from = await loaded({ endpoints: 1300 });
  const to = await loaded({ endpoints: 1300, every: "Changed" });
  const comparer = new Comparer(to.side, { inUse: keepSide(from.side), registry: to.registry, nowMs: 0 });
  const pieces: number[] = [];
  for (let piece = comparer.next(); piece !== undefined; piece = comparer.next()) pieces.push(piece.length);
  assert.deepEqual(pieces, [500, 500, 299]);
  const { summary, kept } = comparer.comparison;
  assert.deepEqual([summary.total, summary.changes.length], [1299, 100]);
  assert.ok(kept.length < 200_000, `${kept.length} bytes are kept`);
});
