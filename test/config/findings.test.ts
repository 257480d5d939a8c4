/** What `validate` finds before `start`, or the first call, would. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { DEMO_TOKEN_HASH } from "../../src/config/check/demo-token.ts";
import type { Diagnostic } from "../../src/config/report/diagnostic.ts";
import { verifies } from "../spec/verifies.ts";
import { brief, folderOf, projectOf } from "./kit.ts";

const ENV = { KEY: "sk-hidden-0001" };

async function found(t: TestContext, text: string): Promise<readonly Diagnostic[]> {
  const { errors, warnings } = await folderOf(t, { "gateway.config.yaml": text }).load({ env: ENV });
  return [...errors, ...warnings];
}

const briefly = async (t: TestContext, text: string) => (await found(t, text)).map(brief);

verifies(["config.check.demo-token"], "the demo token beyond loopback is an error", async (t) => {
  const text = (host: string) =>
    `server: { host: "${host}" }\n${projectOf(`    tokens: [{ name: demo, hash: "${DEMO_TOKEN_HASH}" }]\n`)}`;
  for (const host of ["127.0.0.1", "localhost", "::1"]) assert.deepEqual(await briefly(t, text(host)), []);
  for (const host of ["0.0.0.0", "10.0.0.1", "::"]) {
    assert.deepEqual(await briefly(t, text(host)), ["E0320 7:34 projects[0].tokens[0].hash"]);
  }
});

verifies(["config.check.network-allow"], "network.allow takes hosts, addresses and blocks", async (t) => {
  const text = (entries: readonly string[]) =>
    `network:\n  allow: ${JSON.stringify(entries)}\n${projectOf("")}`;
  const fine = [
    "10.1.0.0/16",
    "10.1.2.3",
    "fd00::/8",
    "::1",
    "crm.internal",
    "crm",
    "a_b.example.",
    "bücher.de",
  ];
  assert.deepEqual(await briefly(t, text(fine)), []);
  const broken = {
    "127.0.0.1:9299": /leave out the port/,
    "crm.internal:80": /leave out the port/,
    "*.corp": /no wildcards/,
    "foo bar baz": undefined,
    "https://crm.internal/": /host alone/,
    "10.0.0.0/33": undefined,
    "10.0.0.0/8/8": undefined,
    "[::1]": /brackets/,
    "300.1.1.1": undefined,
    "-a.example": undefined,
  };
  const diagnostics = await found(t, text(Object.keys(broken)));
  assert.deepEqual(
    diagnostics.map(({ code, path }) => `${code} ${path}`),
    Object.keys(broken).map((_, at) => `E0105 network.allow[${at}]`),
  );
  for (const [at, help] of Object.values(broken).entries()) {
    if (help !== undefined) assert.match(diagnostics[at]?.help ?? "", help);
    assert.match(diagnostics[at]?.message ?? "", /is not a hostname, IP address or CIDR block$/);
  }
});

verifies(
  ["config.check.unpriced", "config.check.failover"],
  "a misspelled model and a failover entry that repeats the primary are warnings",
  async (t) => {
    const text = projectOf(`    credentials:
      - { name: a, provider: openai, api_key: "\${env:KEY}" }
      - { name: b, provider: openai, api_key: "\${env:KEY}" }
    endpoints:
      - name: One
        provider: openai
        model: gpt-5-minni
        credential: a
        failover:
          - { credential: a, model: gpt-5-minni }
          - { credential: b, model: gpt-5-mini }
          - { credential: a, model: gpt-5-mini }
          - { credential: b, model: gpt-5-mini }
      - { name: Two, provider: openai, model: gpt-5-minni, credential: a, estimated_cost_per_1k_tokens_usd: 1 }
      - { name: Three, provider: openai, model: gpt-5-minni, credential: a }
`);
    const warnings = await found(t, text);
    assert.deepEqual(warnings.map(brief), [
      "W0112 12:16 projects[0].endpoints[0].model -> gpt-5-mini",
      "W0113 15:13 projects[0].endpoints[0].failover[0]",
      "W0113 18:13 projects[0].endpoints[0].failover[3]",
    ]);
    assert.match(warnings[0]?.message ?? "", /no price is known for `gpt-5-minni` of `openai` \(3 times/);
    assert.match(warnings[1]?.message ?? "", /the same as the primary/);
    assert.match(warnings[2]?.message ?? "", /the same as failover\[1\]/);
  },
);

verifies(
  ["config.check.mistaken-reference"],
  "other programs' references in the place of a secret are errors",
  async (t) => {
    const text = projectOf(`    credentials:
      - { name: a, provider: openai, api_key: "\${ACME_KEY}" }
      - { name: b, provider: openai, api_key: $ACME_KEY }
      - { name: c, provider: mock, api_key: "\${acme}" }
      - { name: d, provider: openai, api_key: "sk-$literal" }
    mcp_servers:
      - { name: m, url: "https://m.example/", headers: { Authorization: "Bearer $ACME_KEY", X-Note: "$ACME_KEY" } }
    webhooks:
      - { name: w, url: "https://w.example/", secret: "\${WEBHOOK_SECRET}" }
`);
    assert.deepEqual(await briefly(t, text), [
      "E0204 7:47 projects[0].credentials[0].api_key -> ${env:ACME_KEY}",
      "E0204 8:47 projects[0].credentials[1].api_key -> ${env:ACME_KEY}",
      "E0204 9:45 projects[0].credentials[2].api_key -> ${env:acme}",
      "E0204 12:73 projects[0].mcp_servers[0].headers.Authorization -> Bearer ${env:ACME_KEY}",
      "E0204 14:55 projects[0].webhooks[0].secret -> ${env:WEBHOOK_SECRET}",
      "W0101 10:47 projects[0].credentials[3].api_key",
    ]);
  },
);

verifies(["config.check.tool"], "an exposed endpoint that takes no message is a warning", async (t) => {
  const endpoint = (schema: string) =>
    projectOf(
      `    endpoints: [{ name: A, provider: mock, model: m, expose_as_mcp_tool: true, input_schema: ${schema} }]\n`,
    );
  const fine = [
    "null",
    "{ properties: { message: { type: string } } }",
    "{ properties: { message: { type: [string, 'null'] } }, additionalProperties: false }",
    "{ properties: { message: true } }",
    "{ anyOf: [{ properties: { message: {} } }] }",
    "{ patternProperties: { m: {} } }",
  ];
  for (const schema of fine) assert.deepEqual(await briefly(t, endpoint(schema)), [], schema);
  const broken = [
    "{ type: object, properties: { order: { type: string } }, required: [order] }",
    "{ properties: { message: { type: integer } } }",
    "{ type: string }",
    "true",
    "false",
  ];
  for (const schema of broken) {
    assert.deepEqual(
      (await found(t, endpoint(schema))).map(({ code, path }) => `${code} ${path}`),
      ["W0114 projects[0].endpoints[0].input_schema"],
      schema,
    );
  }
});

verifies(
  ["config.check.cleartext", "config.check.short-secret"],
  "secrets over http beyond loopback are warnings, short webhook secrets errors",
  async (t) => {
    const text = (origin: string, secret: string) =>
      projectOf(`    credentials:
      - { name: a, provider: openai, api_key: "\${env:KEY}", base_url: "${origin}" }
    oauth_connections:
      - { name: o, token_url: "${origin}", client_id: x, client_secret: "\${env:KEY}" }
    mcp_servers:
      - { name: m, url: "${origin}", headers: { X-Team: a } }
      - { name: n, url: "${origin}" }
    proxy_endpoints:
      - { slug: p, upstream_url: "${origin}", headers: { X-Team: a } }
      - { slug: q, upstream_url: "${origin}" }
    webhooks:
      - { name: w, url: "${origin}", secret: ["\${env:KEY}", ${secret}] }
`).replace("type: ai_gateway", "type: proxy");
    for (const origin of [
      "https://a.example",
      "http://127.0.0.1:9",
      "http://localhost:9",
      "http://[::1]:9",
    ]) {
      assert.deepEqual(await briefly(t, text(origin, '"${env:KEY}"')), [], origin);
    }
    assert.deepEqual(
      (await found(t, text("http://a.example", "x"))).map(({ code, line }) => `${code} ${line}`),
      ["E0321 17", "W0115 7", "W0115 9", "W0115 11", "W0115 14", "W0115 17", "W0101 17"],
    );
  },
);

test("no finding shows a value from outside the files", async (t) => {
  const text = `network: { allow: ["\${env:KEY}:1"] }\n${projectOf(`    credentials:
      - { name: a, provider: openai, api_key: "\${env:KEY}" }
    endpoints:
      - { name: A, provider: openai, model: "\${env:KEY}", credential: a }
`)}`;
  const diagnostics = await found(t, text);
  assert.deepEqual(
    diagnostics.map(({ code }) => code),
    ["E0105", "W0112"],
  );
  assert.doesNotMatch(JSON.stringify(diagnostics), /hidden/);
});

test("budgets, caps and control-plane tokens on the memory store are warned of, once, and on others not", async (t) => {
  const of = (state: string, rest: string): string =>
    `version: 1\n${state}${rest}projects:\n  - {uuid: 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11, name: A, type: ai_gateway}\n`;
  const control = `control_plane: {tokens: [{name: ops, hash: "sha256:${"a".repeat(64)}"}]}\n`;
  const codes = async (text: string): Promise<readonly string[]> =>
    (await found(t, text)).filter(({ code }) => code === "W0120").map(brief);
  assert.deepEqual(await codes(of("", control)), ["W0120 1:1 state.driver"]);
  assert.deepEqual(await codes(of("state: {driver: memory}\n", control)), ["W0120 2:17 state.driver"]);
  assert.deepEqual(await codes(of("", "")), []);
  assert.deepEqual(await codes(of("state: {driver: file}\n", control)), []);
});

verifies(
  ["config.check.transport"],
  "a client certificate has its key, a forward proxy is a URL, and both stay out of git",
  async (t) => {
    const text = (settings: string) => `providers:\n  openai: { ${settings} }\n${projectOf("")}`;
    const pem = "-----BEGIN CERTIFICATE----- MA== -----END CERTIFICATE-----";
    const env = {
      KEY: "-----BEGIN PRIVATE KEY----- MA==",
      CERT: pem,
      PROXY: "http://ann:secret@proxy.internal:3128",
    };
    const codes = async (settings: string): Promise<readonly string[]> => {
      const folder = folderOf(t, { "gateway.config.yaml": text(settings) });
      const { errors, warnings } = await folder.load({ env });
      return [...errors, ...warnings].map(({ code, path }) => `${code} ${path}`);
    };
    const at = (code: string, key: string) => [`${code} providers.openai.${key}`];
    const cert = 'client_cert: "${env:CERT}"';
    const key = 'client_key: "${env:KEY}"';
    assert.deepEqual(await codes(`${cert}, ${key}, ca: "\${env:CERT}", http2: true`), []);
    assert.deepEqual(await codes('proxy: "${env:PROXY}"'), []);
    assert.deepEqual(await codes("proxy: http://proxy.internal:3128"), []);
    assert.deepEqual(await codes(cert), at("E0102", "client_cert"));
    assert.deepEqual(await codes(key), at("E0102", "client_key"));
    assert.deepEqual(await codes("ca: /etc/ca.pem"), at("E0105", "ca"));
    assert.deepEqual(await codes("proxy: proxy.internal:3128"), at("E0105", "proxy"));
    assert.deepEqual(await codes('proxy: "http://proxy.internal:99999"'), at("E0105", "proxy"));
    assert.deepEqual(await codes(`proxy: "${env.PROXY}"`), at("W0101", "proxy"));
    assert.deepEqual(await codes(`${cert}, client_key: "${env.KEY}"`), at("W0101", "client_key"));
  },
);
