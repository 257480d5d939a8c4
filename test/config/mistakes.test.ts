/** What a configuration can get wrong, each kind by its code, place and suggestion; and what is no second mistake. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, errorsOf, folderOf, loadPlugins, projectOf } from "./kit.ts";

const CREDENTIALS = `    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
`;
const ENV = { KEY: "sk-hidden-0001" };

/** Errors of one endpoint; its fields begin at line 10, column 9. */
async function endpointErrors(t: Parameters<typeof errorsOf>[0], fields: string): Promise<readonly string[]> {
  return errorsOf(t, projectOf(`${CREDENTIALS}    endpoints:\n      - name: A\n${fields}`), ENV);
}

const CHOICE = "        provider: openai\n        model: m\n        credential: main\n";

test("unknown keys are reported at every level, with the nearest that is known", async (t) => {
  const text = `server: { prot: 1 }\nversion: 1\nprojetcs: []\nprojects: []\nquite_other: 1\n`;
  assert.deepEqual(await errorsOf(t, text), [
    "E0101 1:11 server.prot -> port",
    "E0101 3:1 projetcs -> projects",
    "E0101 5:1 quite_other",
  ]);
});

test("names that other programs use are understood", async (t) => {
  const cases: readonly (readonly [written: string, meant: string])[] = [
    ["rpm", "rate_limit_per_minute"],
    ["max_tokens", "max_output_tokens"],
    ["system_prompt", "prompt"],
    ["system", "prompt"],
    ["budget", "monthly_budget_usd"],
    ["fallbacks", "failover"],
    ["streaming", "streaming_enabled"],
    ["enabled", "is_active"],
  ];
  for (const [written, meant] of cases) {
    assert.deepEqual(await endpointErrors(t, `        ${written}: 1\n${CHOICE}`), [
      `E0101 10:9 projects[0].endpoints[0].${written} -> ${meant}`,
    ]);
  }
  const guardrail = "        guardrails: [{ use: content_length, max: 5, maximum: 5 }]\n";
  assert.deepEqual(await endpointErrors(t, CHOICE + guardrail), [
    "E0101 13:53 projects[0].endpoints[0].guardrails[0].maximum -> max",
  ]);
});

test("what a value should have been written as can be put in its place", async (t) => {
  const cases: readonly (readonly [line: string, error: string])[] = [
    ["is_active: yes", "E0103 10:20 projects[0].endpoints[0].is_active -> true"],
    ['top_p: "0.5"', "E0103 10:16 projects[0].endpoints[0].top_p -> 0.5"],
    ["description: 5", 'E0103 10:22 projects[0].endpoints[0].description -> "5"'],
    ["uuid: 5", "E0103 10:15 projects[0].endpoints[0].uuid"],
  ];
  for (const [line, error] of cases)
    assert.deepEqual(await endpointErrors(t, `        ${line}\n${CHOICE}`), [error], line);
  const scopes = projectOf(`    tokens:\n      - { hash: "sha256:${"a".repeat(64)}", scopes: chat }\n`);
  assert.deepEqual(await errorsOf(t, scopes), ["E0103 7:100 projects[0].tokens[0].scopes -> [chat]"]);
});

test("a missing key is reported at its map", async (t) => {
  const text = "version: 1\nprojects:\n  - uuid: 3e2f6c1a-58d4-4b5e-9a07-6f1d2c8b4e90\n    name: A\n";
  assert.deepEqual(await errorsOf(t, text), ["E0102 3:5 projects[0].type"]);
  assert.deepEqual(await errorsOf(t, "projects: []\n"), ["E0102 1:1 version"]);
});

test("an empty section is one left out, an empty value or list item is a mistake", async (t) => {
  const webhook = '    webhooks:\n      - { name: w, url: "https://w.example/", secret: }\n';
  assert.deepEqual(
    await errorsOf(t, projectOf("    credentials:\n    endpoint_defaults:\n    endpoints:\n")),
    [],
  );
  assert.deepEqual(await errorsOf(t, projectOf("    endpoints:\n      -\n")), [
    "E0103 7:8 projects[0].endpoints[0]",
  ]);
  assert.deepEqual(await errorsOf(t, projectOf(webhook)), ["E0103 7:47 projects[0].webhooks[0].secret"]);
});

test("values of the wrong kind, form, length or range have codes of their own", async (t) => {
  const cases: readonly (readonly [line: string, error: string])[] = [
    ["temperature: warm", "E0103 10:22 projects[0].endpoints[0].temperature"],
    ["is_active: null", "E0103 10:20 projects[0].endpoints[0].is_active"],
    ["name: 5", "E0003 10:9 "],
    ["max_output_tokens: 200001", "E0107 10:28 projects[0].endpoints[0].max_output_tokens"],
    ["session_overflow: trimm", "E0104 10:27 projects[0].endpoints[0].session_overflow -> trim"],
    ["slug: Two Words", "E0105 10:15 projects[0].endpoints[0].slug -> two-words"],
    ["uuid: abc", "E0105 10:15 projects[0].endpoints[0].uuid"],
    [
      "guardrails: [{ use: content_length, max: 1, on: [] }]",
      "E0106 10:57 projects[0].endpoints[0].guardrails[0].on",
    ],
    [
      "monthly_budget_usd: 1e3\n        estimated_cost_per_1k_tokens_usd: 1",
      "E0110 10:29 projects[0].endpoints[0].monthly_budget_usd",
    ],
  ];
  for (const [line, error] of cases)
    assert.deepEqual(await endpointErrors(t, `        ${line}\n${CHOICE}`), [error], line);
});

test("a choice of provider is reported for the shape that was meant", async (t) => {
  const templates =
    "    provider_templates:\n      - { name: fast, provider: openai, model: m, credential: main }\n";
  const errors = (fields: string) =>
    errorsOf(t, projectOf(`${CREDENTIALS}${templates}    endpoints:\n      - name: A\n${fields}`), ENV);
  assert.deepEqual(await errors(""), ["E0311 11:9 projects[0].endpoints[0]"]);
  assert.deepEqual(await errors("        provider: openai\n        credential: main\n"), [
    "E0311 11:9 projects[0].endpoints[0].model",
  ]);
  assert.deepEqual(await errors("        provider_template: fast\n        model: m\n"), [
    "E0310 13:9 projects[0].endpoints[0].model",
  ]);
  assert.deepEqual(await errors("        provider_template: fsat\n"), [
    "E0304 12:28 projects[0].endpoints[0].provider_template -> fast",
  ]);
  assert.deepEqual(await errors("        provider: openai\n        model: m\n"), [
    "E0312 12:19 projects[0].endpoints[0].provider",
  ]);
  assert.deepEqual(await errors("        provider: mock\n        model: m\n"), []);
});

test("one mistake is reported once, however much rests on it", async (t) => {
  // The credential has no usable name, so nobody's reference to it can be judged.
  const unnamed = projectOf(`    credentials:\n      - { name: 5, provider: openai, api_key: "\${env:KEY}" }
    endpoints:\n      - { name: A, provider: openai, model: m, credential: main }\n`);
  assert.deepEqual(await errorsOf(t, unnamed, ENV), ['E0103 7:17 projects[0].credentials[0].name -> "5"']);
  // A misspelt provider of a credential is not also another provider's credential.
  const misspelt =
    projectOf(`    credentials:\n      - { name: main, provider: opnai, api_key: "\${env:KEY}" }
    endpoints:\n      - { name: A, provider: openai, model: m, credential: main }\n`);
  assert.deepEqual(await errorsOf(t, misspelt, ENV), [
    "E0303 7:33 projects[0].credentials[0].provider -> openai",
  ]);
  // A price of the wrong type is no missing price.
  const priced = "        monthly_budget_usd: 5\n        estimated_cost_per_1k_tokens_usd: [1]\n";
  assert.deepEqual(await endpointErrors(t, CHOICE + priced), [
    "E0103 14:43 projects[0].endpoints[0].estimated_cost_per_1k_tokens_usd",
  ]);
  // What endpoint_defaults get wrong is wrong there, not in each endpoint.
  const inherited = projectOf(`    endpoint_defaults: { provider: mock, model: m, credential: none, top_p: 3 }
    endpoints:\n      - name: A\n      - name: B\n`);
  assert.deepEqual(await errorsOf(t, inherited), [
    "E0301 6:64 projects[0].endpoint_defaults.credential",
    "E0107 6:77 projects[0].endpoint_defaults.top_p",
  ]);
});

test("what may stand once is found over projects and files", async (t) => {
  const hash = `sha256:${"a".repeat(64)}`;
  const folder = folderOf(t, {
    "gateway.config.yaml": `include: [more.yaml]\n${projectOf(`    tokens:\n      - { id: 7, hash: "${hash}" }\n`)}`,
    "more.yaml": `projects:
  - uuid: 3E2F6C1A-58D4-4B5E-9A07-6F1D2C8B4E90
    name: Again
    type: ai_gateway
    tokens:
      - { id: "7", hash: "${hash.replace("aa", "AA")}" }
`,
  });
  const { errors } = await folder.load();
  assert.deepEqual(errors.map(brief), [
    "E0307 2:11 projects[1].uuid",
    "E0307 6:15 projects[1].tokens[0].id",
    "E0307 6:26 projects[1].tokens[0].hash",
  ]);
  for (const { message } of errors) assert.match(message, /first at .*gateway\.config\.yaml:\d+:\d+$/);
});

test("options of plugins are held against the plugin's schema, wherever they stand", async (t) => {
  const guardrails = (entry: string) =>
    endpointErrors(t, `${CHOICE}        guardrails:\n          - ${entry}\n`);
  const path = "projects[0].endpoints[0].guardrails[0]";
  assert.deepEqual(await guardrails("{ use: content_length, max: 0 }"), [`E0107 14:41 ${path}.max`]);
  assert.deepEqual(await guardrails("{ use: content_length, options: { max: 0 } }"), [
    `E0107 14:52 ${path}.options.max`,
  ]);
  assert.deepEqual(await guardrails("{ use: content_length, max: 1, options: { max: 1 } }"), [
    `E0109 14:55 ${path}.options.max`,
  ]);
  assert.deepEqual(await guardrails("{ use: content_length }"), [`E0102 14:13 ${path}.max`]);
  assert.deepEqual(await guardrails("{ use: content_length, max: 1, on_eror: allow }"), [
    `E0101 14:44 ${path}.on_eror -> on_error`,
  ]);
  assert.deepEqual(await guardrails("{ use: tone, words: [a, 5] }"), [`E0103 14:37 ${path}.words[1] -> "5"`]);
  assert.deepEqual(await guardrails("{ use: tonne }"), [`E0305 14:20 ${path}.use -> tone`]);
  assert.deepEqual(await guardrails("{ use: acme-audit }"), [`E0305 14:20 ${path}.use`]);
  assert.deepEqual(await guardrails("{ use: shaped, rule: { kind: size, size: x } }"), [
    `E0103 14:54 ${path}.rule.size`,
  ]);
  assert.deepEqual(await endpointErrors(t, `${CHOICE}        stages: [{ use: acme-audit }]\n`), [
    "E0102 13:18 projects[0].endpoints[0].stages[0].options.sink",
  ]);
});

test("a plugin that cannot be loaded is reported where it is named, and what it would bring is not unknown", async (t) => {
  const text = `plugins:\n  - ./gone.ts\n  - acme-tone\n${projectOf(
    `${CREDENTIALS}    endpoints:\n      - { name: A, provider: acme, model: m, guardrails: [{ use: acme }] }\n`,
  )}`;
  const folder = folderOf(t, { "gateway.config.yaml": text });
  const { errors } = await folder.load({ env: ENV }, async (modules) => ({
    ...(await loadPlugins(modules)),
    failures: modules.map((module) => ({ module, message: "it throws" })),
  }));
  assert.deepEqual(errors.map(brief), ["E0316 2:5 plugins[0]", "E0316 3:5 plugins[1]"]);
  assert.match(errors[1]?.message ?? "", /it throws/);
});

test("JSON Schemas are judged at the very keyword, in a file of their own too", async (t) => {
  const schema = (line: string) => endpointErrors(t, `${CHOICE}        input_schema: ${line}\n`);
  const path = "projects[0].endpoints[0].input_schema";
  assert.deepEqual(await schema("{ type: object, required: message }"), [`E0315 13:49 ${path}.required`]);
  assert.deepEqual(await schema("{ $ref: https://example.com/a.json }"), [`E0315 13:23 ${path}`]);
  assert.deepEqual(await schema("{ $ref: gone.json }"), [`E0202 13:31 ${path}.$ref`]);
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(
      "    endpoints:\n      - { name: A, provider: mock, model: m, input_schema: { $ref: s.json } }\n",
    ),
    "s.json": '{\n\t"type": "object",\n\t"properties": { "a": { "type": "txt" } }\n}\n',
  });
  const { errors, watch } = await folder.load();
  assert.deepEqual(errors.map(brief), [`E0315 3:33 ${path}.properties.a.type`]);
  assert.equal(errors[0]?.file, folder.path("s.json"));
  assert.ok(watch.files.includes(folder.path("s.json")));
});

test("another version is said to be unsupported, and nothing else is said", async (t) => {
  const folder = folderOf(t, { "gateway.config.yaml": "version: 2\nwhatever: [1]\n" });
  const { errors } = await folder.load();
  assert.deepEqual(errors.map(brief), ["E0010 1:10 version"]);
  assert.match(errors[0]?.message ?? "", /version 2 .* reads version 1/);
});

test("warnings leave the configuration usable", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(`${CREDENTIALS}    tokens:
      - { name: web, hash: "sha256:${"a".repeat(64)}", monthly_budget_usd_cap: 5, expires_at: 2001-01-01 }
    webhooks:
      - { name: siem, url: "https://siem.example/", events: [token.revoke], secret: "\${env:KEY}" }
    aliases:
      - { alias: default, provider: mock, model: m }
    endpoints:
      - { name: A, provider: openai, model: m, credential: main, temperature: 1, top_p: 1 }
`),
  });
  const { config, errors, warnings } = await folder.load({ env: ENV });
  assert.deepEqual(errors, []);
  assert.ok(config);
  assert.deepEqual(warnings.map(brief), [
    "W0120 1:1 state.driver",
    "W0102 9:127 projects[0].tokens[0].monthly_budget_usd_cap",
    "W0106 9:142 projects[0].tokens[0].expires_at",
    "W0103 11:62 projects[0].webhooks[0].events[0] -> token.revoked",
    "W0105 12:5 projects[0].aliases",
    "W0112 15:45 projects[0].endpoints[0].model",
    "W0104 15:89 projects[0].endpoints[0].top_p",
  ]);
});

test("an address that has the form of a URL and is none is found before anybody asks for it", async (t) => {
  const lines = (url: string) => `    webhooks:
      - { name: w, secret: "\${env:KEY}", url: "${url}" }
    mcp_servers:
      - { name: m, url: "${url}" }
    oauth_connections:
      - { name: o, client_id: c, client_secret: "\${env:KEY}", token_url: "${url}" }
    proxy_endpoints:
      - { slug: p, upstream_url: "${url}" }
    credentials:
      - { name: c, provider: mock, base_url: "${url}" }
`;
  const faulty = async (url: string): Promise<readonly string[]> => {
    const folder = folderOf(t, { "gateway.config.yaml": projectOf(lines(url)) });
    return (await folder.load({ env: { KEY: "long-enough" } })).errors.map(brief);
  };
  const places = [
    "E0105 7:47 projects[0].webhooks[0].url",
    "E0105 9:25 projects[0].mcp_servers[0].url",
    "E0105 11:74 projects[0].oauth_connections[0].token_url",
    "E0105 13:34 projects[0].proxy_endpoints[0].upstream_url",
    "E0105 15:46 projects[0].credentials[0].base_url",
  ];
  // The last two: no host to tell from a port, and what the schema's pattern refuses by itself.
  for (const host of ["siem.example:99999", "[::1", "1.2.3.256", "who:pass@siem.example", ":80", "a b"])
    assert.deepEqual([...(await faulty(`https://${host}/hook`))].sort(), [...places].sort(), host);
  assert.deepEqual(await faulty("https://siem.example:8443/hook?a=b"), []);
});
