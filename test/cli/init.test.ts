/** `sluice init plugin`: what it writes, and where. test/package.test.ts type-checks it and runs its tests. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { command } from "../../src/cli/init.ts";
import { assertAnswered, assertRefused } from "../spec/kit/client.ts";
import { echoEntry } from "../spec/kit/config.ts";
import { startGateway } from "../spec/kit/gateway.ts";

interface Written {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-init-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function init(cwd: string, ...args: readonly string[]): Promise<Written> {
  const out = { stdout: "", stderr: "" };
  const code = await command.run(args, {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: {},
    cwd,
    isTerminal: false,
  });
  return { code, ...out };
}

test("the gateway takes a new guardrail as the YAML says", async (t) => {
  const folder = folderOf(t);
  const { stdout } = await init(folder, "plugin", "acme-words");
  assert.match(stdout, / {2}- \.\/plugins\/acme-words\.ts\n/);
  assert.match(stdout, /\{ use: acme-words, on: \[input, output\], options: \{ words: \[swordfish\] \} \}/);
  const g = await startGateway(t, {
    files: { "plugins/acme-words.ts": readFileSync(join(folder, "plugins/acme-words.ts"), "utf8") },
    root: { plugins: ["./plugins/acme-words.ts"] },
    endpoint: echoEntry({ guardrails: [{ use: "acme-words", options: { words: ["swordfish"] } }] }),
  });
  assertAnswered(await g.call({ message: "sword, fish" }));
  assertRefused(await g.call({ message: "SwordFish" }), 422, "Request blocked: a secret word.");
});

test("no file is overwritten, and nothing is written if one exists", async (t) => {
  const folder = folderOf(t);
  mkdirSync(join(folder, "plugins"));
  writeFileSync(join(folder, "plugins/acme-words.md"), "mine");
  const { code, stderr } = await init(folder, "plugin", "acme-words");
  assert.equal(code, 1);
  assert.match(stderr, /plugins\/acme-words\.md already exists; nothing was written/);
  assert.deepEqual(readdirSync(join(folder, "plugins")), ["acme-words.md"]);
  assert.equal(readFileSync(join(folder, "plugins/acme-words.md"), "utf8"), "mine");
});

test("--dir names another folder, which the YAML then refers to", async (t) => {
  const { stdout } = await init(folderOf(t), "plugin", "acme-words", "--dir", "a/b");
  assert.match(stdout, / {2}- \.\/a\/b\/acme-words\.ts\n/);
});

for (const args of [
  [],
  ["plugin"],
  ["guardrail", "acme"],
  ["plugin", "Acme"],
  ["plugin", "../acme"],
  ["plugin", "acme", "more"],
  ["plugin", "acme", "--kind", "toString"],
]) {
  test(`a usage error writes nothing: init ${args.join(" ")}`, async (t) => {
    const folder = folderOf(t);
    const { code, stderr } = await init(folder, ...args);
    assert.equal(code, 64);
    assert.match(stderr, /^sluice init: .*\nTry: sluice init --help\n$/);
    assert.deepEqual(readdirSync(folder), []);
  });
}
