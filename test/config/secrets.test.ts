/** Secrets: written out they are reported, and neither message, frame nor report ever shows one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSensitiveKey, maskedLine } from "../../src/config/report/mask.ts";
import { renderGithub, renderJson, renderSarif, renderText } from "../../src/config/report/render.ts";
import { folderOf, projectOf } from "./kit.ts";

const SECRET = "sk-veryhidden-123456";

test("a secret written out is a warning, and an error when strict", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf(`    credentials:
      - { name: main, provider: openai, api_key: ${SECRET} }
      - { name: free, provider: mock, api_key: ${SECRET} }
    oauth_connections:
      - { name: o, token_url: "https://a.example/", client_id: x, client_secret: ${SECRET} }
    webhooks:
      - { name: w, url: "https://w.example/", events: [], secret: ["\${env:S}", ${SECRET}] }
    mcp_servers:
      - { name: m, url: "https://m.example/", headers: { Authorization: ${SECRET}, X-Team: blue } }
`),
  });
  const { warnings, config } = await folder.load({ env: { S: "long-enough" } });
  assert.deepEqual(
    warnings.map(({ code, line }) => `${code} ${line}`),
    ["W0101 7", "W0101 10", "W0101 12", "W0101 14"],
  );
  assert.ok(config);
  const strict = await folder.load({ env: { S: "long-enough" }, strict: true });
  assert.deepEqual(
    strict.errors.map(({ code, severity }) => `${code} ${severity}`),
    Array(4).fill("W0101 error"),
  );
  assert.equal(strict.config, undefined);
});

test("no report shows a secret, from the file or from a reference, whatever is wrong with it", async (t) => {
  const broken = [
    projectOf(`    credentials:\n      - { name: main, provider: openai, api_key: ${SECRET}, base_ur: x }\n`),
    projectOf(
      `    credentials:\n      - name: main\n        provider: openai\n        api_key: [${SECRET}]\n`,
    ),
    projectOf(
      `    credentials:\n      - name: main\n        provider: openai\n        api_key: "${SECRET}\n`,
    ),
    projectOf(
      `    credentials:\n      - name: main\n        provider: openai\n        api_key:\n          ${SECRET}: x\n`,
    ),
    projectOf(
      `    credentials:\n      - { name: main, provider: openai, api_key: "\${env:S}", base_url: "\${env:S}" }\n`,
    ),
    projectOf(`    tokens:\n      - { hash: gw_live_${SECRET} }\n`),
    projectOf(
      `    webhooks:\n      - { name: w, url: "\${env:S}", events: "\${env:S}", secret: [${SECRET}, ${SECRET}, c] }\n`,
    ),
    projectOf(
      `    proxy_endpoints:\n      - slug: a\n        upstream_url: "https://me:${SECRET}@x y/"\n        headers:\n          "X Key": ${SECRET}\n`,
    ),
    `state: { url: ["redis://u:${SECRET}@h"] }\n${projectOf("")}`,
  ];
  for (const text of broken) {
    const outcome = await folderOf(t, { "gateway.config.yaml": text }).load({ env: { S: SECRET } });
    assert.ok(outcome.errors.length > 0, text);
    const reports = [
      renderText([...outcome.errors, ...outcome.warnings], false, "/"),
      renderJson(outcome, "/"),
      renderGithub(outcome, "/"),
      renderSarif(outcome, "/"),
      JSON.stringify([outcome.errors, outcome.warnings]),
    ];
    for (const report of reports) assert.ok(!report.includes("veryhidden"), report);
  }
});

test("a token in the place of its hash is recognised", async (t) => {
  const folder = folderOf(t, {
    "gateway.config.yaml": projectOf("    tokens:\n      - { hash: gw_live_abc }\n"),
  });
  const { errors } = await folder.load();
  assert.match(errors[0]?.help ?? "", /token itself/);
});

test("masks keep columns, and leave what is not a secret", () => {
  const shown = (text: string) => {
    const lines = text.split("\n");
    return maskedLine(lines, lines.length - 1);
  };
  assert.equal(shown("- { name: a, api_key: abc, model: m }"), "- { name: a, api_key: ***, model: m }");
  assert.equal(shown('api_key: "abc" # note'), "api_key: ***** # note");
  assert.equal(shown("api_key: abc # note"), "api_key: **********");
  assert.equal(shown("api_key: ${env:KEY}"), "api_key: ${env:KEY}");
  assert.equal(shown("headers:\n  X-Any: abc"), "  X-Any: ***");
  assert.equal(shown("secret:\n- abc"), "- ***");
  assert.equal(shown("client_secret: |\n  line one\n  line two"), "  ********");
  assert.equal(shown("usage_hard_limit_tokens: 5"), "usage_hard_limit_tokens: 5");
  assert.equal(shown("url: redis://user:pass@host/"), "url: redis://*********@host/");
  assert.ok(isSensitiveKey("X-Api-Key") && isSensitiveKey("refresh_token") && !isSensitiveKey("tokens"));
});
