/** `sluice explain --running`: past calls of a running gateway. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { Explanation } from "../../src/offline/explain/explanation.ts";
import { hashOf } from "../spec/kit/config.ts";
import { type Harness, startGateway } from "../spec/kit/gateway.ts";
import { verifies } from "../spec/verifies.ts";
import { type Ran, run } from "./kit.ts";

const OPERATOR = "gw_live_operator0Ops9";

function started(t: TestContext): Promise<Harness> {
  return startGateway(t, {
    endpoint: {
      rate_limit_per_minute: 5,
      estimated_cost_per_1k_tokens_usd: 1,
      guardrails: [
        { use: "pii", mode: "mask", kinds: ["email"], on: ["input", "output"] },
        { use: "keyword_blocklist", keywords: ["forbidden"] },
      ],
    },
    root: { control_plane: { tokens: [{ name: "ops", hash: hashOf(OPERATOR) }] } },
  });
}

function explained(g: Harness, id: string, ...more: readonly string[]): Promise<Ran> {
  const args = ["explain", "--running", g.admin.origin, "--request-id", id, ...more];
  return run(args, { env: { SLUICE_ADMIN_TOKEN: OPERATOR }, cwd: g.folder });
}

verifies(
  "explain.running",
  "an answered and a refused call are explained with the lines that decided",
  async (t) => {
    const g = await started(t);
    g.provider.says("Ask bob@example.org.", { usage: { prompt: 40, completion: 5 } });
    const answered = await g.call({ message: "Write to ann@example.org" });
    assert.equal(answered.status, 200);
    const id = String(answered.headers["x-request-id"]);
    const json = await explained(g, id, "--output", "json");
    assert.deepEqual([json.code, json.stderr], [0, ""]);
    // What the command prints as JSON is an explanation.
    const explanation = JSON.parse(json.stdout) as Explanation;
    assert.equal(explanation.source, "running");
    const outcomes = explanation.stages.map(({ stage, outcome }) => `${stage} ${outcome}`);
    assert.deepEqual(outcomes.slice(0, 4), ["authenticate ok", "limit ok", "budget ok", "guard acted"]);
    const guard = explanation.stages.find(({ stage }) => stage === "guard");
    assert.deepEqual(
      guard?.details.map(({ name, verdict, text }) => [name, verdict, text]),
      [
        ["pii", "mask", "email, 1 place"],
        ["keyword_blocklist", "pass", ""],
      ],
    );
    assert.match(
      guard?.details[1]?.at ?? "",
      /\.(?:ya?ml|json):\d+:\d+$/,
      "the configuration at hand is the same",
    );
    assert.deepEqual(
      explanation.answer.map(({ stage, outcome }) => [stage, outcome]),
      [
        ["guard", "acted"],
        ["record", "ok"],
      ],
    );
    assert.match(explanation.outcome.summary, /^Answered with 200 after \d+ ms; \$0\.0450 settled\.$/);

    const blocked = await g.call({ message: "forbidden" });
    const text = await explained(g, String(blocked.headers["x-request-id"]));
    assert.equal(text.code, 0);
    assert.match(text.stdout, /guard +REFUSED +422 Request blocked/);
    assert.match(text.stdout, /Refused at guard by keyword_blocklist after \d+ ms: 422/);
    assert.match(text.stdout, /decided at \S+:\d+:\d+\n$/);
    for (const { stdout } of [json, text]) assert.ok(!stdout.includes("ann@example.org"));
  },
);

test("a call that is not kept, a wrong listener and a missing token each have their message", async (t) => {
  const g = await started(t);
  const unknown = await explained(g, "00000000-0000-4000-8000-000000000000");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /has no call '00000000-0000-4000-8000-000000000000' among its recent ones/);
  const bare = await run(["explain", "--running", g.admin.origin, "--request-id", "x"], { cwd: g.folder });
  assert.match(bare.stderr, /SLUICE_ADMIN_TOKEN is not set/);
  const half = await run(["explain", "--running", g.admin.origin], { cwd: g.folder });
  assert.equal(half.code, 64);
  assert.match(half.stderr, /expected --running URL and --request-id ID together/);
});

test("a gateway without recent calls, and one that answers something else, are told apart", async (t) => {
  const answers: Record<string, [number, object]> = {
    "/readyz": [200, { ready: true, generation: 1 }],
    "/admin/v1/calls/odd": [200, { id: 7 }],
  };
  const server = createServer((req, res) => {
    const [status, body] = answers[req.url ?? ""] ?? [404, { ok: false, error: "Not found." }];
    res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  // A TCP server's address has a port.
  const { port } = server.address() as AddressInfo;
  const ask = (id: string): Promise<Ran> =>
    run(["explain", "--running", `http://127.0.0.1:${port}`, "--request-id", id], {
      env: { SLUICE_ADMIN_TOKEN: OPERATOR },
    });
  const older = await ask("any");
  assert.equal(older.code, 1);
  assert.match(older.stderr, /older version of Sluice, without this part of the admin API/);
  const odd = await ask("odd");
  assert.match(odd.stderr, /answers something else than a call: body\.\w+ is missing/);
});
