/** What a reload says of what it has changed: its answer, its log line, and the audit events that come of it. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { at, until } from "./kit/client.ts";
import { echoEntry, hashOf, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { CONTROL_TOKEN, callTool, contentOf, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const operator = { method: "POST", token: CONTROL_TOKEN };

function parts(more: StartOptions = {}): StartOptions {
  return { ...more, root: { ...WITH_CONTROL, ...more.root } };
}

/** Event, target and metadata of each record, oldest first, without what all records of a reload have. */
async function eventsOf(g: Harness): Promise<unknown[]> {
  const listed = at(contentOf(await callTool(g.client, "gw_list_audit_events")), "events");
  assert.ok(Array.isArray(listed));
  return listed.reverse().map((event) => {
    const { config_hash: _hash, revision: _revision, ...metadata } = Object(at(event, "metadata"));
    return [at(event, "event"), at(event, "target"), metadata];
  });
}

async function reloaded(g: Harness, more: StartOptions): Promise<unknown> {
  g.rewrite(parts(more));
  const answer = await g.admin.send("/admin/reload", operator);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

verifies(
  "reload.changes",
  "the answer counts changes by risk and lists them, the log line has the counts, and nothing changed is nothing",
  async (t) => {
    const more = (fields: object): StartOptions => ({ endpoints: [echoEntry({ name: "Tell", ...fields })] });
    const g = await startGateway(t, parts(more({ rate_limit_per_minute: 5, prompt: "Be brief." })));
    const json = await reloaded(g, more({ rate_limit_per_minute: 50, prompt: "Be long." }));
    const { counts, changes, changes_total } = Object(json);
    assert.deepEqual(counts, {
      ...{ add: 0, change: 1, remove: 0 },
      ...{ breaking: 0, weakens: 1, money: 0, behavior: 1, safe: 0 },
    });
    assert.equal(changes_total, 2);
    const shown = (change: unknown) => [at(change, "rule"), at(change, "object", "name"), at(change, "path")];
    assert.ok(Array.isArray(changes));
    assert.deepEqual(changes.map(shown), [
      ["P202", "tell", "projects[0].endpoints[1].rate_limit_per_minute"],
      ["P401", "tell", "projects[0].endpoints[1].prompt"],
    ]);
    assert.ok(String(at(changes, 0, "file")).endsWith("gateway.config.yaml"));
    assert.ok(Number(at(changes, 0, "line")) > 1);
    const lines = g.lines.map((line): unknown => JSON.parse(line));
    const line = lines.find((one) => at(one, "msg") === "configuration applied");
    assert.deepEqual(at(line, "changes"), counts);
    const again = await g.admin.send("/admin/v1/reload", { ...operator, body: {} });
    assert.equal(at(again.json, "changed"), false);
    assert.equal(at(again.json, "counts"), undefined);
    g.rewrite(parts(more({ rate_limit_per_minute: 50, prompt: "Be long.", is_active: false })));
    const off = await g.admin.send("/admin/v1/reload", { ...operator, body: {} });
    assert.deepEqual([at(off.json, "counts", "breaking"), at(off.json, "changes", 0, "rule")], [1, "P101"]);
  },
);

verifies(
  "reload.events",
  "a rename is one event, a template is felt in its endpoints, and a token's hash may come from a file",
  async (t) => {
    const hash = "${file:./token.hash}";
    const templates = (model: string) => ({
      provider_templates: [{ name: "fast", provider: "mock", model, credential: "echo" }],
    });
    const step = (endpoint: object, model: string): StartOptions => ({
      tokens: [{ id: 7, name: "seven", hash, scopes: ["chat"] }],
      endpoints: [{ provider_template: "fast", ...endpoint }, echoEntry({ name: "Other" })],
      project: templates(model),
    });
    const g = await startGateway(t, {
      ...parts(step({ name: "Old" }, "one")),
      files: { "token.hash": hashOf("gw_live_seven0First1") },
    });
    const named = { name: "New", moved_from: "old" };
    await reloaded(g, step(named, "one"));
    await reloaded(g, step(named, "two"));
    writeFileSync(join(g.folder, "token.hash"), hashOf("gw_live_seven0Second2"));
    await reloaded(g, step(named, "two"));
    await reloaded(g, {});
    assert.deepEqual(await eventsOf(g), [
      [
        "endpoint.updated",
        "New",
        { kind: "endpoint", slug: "new", fields: ["name", "slug", "moved_from"], moved_from: "old" },
      ],
      ["endpoint.updated", "New", { kind: "endpoint", slug: "new", fields: ["model"] }],
      ["token.rotated", "seven", { token_id: 7 }],
      ["token.deleted", "seven", { token_id: 7 }],
      ["endpoint.deactivated", "New", { kind: "endpoint", slug: "new", removed: true }],
      ["endpoint.deactivated", "Other", { kind: "endpoint", slug: "other", removed: true }],
    ]);
    assert.equal((await g.call({ message: "Hi" }, { token: TOKENS.web, slug: "new" })).status, 404);
  },
);

verifies(
  "reload.events",
  "a change that many endpoints inherit is one change and an event for each",
  async (t) => {
    const endpoints = Array.from({ length: 700 }, (_, n) => echoEntry({ name: `E${n}` }));
    const more = (temperature: number): StartOptions => ({
      endpoints,
      project: { endpoint_defaults: { temperature } },
    });
    const g = await startGateway(t, parts(more(0.1)));
    const json = await reloaded(g, more(0.2));
    assert.deepEqual([at(json, "changes_total"), at(json, "counts", "change")], [1, 701]);
    assert.equal(at(json, "changes", 0, "object", "kind"), "endpoint_defaults");
    assert.equal(at(json, "changes", 0, "reaches"), 701);
    await until(async () => {
      const listed = await g.gateway.store.audit.query({ limit: 1000, projectUuid: PROJECT });
      return listed.length === 701;
    }, "an event for each endpoint");
  },
);
