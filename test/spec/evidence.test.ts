/** What a line of the request log proves: which guardrails ran, on which configuration, at which price, in which trace. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { revisionOf } from "../../src/gateway/git.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { echoEntry, hashOf } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

/** The log line of the nth call. */
async function lineOf({ lines }: Harness, nth: number): Promise<unknown> {
  const calls = (): string[] => lines.filter((line) => line.includes('"msg":"call"'));
  await until(() => calls().length >= nth, "the call is logged");
  return JSON.parse(calls()[nth - 1] ?? "");
}

verifies(
  "log.evidence",
  "the guardrails that ran are logged with their results, passes included",
  async (t) => {
    const guardrails = [
      { use: "content_length", max: 100 },
      { use: "keyword_blocklist", keywords: ["sombra"] },
      { use: "pii", mode: "mask", on: ["input", "output"] },
    ];
    const g = await startGateway(t, {
      endpoint: echoEntry({ guardrails }),
      endpoints: [echoEntry({ name: "Bare" })],
    });
    assertAnswered(await g.call({ message: "Write to ann@example.org" }));
    assert.deepEqual(at(await lineOf(g, 1), "guardrails"), [
      { guardrail: "content_length", side: "input", result: "pass" },
      { guardrail: "keyword_blocklist", side: "input", result: "pass" },
      { guardrail: "pii", side: "input", result: "replace" },
      { guardrail: "pii", side: "output", result: "pass" },
    ]);
    assertRefused(await g.call({ message: "sombra" }), 422, /./);
    const ran = at(await lineOf(g, 2), "guardrails");
    assert.deepEqual(ran, [
      { guardrail: "content_length", side: "input", result: "pass" },
      { guardrail: "keyword_blocklist", side: "input", result: "block" },
    ]);
    assertAnswered(await g.call({ message: "sombra" }, { slug: "bare" }));
    assert.deepEqual(at(await lineOf(g, 3), "guardrails"), []);
  },
);

verifies("log.evidence", "each line names configuration, generation, revision and trace", async (t) => {
  const g = await startGateway(t, { endpoint: echoEntry({}), env: { SLUICE_REVISION: "release-7" } });
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  assertAnswered(await g.call({ message: "hi" }, { headers }));
  assertAnswered(await g.call({ message: "hi" }));
  const first = await lineOf(g, 1);
  assert.equal(at(first, "trace_id"), traceId);
  assert.match(String(at(first, "config_hash")), /^[0-9a-f]{8,}$/);
  assert.equal(at(first, "revision"), "release-7");
  const second = await lineOf(g, 2);
  assert.match(String(at(second, "trace_id")), /^[0-9a-f]{32}$/);
  assert.notEqual(at(second, "trace_id"), traceId);
  g.rewrite({ endpoint: echoEntry({ description: "Another." }) });
  await g.gateway.reload();
  assertAnswered(await g.call({ message: "hi" }));
  const third = await lineOf(g, 3);
  assert.equal(at(third, "generation"), Number(at(first, "generation")) + 1);
  assert.notEqual(at(third, "config_hash"), at(first, "config_hash"));
});

verifies(
  "log.list-cost",
  "the cost by an endpoint's own price is logged with the cost by list prices",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: { model: "gpt-5-mini", estimated_cost_per_1k_tokens_usd: 0.002 },
    });
    g.provider.says("Yes.", { usage: { prompt: 1000, completion: 300 } });
    assertAnswered(await g.call({ message: "hi" }));
    const line = await lineOf(g, 1);
    assert.equal(at(line, "cost_usd"), 0.0026);
    // 1,000 at 0.25 and 300 at 2 dollars per million.
    assert.equal(at(line, "list_cost_usd"), 0.00085);
  },
);

verifies(
  "log.limit-stage",
  "the time of a refusal by a rate limit is booked under stage limit",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: echoEntry({
        rate_limit_per_minute: 1,
        estimated_cost_per_1k_tokens_usd: 1,
        monthly_budget_usd: 5,
      }),
    });
    assertAnswered(await g.call({ message: "hi" }));
    assertRefused(await g.call({ message: "hi" }), 429, /./);
    const stages = at(await lineOf(g, 2), "stages_ms");
    assert.equal(at(stages, "budget"), undefined);
    assert.ok(Number(at(stages, "limit")) >= 0);
  },
);

verifies(
  "evidence.revision",
  "readiness, metrics and events of reloads name the revision, and a commit that changes nothing too",
  async (t) => {
    const env: Record<string, string> = { SLUICE_REVISION: "release-7" };
    const operator = "gw_ctl_operator0";
    const control = { tokens: [{ name: "ops", hash: hashOf(operator) }] };
    const extra = { endpoint: echoEntry({}), root: { control_plane: control } };
    const g = await startGateway(t, { ...extra, env });
    const shown = async (): Promise<readonly unknown[]> => {
      const { json } = await g.admin.send("/readyz", { method: "GET" });
      const { text } = await g.admin.send("/metrics", { method: "GET" });
      const [, label] = /^sluice_config_info\{[^}]*revision="([^"]*)"[^}]*\} 1$/m.exec(text) ?? [];
      return [at(json, "revision"), label];
    };
    assert.deepEqual(await shown(), ["release-7", "release-7"]);
    assert.deepEqual((await g.client.send("/readyz", { method: "GET" })).json, { ready: true });
    env["SLUICE_REVISION"] = "release-8";
    await g.gateway.reload();
    assert.deepEqual(await shown(), ["release-8", "release-8"]);
    assertAnswered(await g.call({ message: "hi" }));
    assert.equal(at(await lineOf(g, 1), "revision"), "release-8");
    env["SLUICE_REVISION"] = "release-9";
    g.rewrite({ ...extra, endpoints: [echoEntry({ name: "Extra" })] });
    await g.gateway.reload();
    const { json } = await g.admin.send("/admin/audit", { method: "GET", token: operator });
    const [record] = Object(at(json, "data"));
    assert.equal(at(record, "event"), "endpoint.created");
    const { json: ready } = await g.admin.send("/readyz", { method: "GET" });
    assert.equal(at(record, "metadata", "revision"), "release-9");
    assert.equal(at(record, "metadata", "config_hash"), at(ready, "config_hash"));
  },
);

verifies(
  "evidence.revision.commit",
  "a commit of what is in use gives it another revision, and one of what was rejected does not",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry({}), watch: true });
    const git = (...args: string[]): string =>
      execFileSync("git", ["-C", g.folder, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
        encoding: "utf8",
      }).trim();
    const ready = async (field: string): Promise<unknown> =>
      at((await g.admin.send("/readyz", { method: "GET" })).json, field);
    /** The files are looked at once; a load that takes longer by the clock would count as stuck. */
    const looked = (what: string, holds: () => Promise<boolean>): Promise<void> => {
      g.clock.advance(2_000);
      return until(holds, what);
    };
    const revised = (to: string): Promise<void> =>
      looked(`the revision is ${to}`, async () => (await ready("revision")) === to);
    assert.equal(await ready("revision"), "");
    git("init", "-q");
    git("add", ".");
    git("commit", "-q", "-m", "first");
    await revised(git("rev-parse", "HEAD"));
    g.rewrite({ endpoint: echoEntry({ description: "Edited." }) });
    await revised(`${git("rev-parse", "HEAD")}-dirty`);
    git("commit", "-qam", "second");
    const second = git("rev-parse", "HEAD");
    await revised(second);
    assertAnswered(await g.call({ message: "hi" }));
    assert.equal(at(await lineOf(g, 1), "revision"), second);
    const { text } = await g.admin.send("/metrics", { method: "GET" });
    assert.ok(text.includes(`revision="${second}"`));

    g.rewrite({ endpoint: echoEntry({ temperatur: 1 }) });
    await looked("it is rejected", async () => at(await ready("last_reload"), "ok") === false);
    git("commit", "-qam", "broken");
    g.clock.advance(2_000);
    // Begins after the revision would have been looked up.
    await g.gateway.reload();
    assert.equal(await ready("revision"), second);
  },
);

test("the revision is git's, says when files differ, and is the stated one outside a work tree", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-revision-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "gateway.config.yaml");
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      encoding: "utf8",
    }).trim();
  writeFileSync(file, "version: 1\n");
  assert.equal(await revisionOf(file, { SLUICE_REVISION: "stated" }), "stated");
  git("init", "-q");
  git("add", ".");
  git("commit", "-q", "-m", "first");
  const head = git("rev-parse", "HEAD");
  assert.equal(await revisionOf(file, { SLUICE_REVISION: "stated" }), head);
  writeFileSync(file, "version: 1 # changed\n");
  assert.equal(await revisionOf(folder, {}), `${head}-dirty`);
});
