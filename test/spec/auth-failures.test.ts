/** Tokens that are refused, on every surface: counted, logged, audited, throttled; and who may reach the admin listener. */
import assert from "node:assert/strict";
import { type Answer, assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { echoEntry, hashOf, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const OPERATOR = "gw_live_operator0Token";
const operator = { name: "operator", hash: hashOf(OPERATOR) };
const control = { control_plane: { tokens: [operator] } };
const echo = { endpoint: echoEntry({}), root: control };
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

type Surface = "api" | "control" | "admin" | "sign-in";

function present(g: Harness, surface: Surface, token: string): Promise<Answer> {
  if (surface === "api") return g.call({ message: "Hello" }, { token });
  if (surface === "control") return g.client.send("/api/control", { token, body: ping });
  if (surface === "admin") return g.admin.send("/admin/audit", { method: "GET", token });
  return g.admin.send("/admin/session", { body: { token } });
}

async function failures(g: Harness): Promise<unknown[]> {
  const { json } = await g.admin.send("/admin/audit?event=auth.login_failed&limit=1000", {
    method: "GET",
    token: OPERATOR,
  });
  const data = at(json, "data");
  return Array.isArray(data) ? data : [];
}

verifies(
  ["auth.failures.recorded", "auth.failures.throttled", "auth.failures.no-lockout"],
  "fifty wrong tokens are recorded and throttled on every surface, and lock out no valid token",
  async (t) => {
    const surfaces: [Surface, number][] = [
      ["api", 50],
      ["control", 5],
      ["admin", 5],
      ["sign-in", 5],
    ];
    for (const [surface, judged] of surfaces) {
      const g = await startGateway(t, echo);
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => present(g, surface, `gw_live_guess${n}`)),
      );
      assert.equal(answers.filter(({ status }) => status === 401).length, judged, surface);
      for (const answer of answers.filter(({ status }) => status !== 401)) {
        assertRefused(answer, 429, "Rate limit exceeded.");
        assert.equal(answer.headers["retry-after"], "60");
      }
      const good = await present(g, surface, surface === "api" ? TOKENS.web : OPERATOR);
      assert.ok(good.status === 200 || good.status === 204, good.text);
      const records = await failures(g);
      assert.equal(records.length, 5, surface);
      assert.equal(at(records[0], "target"), surface === "sign-in" ? "admin" : surface);
      assert.equal(at(records[0], "project", "uuid"), surface === "api" ? PROJECT : "");
      assert.equal(at(records[0], "ip_address"), "127.0.0.1");
      assert.equal(g.lines.filter((line) => line.includes("token rejected")).length, 5);
      const { text } = await g.admin.send("/metrics", { method: "GET" });
      const target = surface === "sign-in" ? "admin" : surface;
      assert.match(
        text,
        new RegExp(`sluice_auth_failures_total\\{surface="${target}",answer="refused"\\} ${judged}\n`),
      );
    }
  },
);

verifies(
  "auth.failures.throttled",
  "the data plane throttles after a hundred wrong tokens a minute",
  async (t) => {
    const g = await startGateway(t, echo);
    const statuses: number[] = [];
    for (let n = 0; n < 105; n++) statuses.push((await present(g, "api", TOKENS.unknown)).status);
    assert.deepEqual(statuses, [...new Array(100).fill(401), ...new Array(5).fill(429)]);
    assertAnswered(await g.call({ message: "Hello" }));
    g.clock.advance(60_000);
    assert.equal((await present(g, "api", TOKENS.unknown)).status, 401);
    // Other planes have counts of their own.
    assert.equal((await present(g, "control", TOKENS.unknown)).status, 401);
  },
);

verifies("auth.failures.recorded", "many addresses together are recorded within bounds", async (t) => {
  const g = await startGateway(t, { ...echo, server: { trusted_proxies: ["127.0.0.1"] } });
  for (let n = 0; n < 150; n++) {
    const headers = { "x-forwarded-for": `198.51.100.${n}` };
    await g.call({ message: "Hello" }, { token: TOKENS.unknown, headers });
  }
  assert.equal((await failures(g)).length, 100);
  await until(() => g.lines.filter((line) => line.includes("token rejected")).length === 100, "lines");
});

verifies("auth.control.expires", "an expired control-plane token is refused", async (t) => {
  const expiring = { ...operator, expires_at: "2026-05-14T12:01:00Z" };
  const g = await startGateway(t, { ...echo, root: { control_plane: { tokens: [expiring] } } });
  for (const surface of ["control", "admin", "sign-in"] as const) {
    assert.ok((await present(g, surface, OPERATOR)).status < 300);
  }
  g.clock.advance(60_000);
  for (const surface of ["control", "admin", "sign-in"] as const) {
    assertRefused(await present(g, surface, OPERATOR), 401, "Invalid or revoked token.");
  }
});

verifies(
  "auth.control.listener",
  "the control plane is on one listener, and a reload moves it",
  async (t) => {
    const on = (listener: string): StartOptions => ({
      endpoint: echoEntry({}),
      root: { control_plane: { tokens: [operator], listener } },
    });
    const g = await startGateway(t, on("admin"));
    const ask = async (): Promise<number[]> => {
      const sent = { token: OPERATOR, body: ping };
      const answers = [await g.client.send("/api/control", sent), await g.admin.send("/api/control", sent)];
      return answers.map(({ status }) => status);
    };
    assert.deepEqual(await ask(), [404, 200]);
    g.rewrite(on("public"));
    assert.equal((await g.gateway.reload()).ok, true);
    assert.deepEqual(await ask(), [200, 404]);
  },
);

verifies("auth.admin.host", "the admin listener refuses names that are not its own", async (t) => {
  const g = await startGateway(t, echo);
  const ask = (path: string, host: string): Promise<Answer> =>
    g.admin.send(path, { method: "GET", token: OPERATOR, headers: { host } });
  for (const path of ["/metrics", "/admin/audit", "/admin/session"]) {
    assertRefused(await ask(path, "rebound.example"), 403, "Host is not allowed.");
    assert.equal((await ask(path, "localhost:8081")).status, 200);
  }
  assert.equal((await ask("/healthz", "rebound.example")).status, 200);
});

verifies("auth.admin.metrics", "metrics are shown to their own token", async (t) => {
  const scraper = "gw_live_scraper0Token";
  const g = await startGateway(t, {
    endpoint: echoEntry({}),
    root: { ...control, admin: { port: 0, metrics_token: hashOf(scraper) } },
  });
  const ask = (token?: string): Promise<Answer> => g.admin.send("/metrics", { method: "GET", token });
  assertRefused(await ask(), 401, "Missing Bearer token.");
  assertRefused(await ask(TOKENS.unknown), 401, "Invalid or revoked token.");
  for (const token of [scraper, OPERATOR]) assert.match((await ask(token)).text, /^sluice_/m);
  // The scraper's token opens nothing else.
  const audit = await g.admin.send("/admin/audit", { method: "GET", token: scraper });
  assertRefused(audit, 401, "Invalid or revoked token.");
});
