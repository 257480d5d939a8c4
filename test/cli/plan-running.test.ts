/** Plans against a running gateway: what it runs as a side, and what it knows of who is affected. */
import assert from "node:assert/strict";
import type { CliIo } from "../../src/cli/command.ts";
import { assertAnswered, at } from "../spec/kit/client.ts";
import { type ConfigParts, echoEntry, hashOf, PROJECT, PROVIDER_KEY, TOKENS } from "../spec/kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "../spec/kit/gateway.ts";
import { verifies } from "../spec/verifies.ts";
import { ask } from "../surfaces/admin/v1-kit.ts";
import { documentOf, plan, type Run, run } from "./plan-kit.ts";

const OPERATOR = "gw_live_operator0Ops9";
const ROOT = {
  control_plane: { tokens: [{ name: "ops", hash: hashOf(OPERATOR) }] },
  reload: { watch: false },
};

const operated = (parts: StartOptions): StartOptions => ({ ...parts, root: ROOT });

async function planOn(g: Harness, args: readonly string[], about: Partial<CliIo> = {}): Promise<Run> {
  const env = { PATH: process.env["PATH"], SLUICE_ADMIN_TOKEN: OPERATOR };
  const ran = await run(plan, args, { cwd: g.folder, env, ...about });
  for (const secret of [OPERATOR, PROVIDER_KEY, TOKENS.web])
    assert.ok(!`${ran.stdout}${ran.stderr}`.includes(secret), "no secret is printed");
  return ran;
}

const running = (g: Harness): string => `running:${g.admin.origin}`;

verifies(
  ["plan.running", "admin.config"],
  "a gateway's configuration is a side, equal to the files that it runs",
  async (t) => {
    const parts = {
      endpoint: { rate_limit_per_minute: 60 },
      project: { endpoint_defaults: { temperature: 0.5 } },
    };
    const g = await startGateway(
      t,
      operated({ ...parts, endpoints: [echoEntry({ name: "Echo", temperature: 1 })] }),
    );
    const { json } = await ask(g.admin, "GET /admin/v1/config", { token: OPERATOR });
    assert.ok(!JSON.stringify(json).includes(PROVIDER_KEY), "a key that is written out is a fingerprint");
    assert.deepEqual(at(json, "config", "server", "port", "value"), 0);
    assert.match(String(at(json, "config", "server", "port", "at")), /gateway\.config\.yaml:\d+:\d+$/);
    const same = await planOn(g, ["--from", running(g), "--to", "gateway.config.yaml", "--output", "json"]);
    const document = documentOf(same.stdout);
    assert.deepEqual(document.changes, []);
    assert.equal(document.from.hash, document.to.hash);
    assert.equal(document.from.hash, at(json, "hash"));
    assert.equal(document.from.side, running(g));
    g.rewrite({
      root: ROOT,
      endpoint: { rate_limit_per_minute: 30 },
      project: { endpoint_defaults: { temperature: 0.7 } },
      endpoints: [echoEntry({ name: "Echo", temperature: 1 })],
    });
    const { stdout } = await planOn(g, [
      "--from",
      running(g),
      "--to",
      "gateway.config.yaml",
      "--output",
      "json",
    ]);
    assert.deepEqual(
      documentOf(stdout).changes.map(
        ({ rule, object, path, reaches }) => `${rule} ${object.kind} ${path} ${reaches.length}`,
      ),
      [
        "P107 endpoint projects[0].endpoints[0].rate_limit_per_minute 0",
        "P401 endpoint_defaults projects[0].endpoint_defaults.temperature 1",
      ],
    );
    const back = await planOn(g, ["--to", running(g), "--from", "gateway.config.yaml", "--output", "json"]);
    const [raised] = documentOf(back.stdout).changes;
    assert.equal(raised?.rule, "P202");
    assert.match(raised?.file ?? "", /gateway\.config\.yaml$/);
  },
);

verifies(
  ["plan.running", "admin.config"],
  "changes made at run time are no part of it, and a reload is",
  async (t) => {
    const g = await startGateway(t, operated({}));
    await g.gateway.store.overrides.set({
      ...{ key: `endpoint:${PROJECT}/ask`, value: { is_active: false }, replaced: { is_active: true } },
      ...{ actor: "ops", setAtMs: g.clock.nowMs() },
    });
    const same = await planOn(g, ["--from", running(g), "--to", "gateway.config.yaml"]);
    assert.match(same.stdout, /\nNo changes\.\n$/);
    g.rewrite({ root: ROOT, endpoint: { prompt: "Be brief." } });
    assert.match(
      (await planOn(g, ["--from", running(g), "--to", "gateway.config.yaml"])).stdout,
      /1 to change/,
    );
    assert.equal((await g.gateway.reload()).ok, true);
    assert.match(
      (await planOn(g, ["--from", running(g), "--to", "gateway.config.yaml"])).stdout,
      /No changes\.\n$/,
    );
  },
);

verifies(
  "plan.running",
  "a wrong token, a wrong address and a user in the address are named, and exit 1",
  async (t) => {
    const g = await startGateway(t, operated({}));
    for (const [url, token, message] of [
      [g.admin.origin, "", /SLUICE_ADMIN_TOKEN is not set/],
      [g.admin.origin, "gw_live_wrong0Token99", /the gateway rejects the token in SLUICE_ADMIN_TOKEN/],
      [g.client.origin, OPERATOR, /is the public listener/],
      ["http://127.0.0.1:1", OPERATOR, /nothing listens on http:\/\/127\.0\.0\.1:1/],
      ["http://user:hunter22@127.0.0.1:1", OPERATOR, /must not hold a user or password/],
    ] as const) {
      const env = { PATH: process.env["PATH"], SLUICE_ADMIN_TOKEN: token };
      const { code, stderr, stdout } = await planOn(
        g,
        ["--from", `running:${url}`, "--to", "gateway.config.yaml"],
        { env },
      );
      assert.equal(code, 1, url);
      assert.equal(stdout, "");
      assert.match(stderr, message);
      assert.ok(!stderr.includes("hunter22"));
    }
  },
);

verifies(
  ["plan.usage", "admin.usage"],
  "--usage tells calls, tokens and spend of what changes",
  async (t) => {
    const before: ConfigParts = {
      endpoint: { estimated_cost_per_1k_tokens_usd: 1, rate_limit_per_minute: 60 },
      endpoints: [echoEntry({ name: "Echo" })],
    };
    const g = await startGateway(t, operated(before));
    g.provider.says("Yes.", { usage: { prompt: 900, completion: 100 } });
    for (let n = 0; n < 2; n++) assertAnswered(await g.call({ message: "hi" }));
    assertAnswered(await g.call({ message: "hi" }, { slug: "echo" }));
    g.clock.advance(3 * 3_600_000);
    g.rewrite({ ...before, root: ROOT, endpoint: { ...before.endpoint, rate_limit_per_minute: 30 } });
    const sides = ["--from", running(g), "--to", "gateway.config.yaml", "--usage", g.admin.origin];
    const { stdout } = await planOn(g, [...sides, "--output", "json"]);
    const { usage, overrides, drift } = documentOf(stdout);
    assert.deepEqual(usage?.objects, [
      {
        object: { kind: "endpoint", project: "support", name: "ask" },
        ...{ calls: 2, prompt_tokens: 1800, completion_tokens: 200, spend_usd: 2 },
      },
    ]);
    assert.equal(usage?.month, "2026-05");
    assert.deepEqual([overrides, drift], [[], []]);
    const text = (await planOn(g, sides)).stdout;
    assert.match(
      text,
      /who is affected .*\n.*calls +tokens in +tokens out +USD in 2026-05\n +support\/ask +2 +1,800 +200 +2\.00\n/,
    );
    assert.ok(!text.includes("is not known"));
    const without = (await planOn(g, sides.slice(0, 4))).stdout;
    assert.match(without, /Who is affected is not known: --usage URL asks a running gateway\./);
  },
);

verifies(
  "plan.usage",
  "overrides are listed with which of them the new configuration ends, and drift is",
  async (t) => {
    const g = await startGateway(t, operated({ endpoints: [echoEntry({ name: "Echo" })] }));
    for (const slug of ["ask", "echo"])
      await g.gateway.store.overrides.set({
        ...{ key: `endpoint:${PROJECT}/${slug}`, value: { is_active: false }, replaced: { is_active: true } },
        ...{ actor: "ops", setAtMs: g.clock.nowMs() },
      });
    g.rewrite({
      root: ROOT,
      endpoint: { is_active: false, temperature: 1 },
      endpoints: [echoEntry({ name: "Echo" })],
    });
    const sides = ["--from", "gateway.config.yaml", "--to", "gateway.config.yaml", "--usage", g.admin.origin];
    const { overrides, drift } = documentOf((await planOn(g, [...sides, "--output", "json"])).stdout);
    assert.deepEqual(
      overrides.map(({ object, change, actor, ends }) => [object.name, change, actor, ends]),
      [
        ["ask", "switched off", "ops", true],
        ["echo", "switched off", "ops", false],
      ],
    );
    const changed = { object: { kind: "endpoint", project: "support", name: "ask" }, change: "changed" };
    assert.deepEqual(drift, [{ ...changed, keys: drift[0]?.keys ?? [] }]);
    assert.deepEqual([...(drift[0]?.keys ?? [])].sort(), ["is_active", "temperature"]);
    const { stdout } = await planOn(g, sides);
    assert.match(
      stdout,
      /changed at run time\n {2}support\/ask +switched off by ops, .* {2}ends with this plan\n/,
    );
    assert.match(
      stdout,
      /drift \(the gateway runs another configuration than gateway\.config\.yaml\)\n {2}support\/ask +changed/,
    );
  },
);
