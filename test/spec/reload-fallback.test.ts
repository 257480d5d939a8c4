/** The last valid configuration: kept beside the state, served when a start finds an invalid one, and never with secrets. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { ConfigError, createGateway, type Gateway } from "../../src/index.ts";
import { assertAnswered, Client, until } from "./kit/client.ts";
import { hashOf, PROJECT, TOKENS } from "./kit/config.ts";
import { verifies } from "./verifies.ts";

const SECRET = "sk-mounted-5d2e81";

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-fallback-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "prompts"));
  writeFileSync(join(folder, "key"), SECRET);
  return folder;
}

function write(folder: string, revision: string, model = "model: m"): void {
  writeFileSync(join(folder, "prompts", "template.md"), `${revision} {{input}}`);
  writeFileSync(
    join(folder, "gateway.yaml"),
    `version: 1
server: { port: 0 }
admin: { enabled: false }
state: { directory: ${join(folder, "state")} }
projects:
  - uuid: ${PROJECT}
    name: Kept
    type: ai_gateway
    credentials:
      - { name: echo, provider: mock, options: { reply: "{{input}}" } }
      - { name: main, provider: openai, api_key: "\${file:./key}" }
    tokens: [{ name: web, hash: "${hashOf(TOKENS.web)}", scopes: [chat] }]
    endpoints:
      - { name: Ask, provider: mock, ${model}, credential: echo, user_prompt_template: "\${file:./prompts/template.md}" }
`,
  );
}

async function started(
  t: TestContext,
  folder: string,
  lines: string[],
): Promise<{ gateway: Gateway; says(): Promise<string> }> {
  const gateway = await createGateway({
    configPath: join(folder, "gateway.yaml"),
    env: {},
    watch: false,
    fallback: "last-valid",
    log: (line) => lines.push(line),
  });
  const { url } = await gateway.start();
  const client = new Client(url);
  t.after(async () => {
    client.close();
    await gateway.stop();
  });
  const sent = { token: TOKENS.web, body: { message: "Hello" } };
  return { gateway, says: async () => assertAnswered(await client.send(`/api/${PROJECT}/ask`, sent)) };
}

const has = (lines: readonly string[], text: string): boolean => lines.some((line) => line.includes(text));

verifies("reload.fallback", "a restart with a broken file serves what was kept, and says so", async (t) => {
  const folder = folderOf(t);
  write(folder, "first");
  const before: string[] = [];
  const one = await started(t, folder, before);
  await until(() => has(before, "last valid configuration kept"), "the first is kept");
  write(folder, "second");
  assert.equal((await one.gateway.reload()).ok, true);
  const kept = () => before.filter((line) => line.includes("last valid configuration kept")).length;
  await until(() => kept() === 2, "the second is kept");
  await one.gateway.stop();
  write(folder, "third", "modle: m");
  const lines: string[] = [];
  const two = await started(t, folder, lines);
  assert.equal(await two.says(), "second Hello");
  assert.ok(has(lines, "the configuration is invalid: serving the last valid one, kept at "));
  assert.ok(has(lines, "modle"), "the errors are logged");
  write(folder, "fourth");
  assert.equal((await two.gateway.reload()).ok, true);
  assert.equal(await two.says(), "fourth Hello");
  assert.ok(has(lines, "configuration valid again, generation 2"));
  await until(() => has(lines, "last valid configuration kept"), "the fourth is kept");
});

verifies(
  "reload.fallback",
  "secrets are not copied, and without the option a broken file does not start",
  async (t) => {
    const folder = folderOf(t);
    write(folder, "first");
    const lines: string[] = [];
    const { gateway } = await started(t, folder, lines);
    await until(() => has(lines, "last valid configuration kept"), "it is kept");
    await gateway.stop();
    const copies = readdirSync(join(folder, "state", "last-valid"), { recursive: true, withFileTypes: true });
    const files = copies.filter((entry) => entry.isFile());
    assert.ok(files.length >= 3);
    for (const { parentPath, name } of files)
      assert.ok(!readFileSync(join(parentPath, name), "utf8").includes(SECRET), name);
    write(folder, "second", "modle: m");
    const plain = createGateway({
      configPath: join(folder, "gateway.yaml"),
      env: {},
      watch: false,
      log: () => {},
    });
    await assert.rejects(plain, ConfigError);
  },
);
