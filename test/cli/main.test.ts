/** What every command line shares: versions, help, and advice for what was mistyped. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { CliIo } from "../../src/cli/command.ts";
import { main } from "../../src/cli/main.ts";
import { unsupportedNode } from "../../src/cli/node-version.ts";

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const out = { stdout: "", stderr: "" };
  const io: CliIo = {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: {},
    cwd: "/",
    isTerminal: false,
  };
  return { code: await main(args, io), ...out };
}

test("--version, -V and version print the version of the package and of Node", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  for (const spelling of ["--version", "-V", "version"]) {
    const { code, stdout } = await run(spelling);
    assert.equal(code, 0);
    assert.equal(stdout, `sluice ${version} (Node ${process.versions.node})\n`);
  }
});

test("a mistyped command is answered with the nearest one and exit code 64", async () => {
  const { code, stderr } = await run("validat");
  assert.equal(code, 64);
  assert.match(stderr, /^sluice: unknown command 'validat'\nDid you mean `sluice validate`\?\n/);
  assert.doesNotMatch((await run("zzzzzz")).stderr, /Did you mean/);
});

test("Node versions below the oldest supported one are told in one line", () => {
  assert.equal(unsupportedNode("18.20.8"), "Sluice needs Node 20.19 or newer; this is 18.20.8.");
  assert.notEqual(unsupportedNode("20.18.3"), undefined);
  for (const version of ["20.19.0", "22.0.0", "24.21.0", "26.10.0"])
    assert.equal(unsupportedNode(version), undefined);
});

test("the oldest Node version is the one that package.json names", () => {
  const { engines } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const oldest = String(engines.node).replace(">=", "");
  assert.equal(unsupportedNode(`${oldest}.0`), undefined);
  const script = readFileSync(new URL("../../scripts/sluice.mjs", import.meta.url), "utf8");
  assert.ok(script.includes(`Sluice needs Node ${oldest} or newer`));
});
