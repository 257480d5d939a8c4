/** A store plugin that cannot be set up: the start fails, names it, and leaves nothing behind. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createGateway } from "../../src/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { until } from "./kit/client.ts";
import { configOf, echoEntry } from "./kit/config.ts";
import { PROGRAM } from "./kit/process.ts";
import { verifies } from "./verifies.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A configuration whose store has this `setup`. */
function configWith(t: TestContext, setup: string): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-store-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "gateway.config.yaml");
  const root = { plugins: ["./slow-store.mjs"], state: { driver: "slow-store" } };
  writeFileSync(path, JSON.stringify(configOf({ root, endpoint: echoEntry({}) }, "http://127.0.0.1:9")));
  writeFileSync(
    join(folder, "slow-store.mjs"),
    `export default { api: 1, kind: "store", name: "slow-store", description: "Slow.", examples: [],
      schema: { type: "object" }, setup() { ${setup} } };`,
  );
  return path;
}

verifies(
  "start.store-setup",
  "a start whose store is not there after 10 s fails, and a store that comes later is closed",
  async (t) => {
    const clock = virtualClock();
    // The plugin runs in this process: what it shares is a field of the global object.
    const shared = globalThis as { lateStore?: (store: object) => void };
    t.after(() => delete shared.lateStore);
    const configPath = configWith(t, "return new Promise((late) => { globalThis.lateStore = late; });");
    const failed: unknown[] = [];
    const started = createGateway({ configPath, clock, env: {}, watch: false, log: () => {} });
    const settled = started.then(
      () => assert.fail("it has started"),
      (thrown: unknown) => failed.push(thrown),
    );
    await until(() => shared.lateStore !== undefined, "the setup has begun");
    clock.advance(9_999);
    await new Promise(setImmediate);
    assert.equal(failed.length, 0);
    clock.advance(1);
    await settled;
    const [error] = failed;
    assert.ok(error instanceof Error);
    assert.equal(
      error.message,
      "the store plugin 'slow-store' could not be set up: setup did not finish within 10 s",
    );
    let closed = 0;
    shared.lateStore?.({ close: () => void closed++ });
    await new Promise(setImmediate);
    assert.equal(closed, 1);
    assert.equal(clock.pendingTimers(), 0);
  },
);

verifies(
  "start.store-setup",
  "a process whose store cannot be set up ends, whatever the plugin has left open",
  async (t) => {
    const path = configWith(t, `setInterval(() => {}, 1000); throw new Error("no database");`);
    const child = spawn(process.execPath, [...PROGRAM, "start", "--config", path], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const [code] = await once(child, "close");
    assert.notEqual(code, 0);
    assert.match(said, /the store plugin 'slow-store' could not be set up: no database/);
  },
);
