/** References: what is replaced, what is left alone, where the error stands, and what goes without secrets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { verifies } from "../spec/verifies.ts";
import { brief, errorsOf, folderOf, loaded, projectOf } from "./kit.ts";

const promptOf = (value: string) =>
  projectOf(`    endpoints:\n      - { name: A, provider: mock, model: m, prompt: ${value} }\n`);

test("a variable is replaced, its default where it is unset or empty, and nothing is replaced twice", async (t) => {
  const env = { NAME: "Ada", EMPTY: "", LOOP: "${env:NAME}" };
  const cases: readonly (readonly [written: string, read: string])[] = [
    ["${env:NAME}", "Ada"],
    ["Dear ${env:NAME}, dear ${env:NAME}", "Dear Ada, dear Ada"],
    ["${env:NONE:-Bob}", "Bob"],
    ["${env:EMPTY:-Bob}", "Bob"],
    ["${env:EMPTY}", ""],
    ["${env:NONE:-}", ""],
    ["${env:LOOP}", "${env:NAME}"],
    ["$${env:NAME}", "${env:NAME}"],
    ["${NAME} $env:NAME ${other:x} $$", "${NAME} $env:NAME ${other:x} $$"],
  ];
  for (const [written, read] of cases) {
    const config = await loaded(t, promptOf(JSON.stringify(written)), env);
    assert.equal(config.projects[0]?.endpoints[0]?.prompt, read, written);
  }
});

test("what a reference brings in is never YAML, but a number where a number is due", async (t) => {
  const text = `server: { port: "\${env:PORT:-9001}", expose_config_hash: "\${env:FLAG}" }\n${promptOf('"${env:YAML}"')}`;
  const config = await loaded(t, text, { YAML: "[1, &a b]: {", FLAG: "true" });
  assert.deepEqual([config.server.port, config.server.expose_config_hash], [9001, true]);
  assert.equal(config.projects[0]?.endpoints[0]?.prompt, "[1, &a b]: {");
  assert.deepEqual(
    await errorsOf(t, `server: { port: "\${env:PORT}" }\n${promptOf("x")}`, { PORT: "many" }),
    ["E0103 1:17 server.port"],
  );
});

test("an error stands at the reference itself, and its value is not also called missing", async (t) => {
  const text = projectOf(`    credentials:
      - name: main
        provider: openai
        api_key: "sk-\${env:GIVEN}-\${env:MISSING}"
    endpoints:
      - { name: A, provider: openai, model: m, credential: main }
`);
  assert.deepEqual(await errorsOf(t, text, { GIVEN: "x" }), [
    "E0201 9:35 projects[0].credentials[0].api_key",
  ]);
});

test("references that cannot be one are errors, not texts", async (t) => {
  for (const written of ["${env:}", "${env:MY-KEY}", "${env:NAME", "${file:}"]) {
    assert.deepEqual(await errorsOf(t, promptOf(JSON.stringify(written)), { NAME: "Ada" }), [
      "E0203 7:55 projects[0].endpoints[0].prompt",
    ]);
  }
});

test("a file's text is read relative to the file that names it, one newline dropped", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf("    include: [team/a.yaml]\n"),
    "team/a.yaml": 'endpoints:\n  - { name: A, provider: mock, model: m, prompt: "${file:texts/a.md}" }\n',
    "team/texts/a.md": "One.\n\n",
  });
  const { config } = await folder.load();
  assert.equal(config?.projects[0]?.endpoints[0]?.prompt, "One.\n");
  folder.write({
    "team/a.yaml": 'endpoints:\n  - { name: A, provider: mock, model: m, prompt: "${file:b.md}" }\n',
  });
  const { errors, watch } = await folder.load();
  assert.deepEqual(errors.map(brief), ["E0202 2:51 projects[0].endpoints[0].prompt"]);
  assert.ok(watch.files.includes(folder.path("team/b.md")));
});

test("without secrets a reference counts as given, whatever its key takes", async (t) => {
  const text = `server: { port: "\${env:PORT}" }\n${projectOf(`    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}", base_url: "\${env:URL}" }
    tokens:
      - { hash: "\${env:HASH}", monthly_budget_usd_cap: "\${env:CAP}", expires_at: "\${env:END}" }
      - { hash: "\${env:HASH2}" }
    webhooks:
      - { name: w, url: "\${env:HOOK}", events: [token.revoked], secret: "\${file:/run/secrets/none}" }
    endpoints:
      - { name: A, provider: openai, model: m, credential: "\${env:CREDENTIAL}", temperature: "\${env:T}" }
`)}`;
  const folder = folderOf(t, { "gateway.config.yaml": text });
  const { errors, config } = await folder.load({ env: {}, secrets: "skip" });
  assert.deepEqual(errors.map(brief), []);
  assert.ok(config);
  const resolved = await folder.load({ env: {} });
  assert.equal(resolved.errors.length, 11);
});

test("an overlay can take a reference's place, which then need not resolve", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": promptOf('"${env:PROMPT}"'),
    "o.yaml": "projects:\n  - name: Support\n    endpoints:\n      - { slug: a, prompt: Fixed. }\n",
  });
  const { config } = await folder.load({ overlays: [folder.path("o.yaml")] });
  assert.equal(config?.projects[0]?.endpoints[0]?.prompt, "Fixed.");
});

verifies(
  ["config.no-secrets"],
  "without secrets, missing prompts, templates and schemas are errors, and missing secrets are not",
  async (t) => {
    const folder = folderOf(t, {
      "gateway.config.yaml": projectOf(`    credentials:
      - { name: c, provider: openai, api_key: "\${file:/run/secrets/none}", base_url: "\${env:URL}" }
    endpoints:
      - name: A
        provider: openai
        model: m
        credential: c
        prompt: "\${file:gone.md}"
        user_prompt_template: "\${file:gone.txt}"
        description: "\${file:gone.txt}"
        input_schema: { $ref: gone.json }
`),
    });
    const { errors } = await folder.load({ secrets: "skip" });
    assert.deepEqual(
      errors.map(({ code, path }) => `${code} ${path.split(".").at(-1)}`),
      ["E0202 prompt", "E0202 user_prompt_template", "E0202 description", "E0202 $ref"],
    );
  },
);
