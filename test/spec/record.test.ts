/** What the gateway tells its operators: the request log, health, readiness, metrics. */
import assert from "node:assert/strict";
import { assertAnswered, assertRefused, at } from "./kit/client.ts";
import { echoEntry, PROJECT, PROVIDER_KEY, TOKENS } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

/** The line of the call that was answered with this request id. */
function lineOf(g: Harness, answer: { readonly headers: Readonly<Record<string, unknown>> }): unknown {
  const id = answer.headers["x-request-id"];
  const lines = g.lines
    .map((line): unknown => JSON.parse(line))
    .filter((line) => at(line, "request_id") === id);
  const calls = lines.filter((line) => at(line, "status") !== undefined);
  assert.equal(calls.length, 1, `${calls.length} lines of ${String(id)}`);
  return calls[0];
}

verifies(
  ["log.call", "log.call.answer", "log.call.attempts"],
  "every call is one line with who, where, what came of it, what it cost, and every attempt",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: {
        estimated_cost_per_1k_tokens_usd: 1,
        failover: [{ credential: "main", model: "gpt-4o" }],
      },
    });
    g.provider.failsWith(500);
    g.provider.says("Yes.", { model: "gpt-4o", usage: { prompt: 9, completion: 3 } });
    const answer = await g.call({ message: "Hello" });
    assertAnswered(answer);
    const line = lineOf(g, answer);
    const text = JSON.stringify(line);
    assert.equal(at(line, "status"), 200);
    for (const part of [PROJECT, "ask", "openai", "gpt-4o", "stop", "12", "0.012"]) {
      assert.ok(text.includes(part), `${part} in ${text}`);
    }
    const attempts = at(line, "attempts");
    assert.ok(Array.isArray(attempts) && attempts.length === 2, text);
    assert.ok(text.includes("500"), text);
  },
);

verifies(
  ["log.call.refused", "log.call.verdicts"],
  "refusals and failures are lines as well, with the guardrail's verdict",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: {
        rate_limit_per_minute: 2,
        guardrails: [{ use: "keyword_blocklist", keywords: ["sombra"] }],
      },
    });
    g.provider.failsWith(500);
    const answers = [
      await g.call({ message: "sombra" }),
      await g.call({ message: "Hello" }),
      await g.call({ message: "Hello" }),
      await g.call({ message: "Hello" }, { token: TOKENS.unknown }),
      await g.call("{"),
    ];
    for (const [n, status] of [422, 502, 429, 401, 400].entries()) {
      const answer = answers[n];
      assert.ok(answer);
      assertRefused(answer, status, /./);
      assert.equal(at(lineOf(g, answer), "status"), status);
    }
    const [blocked] = answers;
    assert.ok(blocked);
    assert.match(JSON.stringify(lineOf(g, blocked)), /keyword_blocklist/);
  },
);

verifies(
  ["log.content.none", "log.content.full", "log.content.redacted"],
  "prompts and answers are logged as the config says, and not at all by default",
  async (t) => {
    const said = async (content: string | undefined): Promise<string> => {
      const root = content === undefined ? {} : { log: { content } };
      const g = await startGateway(t, { root });
      g.provider.says("Write to bob@mail.example.org about walnuts.");
      assertAnswered(await g.call({ message: "Where is ada@mail.example.org, with the peaches?" }));
      return g.lines.join("\n");
    };
    const none = await said(undefined);
    assert.doesNotMatch(none, /walnuts|peaches|mail\.example/);
    const full = await said("full");
    assert.match(full, /ada@mail\.example\.org, with the peaches/);
    assert.match(full, /bob@mail\.example\.org about walnuts/);
    const redacted = await said("redacted");
    assert.match(redacted, /\[EMAIL\], with the peaches/);
    assert.match(redacted, /\[EMAIL\] about walnuts/);
    assert.doesNotMatch(redacted, /mail\.example/);
  },
);

verifies("log.level.silent", "lines below the level are left out", async (t) => {
  const g = await startGateway(t, { root: { log: { level: "silent" } }, endpoint: echoEntry({}) });
  assertAnswered(await g.call({ message: "Hello" }));
  assert.deepEqual(g.lines, []);
});

verifies(["log.secret", "config.secret.hidden"], "no line holds a token or a key", async (t) => {
  const g = await startGateway(t, { root: { log: { level: "debug", content: "full" } } });
  g.provider.failsWith(500);
  await g.call({ message: "Hello" });
  await g.call({ message: "Hello" }, { token: TOKENS.unknown });
  await g.client.send(`/api/${PROJECT}/endpoints`, { method: "GET", token: TOKENS.admin });
  const text = g.lines.join("\n");
  for (const secret of [PROVIDER_KEY, ...Object.values(TOKENS)]) assert.ok(!text.includes(secret), secret);
});

verifies("health.alive", "both listeners say that they are alive", async (t) => {
  const g = await startGateway(t);
  for (const client of [g.client, g.admin]) {
    assert.equal((await client.send("/healthz", { method: "GET" })).status, 200);
  }
});

verifies("health.ready", "readiness names generation, config, last reload and store", async (t) => {
  const g = await startGateway(t);
  const answer = await g.admin.send("/readyz", { method: "GET" });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(at(answer.json, "ready"), true);
  assert.equal(typeof at(answer.json, "generation"), "number");
  assert.match(String(at(answer.json, "config_hash")), /^[0-9a-f]{8,64}$/);
  assert.equal(at(answer.json, "last_reload", "ok"), true);
  assert.ok(at(answer.json, "store"));
});

verifies("metrics.text", "metrics are Prometheus text with calls and the config's hash", async (t) => {
  const g = await startGateway(t, { endpoint: echoEntry({}) });
  assertAnswered(await g.call({ message: "Hello" }));
  const answer = await g.admin.send("/metrics", { method: "GET" });
  assert.equal(answer.status, 200);
  assert.match(String(answer.headers["content-type"]), /^text\/plain/);
  assert.match(answer.text, /^sluice_config_info\{[^}]*hash="[0-9a-f]+"[^}]*\} 1$/m);
  assert.match(answer.text, /^sluice_config_last_reload_successful 1$/m);
  assert.match(answer.text, /^sluice_calls_total\{[^}]*status="200"[^}]*\} 1$/m);
  assert.equal((await g.client.send("/metrics", { method: "GET" })).status, 404);
});

verifies("health.ready.degraded", "a degraded store leaves the gateway ready and is shown", async (t) => {
  const g = await startGateway(t, { endpoint: echoEntry({}) });
  const health = { ok: false, serving: true, detail: "file: cannot write; answering from memory" };
  Object.assign(g.gateway.store, { health: () => health });
  const ready = await g.admin.send("/readyz", { method: "GET" });
  assert.equal(ready.status, 200);
  assert.equal(at(ready.json, "ready"), true);
  assert.deepEqual(
    [at(ready.json, "store", "ok"), at(ready.json, "store", "detail")],
    [false, health.detail],
  );
  health.serving = false;
  assert.equal((await g.admin.send("/readyz", { method: "GET" })).status, 503);
});

verifies("server.config-hash", "answers name the configuration when that is configured", async (t) => {
  const silent = await startGateway(t, { endpoint: echoEntry({}) });
  assert.equal((await silent.call({ message: "Hello" })).headers["x-gateway-config"], undefined);
  const open = await startGateway(t, { server: { expose_config_hash: true }, endpoint: echoEntry({}) });
  const hash = String((await open.call({ message: "Hello" })).headers["x-gateway-config"]);
  assert.match(hash, /^[0-9a-f]{8,64}$/);
  const ready = await open.admin.send("/readyz", { method: "GET" });
  assert.ok(String(at(ready.json, "config_hash")).startsWith(hash));
});

verifies("server.trusted-proxies", "a forwarded address is believed from trusted proxies only", async (t) => {
  const addressIn = async (trusted: string[]): Promise<string> => {
    const g = await startGateway(t, { server: { trusted_proxies: trusted }, endpoint: echoEntry({}) });
    const headers = { "x-forwarded-for": "198.51.100.7, 203.0.113.9" };
    return JSON.stringify(lineOf(g, await g.call({ message: "Hello" }, { headers })));
  };
  assert.match(await addressIn([]), /127\.0\.0\.1/);
  assert.doesNotMatch(await addressIn([]), /198\.51|203\.0/);
  assert.match(await addressIn(["127.0.0.0/8"]), /203\.0\.113\.9/);
  assert.match(await addressIn(["127.0.0.0/8", "203.0.113.0/24"]), /198\.51\.100\.7/);
});
