/** `npm start` as a supervisor sees it: its SIGTERM must reach the gateway, not the shell that npm puts between. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { configSaying } from "../reload/kit.ts";

test("SIGTERM to npm start stops the gateway behind it, with exit code 0", { timeout: 30_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-npm-"));
  const config = join(folder, "gateway.yaml");
  writeFileSync(config, configSaying("hello"));
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const npm = spawn("npm", ["start", "--", "--config", config], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => {
    npm.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  let said = "";
  for await (const chunk of npm.stderr) {
    said += String(chunk);
    if (said.includes("sluice listens on ")) break;
  }
  const url = /listens on (\S+)/.exec(said)?.[1] ?? "";
  assert.equal((await fetch(`${url}/healthz`)).status, 200, said);
  npm.stdout.resume();
  npm.kill("SIGTERM");
  const [code] = await once(npm, "exit");
  assert.equal(code, 0);
  await assert.rejects(fetch(`${url}/healthz`), "nobody listens any more");
});
