/**
 * `npm start` as a supervisor sees it: its SIGTERM must reach the gateway, not the shell that npm puts between; and what
 * it compiles does what the sources do. In one file, since two processes at once would compile at once.
 */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { configSaying } from "../gateway/kit.ts";
import { PROJECT, TOKENS } from "./kit/config.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Starts the compiled gateway on this configuration and resolves with the process and its address. */
async function npmStart(
  t: TestContext,
  config: string,
): Promise<{ readonly npm: Npm; readonly url: string }> {
  const npm = spawn("npm", ["start", "--", "--config", config], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => {
    npm.kill("SIGKILL");
  });
  let said = "";
  for await (const chunk of npm.stderr) {
    said += String(chunk);
    if (said.includes("sluice listens on ")) break;
  }
  const url = /listens on (\S+)/.exec(said)?.[1];
  assert.ok(url, said);
  npm.stdout.resume();
  return { npm, url };
}

type Npm = ChildProcessByStdio<null, Readable, Readable>;

async function stop(npm: Npm): Promise<void> {
  npm.kill("SIGTERM");
  const [code] = await once(npm, "exit");
  assert.equal(code, 0);
}

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-npm-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("SIGTERM to npm start stops the gateway behind it, with exit code 0", { timeout: 30_000 }, async (t) => {
  const config = join(folderFor(t), "gateway.yaml");
  writeFileSync(config, configSaying("hello"));
  const { npm, url } = await npmStart(t, config);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  await stop(npm);
  await assert.rejects(fetch(`${url}/healthz`), "nothing listens anymore");
});

test("compiled, it runs plugins written in TypeScript, in processes of their own where they are isolated", {
  timeout: 30_000,
}, async (t) => {
  const folder = folderFor(t);
  cpSync(join(root, "examples/plugins/acme-tone.ts"), join(folder, "acme-tone.ts"));
  const config = join(folder, "gateway.yaml");
  const guarded = configSaying("hello")
    .replace("version: 1", "version: 1\nplugins: [./acme-tone.ts]")
    .replace("credential: demo }", "credential: demo, guardrails: [{ use: acme-tone, isolate: true }] }");
  writeFileSync(config, guarded);
  const { npm, url } = await npmStart(t, config);
  const ask = (message: string) =>
    fetch(`${url}/api/${PROJECT}/ask`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKENS.web}`, "content-type": "application/json" },
      body: JSON.stringify({ message }),
    });
  assert.equal((await ask("Good morning")).status, 200);
  const refused = await ask("You blockhead");
  assert.deepEqual(
    [refused.status, await refused.json()],
    [422, { ok: false, error: "Request blocked: please mind the tone." }],
  );
  await stop(npm);
});
