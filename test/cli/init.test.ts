/** `sluice init plugin`: what it writes type-checks, its tests pass, and the gateway takes it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { command } from "../../src/cli/init.ts";
import { assertAnswered, assertRefused } from "../spec/kit/client.ts";
import { echoEntry } from "../spec/kit/config.ts";
import { startGateway } from "../spec/kit/gateway.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const WITH_TSX = ["--conditions=sluice-source", "--import", import.meta.resolve("tsx")];
const KINDS = ["guardrail", "stage", "provider", "store"];

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

/** As after `npm install sluice`, and a package of your own. */
function installed(folder: string): void {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(ROOT, join(folder, "node_modules/sluice"));
  symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const base = JSON.stringify(join(ROOT, "tsconfig.json"));
  writeFileSync(join(folder, "tsconfig.json"), `{ "extends": ${base}, "include": ["plugins"] }`);
}

function node(cwd: string, ...args: readonly string[]): string {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: "utf8" });
  return status === 0 ? "" : `${stdout}\n${stderr}`;
}

test("of every kind, what is written type-checks and its tests pass as they stand", async (t) => {
  const folder = folderOf(t);
  installed(folder);
  for (const kind of KINDS) {
    const { code, stdout } = await init(folder, "plugin", `acme-${kind}-2`, "--kind", kind);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`wrote plugins/acme-${kind}-2\\.test\\.ts`));
  }
  assert.equal(readdirSync(join(folder, "plugins")).length, 3 * KINDS.length);
  const require = createRequire(import.meta.url);
  const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
  assert.equal(node(folder, tsc, "--noEmit", "-p", "."), "");
  const tests = KINDS.map((kind) => `plugins/acme-${kind}-2.test.ts`);
  assert.equal(node(folder, ...WITH_TSX, "--test", ...tests), "");
});

test("the guardrail of the guide passes the tests of the guide", (t) => {
  const folder = folderOf(t);
  installed(folder);
  mkdirSync(join(folder, "plugins"));
  const guide = readFileSync(join(ROOT, "plugins/README.md"), "utf8");
  const blocks = [...guide.matchAll(/```ts\n\/\/ (plugins\/\S+)\n(.*?)```/gs)];
  for (const [, path = "", text = ""] of blocks) writeFileSync(join(folder, path), text);
  assert.equal(blocks.length, 2);
  assert.equal(node(folder, ...WITH_TSX, "--test", "plugins/acme-shouting.test.ts"), "");
});

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
