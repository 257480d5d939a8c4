/** Metrics and traces over real HTTP: what a scrape shows after calls, and what a collector gets of them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listedMetrics, metricsIn } from "../../scripts/metrics-page.ts";
import { assertAnswered, assertRefused, until } from "./kit/client.ts";
import { type Collector, type SeenSpan, startCollector } from "./kit/collector.ts";
import { PROJECT, PROVIDER_KEY, TOKENS } from "./kit/config.ts";
import { type Closer, type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { bridgeParts, INITIALIZED, mcpServer, text, use } from "./kit/mcp.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
const EXPORT_MS = 5000;
const TRACE = "5b8aa5a2d2c872e8321cf37308d69df2";
const PARENT = "051581bf3cb55c13";

interface Scrape {
  /** Type and help by name. */
  readonly families: ReadonlyMap<string, readonly [type: string, help: string]>;
  /** Values by series, as Prometheus writes it. */
  readonly values: ReadonlyMap<string, number>;
}

async function scrape(g: Harness): Promise<Scrape> {
  const { text } = await g.admin.send("/metrics", { method: "GET" });
  const helps = new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = "", help = ""]) => [name, help]),
  );
  const families = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(
    ([, name = "", type = ""]) => [name, [type, helps.get(name) ?? ""]] as const,
  );
  const values = [...text.matchAll(/^([^#\s]\S*(?:\{.*\})?) (\S+)$/gm)].map(
    ([, series = "", value]) => [series, Number(value)] as const,
  );
  return { families: new Map(families), values: new Map(values) };
}

const WHERE = `project="${PROJECT}",endpoint="ask"`;

verifies("metrics.text", "a scrape has the metrics that docs/metrics.md lists, and no others", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-metrics-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const g = await startGateway(t, {
    root: { state: { driver: "file", directory } },
    endpoint: { guardrails: [{ use: "keyword_blocklist", keywords: ["walnut"] }] },
  });
  g.provider.says("Yes.");
  assertAnswered(await g.call(hello));
  const { families, values } = await scrape(g);
  const listed = listedMetrics().filter(({ driver }) => driver === undefined);
  assert.deepEqual(
    [...families].sort(([a], [b]) => (a < b ? -1 : 1)),
    listed.map(({ name, type, help }) => [name, [type, help]]),
  );
  const labels = new Map(listed.map((one) => [one.name, [...one.labels].sort()]));
  for (const series of values.keys()) {
    const [name = "", inner = ""] = series.split(/[{}]/);
    const shown = [...inner.matchAll(/(\w+)="/g)].map(([, label]) => label).filter((label) => label !== "le");
    const family = labels.get(name) ?? labels.get(name.replace(/_(?:bucket|sum|count)$/, ""));
    assert.deepEqual(shown.sort(), family, series);
  }
});

verifies("metrics.text", "a metric that the page cannot list is found", () => {
  assert.equal(metricsIn('m.counter("sluice_a_total", "A", ["b"])', "x.ts")[0]?.labels[0], "b");
  assert.throws(() => metricsIn('const name = "sluice_a_total";', "x.ts"), /x\.ts/);
});

verifies(
  "metrics.text",
  "calls, tokens, refusals, budgets and circuits are counted where they happen",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: {
        estimated_cost_per_1k_tokens_usd: 1,
        rate_limit_per_minute: 6,
        failover: [{ credential: "main", model: "gpt-4o" }],
      },
    });
    g.provider.says("Yes.", { usage: { prompt: 100, completion: 20, cached: 40 } });
    assertAnswered(await g.call(hello));
    g.provider.failsWith(503);
    for (let n = 1; n <= 5; n++) assertRefused(await g.call(hello), 502, /503/);
    assertRefused(await g.call(hello), 429, /./);
    const { values } = await scrape(g);
    const shows = (series: string, value: number): void => assert.equal(values.get(series), value, series);
    shows(`sluice_calls_total{${WHERE},status="200"}`, 1);
    shows(`sluice_calls_total{${WHERE},status="502"}`, 5);
    shows(`sluice_tokens_total{${WHERE},kind="prompt"}`, 100);
    shows(`sluice_tokens_total{${WHERE},kind="completion"}`, 20);
    shows(`sluice_tokens_total{${WHERE},kind="cached"}`, 40);
    shows(`sluice_cost_usd_total{${WHERE}}`, 0.12);
    shows(`sluice_refusals_total{${WHERE},code="rate_limited",scope="minute"}`, 1);
    shows(`sluice_refusals_total{${WHERE},code="provider_failed",scope=""}`, 5);
    shows(`sluice_budget_usd{of="endpoint",project="${PROJECT}",name="ask",sum="settled"}`, 0.12);
    shows(`sluice_budget_usd{of="endpoint",project="${PROJECT}",name="ask",sum="reserved"}`, 0);
    shows('sluice_circuit_open{provider="openai",model="gpt-4o-mini",credential="main"}', 1);
    shows('sluice_provider_attempts_total{provider="openai",model="gpt-4o-mini",outcome="failed"}', 5);
    shows('sluice_state_healthy{driver="memory"}', 1);
    g.clock.advance(30_000);
    const later = await scrape(g);
    assert.equal(
      later.values.get('sluice_circuit_open{provider="openai",model="gpt-4o-mini",credential="main"}'),
      0,
    );
  },
);

verifies("metrics.text", "usage that the gateway had to estimate is counted as such", async (t) => {
  const g = await startGateway(t);
  g.provider.says("Yes.", { usage: undefined });
  assertAnswered(await g.call(hello));
  const { values } = await scrape(g);
  assert.equal(values.get(`sluice_usage_estimated_total{${WHERE}}`), 1);
});

interface Traced {
  readonly g: Harness;
  readonly collector: Collector;
  /** What has come, once it is `count` spans. */
  spans(count: number): Promise<readonly SeenSpan[]>;
}

async function startTraced(t: Closer, otlp: object = {}, options: StartOptions = {}): Promise<Traced> {
  const collector = await startCollector(t);
  const g = await startGateway(t, {
    ...options,
    root: { ...options.root, telemetry: { otlp: { endpoint: collector.url, ...otlp } } },
  });
  return {
    g,
    collector,
    async spans(count) {
      await new Promise(setImmediate);
      g.clock.advance(EXPORT_MS);
      await until(() => collector.spans().length >= count, `${count} spans are exported`);
      const spans = collector.spans();
      assert.equal(spans.length, count);
      return spans;
    },
  };
}

verifies(
  "telemetry.otlp",
  "a call is a span, and the try of a model one under it, whose id the provider gets as its parent",
  async (t) => {
    const { g, collector, spans } = await startTraced(t, { headers: { "X-Team": "blue" } });
    g.provider.says("Yes.", { model: "gpt-4o-mini-x", usage: { prompt: 9, completion: 3 } });
    const answer = await g.call(hello);
    assertAnswered(answer);
    const [server, client] = await spans(2);
    assert.ok(server !== undefined && client !== undefined);
    const requestId = String(answer.headers["x-request-id"]);
    assert.deepEqual([server.name, server.kind, server.parentId, server.error], ["chat ask", 2, "", ""]);
    assert.equal(server.traceId, requestId.replaceAll("-", ""));
    assert.equal(server.attributes["http.response.status_code"], 200);
    assert.equal(server.attributes["sluice.endpoint"], "ask");
    assert.equal(server.attributes["sluice.outcome"], "done");
    assert.deepEqual([client.name, client.kind, client.error], ["chat gpt-4o-mini", 3, ""]);
    assert.deepEqual([client.traceId, client.parentId], [server.traceId, server.spanId]);
    assert.notEqual(client.spanId, server.spanId);
    assert.equal(g.provider.last.headers["traceparent"], `00-${server.traceId}-${client.spanId}-01`);
    const expected = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-4o-mini",
      "gen_ai.response.model": "gpt-4o-mini-x",
      "gen_ai.response.id": "chatcmpl-fake",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 9,
      "gen_ai.usage.output_tokens": 3,
    };
    for (const [name, value] of Object.entries(expected))
      assert.deepEqual(client.attributes[name], value, name);
    const [request] = collector.requests;
    assert.equal(request?.path, "/v1/traces");
    assert.equal(request?.headers["content-type"], "application/json");
    assert.equal(request?.headers["x-team"], "blue");
    for (const secret of ["Hello", "Yes.", PROVIDER_KEY, TOKENS.web])
      assert.ok(!request?.body.includes(secret));
  },
);

verifies(
  "telemetry.otlp",
  "a client's trace is continued; one that is not sampled is not exported",
  async (t) => {
    const { g, spans } = await startTraced(t);
    g.provider.says("Yes.");
    const unsampled = `00-${TRACE}-${PARENT}-00`;
    assertAnswered(await g.call(hello, { headers: { traceparent: unsampled } }));
    assert.equal(g.provider.last.headers["traceparent"], unsampled);
    assertAnswered(await g.call(hello, { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } }));
    const [server, client] = await spans(2);
    assert.deepEqual([server?.traceId, server?.parentId], [TRACE, PARENT]);
    assert.equal(g.provider.last.headers["traceparent"], `00-${TRACE}-${client?.spanId}-01`);
  },
);

verifies(
  "telemetry.otlp",
  "every try is a span with what came of it, and a refusal is a span without any",
  async (t) => {
    const { g, spans } = await startTraced(
      t,
      {},
      { endpoint: { failover: [{ credential: "main", model: "gpt-4o" }] } },
    );
    g.provider.failsWith(500);
    g.provider.says("Yes.", { model: "gpt-4o" });
    assertAnswered(await g.call(hello));
    assertRefused(await g.call(hello, { token: TOKENS.unknown }), 401, /./);
    const [server, first, second, refused] = await spans(4);
    assert.match(first?.error ?? "", /^500/);
    assert.equal(first?.attributes["error.type"], "500");
    assert.equal(first?.attributes["gen_ai.response.model"], undefined);
    assert.equal(second?.error, "");
    assert.equal(second?.attributes["gen_ai.response.model"], "gpt-4o");
    assert.deepEqual([first?.parentId, second?.parentId], [server?.spanId, server?.spanId]);
    assert.equal(new Set([server, first, second, refused].map((span) => span?.spanId)).size, 4);
    assert.equal(g.provider.last.headers["traceparent"], `00-${server?.traceId}-${second?.spanId}-01`);
    assert.deepEqual([refused?.name, refused?.error], ["chat", ""]);
    assert.equal(refused?.attributes["error.type"], "token_invalid");
  },
);

verifies("telemetry.otlp", "an upstream MCP server gets the call's span as its parent", async (t) => {
  const server = await mcpServer(t, { initialize: INITIALIZED, "tools/call": text("found") });
  const project = { mcp_servers: [{ name: "docs", url: server.url }] };
  const { g, spans } = await startTraced(t, {}, bridgeParts({ project }));
  assert.equal((await use(g.client, "docs__search")).status, 200);
  const [span] = await spans(1);
  const sent = server.last("tools/call").request.headers["traceparent"];
  assert.equal(sent, `00-${span?.traceId}-${span?.spanId}-01`);
});

verifies(
  "telemetry.otlp",
  "a streamed answer is traced to its end, and content only where it is asked for",
  async (t) => {
    const { g, spans } = await startTraced(t, { content: true });
    g.provider.streams(["Ye", "s."], { usage: { prompt: 9, completion: 3 } });
    const stream = await g.stream(hello);
    await stream.rest();
    const [server, client] = await spans(2);
    assert.equal(server?.attributes["sluice.stream"], true);
    assert.equal(client?.attributes["gen_ai.usage.output_tokens"], 3);
    assert.deepEqual(JSON.parse(String(client?.attributes["gen_ai.input.messages"])).at(-1), {
      role: "user",
      parts: [{ type: "text", content: "Hello" }],
    });
    assert.deepEqual(JSON.parse(String(client?.attributes["gen_ai.output.messages"])), [
      { role: "assistant", parts: [{ type: "text", content: "Yes." }], finish_reason: "stop" },
    ]);
  },
);

verifies(
  "telemetry.otlp",
  "queued spans are exported at shutdown, and a reload turns tracing on and off",
  async (t) => {
    const { g, collector } = await startTraced(t);
    g.provider.says("Yes.");
    assertAnswered(await g.call(hello));
    g.rewrite({});
    assert.ok((await g.gateway.reload()).ok);
    await until(() => collector.spans().length === 2, "what was recorded before the reload is exported");
    assertAnswered(await g.call(hello));
    assert.equal(g.provider.last.headers["traceparent"], undefined);
    g.rewrite({ root: { telemetry: { otlp: { endpoint: `${collector.url}/v1/traces` } } } });
    assert.ok((await g.gateway.reload()).ok);
    assertAnswered(await g.call(hello));
    await g.gateway.stop();
    assert.equal(collector.spans().length, 4);
    assert.deepEqual(new Set(collector.requests.map(({ path }) => path)), new Set(["/v1/traces"]));
  },
);

verifies("telemetry.otlp", "a collector that is down costs no call anything, and says so once", async (t) => {
  const { g, collector } = await startTraced(t);
  await collector.close();
  g.provider.says("Yes.");
  for (let n = 1; n <= 3; n++) {
    assertAnswered(await g.call(hello));
    await new Promise(setImmediate);
    g.clock.advance(EXPORT_MS);
  }
  await until(() => g.lines.some((line) => line.includes("traces could not be exported")), "it is logged");
  const { values } = await scrape(g);
  assert.equal(values.get('sluice_trace_spans_total{outcome="exported"}'), undefined);
  assert.equal(g.lines.filter((line) => line.includes("could not be exported")).length, 1);
});
