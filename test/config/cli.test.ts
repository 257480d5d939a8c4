/** The commands that need no gateway: validate, schema, token. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { CliIo, Command } from "../../src/cli/command.ts";
import { schemaCommand } from "../../src/cli/schema.ts";
import { command as token } from "../../src/cli/token.ts";
import { validateCommand } from "../../src/cli/validate.ts";
import { folderOf, loadPlugins, projectOf } from "./kit.ts";

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(command: Command, args: readonly string[], more: Partial<CliIo> = {}): Promise<Run> {
  const out = { stdout: "", stderr: "" };
  const io: CliIo = {
    stdout: (text) => void (out.stdout += text),
    stderr: (text) => void (out.stderr += text),
    stdin: async () => "",
    env: {},
    cwd: "/",
    isTerminal: false,
    ...more,
  };
  return { code: await command.run(args, io), ...out };
}

const validate = validateCommand(loadPlugins);
const GOOD = projectOf("    endpoints:\n      - { name: A, provider: mock, model: m }\n");
const BAD = projectOf("    endpoints:\n      - { name: A, provider: mock, model: m, top_p: 7 }\n");

test("validate says what a good configuration holds, and exits with 0", async (t) => {
  const path = folderOf(t, { "a.yaml": GOOD }).path("a.yaml");
  const { code, stdout, stderr } = await run(validate, [path]);
  assert.equal(code, 0);
  assert.match(stdout, /^ok: 1 file, 1 project, 1 endpoint, 0 tokens \(\d+ ms\)\n$/);
  assert.equal(stderr, "");
  assert.equal((await run(validate, [], { env: { SLUICE_CONFIG: path } })).code, 0);
});

test("validate counts aliases and proxy endpoints of projects that have them", async (t) => {
  const wrapper = projectOf(
    "    aliases:\n      - { alias: a, provider: mock, model: m }\n      - { alias: b, provider: mock, model: m }\n",
  );
  const path = folderOf(t, { "a.yaml": wrapper.replace("ai_gateway", "ai_wrapper") }).path("a.yaml");
  const { stdout } = await run(validate, [path]);
  assert.match(stdout, /^ok: 1 file, 1 project, 0 endpoints, 0 tokens, 2 aliases \(/);
});

test("validate reports a bad one in the format asked for, and exits with 1", async (t) => {
  const folder = folderOf(t, { "a.yaml": BAD });
  const path = folder.path("a.yaml");
  const more = { cwd: folder.path("") };
  const text = await run(validate, [path], more);
  assert.equal(text.code, 1);
  assert.match(text.stdout, /^error\[E0107\].*\n +--> a\.yaml:7:53\n/);
  const json = await run(validate, [path, "--output", "json"], more);
  assert.equal(json.code, 1);
  const report: unknown = JSON.parse(json.stdout);
  assert.ok(typeof report === "object" && report !== null && "ok" in report && report.ok === false);
  assert.match(
    (await run(validate, [path, "--output=github"], more)).stdout,
    /^::error file=a\.yaml,line=7,col=53,/,
  );
  assert.match((await run(validate, [path, "--output=sarif"], more)).stdout, /"version": "2\.1\.0"/);
});

test("validate takes overlays, and goes without secrets when told to", async (t) => {
  const folder = folderOf(t, {
    "a.yaml": BAD,
    "o.yaml":
      'projects:\n  - name: Support\n    endpoints:\n      - { slug: a, top_p: 1, prompt: "${env:NOT_SET}" }\n',
  });
  const args = [folder.path("a.yaml"), "--overlay", folder.path("o.yaml")];
  assert.equal((await run(validate, args)).code, 1);
  assert.equal((await run(validate, [...args, "--no-secrets"])).code, 0);
});

test("usage errors exit with 64 and a hint", async () => {
  for (const args of [
    ["a", "b"],
    ["--output", "xml"],
  ]) {
    const { code, stderr } = await run(validate, args);
    assert.equal(code, 64);
    assert.match(stderr, /Try: sluice validate --help/);
  }
  assert.equal((await run(token, [])).code, 64);
  assert.equal((await run(token, ["make"])).code, 64);
  assert.equal((await run(token, ["new", "--scopes", "chat,root"])).code, 64);
  await assert.rejects(run(validate, ["--nonsense"]), { code: "ERR_PARSE_ARGS_UNKNOWN_OPTION" });
});

test("schema prints JSON with the plugins that a configuration names, also without one", async (t) => {
  const schema = schemaCommand(loadPlugins);
  const folder = folderOf(t, { "a.yaml": BAD });
  for (const path of [folder.path("a.yaml"), folder.path("none.yaml")]) {
    const { code, stdout } = await run(schema, [path]);
    assert.equal(code, 0);
    const printed: unknown = JSON.parse(stdout);
    assert.match(JSON.stringify(printed), /"const":"content_length"/);
  }
});

test("token new prints a token once and the YAML to commit, which validates", async (t) => {
  const { code, stdout } = await run(token, ["new", "--name", "web: 1", "--scopes", "chat,models"]);
  assert.equal(code, 0);
  const made = /gw_live_[0-9A-Za-z]{43}\b/.exec(stdout)?.[0] ?? "";
  assert.equal(stdout.split(made).length, 2);
  const hash = `sha256:${createHash("sha256").update(made).digest("hex")}`;
  assert.ok(stdout.includes(`hash: "${hash}"`));
  const yaml = stdout.slice(stdout.indexOf("  - name:")).replace(/^/gm, "    ");
  const { config } = await folderOf(t, { "gateway.config.yaml": projectOf(`    tokens:\n${yaml}`) }).load();
  assert.deepEqual(
    config?.projects[0]?.tokens.map(({ name, scopes }) => [name, scopes]),
    [["web: 1", ["chat", "models"]]],
  );
  const other = await run(token, ["new", "--test", "--output", "json"]);
  assert.match(other.stdout, /"token":"gw_test_/);
  assert.notEqual((await run(token, ["new"])).stdout, (await run(token, ["new"])).stdout);
});

test("token hash reads standard input, one newline dropped, and refuses an argument", async () => {
  const hash = `sha256:${createHash("sha256").update("gw_live_abcdefghijklmnop").digest("hex")}\n`;
  for (const text of [
    "gw_live_abcdefghijklmnop",
    "gw_live_abcdefghijklmnop\n",
    "gw_live_abcdefghijklmnop\r\n",
  ]) {
    assert.deepEqual(await run(token, ["hash"], { stdin: async () => text }), {
      code: 0,
      stdout: hash,
      stderr: "",
    });
  }
  const refused = await run(token, ["hash", "gw_live_abcdefghijklmnop"]);
  assert.equal(refused.code, 64);
  assert.ok(!refused.stderr.includes("gw_live_abcdefghijklmnop"));
  assert.equal((await run(token, ["hash"], { stdin: async () => "hello" })).code, 1);
  const short = await run(token, ["hash"], { stdin: async () => "gw_live_abcdefghijklmno" });
  assert.equal(short.code, 1);
  assert.match(short.stderr, /too short.*at least 16 characters.*sluice token new/);
});
