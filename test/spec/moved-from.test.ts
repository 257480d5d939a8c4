/** `moved_from`: an endpoint, alias or proxy endpoint that was renamed answers under both names, and keeps its state. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { skipWithoutRedis, startRedis } from "../state/redis-server.ts";
import { BASE, startWrapper } from "../surfaces/openai/kit.ts";
import { CALLER, proxied, startProxy, upstreamOf } from "../surfaces/proxy/kit.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { type ConfigParts, echoEntry, endpointEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { bridgeParts, toolNames, use } from "./kit/mcp.ts";
import { completion } from "./kit/provider.ts";
import { callTool, contentOf, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
const OLD = { name: "Old" };
const NEW = { name: "New", moved_from: "old" };

/** Fields of the lines of the request log. */
function logged(g: Harness, key: string): unknown[] {
  const lines = g.lines.map((line): unknown => JSON.parse(line));
  return lines.filter((line) => at(line, "msg") === "call").map((line) => at(line, key));
}

async function reloaded(g: Harness, parts: ConfigParts): Promise<void> {
  g.rewrite(parts);
  const outcome = await g.gateway.reload();
  assert.equal(outcome.ok, true, JSON.stringify(outcome.errors));
}

verifies(
  "moved-from.answers",
  "a renamed endpoint answers under both slugs, and lists, the log and the control plane have the new one",
  async (t) => {
    const g = await startGateway(
      t,
      bridgeParts({
        root: WITH_CONTROL,
        endpoints: [echoEntry({ ...NEW, expose_as_mcp_tool: true }), echoEntry({ name: "Other" })],
      }),
    );
    for (const slug of ["old", "new"]) assert.equal(assertAnswered(await g.call(hello, { slug })), "Hello");
    const dispatched = await g.client.send(`/api/${PROJECT}/chat/completions`, {
      token: TOKENS.web,
      body: { ...hello, endpoint: "old" },
    });
    assert.equal(assertAnswered(dispatched), "Hello");
    await until(() => logged(g, "endpoint").length === 3, "three lines");
    assert.deepEqual(logged(g, "endpoint"), ["new", "new", "new"]);
    const listing = await g.client.send(`/api/${PROJECT}/endpoints`, { method: "GET", token: TOKENS.admin });
    const slugs = at(listing.json, "data");
    assert.ok(Array.isArray(slugs));
    assert.deepEqual(
      slugs.map((one) => at(one, "slug")),
      ["ask", "new", "other"],
    );
    assert.deepEqual(await toolNames(g.client), ["new"]);
    for (const name of ["old", "new"]) {
      const answer = await use(g.client, name, hello);
      assert.equal(at(answer.json, "result", "content", 0, "text"), "Hello", answer.text);
    }
    const off = await callTool(g.client, "gw_set_endpoint_active", {
      ...{ project_uuid: PROJECT, slug: "old", is_active: false },
    });
    assert.equal(at(contentOf(off), "slug"), "new");
    for (const slug of ["old", "new"])
      assertRefused(await g.call(hello, { slug }), 404, `Endpoint '${slug}' not found or inactive.`);
    assert.deepEqual(await toolNames(g.client), []);
  },
);

verifies("moved-from.answers", "a renamed alias is a model under both names, and listed once", async (t) => {
  const g = await startWrapper(t, { alias: "fast", moved_from: "gpt-4" });
  g.provider.says("Hi.");
  for (const model of ["gpt-4", "fast"]) assert.equal((await g.ask({ model })).status, 200);
  await until(() => logged(g, "endpoint").length === 2, "two lines");
  assert.deepEqual(logged(g, "endpoint"), ["fast", "fast"]);
  const admin = { method: "GET", token: TOKENS.admin };
  const listed = at((await g.client.send(`${BASE}/models`, admin)).json, "data");
  assert.ok(Array.isArray(listed));
  assert.deepEqual(
    listed.map((one) => at(one, "id")),
    ["fast"],
  );
  assert.equal(at((await g.client.send(`${BASE}/models/gpt-4`, admin)).json, "id"), "fast");
  assert.equal((await g.client.send(`${BASE}/models/gpt-5`, admin)).status, 404);
});

verifies("moved-from.answers", "a renamed proxy endpoint passes calls on under both slugs", async (t) => {
  const url = await upstreamOf(t, (req, res) => res.end(req.url));
  const g = await startProxy(t, { slug: "crm-2", moved_from: "crm", upstream_url: url });
  for (const slug of ["crm", "crm-2"]) {
    const answer = await g.client.send(proxied("/a", slug), { method: "GET", token: CALLER });
    assert.deepEqual([answer.status, answer.text], [200, "/a"]);
  }
  await until(() => logged(g, "endpoint").length === 2, "two lines");
  assert.deepEqual(logged(g, "endpoint"), ["crm-2", "crm-2"]);
});

/** A dollar for a call; three fit the budget and a minute, four an hour. */
const LIMITED = {
  ...{ estimated_cost_per_1k_tokens_usd: 10, max_output_tokens: 98, monthly_budget_usd: 3.5 },
  ...{ rate_limit_per_minute: 3, rate_limit_per_hour: 4, sessions_enabled: true },
};
const used = { usage: { prompt: 2, completion: 98 } };

/** One endpoint beside `ask`, on the fake provider. */
function limited(named: object, root: object = {}): StartOptions {
  return { root: { ...WITH_CONTROL, ...root }, endpoints: [endpointEntry({ ...named, ...LIMITED })] };
}

/** In USD, of all months: Redis has a clock of its own. undefined: nothing stands there. */
async function settledOf(g: Harness, slug: string): Promise<number | undefined> {
  const sum = (await g.gateway.store.sums()).find(({ key }) => key === `spend:${PROJECT}/${slug}`);
  return sum && sum.settledNanoUsd / 1e9;
}

verifies(
  "moved-from.state",
  "spend, windows and conversations go with a rename at a reload, once, and stay without `moved_from`",
  async (t) => {
    const g = await startGateway(t, limited(OLD));
    g.provider.says("One.", used);
    const first = await g.call(hello, { slug: "old" });
    const session_id = at(first.json, "meta", "session_id");
    assert.equal((await g.call(hello, { slug: "old" })).status, 200);
    assert.equal(await settledOf(g, "old"), 2);
    await reloaded(g, limited(NEW));
    assert.equal(await settledOf(g, "new"), 2);
    assert.equal(await settledOf(g, "old"), undefined);
    const resumed = await g.call({ ...hello, session_id }, { slug: "new" });
    assert.equal(resumed.status, 200, resumed.text);
    assert.deepEqual(at(g.provider.sent("messages"), "length"), 3, "its history came along");
    const third = await g.call(hello, { slug: "old" });
    assertRefused(third, 429, /rate limit/i);
    g.clock.advance(60_000);
    assertRefused(await g.call(hello, { slug: "new" }), 402, /\$3\.0000 spent/);
    await reloaded(g, limited({ name: "New" }));
    assertRefused(await g.call(hello, { slug: "old" }), 404, /'old' not found/);
    assertRefused(await g.call(hello, { slug: "new" }), 402, /\$3\.0000 spent/);
    assert.equal(await settledOf(g, "new"), 3);
    // Another endpoint of the old name has nothing to do with it.
    const another = endpointEntry({ ...OLD, ...LIMITED });
    const both = limited({ name: "New" });
    await reloaded(g, { ...both, endpoints: [...(both.endpoints ?? []), another] });
    assert.equal((await g.call(hello, { slug: "old" })).status, 200);
    assert.equal(await settledOf(g, "old"), 1);
    assert.equal(await settledOf(g, "new"), 3);
    assertRefused(await g.call({ ...hello, session_id }, { slug: "old" }), 404, /session/i);
  },
);

verifies(
  "moved-from.state",
  "an override goes with a rename, and can be taken back under the new name",
  async (t) => {
    const switched = (is_active: boolean, slug: string) =>
      callTool(g.client, "gw_set_endpoint_active", { project_uuid: PROJECT, slug, is_active });
    const g = await startGateway(t, limited(OLD));
    g.provider.says("One.", used);
    await switched(false, "old");
    await reloaded(g, limited(NEW));
    assertRefused(await g.call(hello, { slug: "new" }), 404, /'new' not found/);
    await reloaded(g, limited({ name: "New" }));
    assertRefused(await g.call(hello, { slug: "new" }), 404, /'new' not found/);
    const listed = at(contentOf(await callTool(g.client, "gw_list_overrides")), "overrides");
    assert.equal(at(listed, 0, "key"), `endpoint:${PROJECT}/new`);
    await switched(true, "new");
    assert.equal((await g.call(hello, { slug: "new" })).status, 200);
    assert.deepEqual(at(contentOf(await callTool(g.client, "gw_list_overrides")), "overrides"), []);
  },
);

verifies("moved-from.state", "a rename during a downtime is done at the next start", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-moved-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const state = { state: { driver: "file", directory } };
  const before = await startGateway(t, limited(OLD, state));
  before.provider.says("One.", used);
  const session_id = at((await before.call(hello, { slug: "old" })).json, "meta", "session_id");
  await callTool(before.client, "gw_set_endpoint_active", {
    ...{ project_uuid: PROJECT, slug: "ask", is_active: false },
  });
  await before.gateway.stop();
  for (const named of [NEW, NEW, { name: "New" }]) {
    const parts = limited(named, state);
    const g = await startGateway(t, { ...parts, endpoint: { name: "Ask again", moved_from: "ask" } });
    g.provider.says("Two.", used);
    assert.equal(await settledOf(g, "new"), 1);
    const resumed = await g.call({ message: "", messages: undefined, session_id }, { slug: "new" });
    assert.equal(resumed.status, 400, "nothing is spent by asking");
    assertRefused(await g.call(hello, { slug: "ask-again" }), 404, /'ask-again' not found/);
    await g.gateway.stop();
  }
  const last = await startGateway(t, limited({ name: "New" }, state));
  last.provider.says("Three.", used);
  const resumed = await last.call({ ...hello, session_id }, { slug: "new" });
  assert.equal(resumed.status, 200, resumed.text);
  assert.deepEqual(at(last.provider.sent("messages"), "length"), 3);
  assert.equal(await settledOf(last, "new"), 2);
});

verifies(
  "moved-from.under-way",
  "a call under way at a rename is settled, and its conversation is kept, under the new name",
  async (t) => {
    const g = await startGateway(t, limited(OLD));
    const played = g.provider.opens();
    const streaming = g.stream(hello, { slug: "old" });
    await played.send(
      JSON.stringify({
        ...completion("One."),
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta: { content: "One." } }],
      }),
    );
    const stream = await streaming;
    await reloaded(g, limited(NEW));
    await played.send(
      JSON.stringify({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      }),
    );
    await played.send(
      JSON.stringify({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        choices: [],
        usage: { prompt_tokens: 2, completion_tokens: 98, total_tokens: 100 },
      }),
    );
    await played.send("[DONE]");
    await played.end();
    const events = await stream.rest();
    assert.equal(events.at(-1), "[DONE]");
    assert.equal(await settledOf(g, "new"), 1);
    assert.equal(await settledOf(g, "old"), undefined);
    const [spent] = (await g.gateway.store.sums()).filter(({ key }) => key.endsWith("/new"));
    assert.equal(spent?.reservedNanoUsd, 0);
  },
);

verifies(
  "moved-from.replicas",
  "replicas before and after a rename share budget, window, conversation and override, in either order",
  async (t) => {
    if (skipWithoutRedis) return t.skip(skipWithoutRedis);
    const redis = await startRedis();
    t.after(() => redis.stop());
    const state = { state: { driver: "redis", url: redis.url } };
    const [one, other] = await Promise.all([
      startGateway(t, limited(OLD, state)),
      startGateway(t, limited(OLD, state)),
    ]);
    for (const g of [one, other]) g.provider.says("One.", used);
    const session_id = at((await one.call(hello, { slug: "old" })).json, "meta", "session_id");
    await reloaded(one, limited(NEW, state));
    const resumed = await other.call({ ...hello, session_id }, { slug: "old" });
    assert.equal(resumed.status, 200, resumed.text);
    const again = await one.call({ ...hello, session_id }, { slug: "new" });
    assert.equal(again.status, 200, again.text);
    assert.equal(at(one.provider.sent("messages"), "length"), 5);
    assertRefused(await one.call(hello, { slug: "new" }), 429, /rate limit/i);
    assertRefused(await other.call(hello, { slug: "old" }), 429, /rate limit/i);
    assert.equal(await settledOf(one, "new"), 3);
    assert.equal(await settledOf(other, "new"), 3);
    await overridesOverRename(one, other);
    await reloaded(other, limited(NEW, state));
    assertRefused(await other.call(hello, { slug: "new" }), 429, /rate limit/i);
    assert.equal(await settledOf(other, "new"), 3, "nothing moves twice");
  },
);

/** `renamed` has `new`, `behind` still `old`: what one switches is switched on the other. */
async function overridesOverRename(renamed: Harness, behind: Harness): Promise<void> {
  const sides = [
    [renamed, "new", behind, "old"],
    [behind, "old", renamed, "new"],
  ] as const;
  for (const [by, slug, there, otherSlug] of sides) {
    for (const is_active of [false, true]) {
      const args = { project_uuid: PROJECT, slug, is_active };
      contentOf(await callTool(by.client, "gw_set_endpoint_active", args));
      const expected = is_active ? 429 : 404;
      assert.equal((await by.call(hello, { slug })).status, expected);
      const isSeen = async () => (await there.call(hello, { slug: otherSlug })).status === expected;
      await until(isSeen, `the other replica answers ${expected}`);
    }
  }
  assert.deepEqual(await renamed.gateway.store.overrides.list(), []);
}

verifies(
  "moved-from.taken-back",
  "a rename that is taken back, or turned around, finds the state",
  async (t) => {
    const g = await startGateway(t, limited(OLD));
    g.provider.says("One.", used);
    assert.equal((await g.call(hello, { slug: "old" })).status, 200);
    const rounds = [NEW, OLD, NEW, { ...OLD, moved_from: "new" }, OLD];
    for (const [round, named] of rounds.entries()) {
      await reloaded(g, limited(named));
      const slug = named.name.toLowerCase();
      assert.equal(await settledOf(g, slug), 1, `round ${round}`);
      assert.equal((await g.gateway.store.sums()).filter(({ key }) => !key.includes("token:")).length, 1);
    }
  },
);

const FORGETFUL = `export default { api: 1, kind: "store", name: "forgetful", description: "Keeps nothing.", examples: [],
  schema: { type: "object" },
  setup() {
    const overrides = new Map();
    const watchers = new Set();
    const told = (result) => { for (const watcher of watchers) watcher(); return result; };
    return {
      driver: "forgetful",
      admit: () => ({ admitted: true, reservation: undefined }),
      renew() {}, settle() {}, release() {}, spending: () => ({ settledNanoUsd: 0, reservedNanoUsd: 0 }), sums: () => [],
      sessions: { open: () => "busy", historyCharacters: () => 0, ownerOf: () => undefined, delete: () => false },
      overrides: {
        list: () => [...overrides.values()],
        set: (one) => { overrides.set(one.key, one); return told(true); },
        delete: (key) => told(overrides.delete(key)),
        watch: (changed) => { watchers.add(changed); return () => watchers.delete(changed); },
      },
      audit: { append() {}, query: () => [] },
      health: () => ({ ok: true, detail: "forgetful" }),
      close() {},
    };
  },
};`;

verifies(
  "moved-from.store",
  "a store that cannot rename is named in a warning; overrides hold as long as `moved_from` stands",
  async (t: TestContext) => {
    const root = { ...WITH_CONTROL, plugins: ["./forgetful.mjs"], state: { driver: "forgetful" } };
    const parts = (named: Readonly<Record<string, unknown>>): StartOptions => ({
      ...{ root, files: { "forgetful.mjs": FORGETFUL }, endpoints: [echoEntry(named)] },
    });
    const g = await startGateway(t, parts(OLD));
    const args = { project_uuid: PROJECT, slug: "old", is_active: false };
    contentOf(await callTool(g.client, "gw_set_endpoint_active", args));
    await reloaded(g, parts(NEW));
    const warnings = g.lines.filter((line) => line.includes("cannot move state"));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /"driver":"forgetful","renamed":1/);
    assert.equal((await g.call(hello, { slug: "new" })).status, 404);
    contentOf(await callTool(g.client, "gw_set_endpoint_active", { ...args, slug: "new", is_active: true }));
    assert.equal((await g.call(hello, { slug: "new" })).status, 200);
    await reloaded(g, parts({ name: "New" }));
    assert.equal((await g.call(hello, { slug: "new" })).status, 200);
  },
);
