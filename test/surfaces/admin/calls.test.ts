/** `/admin/v1/calls` and `/admin/v1/series` of a running gateway, over real HTTP. */
import assert from "node:assert/strict";
import { at, until } from "../../spec/kit/client.ts";
import { echoEntry, hashOf, PROJECT } from "../../spec/kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "../../spec/kit/gateway.ts";
import { verifies } from "../../spec/verifies.ts";
import { ask } from "./v1-kit.ts";

const OPERATOR = "gw_live_operator0Ops9";

/** With a control-plane token. */
function operated(parts: StartOptions = {}): StartOptions {
  const control_plane = { tokens: [{ name: "ops", hash: hashOf(OPERATOR) }] };
  return { ...parts, root: { control_plane, ...parts.root } };
}

async function get(g: Harness, path: string, status = 200): Promise<unknown> {
  const answer = await ask(g.admin, `GET /admin/v1/${path}`, { token: OPERATOR });
  assert.equal(answer.status, status, answer.text);
  return answer.json;
}

/** What stands at a path, which is a list. */
function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const list = at(value, ...path);
  assert.ok(Array.isArray(list), path.join("."));
  return list;
}

async function calls(g: Harness, query = ""): Promise<readonly unknown[]> {
  await until(() => g.gateway.openCalls === 0, "all calls have ended");
  return listAt(await get(g, `calls?${query}`), "data");
}

verifies(
  "admin.calls",
  "a call is shown with its stages, limits, guardrails, attempts, tokens and cost",
  async (t) => {
    const g = await startGateway(
      t,
      operated({
        endpoint: {
          ...{ estimated_cost_per_1k_tokens_usd: 1, rate_limit_per_minute: 10, monthly_budget_usd: 100 },
          guardrails: [{ use: "pii", mode: "mask", kinds: ["email"] }],
        },
      }),
    );
    g.provider.says("Done.", { usage: { prompt: 900, completion: 100 } });
    const answered = await g.call({ message: "Write to ann@example.org" });
    const [call] = await calls(g);
    assert.equal(at(call, "id"), answered.headers["x-request-id"]);
    assert.deepEqual(at(await get(g, `calls/${String(at(call, "id"))}`), "id"), at(call, "id"));
    assert.deepEqual(
      [at(call, "status"), at(call, "outcome"), at(call, "cost_usd"), at(call, "tokens", "total")],
      [200, "done", "1", 1000],
    );
    assert.deepEqual(at(call, "endpoint"), { id: "ask", name: "Ask" });
    assert.deepEqual(at(call, "guardrails", 0, "verdicts", 0, "spans"), 1);
    assert.deepEqual(
      listAt(call, "claims").map((claim) => [at(claim, "kind"), at(claim, "outcome")]),
      [
        ["rate", "admitted"],
        // The endpoint's money and the token's.
        ["spend", "admitted"],
        ["spend", "admitted"],
      ],
    );
    assert.equal(at(call, "attempts", 0, "outcome"), "ok");
    const stages = listAt(call, "stages").map((stage) => at(stage, "stage"));
    assert.ok(stages.includes("authenticate") && stages.includes("call"), stages.join());
    assert.ok(!JSON.stringify(call).includes("ann@example.org"), "no text of the call is kept");
  },
);

verifies("admin.calls", "a refused call names the stage and the plugin that refused it", async (t) => {
  const g = await startGateway(t, operated({ endpoint: { rate_limit_per_minute: 1 } }));
  g.provider.says("Done.");
  await g.call({ message: "one" });
  await g.call({ message: "two" });
  await g.call({ message: "three" }, { token: "gw_live_nobody0000000" });
  const [unknown, limited, done] = await calls(g);
  assert.deepEqual(
    [at(unknown, "status"), at(unknown, "refused_at"), at(unknown, "token")],
    [401, "authenticate", null],
  );
  assert.deepEqual([at(limited, "refused_at"), at(limited, "error", "scope")], ["limit", "minute"]);
  assert.equal(at(done, "refused_at"), null);
});

verifies("admin.calls", "pages follow each other without gap or repetition, and filters hold", async (t) => {
  const g = await startGateway(t, operated({ endpoints: [echoEntry({ name: "Other" })] }));
  g.provider.says("Done.");
  for (let n = 0; n < 5; n++) await g.call({ message: String(n) });
  await g.call({ message: "x" }, { slug: "other" });
  await g.call({ message: "x" }, { slug: "nowhere" });
  const all = await calls(g);
  assert.equal(all.length, 7);
  const ids: unknown[] = [];
  let next: unknown = "";
  for (let page = 0; next !== null; page++) {
    assert.ok(page < 5);
    const answer = await get(g, `calls?limit=2&cursor=${String(next)}`);
    ids.push(...listAt(answer, "data").map((call) => at(call, "id")));
    next = at(answer, "next");
  }
  assert.deepEqual(
    ids,
    all.map((call) => at(call, "id")),
  );
  assert.equal((await calls(g, "endpoint=other")).length, 1);
  assert.equal((await calls(g, "status=4xx")).length, 1);
  assert.equal((await calls(g, `project=${PROJECT.toUpperCase()}&status=2xx`)).length, 6);
  assert.equal((await calls(g, `id=${String(ids[3]).slice(0, 12)}`)).length, 1);
  g.clock.advance(60_000);
  assert.deepEqual(await calls(g, `since=${new Date(g.clock.nowMs()).toISOString()}`), []);
});

verifies("admin.calls", "an unknown filter, or an invalid value of one, is refused by name", async (t) => {
  const g = await startGateway(t, operated());
  for (const query of ["colour=red", "status=200", "limit=0", "limit=1e3", "since=yesterday", "cursor=abc"]) {
    const answer = await get(g, `calls?${query}`, 400);
    assert.match(String(at(answer, "error")), new RegExp(query.split("=", 1)[0] ?? ""));
  }
  await get(g, "calls/6f1d2c0a-4b7e-4a53-8c61-000000000000", 404);
});

verifies("admin.calls.bounded", "as many calls of each project are kept as calls.keep says", async (t) => {
  const g = await startGateway(t, operated({ root: { calls: { keep: 2 } } }));
  for (let n = 0; n < 4; n++) await g.call({ message: String(n) });
  assert.equal((await calls(g)).length, 2);
  const off = await startGateway(t, operated({ root: { calls: { keep: 0 } } }));
  await off.call({ message: "hi" });
  assert.deepEqual(await calls(off), []);
});

verifies("admin.calls.content", "texts are kept as calls.content says, cut at 8 KiB", async (t) => {
  const message = `Write to ann@example.org. ${"x".repeat(20_000)}`;
  const textOf = async (content: string): Promise<unknown> => {
    const g = await startGateway(t, operated({ root: { calls: { content } } }));
    g.provider.says("Call bob@example.org");
    await g.call({ message });
    const [call] = await calls(g);
    return at(call, "texts");
  };
  assert.equal(await textOf("none"), null);
  const redacted = JSON.stringify(await textOf("redacted"));
  assert.ok(redacted.includes("[EMAIL]") && !redacted.includes("@example.org"), redacted.slice(0, 200));
  const full = await textOf("full");
  assert.equal(at(full, "answer"), "Call bob@example.org");
  const kept = String(at(full, "messages", 0, "text"));
  assert.ok(
    kept.startsWith("Write to ann@example.org.") && kept.length <= 8 * 1024,
    `${kept.length} characters`,
  );
});

verifies("admin.calls.stream", "new calls are sent as they end, those of the filter alone", async (t) => {
  const g = await startGateway(t, operated({ endpoints: [echoEntry({ name: "Other" })] }));
  const stream = await g.admin.stream("/admin/v1/calls/stream?endpoint=other", {
    method: "GET",
    token: OPERATOR,
  });
  await g.call({ message: "not this one" });
  await g.call({ message: "this one" }, { slug: "other" });
  assert.equal(await stream.next(), ": connected");
  const event = await stream.next();
  assert.deepEqual(at(JSON.parse(event?.replace(/^event: call\ndata: /, "") ?? ""), "endpoint"), {
    id: "other",
    name: "Other",
  });
  stream.leave();
});

verifies(
  "admin.series",
  "calls, cost and times are answered over time, by endpoint and in all",
  async (t) => {
    const g = await startGateway(
      t,
      operated({ endpoint: { estimated_cost_per_1k_tokens_usd: 1, rate_limit_per_minute: 2 } }),
    );
    for (let n = 0; n < 3; n++) await g.call({ message: "hi" });
    g.clock.advance(60_000);
    await g.call({ message: "hi" });
    await calls(g);
    const series = await get(g, "series?measure=calls&by=endpoint&step=60");
    assert.deepEqual(at(series, "series", 0, "names"), [PROJECT, "ask"]);
    const values = listAt(series, "series", 0, "points").map((point) => at(point, "values", "calls"));
    assert.deepEqual(values, [3, 1]);
    const refusals = await get(g, "series?measure=refusals&step=3600");
    assert.equal(at(refusals, "series", 0, "points", 0, "values", "rate_limit"), 1);
    const latency = await get(g, "series?measure=latency");
    assert.ok(Number(at(latency, "series", 0, "points", 0, "values", "p99")) >= 0);
    await get(g, "series?measure=weather", 400);
    await get(g, "series?from=2020-01-01T00:00:00Z&step=60", 200);
    await get(g, "series?from=2026-05-14T13:00:00Z", 400);
  },
);
