/** Rate limit fields of admitted calls: exact on every surface, absent where no limit is configured. */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { test } from "node:test";
import { statusAnswer } from "../../src/testing/fake-upstream.ts";
import { skipWithoutRedis, startRedis } from "../state/redis-server.ts";
import { startWrapper } from "../surfaces/openai/kit.ts";
import { CALLER, proxied, startProxy, upstreamOf } from "../surfaces/proxy/kit.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { echoEntry } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { AGENT, ask, BRIDGE, bridgeParts, EVENTS, use } from "./kit/mcp.ts";
import { chunk } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
const BOTH = '"minute";q=3;w=60, "hour";q=4;w=3600';
const limits = { rate_limit_per_minute: 3, rate_limit_per_hour: 4 };

const fieldsOf = (headers: IncomingHttpHeaders) => [headers["ratelimit-policy"], headers["ratelimit"]];
/** Limit, remaining, reset. */
const tighterOf = (headers: IncomingHttpHeaders) =>
  ["limit", "remaining", "reset"].map((name) => headers[`x-ratelimit-${name}`]);

function assertUnlimited(headers: IncomingHttpHeaders): void {
  assert.deepEqual(
    Object.keys(headers).filter((name) => name.includes("ratelimit")),
    [],
  );
}

verifies(
  "rate.headers.admitted",
  "every window is in RateLimit and the tighter one in X-RateLimit-*, to the second",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry(limits) });
    const first = await g.call(hello);
    assert.deepEqual(fieldsOf(first.headers), [BOTH, '"minute";r=2;t=60, "hour";r=3;t=3600']);
    assert.deepEqual(tighterOf(first.headers), ["3", "2", "60"]);
    g.clock.advance(20_500);
    const second = await g.call(hello);
    assert.deepEqual(fieldsOf(second.headers), [BOTH, '"minute";r=1;t=40, "hour";r=2;t=3580']);
    g.clock.advance(39_500);
    const third = await g.call(hello);
    // The first call has left the minute; both windows have one place left, and the hour's comes back later.
    assert.deepEqual(fieldsOf(third.headers), [BOTH, '"minute";r=1;t=21, "hour";r=1;t=3540']);
    assert.deepEqual(tighterOf(third.headers), ["4", "1", "3540"]);
    g.clock.advance(30_000);
    assert.deepEqual(tighterOf((await g.call(hello)).headers), ["4", "0", "3510"]);
    assertRefused(await g.call(hello), 429, "Rate limit exceeded.");
  },
);

verifies("rate.headers.admitted", "one window alone is shown alone, and none without a limit", async (t) => {
  const g = await startGateway(t, {
    endpoint: echoEntry({ rate_limit_per_hour: 2 }),
    endpoints: [echoEntry({ name: "Free" })],
  });
  const { headers } = await g.call(hello);
  assert.deepEqual(fieldsOf(headers), ['"hour";q=2;w=3600', '"hour";r=1;t=3600']);
  assert.deepEqual(tighterOf(headers), ["2", "1", "3600"]);
  assertUnlimited((await g.call(hello, { slug: "free" })).headers);
});

verifies(
  "rate.headers.admitted",
  "an admitted call that fails later has the fields, one refused before the windows has none",
  async (t) => {
    const g = await startGateway(t, { endpoint: { ...limits, usage_hard_limit_tokens: 5 } });
    g.provider.answer(statusAnswer(400, { error: { message: "no" } }));
    const failed = await g.call(hello);
    assert.equal(failed.status, 502);
    assert.deepEqual(tighterOf(failed.headers), ["3", "2", "60"]);
    const capped = await g.call({ message: "word ".repeat(20) });
    assert.equal(capped.status, 422);
    assert.deepEqual(tighterOf(capped.headers), ["3", "1", "60"]);
    assertUnlimited((await g.call(hello, { token: "gw_live_nobody" })).headers);
  },
);

verifies(
  "rate.headers.admitted",
  "a stream has them in its head, with the seconds that are left when the head goes out",
  async (t) => {
    const g = await startGateway(t, { endpoint: limits });
    const played = g.provider.opens();
    const opened = g.stream(hello);
    await until(() => g.provider.requests.length === 1, "the provider is asked");
    g.clock.advance(10_000);
    await played.send(chunk({ content: "Hi" }));
    const stream = await opened;
    assert.deepEqual(fieldsOf(stream.headers), [BOTH, '"minute";r=2;t=50, "hour";r=3;t=3590']);
    assert.deepEqual(tighterOf(stream.headers), ["3", "2", "50"]);
    stream.leave();
  },
);

verifies("rate.headers.admitted", "the wrapper has them, whole and streamed", async (t) => {
  const g = await startWrapper(t, limits);
  g.provider.says("Hi.");
  assert.deepEqual(tighterOf((await g.ask()).headers), ["3", "2", "60"]);
  const stream = await g.asStream();
  assert.deepEqual(fieldsOf(stream.headers), [BOTH, '"minute";r=1;t=60, "hour";r=2;t=3600']);
  assert.deepEqual(tighterOf(stream.headers), ["3", "1", "60"]);
  await stream.rest();
});

verifies(
  "rate.headers.admitted",
  "the proxy has its own fields in place of the upstream's, which pass where the gateway has none",
  async (t) => {
    const upstream_url = await upstreamOf(t, (_req, res) => {
      res.writeHead(200, {
        "X-RateLimit-Remaining": "77",
        RateLimit: '"theirs";r=77',
        "X-RateLimit-Used": "1",
      });
      res.end("{}");
    });
    const { client } = await startProxy(
      t,
      { upstream_url, ...limits },
      { endpoints: [{ slug: "free", upstream_url }] },
    );
    const call = (slug: string) => client.send(proxied("", slug), { token: CALLER, method: "GET" });
    const { headers } = await call("crm");
    assert.deepEqual(fieldsOf(headers), [BOTH, '"minute";r=2;t=60, "hour";r=3;t=3600']);
    assert.deepEqual(tighterOf(headers), ["3", "2", "60"]);
    assert.equal(headers["x-ratelimit-used"], "1");
    const free = await call("free");
    assert.deepEqual(fieldsOf(free.headers), [undefined, '"theirs";r=77']);
    assert.deepEqual(tighterOf(free.headers), [undefined, "77", undefined]);
  },
);

verifies(
  "rate.headers.admitted",
  "answers of MCP tool calls have the fields of the tool that was called, as JSON and as events",
  async (t) => {
    const limited = { expose_as_mcp_tool: true, ...limits };
    const g = await startGateway(
      t,
      bridgeParts({
        endpoint: echoEntry(limited),
        endpoints: [
          echoEntry({ name: "Free", expose_as_mcp_tool: true }),
          { name: "Slow", provider: "openai", model: "gpt-4o-mini", credential: "main", ...limited },
        ],
      }),
    );
    const { headers } = await use(g.client, "ask", hello);
    assert.deepEqual(fieldsOf(headers), [BOTH, '"minute";r=2;t=60, "hour";r=3;t=3600']);
    assert.deepEqual(tighterOf(headers), ["3", "2", "60"]);
    assertUnlimited((await use(g.client, "free", hello)).headers);
    assertUnlimited((await ask(g.client, { method: "tools/list" })).headers);
    // A batch is one answer: its fields are those of its last call.
    const call = (id: number) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "ask", arguments: hello },
    });
    const batch = await g.client.send(BRIDGE, { token: AGENT, body: [call(1), call(2)] });
    assert.deepEqual(tighterOf(batch.headers), ["3", "0", "60"]);
    const refused = await use(g.client, "ask", hello);
    assert.equal(at(refused.json, "error", "data", "retry_after"), 60);
    assertUnlimited(refused.headers);
    // A stream whose head goes out with the first report, before the answer.
    const played = g.provider.opens();
    const params = { name: "slow", arguments: hello, _meta: { progressToken: 1 } };
    const body = { jsonrpc: "2.0", id: 3, method: "tools/call", params };
    const stream = await g.client.stream(BRIDGE, { token: AGENT, body, ...EVENTS });
    assert.deepEqual(tighterOf(stream.headers), ["3", "2", "60"]);
    await played.end();
    await stream.rest();
  },
);

test("a store on Redis answers them with the admission itself", { skip: skipWithoutRedis }, async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const g = await startGateway(t, {
    endpoint: echoEntry({ ...limits, monthly_budget_usd: 5, estimated_cost_per_1k_tokens_usd: 0.01 }),
    endpoints: [echoEntry({ name: "Free" })],
    root: { state: { driver: "redis", url: redis.url, key_prefix: "rate-headers" } },
  });
  // The server's clock runs: only a window that has just begun has an exact end.
  const first = await g.call(hello);
  assertAnswered(first);
  assert.deepEqual(fieldsOf(first.headers), [BOTH, '"minute";r=2;t=60, "hour";r=3;t=3600']);
  assert.deepEqual(tighterOf(first.headers), ["3", "2", "60"]);
  const second = await g.call(hello);
  assert.match(second.headers["ratelimit"]?.toString() ?? "", /^"minute";r=[12];t=\d+, "hour";r=2;t=\d+$/);
  assertUnlimited((await g.call(hello, { slug: "free" })).headers);
});
