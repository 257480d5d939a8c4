/** `/admin/v1/overview` and `/admin/v1/reload` of a running gateway, over real HTTP. */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiRoutes } from "../../../src/surfaces/admin/v1/routes.ts";
import { type Answer, assertAnswered, assertRefused, at, until } from "../../spec/kit/client.ts";
import { type ConfigParts, echoEntry, hashOf, PROJECT, TOKENS, tokenEntry } from "../../spec/kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "../../spec/kit/gateway.ts";
import { verifies } from "../../spec/verifies.ts";
import { ask } from "./v1-kit.ts";

const OPERATOR = "gw_live_operator0Ops9";
const PRICED = { estimated_cost_per_1k_tokens_usd: 1 };

/** With a control-plane token. */
function operated(parts: StartOptions = {}): StartOptions {
  const control_plane = { tokens: [{ name: "ops", hash: hashOf(OPERATOR) }] };
  return { ...parts, root: { control_plane, ...parts.root } };
}

async function overview(g: Harness): Promise<unknown> {
  const { status, json } = await ask(g.admin, "GET /admin/v1/overview", { token: OPERATOR });
  assert.equal(status, 200);
  return json;
}

function reload(g: Harness, body?: unknown): Promise<Answer> {
  return ask(g.admin, "POST /admin/v1/reload", { token: OPERATOR, ...(body !== undefined && { body }) });
}

async function hashInUse(g: Harness): Promise<string> {
  return String(at(await overview(g), "config", "hash"));
}

/** The hash that the gateway's configuration has with these parts, which it does not run afterwards. */
async function hashOfParts(g: Harness, before: ConfigParts, parts: ConfigParts): Promise<string> {
  g.rewrite(parts);
  assert.equal((await reload(g)).status, 200);
  const hash = await hashInUse(g);
  g.rewrite(before);
  assert.equal((await reload(g)).status, 200);
  return hash;
}

verifies("admin.v1.access", "every route needs a control-plane token, and no answer is cached", async (t) => {
  const g = await startGateway(t, operated());
  for (const { method, path } of apiRoutes) {
    g.clock.advance(60_000); // Failed attempts are throttled.
    assertRefused(await ask(g.admin, `${method} ${path}`), 401, "Missing Bearer token.");
    assertRefused(await ask(g.admin, `${method} ${path}`, { token: TOKENS.web }), 401, /Invalid/);
    if (path.endsWith("/stream")) continue;
    const answer = await ask(g.admin, `${method} ${path}`, { token: OPERATOR });
    assert.equal(answer.status, path.includes("{") ? 404 : 200);
    assert.equal(answer.headers["cache-control"], "no-store");
    assertRefused(await g.client.send(path, { method, token: OPERATOR }), 404, "Not found.");
  }
});

verifies(
  ["admin.overview", "admin.v1.schema"],
  "the overview shows what runs, what it does and what differs from git",
  async (t) => {
    const g = await startGateway(t, {
      ...operated({ endpoint: PRICED }),
      env: { SLUICE_REVISION: "release-7" },
    });
    const { json: ready } = await g.admin.send("/readyz", { method: "GET" });
    g.clock.advance(90_000);
    g.provider.says("Yes.", { usage: { prompt: 900, completion: 100 } });
    assertAnswered(await g.call({ message: "hi" }));
    const played = g.provider.opens();
    const stream = g.stream({ message: "hi" });
    await until(() => g.provider.requests.length === 2, "the provider is asked for the stream");
    const seen = await overview(g);
    assert.equal(at(seen, "ready"), true);
    assert.equal(at(seen, "uptime_seconds"), 90);
    assert.equal(at(seen, "config", "hash"), at(ready, "config_hash"));
    assert.equal(at(seen, "config", "revision"), "release-7");
    assert.deepEqual(at(seen, "store"), at(ready, "store"));
    assert.equal(at(seen, "last_reload", "ok"), true);
    assert.deepEqual(at(seen, "calls"), { open: 1, streams: 1, shedding: false });
    assert.equal(at(seen, "today", "calls"), 1);
    assert.equal(at(seen, "today", "tokens"), 1000);
    assert.equal(at(seen, "today", "cost_usd"), 1);
    assert.equal(at(seen, "month", "settled_usd"), 1);
    assert.ok(Number(at(seen, "month", "reserved_usd")) > 0);
    assert.equal(at(seen, "month", "name"), "2026-05");
    played.end();
    await (await stream).rest();
  },
);

verifies("admin.overview", "an endpoint that was switched off at run time is an override", async (t) => {
  const g = await startGateway(t, operated());
  const switched = await g.client.send("/api/control", {
    token: OPERATOR,
    body: {
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: {
        name: "gw_set_endpoint_active",
        arguments: { project_uuid: PROJECT, slug: "ask", is_active: false },
      },
    },
  });
  assert.equal(at(switched.json, "result", "isError"), undefined);
  const seen = await overview(g);
  const expected = {
    ...{ kind: "endpoint", project: { uuid: PROJECT, name: "Support" }, id: "ask", name: "ask" },
    ...{ change: "switched off", actor: "ops", set_at: new Date(g.clock.nowMs()).toISOString() },
  };
  assert.deepEqual(at(seen, "overrides"), [expected]);
  assert.deepEqual([at(seen, "overrides_total"), at(seen, "overrides_known")], [1, true]);
});

verifies(
  "admin.overview",
  "a target that keeps failing is an open circuit until it answers again",
  async (t) => {
    const g = await startGateway(t, operated());
    g.provider.failsWith(500);
    for (let n = 0; n < 5; n++) assertRefused(await g.call({ message: "hi" }), 502, /./);
    const circuit = { provider: "openai", model: "gpt-4o-mini", credential: "main" };
    assert.deepEqual(at(await overview(g), "circuits"), [circuit]);
    g.clock.advance(30_000);
    assert.deepEqual(at(await overview(g), "circuits"), []);
  },
);

verifies(
  "admin.overview.budgets",
  "budgets above 80 % are listed, those of tokens too, the fullest first",
  async (t) => {
    const g = await startGateway(t, {
      ...operated({
        endpoint: { ...PRICED, monthly_budget_usd: 10, max_output_tokens: 1 },
        endpoints: [echoEntry({ name: "Calm", ...PRICED, monthly_budget_usd: 1000 })],
        tokens: [tokenEntry("unknown", { name: "batch", monthly_budget_usd_cap: 10 })],
      }),
    });
    const spend = async (tokens: number, token: string): Promise<void> => {
      g.provider.says("Yes.", { usage: { prompt: tokens, completion: 0 } });
      assertAnswered(await g.call({ message: "hi" }, { token }));
    };
    await spend(8000, TOKENS.unknown);
    assert.deepEqual(at(await overview(g), "budgets"), [], "80 % exactly is not above");
    await spend(1000, TOKENS.web);
    await spend(900, TOKENS.unknown);
    const listed = at(await overview(g), "budgets");
    const project = { uuid: PROJECT, name: "Support" };
    assert.deepEqual(listed, [
      {
        ...{ of: "endpoint", project, name: "ask", cap_usd: 10 },
        ...{ settled_usd: 9.9, reserved_usd: 0, used_percent: 99 },
      },
      {
        ...{ of: "token", project, name: "batch", cap_usd: 10 },
        ...{ settled_usd: 8.9, reserved_usd: 0, used_percent: 89 },
      },
    ]);
  },
);

verifies(
  "admin.overview.rates",
  "rates are of the last minute, and a day's totals begin at midnight",
  async (t) => {
    const g = await startGateway(t, operated({ endpoint: echoEntry({ rate_limit_per_minute: 3 }) }));
    g.clock.advance(60_000);
    for (let n = 0; n < 5; n++) await g.call({ message: "hi" });
    g.clock.advance(30_000);
    const traffic = at(await overview(g), "traffic");
    assert.deepEqual(traffic, {
      ...{ window_seconds: 60, calls_per_second: 0.083 },
      ...{ errors_per_second: 0, refusals_per_second: 0.033 },
    });
    g.clock.advance(70_000);
    assert.equal(at(await overview(g), "traffic", "calls_per_second"), 0);
    g.clock.advance(12 * 3_600_000);
    const { today, month } = Object(await overview(g));
    assert.equal(at(today, "calls"), 0);
    assert.equal(at(today, "since"), "2026-05-15T00:00:00.000Z");
    assert.deepEqual([at(month, "calls"), at(month, "refusals")], [5, 2]);
  },
);

verifies(
  "admin.overview.diagnostics",
  "a rejected reload is shown with its frames, at most twenty of them, until a valid one",
  async (t) => {
    const g = await startGateway(t, operated());
    const broken = Array.from({ length: 25 }, (_, n) => echoEntry({ name: `E ${n}`, temperatur: 1 }));
    g.rewrite(operated({ endpoints: broken }));
    const refused = await reload(g);
    assert.equal(refused.status, 422);
    const last = at(await overview(g), "last_reload");
    assert.equal(at(last, "ok"), false);
    const errors: readonly unknown[] = Object(at(last, "errors"));
    assert.equal(errors.length, 20);
    assert.deepEqual(at(last, "omitted"), { errors: 5, warnings: 0 });
    assert.equal(at(errors[0], "suggestion"), "temperature");
    assert.match(String(at(errors[0], "frame", "text")), /temperatur/);
    assert.equal(at(refused.json, "generation"), 1);
    g.rewrite(operated());
    assert.equal((await reload(g)).status, 200);
    assert.deepEqual(at(await overview(g), "last_reload", "errors"), []);
  },
);

verifies(
  "admin.reload.outcome",
  "a reload answers with what is in use afterwards, and what waits for a restart",
  async (t) => {
    const g = await startGateway(t, { ...operated(), env: { SLUICE_REVISION: "release-7" } });
    const before = await hashInUse(g);
    const { warnings, ...same } = Object((await reload(g)).json);
    assert.deepEqual(same, {
      ...{ ok: true, changed: false, generation: 1, config_hash: before, revision: "release-7" },
      ...{ needs_restart: [], errors: [] },
    });
    assert.deepEqual(warnings, at(await overview(g), "last_reload", "warnings"));
    assert.match(JSON.stringify(warnings), /"code":"W0106"/);
    g.rewrite(operated({ server: { request_timeout_ms: 12_345 }, endpoint: { description: "New." } }));
    const { json } = await reload(g);
    assert.deepEqual([at(json, "changed"), at(json, "generation")], [true, 2]);
    assert.notEqual(at(json, "config_hash"), before);
    assert.deepEqual(at(json, "needs_restart"), ["server"]);
    await reload(g);
    assert.deepEqual(at(await overview(g), "config", "needs_restart"), ["server"]);
  },
);

verifies("admin.reload.reviewed", "the reviewed change is applied, and no other one", async (t) => {
  const first = operated();
  const second = operated({ endpoint: { description: "Reviewed." } });
  const g = await startGateway(t, first);
  const from_hash = await hashInUse(g);
  const to_hash = await hashOfParts(g, first, second);
  const reviewed = { from_hash, to_hash };
  const generation = g.gateway.config && Number(at(await overview(g), "config", "generation"));

  const unchanged = await reload(g, reviewed);
  assertRefused(unchanged, 409, `The new configuration is ${from_hash}, not ${to_hash} as it was reviewed.`);
  assert.deepEqual([at(unchanged.json, "side"), at(unchanged.json, "found", "hash")], ["new", from_hash]);
  assert.equal(unchanged.headers["x-error-code"], "config_not_reviewed");

  g.rewrite(second);
  const applied = await reload(g, reviewed);
  assert.deepEqual([applied.status, at(applied.json, "config_hash")], [200, to_hash]);
  assert.equal(at(applied.json, "generation"), generation + 1);

  const again = await reload(g, reviewed);
  assertRefused(again, 409, `The running configuration is ${to_hash}, not ${from_hash} as it was reviewed.`);
  assert.equal(at(again.json, "side"), "running");
  assert.equal(at(await overview(g), "last_reload", "ok"), true);
});

verifies("admin.reload.reviewed", "hashes come in pairs, and other fields are refused", async (t) => {
  const g = await startGateway(t, operated());
  for (const body of [{ from_hash: "a" }, { to_hash: "a" }, { from: "a" }, { from_hash: 1, to_hash: 2 }])
    assertRefused(await reload(g, body), 400, /^Invalid body: /);
  assertRefused(await reload(g, "{"), 400, "Malformed JSON body.");
  assert.equal((await reload(g, {})).status, 200);
});

verifies(
  "admin.reload.reviewed.race",
  "what is edited while a reviewed reload waits for its files is not applied",
  async (t) => {
    const first = operated();
    const second = operated({ endpoint: { description: "Reviewed." } });
    const g = await startGateway(t, first);
    const from_hash = await hashInUse(g);
    const to_hash = await hashOfParts(g, first, second);
    const lock = join(g.folder, ".git", "index.lock");
    mkdirSync(join(g.folder, ".git"));
    writeFileSync(lock, "");
    g.rewrite(second);
    const answer = reload(g, { from_hash, to_hash });
    await until(() => g.lines.some((line) => line.includes("reload waits until git")), "the reload waits");
    g.rewrite(operated({ endpoint: { description: "Edited after the review." } }));
    rmSync(lock);
    assertRefused(await answer, 409, /^The new configuration is /);
    assert.equal(await hashInUse(g), from_hash);
  },
);

verifies(
  "admin.reload.reviewed.race",
  "a reviewed reload that fails is not retried, since its files may be others by then",
  async (t) => {
    const first = operated();
    const g = await startGateway(t, first);
    const from_hash = await hashInUse(g);
    g.rewrite(operated({ root: { plugins: ["./later.ts"] } }));
    const refused = await reload(g, { from_hash, to_hash: from_hash });
    assert.equal(refused.status, 422);
    assert.equal(at(refused.json, "errors", "0", "code"), "E0316");
    g.rewrite(operated({ endpoint: { description: "Never reviewed." } }));
    g.clock.advance(120_000);
    // Begins after a retry would have.
    await reload(g, { from_hash: "none", to_hash: "none" });
    assert.equal(await hashInUse(g), from_hash);
  },
);
