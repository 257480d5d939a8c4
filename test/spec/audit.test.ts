/** The audit log through the whole gateway: which changes, refusals and sign-ins it tells of, and how. */
import assert from "node:assert/strict";
import { ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { assertRefused, at } from "./kit/client.ts";
import { type ConfigParts, echoEntry, hashOf, PROJECT } from "./kit/config.ts";
import { type Harness, START_MS, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const OPERATOR = "gw_live_operator0Token9";
const CONTROL = { control_plane: { tokens: [{ name: "operator", hash: hashOf(OPERATOR) }] } };

function start(t: TestContext, parts: ConfigParts): Promise<Harness> {
  return startGateway(t, { ...parts, root: { ...CONTROL, ...parts.root } });
}

async function reloadWith(g: Harness, parts: ConfigParts): Promise<void> {
  g.rewrite({ ...parts, root: { ...CONTROL, ...parts.root } });
  const outcome = await g.gateway.reload();
  assert.deepEqual([outcome.ok, outcome.changed], [true, true]);
}

/** The whole audit log, oldest first. */
async function records(g: Harness, query = ""): Promise<readonly unknown[]> {
  const answer = await g.admin.send(`/admin/audit${query}`, { method: "GET", token: OPERATOR });
  assert.equal(answer.status, 200, answer.text);
  const found = at(answer.json, "data");
  assert.ok(Array.isArray(found));
  return found.reverse();
}

async function events(g: Harness): Promise<readonly unknown[]> {
  return (await records(g)).map((record) => `${at(record, "event")} ${at(record, "target")}`);
}

verifies("state.file.write-ahead", "a block is recorded before the client is answered", async (t) => {
  const blocklist = { use: "keyword_blocklist", keywords: ["sombra"] };
  const g = await start(t, { endpoint: echoEntry({ guardrails: [blocklist] }) });
  const order: string[] = [];
  const { audit } = g.gateway.store;
  const append = audit.append.bind(audit);
  Object.assign(audit, {
    append: (of: Parameters<typeof append>[0]) => {
      order.push(...of.map(({ event }) => event));
      return append(of);
    },
  });
  const { end } = ServerResponse.prototype;
  t.after(() => void (ServerResponse.prototype.end = end));
  ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
    order.push(`answer ${this.statusCode}`);
    return Reflect.apply(end, this, args);
  };
  assertRefused(await g.call({ message: "sombra" }), 422, /^Request blocked: keyword/);
  assert.deepEqual(order.slice(0, 2), ["guardrail.blocked", "answer 422"]);
});

verifies("event.token", "tokens raise created, rotated, revoked and deleted", async (t) => {
  const key = (hashed: string, fields = {}) => [{ id: 41, name: "partner", hash: hashOf(hashed), ...fields }];
  const g = await start(t, { endpoint: echoEntry({}) });
  await reloadWith(g, { endpoint: echoEntry({}), tokens: key("gw_live_a") });
  await reloadWith(g, { endpoint: echoEntry({}), tokens: key("gw_live_b") });
  await reloadWith(g, { endpoint: echoEntry({}), tokens: key("gw_live_b", { is_active: false }) });
  await reloadWith(g, { endpoint: echoEntry({}) });
  assert.deepEqual(await events(g), [
    "token.created partner",
    "token.rotated partner",
    "token.revoked partner",
    "token.deleted partner",
  ]);
  const [created] = await records(g);
  assert.deepEqual(
    { ...Object(created), id: "" },
    {
      id: "",
      event: "token.created",
      severity: "info",
      actor: "config",
      project: { id: g.gateway.config.projects[0]?.id, name: "Support", uuid: PROJECT },
      target: "partner",
      metadata: { token_id: 41, config_hash: at(created, "metadata", "config_hash") },
      ip_address: "",
      occurred_at: new Date(START_MS).toISOString(),
    },
  );
});

verifies(
  ["event.credential", "audit.log"],
  "credentials raise created, deactivated and deleted",
  async (t) => {
    const spare = (fields = {}) => [{ name: "spare", provider: "openai", api_key: "sk-spare", ...fields }];
    const g = await start(t, { endpoint: echoEntry({}) });
    await reloadWith(g, { endpoint: echoEntry({}), credentials: spare() });
    await reloadWith(g, { endpoint: echoEntry({}), credentials: spare({ is_active: false }) });
    await reloadWith(g, { endpoint: echoEntry({}) });
    assert.deepEqual(await events(g), [
      "credential.created spare",
      "credential.deactivated spare",
      "credential.deleted spare",
    ]);
    assert.doesNotMatch(JSON.stringify(await records(g)), /sk-spare/);
  },
);

verifies("event.endpoint", "endpoints raise created, updated and deactivated", async (t) => {
  const extra = (fields = {}) => [echoEntry({ name: "Extra", ...fields })];
  const g = await start(t, { endpoint: echoEntry({}) });
  await reloadWith(g, { endpoint: echoEntry({}), endpoints: extra() });
  await reloadWith(g, { endpoint: echoEntry({}), endpoints: extra({ prompt: "Be brief." }) });
  await reloadWith(g, { endpoint: echoEntry({}), endpoints: extra({ is_active: false }) });
  assert.deepEqual(await events(g), [
    "endpoint.created Extra",
    "endpoint.updated Extra",
    "endpoint.deactivated Extra",
  ]);
  assert.doesNotMatch(JSON.stringify(await records(g)), /Be brief/);
});

verifies("event.provider", "disabling a provider is reported to each project that uses it", async (t) => {
  const g = await start(t, { endpoint: echoEntry({}) });
  await reloadWith(g, { endpoint: echoEntry({}), root: { providers: { openai: { enabled: false } } } });
  const [record, ...others] = await records(g, "?event=provider.disabled");
  assert.equal(others.length, 0);
  assert.equal(at(record, "severity"), "critical");
  assert.equal(at(record, "target"), "openai");
  assert.equal(at(record, "project", "uuid"), PROJECT);
});

verifies(
  ["event.guardrail", "guard.audited"],
  "a guardrail's block raises an event; a verdict in shadow mode and a mask do not",
  async (t) => {
    const keywords = (word: string, fields = {}) => ({
      use: "keyword_blocklist",
      keywords: [word],
      ...fields,
    });
    const g = await start(t, {
      endpoint: echoEntry({ guardrails: [keywords("pear", { shadow: true }), { use: "pii", mode: "mask" }] }),
      endpoints: [
        echoEntry({ name: "In", guardrails: [keywords("plum")] }),
        echoEntry({ name: "Out", guardrails: [keywords("plum", { on: ["output"] })] }),
      ],
    });
    assert.equal((await g.call({ message: "a pear for ada.example@mail.example.org" })).status, 200);
    assertRefused(
      await g.call({ message: "a plum" }, { slug: "in" }),
      422,
      /keyword 'plum' detected in input/,
    );
    assertRefused(await g.call({ message: "a plum" }, { slug: "out" }), 422, /detected in output/);
    const stream = await g.stream({ message: "a plum" }, { slug: "out" });
    await stream.rest();
    const told = await records(g);
    assert.deepEqual(
      told.map((record) => [
        at(record, "event"),
        at(record, "metadata", "endpoint"),
        at(record, "metadata", "side"),
      ]),
      [
        ["guardrail.blocked", "in", "input"],
        ["guardrail.blocked", "out", "output"],
        ["guardrail.blocked", "out", "output"],
      ],
    );
    assert.equal(at(told[0], "actor"), "web");
    assert.equal(at(told[0], "ip_address"), "127.0.0.1");
  },
);

verifies(
  "event.auth",
  "a failed sign-in raises an event with its address and without the token",
  async (t) => {
    const g = await start(t, { endpoint: echoEntry({}) });
    const signIn = (token: string) => g.admin.send("/admin/session", { body: { token } });
    assert.equal((await signIn(OPERATOR)).status, 204);
    assertRefused(await signIn("gw_live_guessed"), 401, "Invalid or revoked token.");
    const [record, ...others] = await records(g);
    assert.equal(others.length, 0);
    assert.equal(at(record, "event"), "auth.login_failed");
    assert.equal(at(record, "ip_address"), "127.0.0.1");
    assert.doesNotMatch(JSON.stringify(record), /guessed/);
  },
);

verifies(
  "event.token",
  "the first configuration and a reload that changes nothing raise nothing",
  async (t) => {
    const g = await start(t, { endpoint: echoEntry({}) });
    assert.equal((await g.gateway.reload()).changed, false);
    assert.deepEqual(await events(g), []);
  },
);
