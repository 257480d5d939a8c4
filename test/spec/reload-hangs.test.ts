/** Reloads that hang, fail for a passing reason, or come while the gateway stops: calls and revocations do not wait. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { reloadText } from "../../src/cli/start.ts";
import { DEMO_TOKEN_HASH } from "../../src/config/check/demo-token.ts";
import { createGateway, type ReloadOutcome } from "../../src/index.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { configOf, echoEntry, hashOf } from "./kit/config.ts";
import { type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { callTool, contentOf, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const SEVEN = "gw_live_seven0Of9";
const hello = { message: "Hello" };

/** A stage whose setup does what its options say. */
const PLUGIN = `const waiting = new Map();
export default {
  api: 1, kind: "stage", name: "slow", stage: "record", description: "A test's own.", examples: [],
  schema: { type: "object" },
  async setup({ mode }, host) {
    host.log.warn({ mode }, "slow is being set up");
    if (mode === "hang") await new Promise(() => {});
    if (mode === "fail" && globalThis.slowServiceIsDown) throw new Error("its service does not answer");
    return { finish() {}, close() { host.log.warn({ mode }, "slow closed"); } };
  },
};`;

function parts(mode: string, more: StartOptions = {}): StartOptions {
  const { root, ...rest } = more;
  return {
    files: { "slow.mjs": PLUGIN },
    root: { plugins: ["./slow.mjs"], ...WITH_CONTROL, ...root },
    tokens: [{ id: 7, name: "seven", hash: hashOf(SEVEN), scopes: ["chat"] }],
    endpoint: echoEntry({
      stages: [{ use: "slow", options: { mode } }],
      user_prompt_template: `${mode} {{input}}`,
    }),
    ...rest,
  };
}

const logged = (g: Harness, text: string): boolean => g.lines.some((line) => line.includes(text));

/** A reload that waits for a plugin's setup, which never settles. */
async function hanging(t: TestContext): Promise<{ g: Harness; reload: Promise<ReloadOutcome> }> {
  const g = await startGateway(t, parts("fine"));
  assert.equal(assertAnswered(await g.call(hello)), "fine Hello");
  g.rewrite(parts("hang"));
  const reload = g.gateway.reload();
  await until(() => logged(g, '"mode":"hang"'), "the setup has begun");
  return { g, reload };
}

async function revoke(g: Harness): Promise<void> {
  assertAnswered(await g.call(hello, { token: SEVEN }));
  contentOf(await callTool(g.client, "gw_revoke_token", { token_id: 7 }));
}

verifies(
  ["reload.overrides", "reload.setup-deadline"],
  "a token is revoked while a plugin's setup hangs, and the reload is rejected after 10 s",
  async (t) => {
    const { g, reload } = await hanging(t);
    await revoke(g);
    assertRefused(await g.call(hello, { token: SEVEN }), 401, "Invalid or revoked token.");
    g.clock.advance(10_000);
    const outcome = await reload;
    assert.equal(outcome.ok, false);
    assert.equal(outcome.errors[0]?.code, "E0900");
    assert.match(outcome.errors[0]?.message ?? "", /setup did not finish within 10 s/);
    assert.equal(assertAnswered(await g.call(hello)), "fine Hello");
    g.rewrite(parts("later"));
    assert.equal((await g.gateway.reload()).ok, true);
    assertRefused(await g.call(hello, { token: SEVEN }), 401, "Invalid or revoked token.");
    assert.equal(assertAnswered(await g.call(hello)), "later Hello");
  },
);

verifies(
  ["reload.loader-deadline", "reload.overrides"],
  "a plugin module that loops while it is loaded costs one thread, and delays no revocation",
  async (t) => {
    const g = await startGateway(t, parts("fine"));
    writeFileSync(join(g.folder, "slow.mjs"), `for (;;);\n${PLUGIN}`);
    const idle = g.clock.pendingTimers();
    const reload = g.gateway.reload();
    await until(() => g.clock.pendingTimers() > idle, "the deadline is set");
    await revoke(g);
    assertRefused(await g.call(hello, { token: SEVEN }), 401, "Invalid or revoked token.");
    g.clock.advance(10_000);
    const outcome = await reload;
    assert.deepEqual([outcome.ok, outcome.errors[0]?.code], [false, "E0901"]);
    assert.ok(logged(g, "the loader thread was stuck for 10 s"));
    writeFileSync(join(g.folder, "slow.mjs"), PLUGIN);
    assert.equal((await g.gateway.reload()).ok, true);
  },
);

verifies("reload.stop", "stopping does not wait for a setup that hangs, and says what it does", async (t) => {
  const { g, reload } = await hanging(t);
  await g.gateway.stop();
  const messages = g.lines.map((line) => at(JSON.parse(line), "msg"));
  assert.deepEqual(
    messages.filter((message) => message === "draining" || message === "stopped"),
    ["draining", "stopped"],
  );
  g.clock.advance(10_000);
  assert.equal((await reload).ok, false);
  assert.ok(!logged(g, "configuration rejected"), "a reload that the stop overtook is no failure");
});

verifies(
  ["reload.retry", "reload.recovered"],
  "a setup that failed is tried again after 1 s and 2 s, until its service is back",
  async (t) => {
    // The plugin runs in this process: its service is one field of the global object.
    const service = globalThis as { slowServiceIsDown?: boolean };
    service.slowServiceIsDown = true;
    const g = await startGateway(t, parts("fine"));
    g.rewrite(parts("fail"));
    const first = await g.gateway.reload();
    assert.match(first.errors[0]?.message ?? "", /its service does not answer/);
    const attempts = (): number => g.lines.filter((line) => line.includes('"mode":"fail"')).length;
    assert.equal(attempts(), 1);
    g.clock.advance(999);
    assert.equal(attempts(), 1);
    g.clock.advance(1);
    await until(() => logged(g, "configuration still rejected, keeping generation 1"), "it was tried again");
    service.slowServiceIsDown = false;
    g.clock.advance(2_000);
    await until(() => logged(g, "configuration valid again, generation 2"), "it was tried a third time");
    assert.equal(attempts(), 3);
    assert.equal(assertAnswered(await g.call(hello)), "fail Hello");
    assert.equal(g.lines.filter((line) => line.includes("configuration rejected")).length, 1, "told once");
  },
);

verifies(
  "reload.recovered",
  "a terminal shows a rejected reload as validate does, and the recovery",
  async (t) => {
    const g = await startGateway(t, parts("fine"));
    const path = join(g.folder, "gateway.config.yaml");
    const outcomes: ReloadOutcome[] = [];
    const embedded = await createGateway({
      configPath: path,
      env: {},
      watch: false,
      log: () => {},
      reloadReported: (outcome) => outcomes.push(outcome),
    });
    t.after(() => embedded.stop());
    writeFileSync(
      path,
      JSON.stringify(configOf(parts("fine"), g.provider.url), null, 2).replace('"model"', '"modle"'),
    );
    await embedded.reload();
    g.rewrite(parts("fine"));
    await embedded.reload();
    await embedded.reload();
    const [rejected, recovered] = outcomes.map((outcome) => reloadText(outcome, false));
    assert.match(
      rejected ?? "",
      /error\[E0101\]: unknown key `modle`\n +--> .*\n +\|\n\d+ \| +"modle": "echo",\n +\| +\^{7}\n.*\n.*did you mean `model`\?/,
    );
    assert.match(rejected ?? "", /configuration rejected, keeping generation 1\n$/);
    assert.equal(recovered, "configuration valid again, generation 1\n");
    assert.equal(outcomes.length, 2, "valid reloads are not told");
  },
);

verifies("reload.demo", "a reload does not open the demo token beyond loopback", async (t) => {
  const open: StartOptions = { server: { host: "0.0.0.0" } };
  const g = await startGateway(t, open);
  const demo = { name: "demo", hash: DEMO_TOKEN_HASH, scopes: ["chat"] };
  // The address was bound at start: that the file now names loopback changes nothing.
  for (const [host, code] of [
    ["0.0.0.0", "E0320"],
    ["127.0.0.1", "E0903"],
  ]) {
    g.rewrite({ server: { host }, tokens: [demo] });
    const outcome = await g.gateway.reload();
    assert.deepEqual([outcome.ok, outcome.errors[0]?.code], [false, code]);
  }
  g.rewrite({ ...open, endpoint: echoEntry({}) });
  assert.equal((await g.gateway.reload()).ok, true);
});

verifies("reload.watch-off", "`reload.watch` is obeyed as soon as a reload brings it", async (t) => {
  const watched = (watch: boolean, template: string): StartOptions => ({
    endpoint: echoEntry({ user_prompt_template: `${template} {{input}}` }),
    root: { reload: { watch } },
  });
  const g = await startGateway(t, { ...watched(false, "one"), watch: true });
  const idle = g.clock.pendingTimers();
  g.rewrite(watched(true, "two"));
  g.clock.advance(10_000);
  assert.equal(g.clock.pendingTimers(), idle, "nothing is polled");
  assert.equal(assertAnswered(await g.call(hello)), "one Hello");
  assert.equal((await g.gateway.reload()).changed, true);
  assert.equal(assertAnswered(await g.call(hello)), "two Hello");
  g.rewrite(watched(false, "three"));
  g.clock.advance(2_000);
  await until(async () => assertAnswered(await g.call(hello)) === "three Hello", "the change is noticed");
  g.rewrite(watched(false, "four"));
  g.clock.advance(10_000);
  assert.equal(assertAnswered(await g.call(hello)), "three Hello");
});
