/** The control plane's tools: what they change at once, what lasts, what they list, and what they refuse. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type Answer, assertAnswered, assertRefused, at } from "./kit/client.ts";
import { echoEntry, hashOf, OTHER_PROJECT, PROJECT, PROVIDER_KEY, TOKENS } from "./kit/config.ts";
import { type Closer, type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { assertRpcError, CONTROL, CONTROL_TOKEN, callTool, contentOf, rpc, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
const WEBHOOK_SECRET = "whsec_c2VjcmV0LW9mLWEtdGVzdA==";

function parts(more: StartOptions = {}): StartOptions {
  const { root, ...rest } = more;
  return { endpoint: echoEntry({}), ...rest, root: { ...WITH_CONTROL, ...root } };
}

async function start(t: Closer, more: StartOptions = {}) {
  const g = await startGateway(t, parts(more));
  const tool = async (name: string, args: object = {}): Promise<unknown> =>
    contentOf(await callTool(g.client, name, args));
  const calls = (token: unknown): Promise<Answer> => g.call(hello, { token: String(token) });
  return { g, tool, calls };
}

/** The configuration as at the start, with the token `id` in git. */
function withToken(id: number | string, token: string, fields: object = {}): StartOptions {
  return { tokens: [{ id, name: "seven", hash: hashOf(token), scopes: ["chat"], ...fields }] };
}

const SEVEN = "gw_live_seven0Of9";

async function reloaded(g: Harness, next: StartOptions): Promise<void> {
  g.rewrite(parts(next));
  assert.equal((await g.gateway.reload()).ok, true);
}

const events = async (
  tool: (name: string, args?: object) => Promise<unknown>,
  event: string,
): Promise<unknown[]> => {
  const listed = at(await tool("gw_list_audit_events", { event }), "events");
  assert.ok(Array.isArray(listed));
  return listed;
};

verifies(
  ["control.tools", "config.control-plane"],
  "fourteen tools are listed with strict schemas",
  async (t) => {
    const { g } = await start(t);
    const answer = await rpc(g.client, { method: "tools/list" });
    const tools = at(answer.json, "result", "tools");
    assert.ok(Array.isArray(tools));
    const names = tools.map((one) => at(one, "name"));
    assert.deepEqual(names, [
      ...["gw_list_projects", "gw_list_endpoints", "gw_list_tokens", "gw_list_overrides", "gw_get_spend"],
      ...["gw_list_audit_events", "gw_list_webhook_deliveries", "gw_create_token", "gw_rotate_token"],
      ...["gw_revoke_token", "gw_set_endpoint_active", "gw_send_test_webhook", "gw_reload_config"],
      "gw_export_backup",
    ]);
    for (const one of tools) {
      assert.equal(at(one, "inputSchema", "type"), "object");
      assert.equal(at(one, "inputSchema", "additionalProperties"), false);
      const name = String(at(one, "name"));
      assertRpcError(
        await callTool(g.client, name, { surprise: 1 }),
        -32602,
        /Argument '\w+' is (?:required|not known)/,
      );
    }
  },
);

verifies("control.clients", "the official clients of both eras list and call the tools", async (t) => {
  const { g } = await start(t);
  const url = new URL(`${g.client.origin}${CONTROL}`);
  const requestInit = { headers: { authorization: `Bearer ${CONTROL_TOKEN}` } };
  const identity = { name: "test", version: "1.0.0" };
  const clients = [
    { client: new LegacyClient(identity), transport: new LegacyTransport(url, { requestInit }) },
    {
      client: new StatelessClient(identity, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
      transport: new StatelessTransport(url, { requestInit }),
    },
    { client: new StatelessClient(identity), transport: new StatelessTransport(url, { requestInit }) },
  ];
  for (const { client, transport } of clients) {
    // Each client takes its own package's transport, which a union of the pairs no longer shows.
    await (client as LegacyClient).connect(transport as LegacyTransport);
    assert.equal((await client.listTools()).tools.length, 14);
    const result = await client.callTool({ name: "gw_list_projects", arguments: {} });
    assert.equal(at(result, "structuredContent", "projects", 0, "uuid"), PROJECT);
    await assert.rejects(client.callTool({ name: "gw_list_tokens", arguments: {} }), /project_uuid/);
    await client.close();
  }
});

verifies(
  ["control.create", "control.create.new-row"],
  "a created token works at once, with what it was given, and each call makes another",
  async (t) => {
    const { g, tool, calls } = await start(t);
    const first = await tool("gw_create_token", { project_uuid: PROJECT, name: "partner" });
    const token = String(at(first, "token"));
    assert.match(token, /^gw_live_[0-9A-Za-z]{43}$/);
    assert.equal(at(first, "hash"), hashOf(token));
    assert.deepEqual(at(first, "scopes"), ["chat"]);
    assertAnswered(await calls(token));
    const again = await tool("gw_create_token", { project_uuid: PROJECT.toUpperCase(), name: "partner" });
    assert.notEqual(at(again, "token"), token);
    assert.notEqual(at(again, "token_id"), at(first, "token_id"));
    assert.ok(Number.isInteger(at(first, "token_id")), "webhooks say `token_id` as an integer");
    const [event] = await events(tool, "token.created");
    assert.equal(at(event, "metadata", "token_id"), at(again, "token_id"));
    assertAnswered(await calls(at(again, "token")));

    const args = {
      scopes: ["admin", "models"],
      monthly_budget_usd_cap: "2.50",
      expires_at: "2026-06-01T00:00:00Z",
    };
    const limited = await tool("gw_create_token", { project_uuid: PROJECT, name: "reader", ...args });
    assert.equal(at(limited, "monthly_budget_usd_cap"), 2.5);
    assert.equal(at(limited, "expires_at"), "2026-06-01T00:00:00.000Z");
    assertRefused(
      await calls(at(limited, "token")),
      403,
      "Missing required scope: 'chat'. Token has: admin, models.",
    );
    g.clock.advance(Date.UTC(2026, 5, 1) - g.clock.nowMs());
    assertRefused(await calls(at(limited, "token")), 401, "Invalid or revoked token.");

    const everywhere = [JSON.stringify(await tool("gw_list_tokens", { project_uuid: PROJECT })), ...g.lines];
    everywhere.push(
      JSON.stringify(await tool("gw_list_overrides")),
      JSON.stringify(await tool("gw_export_backup")),
    );
    assert.equal(
      everywhere.some((text) => text.includes(token)),
      false,
      "the plaintext is shown once",
    );
  },
);

verifies(
  ["control.rotate.each", "auth.token.rotate"],
  "each rotation makes another plaintext, and the one before stops working",
  async (t) => {
    const { g, tool, calls } = await start(t, withToken(7, SEVEN));
    assertAnswered(await calls(SEVEN));
    let previous: unknown = SEVEN;
    for (let n = 0; n < 3; n++) {
      const rotated = await tool("gw_rotate_token", { token_id: n === 0 ? "7" : 7 });
      assert.equal(at(rotated, "token_id"), 7);
      assertRefused(await calls(previous), 401, "Invalid or revoked token.");
      previous = at(rotated, "token");
      assertAnswered(await calls(previous));
    }
    await reloaded(g, withToken(7, SEVEN, { name: "renamed" }));
    assertAnswered(await calls(previous));
    assert.equal((await events(tool, "token.rotated")).length, 3);
  },
);

verifies(
  ["control.revoke.permanent", "control.revoke.idempotent", "config.override.revocation"],
  "a revoked token stays revoked: on the next call, again, after reloads, and when git brings it back",
  async (t) => {
    const { g, tool, calls } = await start(t, withToken(7, SEVEN));
    assertAnswered(await calls(SEVEN));
    const revoked = await tool("gw_revoke_token", { token_id: 7 });
    assert.deepEqual([at(revoked, "token_id"), at(revoked, "is_active")], [7, false]);
    assert.equal(at(revoked, "durable"), false, "the memory store forgets it");
    const yaml = `projects:\n  - uuid: ${PROJECT}\n    tokens:\n      - id: 7\n        is_active: false\n`;
    assert.equal(at(revoked, "yaml"), yaml);
    const refused = async (): Promise<void> =>
      assertRefused(await calls(SEVEN), 401, "Invalid or revoked token.");
    await refused();
    await tool("gw_revoke_token", { token_id: 7 });
    await refused();
    assert.equal((await events(tool, "token.revoked")).length, 1, "the second changed nothing");
    await g.gateway.reload();
    await refused();
    await reloaded(g, {});
    await refused();
    await reloaded(g, withToken(7, SEVEN));
    await refused();
    await reloaded(g, withToken("another-id", SEVEN));
    await refused();
  },
);

verifies("control.revoke.permanent", "a created token is revoked permanently, too", async (t) => {
  const { g, tool, calls } = await start(t);
  const created = await tool("gw_create_token", { project_uuid: PROJECT, name: "partner" });
  const token = String(at(created, "token"));
  await tool("gw_revoke_token", { token_id: at(created, "token_id") });
  assertRefused(await calls(token), 401, "Invalid or revoked token.");
  await tool("gw_revoke_token", { token_id: at(created, "token_id") });
  await reloaded(g, withToken("adopted", token));
  assertRefused(await calls(token), 401, "Invalid or revoked token.");
});

verifies(
  ["control.set-active.idempotent", "state.endpoint.switch"],
  "an endpoint is switched off and on again, and setting the same value again succeeds",
  async (t) => {
    const { g, tool } = await start(t);
    const set = (is_active: boolean) =>
      tool("gw_set_endpoint_active", { project_uuid: PROJECT, slug: "ask", is_active });
    for (const _ of [1, 2]) {
      assert.deepEqual(await set(false), { project_uuid: PROJECT, slug: "ask", is_active: false });
      assertRefused(await g.call(hello), 404, "Endpoint 'ask' not found or inactive.");
    }
    await g.gateway.reload();
    assertRefused(await g.call(hello), 404, "Endpoint 'ask' not found or inactive.");
    for (const _ of [1, 2]) {
      await set(true);
      assertAnswered(await g.call(hello));
    }
    assert.deepEqual(at(await tool("gw_list_overrides"), "overrides"), []);
    assert.equal((await events(tool, "endpoint.deactivated")).length, 1);
    assert.equal((await events(tool, "endpoint.updated")).length, 1);
  },
);

verifies("state.token.rotate-again", "a token that is revoked cannot be rotated back to life", async (t) => {
  const { g, tool, calls } = await start(t, withToken(7, SEVEN));
  const first = await tool("gw_rotate_token", { token_id: 7 });
  const second = await tool("gw_rotate_token", { token_id: 7 });
  assert.notEqual(at(first, "token"), at(second, "token"));
  await tool("gw_revoke_token", { token_id: 7 });
  assertRefused(await calls(at(second, "token")), 401, "Invalid or revoked token.");
  assertRpcError(
    await callTool(g.client, "gw_rotate_token", { token_id: 7 }),
    -32602,
    /'token_id': token '7' is revoked/,
  );
});

verifies(
  ["control.override.git-wins", "config.override.git-wins"],
  "an override is dropped when git changes its base value",
  async (t) => {
    const { g, tool, calls } = await start(t, withToken(7, SEVEN));
    await tool("gw_set_endpoint_active", { project_uuid: PROJECT, slug: "ask", is_active: false });
    const rotated = await tool("gw_rotate_token", { token_id: 7 });
    const created = await tool("gw_create_token", { project_uuid: PROJECT, name: "partner" });
    const token = String(at(created, "token"));
    const next = "gw_live_next0FromGit";
    const tokens = [
      { id: 7, name: "seven", hash: hashOf(next) },
      { name: "adopted", hash: hashOf(token) },
    ];
    await reloaded(g, { endpoint: echoEntry({ is_active: false }), tokens });
    const kinds = at(await tool("gw_list_overrides"), "overrides");
    assert.ok(Array.isArray(kinds));
    assert.deepEqual(
      kinds.map((one) => at(one, "kind")),
      ["revoked"],
      "what must never work again is all that stays",
    );
    await reloaded(g, { tokens });
    assertAnswered(await calls(next));
    assertAnswered(await calls(token));
    assertRefused(await calls(at(rotated, "token")), 401, "Invalid or revoked token.");
  },
);

verifies(
  ["control.override.drift", "control.audit"],
  "overrides and audit events say what was changed, by whom, and when",
  async (t) => {
    const { tool } = await start(t, withToken(7, SEVEN));
    await tool("gw_set_endpoint_active", { project_uuid: PROJECT, slug: "ask", is_active: false });
    await tool("gw_revoke_token", { token_id: 7 });
    const overrides = at(await tool("gw_list_overrides"), "overrides");
    assert.deepEqual(at(overrides, 0), {
      key: `endpoint:${PROJECT}/ask`,
      kind: "endpoint",
      project_uuid: PROJECT,
      name: "ask",
      value: { is_active: false },
      replaced: { is_active: true },
      actor: "platform",
      set_at: "2026-05-14T12:00:00.000Z",
    });
    assert.equal(at(overrides, 1, "kind"), "revoked");
    const [event] = await events(tool, "token.revoked");
    const { id, project, ...rest } = Object(event);
    assert.match(String(id), /^[0-9a-f-]{36}$/);
    assert.deepEqual([at(project, "uuid"), at(project, "name")], [PROJECT, "Support"]);
    assert.deepEqual(rest, {
      event: "token.revoked",
      severity: "warn",
      actor: "platform",
      target: "seven",
      metadata: { token_id: 7 },
      ip_address: "127.0.0.1",
      occurred_at: "2026-05-14T12:00:00.000Z",
    });
    const none = await tool("gw_list_audit_events", { project_uuid: OTHER_PROJECT });
    assert.deepEqual(at(none, "events"), []);
    assert.equal((await events(tool, "endpoint.deactivated")).length, 1);
  },
);

verifies("control.lists", "projects, endpoints, tokens and spend are listed", async (t) => {
  const cost = { estimated_cost_per_1k_tokens_usd: 1000 };
  const { g, tool } = await start(t, {
    endpoint: echoEntry(cost),
    ...withToken(7, SEVEN, { monthly_budget_usd_cap: 9000 }),
  });
  const projects = at(await tool("gw_list_projects"), "projects");
  assert.deepEqual(at(projects, 1), {
    ...Object(at(projects, 1)),
    uuid: OTHER_PROJECT,
    endpoints: 0,
    tokens: 1,
  });
  assert.deepEqual(at(await tool("gw_list_projects", { project_type: "proxy" }), "projects"), []);
  const endpoints = at(await tool("gw_list_endpoints", { project_uuid: PROJECT }), "endpoints");
  assert.equal(at(endpoints, 0, "slug"), "ask");
  assert.equal(at(endpoints, 0, "is_active"), true);
  const listed = JSON.stringify(await tool("gw_list_tokens", { project_uuid: PROJECT }));
  assert.match(listed, /"token_id":7,/);
  assert.equal(listed.includes("sha256"), false);

  assertAnswered(await g.call(hello, { token: SEVEN }));
  const spend = await tool("gw_get_spend", { project_uuid: PROJECT });
  assert.equal(at(spend, "month"), "2026-05");
  const settled = Number(at(spend, "settled_usd"));
  assert.ok(settled > 0, JSON.stringify(spend));
  assert.deepEqual(at(spend, "endpoints"), [
    { project_uuid: PROJECT, slug: "ask", settled_usd: settled, reserved_usd: 0 },
  ]);
  assert.deepEqual(at(spend, "tokens"), [
    { project_uuid: PROJECT, token_id: 7, settled_usd: settled, reserved_usd: 0 },
  ]);
  assert.equal(at(await tool("gw_get_spend", { month: "2026-04" }), "settled_usd"), 0);
  assert.equal(at(await tool("gw_get_spend", { project_uuid: OTHER_PROJECT }), "settled_usd"), 0);
});

verifies(
  ["control.webhooks", "webhook.test"],
  "a test webhook is sent, and its delivery is listed",
  async (t) => {
    const webhooks = [
      { name: "siem", url: "https://siem.example.com/in", events: [], secret: WEBHOOK_SECRET },
      { name: "off", url: "https://siem.example.com/in", events: [], secret: WEBHOOK_SECRET, active: false },
    ];
    const { g, tool } = await start(t, { project: { webhooks } });
    const sent = await tool("gw_send_test_webhook", { project_uuid: PROJECT, webhook: "siem" });
    assert.equal(at(sent, "delivery", "event"), "webhook.test");
    const listed = at(
      await tool("gw_list_webhook_deliveries", { project_uuid: PROJECT, limit: 5 }),
      "deliveries",
    );
    assert.deepEqual(listed, [at(sent, "delivery")]);
    const test = (webhook: string) =>
      callTool(g.client, "gw_send_test_webhook", { project_uuid: PROJECT, webhook });
    assertRpcError(await test("none"), -32602, /'webhook': there is no webhook 'none'/);
    assertRpcError(await test("off"), -32602, /'webhook': webhook 'off' is inactive/);
  },
);

verifies(
  ["control.reload", "reload.admin"],
  "a reload is asked for, and a faulty configuration is answered with its errors",
  async (t) => {
    const { g, tool } = await start(t);
    assert.deepEqual(at(await tool("gw_reload_config"), "changed"), false);
    g.rewrite(parts({ endpoint: echoEntry({ temprature: 1 }) }));
    const answer = await callTool(g.client, "gw_reload_config");
    assert.equal(at(answer.json, "result", "isError"), true);
    const content = contentOf(answer);
    assert.equal(at(content, "ok"), false);
    assert.match(String(at(content, "errors", 0, "message")), /temprature/);
    assertAnswered(await g.call(hello));
  },
);

verifies(
  ["control.backup", "event.backup", "config.secret.fingerprint"],
  "a backup holds what is needed, and no secret",
  async (t) => {
    const project = {
      webhooks: [{ name: "siem", url: "https://siem.example.com/in", events: [], secret: WEBHOOK_SECRET }],
      mcp_servers: [
        { name: "docs", url: "https://docs.example.com/mcp", headers: { "X-Key": "mcp-header-secret" } },
      ],
    };
    const { g, tool } = await start(t, { project, ...withToken(7, SEVEN) });
    const created = await tool("gw_create_token", { project_uuid: PROJECT, name: "partner" });
    const backup = await tool("gw_export_backup");
    const text = JSON.stringify(backup);
    const secrets = [
      PROVIDER_KEY,
      WEBHOOK_SECRET,
      "mcp-header-secret",
      CONTROL_TOKEN,
      SEVEN,
      String(at(created, "token")),
    ];
    for (const secret of [...secrets, ...Object.values(TOKENS)])
      assert.equal(text.includes(secret), false, secret);
    const shown = createHash("sha256").update(PROVIDER_KEY).digest("hex").slice(0, 8);
    assert.equal(at(backup, "config", "projects", 0, "credentials", 0, "api_key"), `fingerprint:${shown}`);
    assert.equal(at(backup, "config", "projects", 0, "endpoints", 0, "slug"), "ask");
    assert.equal(text.includes(g.folder), false, "no path of this machine");
    assert.equal(at(backup, "overrides", 0, "value", "hash"), at(created, "hash"));
    assert.equal((await events(tool, "backup.exported")).length, 1);
  },
);

verifies(
  ["rpc.code.params.argument", "rpc.code.params.business", "rpc.code.params.values"],
  "every refusal of an argument is -32602 and names it",
  async (t) => {
    const { g, tool } = await start(t, withToken(7, SEVEN));
    const none = "11111111-1111-4111-8111-111111111111";
    const create = (args: object) =>
      ["gw_create_token", { project_uuid: PROJECT, name: "x", ...args }] as const;
    const set = (args: object) =>
      ["gw_set_endpoint_active", { project_uuid: PROJECT, slug: "ask", is_active: true, ...args }] as const;
    const cases: (readonly [string, object, RegExp])[] = [
      ["gw_create_token", { name: "x" }, /^Argument 'project_uuid' is required\.$/],
      ["gw_create_token", { project_uuid: PROJECT }, /^Argument 'name' is required\.$/],
      [...create({ name: "" }), /^Argument 'name' /],
      [...create({ name: 5 }), /^Argument 'name' must be string\.$/],
      [...create({ colour: "red" }), /^Argument 'colour' is not known\.$/],
      [...create({ project_uuid: none }), /^Argument 'project_uuid': there is no project/],
      [...create({ scopes: ["chat", "root"] }), /^Argument 'scopes\[1\]' must be equal to one of .*"chat"/],
      [...create({ scopes: "chat" }), /^Argument 'scopes' must be array\.$/],
      [...create({ monthly_budget_usd_cap: -1 }), /^Argument 'monthly_budget_usd_cap': /],
      [...create({ monthly_budget_usd_cap: "1e3" }), /^Argument 'monthly_budget_usd_cap': /],
      [...create({ expires_at: "tomorrow" }), /^Argument 'expires_at': /],
      [...create({ expires_at: "Jan 1 2031" }), /^Argument 'expires_at': /],
      [...create({ expires_at: "2020-01-01T00:00:00Z" }), /^Argument 'expires_at': .*future/],
      ["gw_rotate_token", {}, /^Argument 'token_id' is required\.$/],
      ["gw_rotate_token", { token_id: "nobody" }, /^Argument 'token_id': there is no token 'nobody'/],
      ["gw_revoke_token", { token_id: 7.5 }, /^Argument 'token_id' must be string,integer\.$/],
      ["gw_revoke_token", { token_id: 8 }, /^Argument 'token_id': there is no token '8'/],
      [...set({ is_active: "true" }), /^Argument 'is_active' must be boolean\.$/],
      [...set({ is_active: 1 }), /^Argument 'is_active' must be boolean\.$/],
      [...set({ slug: "nowhere" }), /^Argument 'slug': there is no endpoint 'nowhere'/],
      [...set({ project_uuid: none }), /^Argument 'project_uuid': there is no project/],
      [
        "gw_list_projects",
        { project_type: "gateway" },
        /^Argument 'project_type' must be equal to one of .*"ai_gateway"/,
      ],
      ["gw_list_endpoints", { project_uuid: none }, /^Argument 'project_uuid': there is no project/],
      ["gw_list_tokens", { project_uuid: none }, /^Argument 'project_uuid': there is no project/],
      ["gw_get_spend", { month: "2026-13" }, /^Argument 'month' must match pattern/],
      ["gw_get_spend", { project_uuid: none }, /^Argument 'project_uuid': there is no project/],
      ["gw_list_audit_events", { limit: 0 }, /^Argument 'limit' must be >= 1\.$/],
      ["gw_list_audit_events", { limit: 1001 }, /^Argument 'limit' must be <= 1000\.$/],
      ["gw_list_webhook_deliveries", { limit: "5" }, /^Argument 'limit' must be integer\.$/],
    ];
    for (const [name, args, message] of cases)
      assertRpcError(await callTool(g.client, name, args), -32602, message);
    assert.deepEqual(at(await tool("gw_list_overrides"), "overrides"), []);
    assert.deepEqual(at(await tool("gw_list_audit_events"), "events"), []);
  },
);
