/** What a good configuration becomes: defaults, amounts, ids, templates, places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { numericId, uuidV5 } from "../../src/base/ids.ts";
import { folderOf, loaded, PROJECT_UUID, projectOf } from "./kit.ts";

const CREDENTIALS = `    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}", base_url: "https://llm.example/v1/" }
      - { name: other, provider: vendor, api_key: "\${env:KEY}" }
`;
const ENV = { KEY: "sk-hidden-0001" };

test("amounts keep their text and are exact, quoted or not", async (t) => {
  const amounts = ["1.50", '"1.50"', "12", "0.002", '"${env:CAP}"'];
  const tokens = amounts.map(
    (amount, n) => `      - { hash: "sha256:${String(n).repeat(64)}", monthly_budget_usd_cap: ${amount} }\n`,
  );
  const config = await loaded(t, projectOf(`    tokens:\n${tokens.join("")}`), { CAP: "7.25" });
  assert.deepEqual(
    config.projects[0]?.tokens.map(({ monthly_budget_usd_cap: cap }) => [cap?.text, cap?.nanoUsd]),
    [
      ["1.50", 1_500_000_000],
      ["1.50", 1_500_000_000],
      ["12", 12_000_000_000],
      ["0.002", 2_000_000],
      ["7.25", 7_250_000_000],
    ],
  );
});

test("ids are derived where none are given, and lower-cased where they are", async (t) => {
  const config = await loaded(
    t,
    projectOf(`    tokens:
      - { hash: "sha256:${"AB".repeat(32)}", expires_at: 2031-01-31T00:00:00Z }
      - { id: 7, name: web, hash: "sha256:${"cd".repeat(32)}", scopes: [models, chat] }
    endpoints:
      - { name: Résumé & Co., provider: mock, model: m }
      - { name: B, uuid: 7B0C4F2E-91AD-4C38-8E65-D2F0A1B3C4D5, provider: mock, model: m }
`).replace(PROJECT_UUID, PROJECT_UUID.toUpperCase()),
  );
  const [project] = config.projects;
  assert.deepEqual([project?.uuid, project?.id], [PROJECT_UUID, numericId(PROJECT_UUID)]);
  assert.deepEqual(
    project?.tokens.map(({ id, name, scopes }) => [id, name, scopes]),
    [
      ["abababababab", "abababababab", ["chat"]],
      ["7", "web", ["models", "chat"]],
    ],
  );
  assert.equal(project?.tokens[0]?.hash, `sha256:${"ab".repeat(32)}`);
  assert.equal(project?.tokens[0]?.expires_at, Date.UTC(2031, 0, 31));
  const [first, second] = project?.endpoints ?? [];
  assert.deepEqual([first?.slug, first?.uuid], ["resume-co", uuidV5(PROJECT_UUID, "resume-co")]);
  assert.equal(second?.uuid, "7b0c4f2e-91ad-4c38-8e65-d2f0a1b3c4d5");
});

test("an endpoint's own value wins over the project's defaults, null included, and a template over neither", async (t) => {
  const config = await loaded(
    t,
    projectOf(`${CREDENTIALS}    provider_templates:
      - { name: fast, provider: vendor, model: small, credential: other }
    endpoint_defaults:
      { provider: openai, model: large, credential: main, temperature: 0.5, monthly_budget_usd: 5, estimated_cost_per_1k_tokens_usd: 0.1 }
    endpoints:
      - { name: A }
      - { name: B, temperature: null, monthly_budget_usd: null }
      - { name: C, provider_template: fast, top_p: 0.5, failover: [{ credential: main, model: large }] }
`),
    ENV,
  );
  assert.deepEqual(
    config.projects[0]?.endpoints.map((endpoint) => [
      endpoint.provider,
      endpoint.model,
      endpoint.credential,
      endpoint.temperature,
      endpoint.monthly_budget_usd?.text,
    ]),
    [
      ["openai", "large", "main", 0.5, "5"],
      ["openai", "large", "main", null, undefined],
      ["vendor", "small", "other", 0.5, "5"],
    ],
  );
});

test("plugins' options get their schemas' defaults, credentials those of the gateway under their own", async (t) => {
  const config = await loaded(
    t,
    `providers: { vendor: { base_url: "https://v.example/", options: { zone: b } } }\n${projectOf(`${CREDENTIALS}    endpoints:
      - { name: A, provider: mock, model: m, guardrails: [{ use: tone, words: [a], options: {}, on: [output] }] }
`)}`,
    ENV,
  );
  const [project] = config.projects;
  const [guardrail] = project?.endpoints[0]?.guardrails ?? [];
  assert.deepEqual(guardrail?.options, { words: ["a"], strictness: "low" });
  assert.deepEqual([guardrail?.on, guardrail?.on_error, guardrail?.timeout_ms], [["output"], "block", 1000]);
  assert.deepEqual(project?.credentials[1]?.options, { zone: "b", region: "eu" });
  assert.equal(project?.credentials[0]?.base_url, "https://llm.example/v1");
  assert.equal(config.providers["vendor"]?.base_url, "https://v.example");
  assert.deepEqual(config.providers["mock"]?.options, { reply: "{{input}}" });
  assert.deepEqual(
    [config.providers["openai"]?.enabled, config.providers["openai"]?.timeout_ms],
    [true, 60_000],
  );
});

test("what may fail later knows where it stands", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": `plugins: [./tone.ts, acme-pack]\n${projectOf("    include: [a.yaml]\n")}`,
    "a.yaml":
      "endpoints:\n  - name: A\n    provider: mock\n    model: m\n    guardrails:\n      - use: tone\n",
    "tone.ts": "export default [];\n",
  });
  const { config, watch } = await folder.load();
  const [endpoint] = config?.projects[0]?.endpoints ?? [];
  assert.deepEqual(endpoint?.at, { file: folder.path("a.yaml"), line: 2, column: 5 });
  assert.deepEqual(endpoint?.guardrails[0]?.at, { file: folder.path("a.yaml"), line: 6, column: 9 });
  const [local, pack] = config?.plugins ?? [];
  assert.equal(local?.specifier, folder.path("tone.ts"));
  assert.match(local?.version ?? "", /^[0-9a-f]{64}$/);
  assert.deepEqual(pack, {
    specifier: "acme-pack",
    from: folder.path("."),
    version: "",
    files: [],
    at: { file: folder.path("gateway.config.yaml"), line: 1, column: 22 },
  });
  assert.ok(watch.files.includes(folder.path("tone.ts")));
});

test("one webhook secret or two are a list", async (t) => {
  const webhook = (name: string, secret: string) =>
    `      - { name: ${name}, url: "https://w.example/", events: [], secret: ${secret} }\n`;
  const config = await loaded(
    t,
    projectOf(
      `    webhooks:\n${webhook("a", '"${env:KEY}"')}${webhook("b", '["${env:KEY}", "${env:OLD}"]')}`,
    ),
    {
      ...ENV,
      OLD: "old-secret",
    },
  );
  assert.deepEqual(
    config.projects[0]?.webhooks.map(({ secret }) => secret),
    [[ENV.KEY], [ENV.KEY, "old-secret"]],
  );
});
