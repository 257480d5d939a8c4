/** What a configuration may read: regular files inside its root, bounded in size, and nothing of any other is shown. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { matchesName } from "../../src/config/read/glob.ts";
import { LineMask } from "../../src/config/report/mask.ts";
import { renderGithub, renderJson, renderSarif, renderText } from "../../src/config/report/render.ts";
import { verifies } from "../spec/verifies.ts";
import { brief, type Folder, folderOf, projectOf } from "./kit.ts";

const CANARY = "canary-7d1f";
const endpoint = (prompt: string): string =>
  projectOf(`    endpoints:\n      - { name: Echo, provider: mock, model: m, prompt: "${prompt}" }\n`);

async function codesOf(folder: Folder): Promise<readonly string[]> {
  const outcome = await folder.load();
  const reports = [
    renderText([...outcome.errors, ...outcome.warnings], false, "/"),
    renderJson(outcome, "/"),
    renderGithub(outcome, "/"),
    renderSarif(outcome, "/"),
  ];
  for (const report of reports) assert.ok(!report.includes(CANARY), report);
  return outcome.errors.map(({ code }) => code);
}

verifies(
  ["config.root.inside", "config.root.links", "config.root.hidden"],
  "files outside the root are refused without being shown, however a path leads there",
  async (t) => {
    const outside = folderOf(t, {
      "secret.yaml": `${CANARY}: 1\n`,
      "prompt.md": CANARY,
      "deep/x.yaml": `${CANARY}: 1\n`,
    });
    const path = (name: string) => outside.path(name);
    const broken: readonly string[] = [
      `include: ["${path("secret.yaml")}"]\n${projectOf("")}`,
      `include: ["../${path("secret.yaml").split("/").slice(-2).join("/")}"]\n${projectOf("")}`,
      `include: [link.yaml]\n${projectOf("")}`,
      `include: ["li*.yaml"]\n${projectOf("")}`,
      `include: ["linked/**/*.yaml"]\n${projectOf("")}`,
      `include: ["/**/*.zzz"]\n${projectOf("")}`,
      `include: [/proc/self/environ]\n${projectOf("")}`,
      projectOf(`    include: ["${path("secret.yaml")}"]\n`),
      endpoint(`\${file:${path("prompt.md")}}`),
      endpoint("${file:linked/prompt.md}"),
      projectOf(
        `    endpoints:\n      - { name: E, provider: mock, model: m, input_schema: { $ref: "${path("secret.yaml")}" } }\n`,
      ),
      `plugins: ["${path("secret.yaml")}"]\n${projectOf("")}`,
      projectOf(
        '    credentials:\n      - { name: c, provider: openai, api_key: "${file:linked/prompt.md}" }\n',
      ),
    ];
    for (const text of broken) {
      const folder = folderOf(t, { "gateway.config.yaml": text });
      symlinkSync(path("secret.yaml"), folder.path("link.yaml"));
      symlinkSync(outside.path("."), folder.path("linked"));
      assert.deepEqual(await codesOf(folder), ["E0011"], text);
    }
  },
);

test("the configuration itself and the parts of a folder may not be links that lead out of it", async (t) => {
  const outside = folderOf(t, { "secret.yaml": `${CANARY}: 1\n` });
  const file = folderOf(t, {});
  symlinkSync(outside.path("secret.yaml"), file.path("gateway.config.yaml"));
  assert.deepEqual(await codesOf(file), ["E0011"]);
  const folder = folderOf(t, { "conf/a.yaml": projectOf("") });
  symlinkSync(outside.path("secret.yaml"), folder.path("conf/b.yaml"));
  const { errors } = await folder.load({ path: folder.path("conf") });
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["E0011"],
  );
});

test("links inside the root work, as in a mounted ConfigMap", async (t) => {
  const folder = folderOf(t, {
    "..2026/gateway.config.yaml": `include: ["parts/*.yaml"]\n${endpoint("${file:prompt.md}")}`,
    "..2026/prompt.md": "Be brief.",
    "..2026/part.yaml": "log: { level: debug }\n",
  });
  symlinkSync("..2026", folder.path("..data"));
  for (const name of ["gateway.config.yaml", "prompt.md"]) symlinkSync(`..data/${name}`, folder.path(name));
  mkdirSync(folder.path("parts"));
  symlinkSync("../..data/part.yaml", folder.path("parts/part.yaml"));
  const { config, errors } = await folder.load();
  assert.deepEqual(errors.map(brief), []);
  assert.equal(config?.projects[0]?.endpoints[0]?.prompt, "Be brief.");
  assert.equal(config?.log.level, "debug");
});

verifies(
  ["config.root.option"],
  "a wider root lets a configuration share files with its neighbors",
  async (t) => {
    const folder = folderOf(t, {
      "shared/prompt.md": "Be brief.",
      "a/gateway.config.yaml": endpoint("${file:../shared/prompt.md}"),
      "overlays/production.yaml": "log: { level: warn }\n",
    });
    const path = folder.path("a/gateway.config.yaml");
    const narrow = await folder.load({ path });
    assert.deepEqual(
      narrow.errors.map(({ code, help }) => `${code} ${help}`),
      ["E0011 keep the file below the root, or name a wider root with `--root DIR`"],
    );
    const overlays = [folder.path("overlays/production.yaml")];
    const wide = await folder.load({ path, overlays, root: folder.path(".") });
    assert.deepEqual(wide.errors, []);
    assert.equal(wide.config?.projects[0]?.endpoints[0]?.prompt, "Be brief.");
    const refused = await folder.load({ path, overlays });
    assert.equal(refused.errors.length, 1, "an overlay that the command line names may lie anywhere");
  },
);

verifies(["config.root.mounted"], "a secret may be mounted anywhere, by its absolute path", async (t) => {
  const mounted = folderOf(t, { key: `${CANARY}\n` });
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(`    credentials:
      - { name: c, provider: openai, api_key: "\${file:${mounted.path("key")}}" }
    mcp_servers:
      - { name: m, url: "https://m.example/", headers: { X-Team: "\${file:${mounted.path("key")}}" } }
`),
  });
  const { config, errors } = await folder.load();
  assert.deepEqual(errors.map(brief), []);
  assert.equal(config?.projects[0]?.credentials[0]?.api_key, CANARY);
});

verifies(["config.files.regular"], "devices, pipes and endless files are errors, not waits", async (t) => {
  const folder = folderOf(t, { "gateway.config.yaml": "" });
  execFileSync("mkfifo", [folder.path("pipe"), folder.path("pipe.yaml")]);
  const key = (path: string) =>
    projectOf(`    credentials:\n      - { name: c, provider: openai, api_key: "\${file:${path}}" }\n`);
  const cases: readonly (readonly [text: string, code: string])[] = [
    [endpoint("${file:pipe}"), "E0202"],
    [`include: [pipe.yaml]\n${projectOf("")}`, "E0008"],
    [key("/dev/zero"), "E0202"],
    [key("/dev/stdin/x"), "E0202"],
    [key(tmpdir()), "E0202"],
    [endpoint("${file:/dev/zero}"), "E0011"],
  ];
  for (const [text, code] of cases) {
    folder.write({ "gateway.config.yaml": text });
    const { watch } = await folder.load();
    assert.deepEqual(await codesOf(folder), [code], text);
    // Looking again at what blocks or never ends would block the watcher.
    assert.ok(!watch.files.some((file) => /pipe|zero/.test(file)), watch.files.join());
  }
});

test("a file named on the command line must be regular as well", async (t) => {
  const folder = folderOf(t, {});
  execFileSync("mkfifo", [folder.path("gateway.config.yaml")]);
  assert.deepEqual(await codesOf(folder), ["E0001"]);
});

verifies(
  ["config.include.linear"],
  "no pattern takes long, and one that searches too much is refused",
  async (t) => {
    const name = "a".repeat(200);
    assert.equal(matchesName(`${"*a".repeat(100)}b`, name), false);
    assert.equal(matchesName(`${"*a".repeat(100)}*`, name), true);
    assert.ok(matchesName("?*.y*ml", "ab.yaml") && !matchesName("?.yaml", "ab.yaml"));
    const deep = "**/".repeat(12);
    const files: Record<string, string> = {};
    for (let at = 0; at < 200; at++) files[`${"d/".repeat(at % 10)}f${at}/x.txt`] = "";
    const folder = folderOf(t, {
      ...files,
      "gateway.config.yaml": `include: ["${deep}*.zzz", "${"{a,b}".repeat(20)}.yaml"]\n${projectOf("")}`,
    });
    const { errors, warnings } = await folder.load();
    assert.deepEqual(errors.map(brief), [`E0008 1:${deep.length + 20} include[1]`]);
    assert.deepEqual(warnings.map(brief), ["W0107 1:11 include[0]"]);
  },
);

verifies(["config.test-files"], "test files are never parts of a configuration", async (t) => {
  const folder = folderOf(t, {
    "conf/a.yaml": projectOf("    include: ['../teams/*.yaml']\n"),
    "conf/a.test.yaml": "cases: []\n",
    "conf/b.test.yml": "cases: []\n",
    "teams/support.yaml": "tokens: []\n",
    "teams/support.test.yaml": "cases: []\n",
  });
  const outcome = await folder.load({ path: folder.path("conf"), root: folder.path(".") });
  assert.deepEqual(outcome.errors, []);
  assert.deepEqual(
    outcome.watch.files.map((file) => file.slice(folder.path(".").length + 1)),
    ["conf/a.yaml", "teams/support.yaml"],
  );
  folder.write({ "gateway.config.yaml": `include: [teams/support.test.yaml]\n${projectOf("")}` });
  assert.deepEqual((await folder.load()).errors.map(brief), ["E0008 1:11 include[0]"]);
  const named = await folder.load({ path: folder.path("conf/a.test.yaml"), root: folder.path(".") });
  assert.deepEqual(
    named.errors.map(({ code }) => code),
    ["E0001"],
  );
});

verifies(
  ["config.error.bounded"],
  "at most 200 diagnostics are printed, with a count of the rest",
  async (t) => {
    const keys = Array.from({ length: 10_000 }, (_, at) => `    key${at}: 1\n`).join("");
    const outcome = await folderOf(t, { "gateway.config.yaml": projectOf(keys) }).load();
    assert.equal(outcome.errors.length + outcome.omitted.errors, 10_000);
    const text = renderText(outcome.errors, false, "/", outcome.omitted);
    assert.equal(text.match(/error\[E0101\]/g)?.length, 200);
    assert.match(text, /10000 errors \(9800 more errors not shown\)\n$/);
    const json: unknown = JSON.parse(renderJson(outcome, "/"));
    assert.ok(typeof json === "object" && json !== null && "errors" in json && "omitted" in json);
    assert.equal(Array.isArray(json.errors) && json.errors.length, 200);
    assert.deepEqual(json.omitted, { errors: 9800, warnings: 0 });
    assert.equal(renderGithub(outcome, "/").trim().split("\n").length, 201);
    assert.equal(renderSarif(outcome, "/").match(/"ruleId"/g)?.length, 200);
  },
);

test("a frame is a window of a long line, and masking all windows costs one pass over the line", async (t) => {
  const secrets = Array.from({ length: 3000 }, (_, at) => ({
    ...{ name: `c${at}`, provider: "openai", api_key: `${CANARY}-${at}`, zzz: "x".repeat(100) },
  }));
  const text = JSON.stringify({
    version: 1,
    projects: [{ uuid: crypto.randomUUID(), name: "S", type: "ai_gateway", credentials: secrets }],
  });
  const outcome = await folderOf(t, { "gateway.config.yaml": text }).load();
  assert.equal(outcome.errors.length, 1000);
  for (const { frame, column } of outcome.errors) {
    assert.ok(frame !== undefined && frame.text.length <= 400);
    assert.equal(frame.text.slice(column - 1 - (frame.offset ?? 0)).startsWith('"zzz"'), true);
    assert.ok(!frame.text.includes(CANARY));
  }
});

test("a long word, deep lists and many long lines are masked in linear time", () => {
  const word = "k".repeat(60_000);
  assert.equal(new LineMask([word]).line(0), word);
  assert.equal(new LineMask([`${word}: api_key: ${CANARY}`]).line(0).includes(CANARY), false);
  const items = Array.from({ length: 100_000 }, () => `  - ${CANARY}`);
  assert.equal(new LineMask(["secret:", ...items]).line(100_000), `  - ${"*".repeat(CANARY.length)}`);
  const lines = Array.from({ length: 100 }, () => `{"api_key": "${CANARY}", "x": "${"y".repeat(200_000)}"}`);
  const mask = new LineMask(lines);
  for (const index of lines.keys()) assert.ok(!mask.line(index).includes(CANARY));
});

test("nothing is suggested that is made from a value outside the files", async (t) => {
  const env = { SECRET: "Super Secret Käse", PREFIX: "Super Secret Käse Two" };
  for (const line of [
    '{ name: A, slug: "${env:SECRET}", provider: mock, model: m }',
    '{ name: "${env:SECRET}", provider: mock, model: m }\n      - { name: "${env:SECRET}", provider: mock, model: m }',
    '{ name: A, provider: "${env:SECRET}", model: m }',
    '{ name: A, provider: openai, model: m, credential: "${env:PREFIX}" }',
    '{ name: A, provider: mock, model: m, session_overflow: "${env:SECRET}" }',
  ]) {
    const text = projectOf(`    endpoints:\n      - ${line}\n`);
    const { errors } = await folderOf(t, { "gateway.config.yaml": text }).load({ env });
    assert.ok(errors.length > 0, line);
    assert.doesNotMatch(JSON.stringify(errors), /super|secret[ -]k|Two/i, line);
  }
});
