/** Whatever stands in a configuration, loading answers: with a configuration or with errors, never with a throw. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { folderOf, PROJECT_UUID } from "./kit.ts";

const HASH = `sha256:${"a".repeat(64)}`;

/** Something of everything, and all of it right. */
const WHOLE = {
  version: 1,
  server: { port: 0, trusted_proxies: ["10.0.0.0/8", "::1"] },
  network: { allow: ["10.0.0.0/8", "crm.internal"] },
  telemetry: { otlp: { endpoint: "http://127.0.0.1:4318", headers: { "X-Team": "blue" } } },
  providers: { vendor: { timeout_ms: 5, options: { region: "eu" } } },
  prices: [{ provider: "openai", model: "m", input: 1, output: "2.5" }],
  control_plane: { tokens: [{ name: "ops", hash: `sha256:${"b".repeat(64)}` }] },
  projects: [
    {
      uuid: PROJECT_UUID,
      name: "Support",
      type: "ai_gateway",
      credentials: [{ name: "main", provider: "openai", api_key: "${env:OPENAI_API_KEY}" }],
      provider_templates: [{ name: "fast", provider: "openai", model: "m", credential: "main" }],
      tokens: [
        { name: "web", hash: HASH, scopes: ["chat"], monthly_budget_usd_cap: 5, expires_at: "2999-01-01" },
      ],
      endpoint_defaults: { temperature: 1, guardrails: [{ use: "tone", words: ["a"] }] },
      stages: [{ use: "acme-audit", options: { sink: "x" } }],
      endpoints: [
        { name: "A", provider_template: "fast", failover: [{ credential: "main", model: "m" }] },
        { name: "B", provider: "mock", model: "m", input_schema: { type: "object" }, output_schema: true },
      ],
      aliases: [{ alias: "default", provider: "mock", model: "m" }],
      proxy_endpoints: [{ slug: "crm", upstream_url: "https://crm.example/", oauth_connection: "o" }],
      oauth_connections: [
        {
          name: "o",
          token_url: "https://a.example/",
          client_id: "x",
          client_secret: "${env:OPENAI_API_KEY}",
        },
      ],
      mcp_servers: [{ name: "docs", url: "https://d.example/mcp" }],
      webhooks: [
        { name: "w", url: "https://w.example/", events: ["token.revoked"], secret: "${env:OPENAI_API_KEY}" },
      ],
    },
  ],
};

function pathsOf(value: unknown, path: readonly string[]): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

test("the configuration that is changed below is a good one", async (t) => {
  const { errors } = await folderOf(t, { "gateway.config.yaml": JSON.stringify(WHOLE) }).load();
  assert.deepEqual(errors, []);
});

test("any two values of it may be anything", async (t) => {
  const folder = folderOf(t, {});
  const path = fc.constantFrom(...pathsOf(WHOLE, []).slice(1));
  const value = fc.constantFrom<unknown>(
    ...[
      null,
      true,
      0,
      -1,
      1.5,
      1e300,
      "",
      "x",
      "main",
      "${env:NONE}",
      "${env:OPENAI_API_KEY}",
      "${file:none}",
      PROJECT_UUID,
    ],
    ...[
      [],
      [null],
      ["x"],
      [[]],
      [{}],
      {},
      { x: 1 },
      { $ref: "none.json" },
      { name: "x" },
      { options: 5, use: "tone" },
    ],
  );
  const property = fc.asyncProperty(
    fc.array(fc.tuple(path, value), { minLength: 1, maxLength: 2 }),
    async (changes) => {
      const changed: unknown = structuredClone(WHOLE);
      for (const [at, put] of changes) {
        const container = at
          .slice(0, -1)
          .reduce<unknown>((from, key) => (isObject(from) ? Reflect.get(from, key) : undefined), changed);
        if (isObject(container)) Reflect.set(container, at.at(-1) ?? "", structuredClone(put));
      }
      folder.write({ "gateway.config.yaml": JSON.stringify(changed, null, 1) });
      for (const secrets of ["resolve", "skip"] as const) {
        const { config, errors, warnings } = await folder.load({ secrets });
        assert.equal(config === undefined, errors.length > 0);
        for (const { file, line, message, path: where } of [...errors, ...warnings]) {
          assert.ok(file !== "" && line > 0, `${where}: ${message}`);
          assert.doesNotMatch(message, /undefined|\[object|sk-hidden/);
        }
      }
    },
  );
  await fc.assert(property, { numRuns: 500 });
});

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
