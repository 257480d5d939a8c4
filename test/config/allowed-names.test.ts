/** What the files of an include may refer to. */
import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { test } from "node:test";
import { verifies } from "../spec/verifies.ts";
import { brief, type Folder, folderOf, PROJECT_UUID, projectOf } from "./kit.ts";

const ENV = { SUPPORT_KEY: "sk-support-1", SALES_KEY: "sk-sales-1", SUPPORT_PROMPT: "Be brief." };
const RESTRICTED =
  '    include: [{ path: "teams/*.yaml", secrets: { allow: ["SUPPORT_*", "*/run/support/*"] } }]\n';

const credential = (key: string): string =>
  `credentials:\n  - { name: c, provider: openai, api_key: "${key}" }\n`;
const endpoint = (field: string): string =>
  `endpoints:\n  - { name: A, provider: mock, model: m, ${field} }\n`;

async function errorsOf(folder: Folder): Promise<readonly string[]> {
  const { errors } = await folder.load({ env: ENV });
  assert.doesNotMatch(JSON.stringify(errors), /sales-1/);
  return errors.map(brief);
}

verifies(["config.secrets.allow"], "a team's file may reference the names of its include only", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(RESTRICTED),
    "teams/prompts/brief.md": "Be brief.",
    "teams/input.json": '{ "type": "object" }',
    "keys/sales": "sk-sales-1",
    "keys/schema.json": '"sk-sales-1"',
    "run/support/key": "sk-support-1",
  });
  symlinkSync("../keys/sales", folder.path("teams/link"));
  const allowed = [
    credential("${env:SUPPORT_KEY}"),
    credential("${file:../run/support/key}"),
    endpoint('prompt: "${file:prompts/brief.md} ${env:SUPPORT_PROMPT} $${env:SALES_KEY} ${SALES_KEY}"'),
    endpoint("input_schema: { $ref: input.json }"),
  ];
  for (const text of allowed) {
    folder.write({ "teams/a.yaml": text });
    assert.deepEqual(await errorsOf(folder), [], text);
  }
  const refused: Readonly<Record<string, string>> = {
    [credential("${env:SALES_KEY}")]: "credentials[0].api_key",
    [credential("${env:NOT_SET:-${env:SALES_KEY}")]: "credentials[0].api_key",
    [credential("${env:SALES_KEY:-x}")]: "credentials[0].api_key",
    [credential("${file:prompts/brief.md}")]: "credentials[0].api_key",
    [credential("${file:/etc/hostname}")]: "credentials[0].api_key",
    [endpoint('prompt: "${env:SALES_KEY}"')]: "endpoints[0].prompt",
    [endpoint('prompt: "${file:../keys/sales}"')]: "endpoints[0].prompt",
    [endpoint('prompt: "${file:link}"')]: "endpoints[0].prompt",
    [endpoint("input_schema: { $ref: ../keys/schema.json }")]: "endpoints[0].input_schema.$ref",
    'include: ["${env:SALES_KEY}"]\n': "include[0]",
  };
  for (const [text, path] of Object.entries(refused)) {
    folder.write({ "teams/a.yaml": text });
    const [error = "", ...more] = await errorsOf(folder);
    assert.match(error, /^E0205 /, text);
    assert.ok(error.endsWith(path), `${text} ${error}`);
    assert.deepEqual(more, [], text);
  }
});

test("a restriction reaches what the file includes, and cannot be widened there", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(RESTRICTED),
    "teams/a.yaml": 'include: [{ path: more/b.yaml, secrets: { allow: ["*"] } }]\n',
    "teams/more/b.yaml": credential("${env:SALES_KEY}"),
  });
  const { errors } = await folder.load({ env: ENV });
  assert.deepEqual(
    errors.map(({ code, file, message }) => `${code} ${file.split("/").at(-1)} ${message}`),
    [
      "E0205 b.yaml this file may not refer to `SALES_KEY`: its include allows SUPPORT_*, */run/support/* and *",
    ],
  );
});

test("the file that includes is not restricted, an unset name suggests allowed ones only", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(
      `${RESTRICTED}    credentials:\n      - { name: d, provider: openai, api_key: "\${env:SALES_KEY}" }\n`,
    ),
    "teams/a.yaml": credential("${env:SUPPORT_KEX}"),
  });
  assert.deepEqual(await errorsOf(folder), [
    "E0201 2:44 projects[0].credentials[1].api_key -> ${env:SUPPORT_KEY}",
  ]);
});

test("a restricted part of the whole configuration cannot name plugins", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": "version: 1\ninclude: [{ path: team.yaml, secrets: { allow: [] } }]\n",
    "team.yaml": `plugins: [./x.ts]\nprojects:\n  - { uuid: ${PROJECT_UUID}, name: "\${env:SUPPORT_KEY}", type: proxy }\n`,
    "x.ts": "",
  });
  assert.deepEqual(await errorsOf(folder), ["E0205 1:11 plugins[0]", "E0205 3:58 projects[0].name"]);
});

test("an include is a path, or a map of path and secrets, and nothing else", async (t) => {
  const includes = ["[5]", "[{}]", "[{ path: a.yaml, secret: {} }]", "[{ path: a.yaml, secrets: [x] }]"];
  const errors = [];
  for (const include of includes) {
    const folder = folderOf(t, {
      "gateway.config.yaml": `include: ${include}\n${projectOf("")}`,
      "a.yaml": "prices: []\n",
    });
    errors.push(...(await errorsOf(folder)));
  }
  assert.deepEqual(errors, [
    'E0103 1:11 include[0] -> "5"',
    "E0102 1:11 include[0].path",
    "E0101 1:27 include[0].secret -> secrets",
    "E0103 1:36 include[0].secrets",
  ]);
});

verifies(["config.no-plugins"], "without plugins no code is executed, and the output says so", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `plugins: [./tone.ts, acme-pack]\nstate: { driver: acme-store }\n${projectOf(`    credentials:
      - { name: c, provider: acme, api_key: "\${env:SALES_KEY}" }
    stages: [{ use: acme-stage, options: { a: 1 } }]
    endpoints:
      - { name: A, provider: acme, model: m, credential: c, guardrails: [{ use: acme-tone, strict: true }] }
      - { name: B, provider: mock, model: m, guardrails: [{ use: content_length, max: 0 }] }
`)}`,
    "tone.ts": "throw new Error('executed');",
  });
  const asked: number[] = [];
  const { loadPlugins } = await import("./kit.ts");
  const outcome = await folder.load({ env: ENV, plugins: "skip" }, async (modules) => {
    asked.push(modules.length);
    return loadPlugins(modules);
  });
  assert.deepEqual(asked, [0]);
  assert.deepEqual(
    outcome.errors.map(({ code, path }) => `${code} ${path}`),
    ["E0107 projects[0].endpoints[1].guardrails[0].max"],
  );
  assert.deepEqual(outcome.warnings.map(brief), ["W0116 1:11 plugins[0]", "W0116 1:22 plugins[1]"]);
});

test("a plugin is a path or the name of a package", async (t) => {
  const names = ["acme-pack/../../outside.js", "../x.ts", "data:text/javascript,1", "node:fs", "a b"];
  const folder = folderOf(t, {
    "gateway.config.yaml": `plugins: ${JSON.stringify([...names, "@acme/pack", "acme-pack/tone.js"])}\n${projectOf("")}`,
  });
  const { errors } = await folder.load();
  assert.deepEqual(
    errors.map(({ code, path }) => `${code} ${path}`),
    ["E0316 plugins[0]", "E0011 plugins[1]", "E0316 plugins[2]", "E0316 plugins[3]", "E0316 plugins[4]"],
  );
});
