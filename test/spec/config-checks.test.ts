/** What a configuration is checked for: keys, ranges, cross-references; and its defaults. */
import assert from "node:assert/strict";
import { numericId } from "../../src/base/ids.ts";
import { renderText } from "../../src/config/report/render.ts";
import { type ConfigParts, echoEntry, endpointEntry, hashOf, PROJECT } from "./kit/config.ts";
import { fileOf, loaded, loadFiles, refused } from "./kit/load.ts";
import { verifies } from "./verifies.ts";

/** Loads the usual config with these fields of its endpoint, which must be refused with this code at this path. */
async function refusedField(
  fields: Readonly<Record<string, unknown>>,
  code: string,
  key: string,
): Promise<string> {
  const error = await refused(fileOf({ endpoint: fields }));
  const found = JSON.stringify(error);
  assert.equal(error.code, code, found);
  assert.ok(error.path.startsWith("projects[0].endpoints[0]"), found);
  assert.ok(error.path.includes(key) || error.message.includes(key), found);
  return error.message;
}

async function fine(parts: ConfigParts): Promise<void> {
  await loaded(fileOf(parts));
}

/** Field -> values that are allowed, values that are not. */
const RANGES: Readonly<Record<string, [allowed: readonly unknown[], refused: readonly unknown[]]>> = {
  temperature: [
    [0, 0.7, 2, null],
    [-0.1, 2.1, "warm", true],
  ],
  top_p: [
    [0, 0.5, 1, null],
    [-0.1, 1.1, "most"],
  ],
  max_output_tokens: [
    [1, 200_000],
    [0, 200_001, 1.5, "many", null],
  ],
  usage_hard_limit_tokens: [
    [1, 9_999_999, null],
    [0, -1, 1.5, "few"],
  ],
  rate_limit_per_minute: [
    [1, 100_000, null],
    [0, -1, 0.5, "slow"],
  ],
  rate_limit_per_hour: [
    [1, 100_000, null],
    [0, -1, 0.5, "slow"],
  ],
  session_ttl_seconds: [
    [60, 604_800],
    [59, 604_801, 60.5, null],
  ],
  session_max_messages: [
    [1, 500],
    [0, 501, 1.5],
  ],
  session_max_tokens: [
    [1, 100_000, null],
    [0, -5, 1.5],
  ],
};

verifies(
  ["config.endpoint.ranges", "config.error.found-and-allowed"],
  "every number of an endpoint has its range, and what is outside is refused with what is allowed",
  async () => {
    for (const [key, [allowed, outside]] of Object.entries(RANGES)) {
      const endpoints = allowed.map((value, n) => endpointEntry({ name: `E${n}`, [key]: value }));
      await fine({ endpoints });
      for (const value of outside) {
        const { errors } = await loadFiles(fileOf({ endpoint: { [key]: value } }));
        assert.equal(errors.length, 1, `${key}: ${String(value)} ${JSON.stringify(errors)}`);
        assert.ok(errors[0]?.path.endsWith(key));
      }
    }
    assert.match(await refusedField({ temperature: 2.5 }, "E0107", "temperature"), /2\.5.*\b0\b.*\b2\b/);
  },
);

verifies("config.endpoint.budget", "a budget is a decimal of zero or more", async () => {
  const price = { estimated_cost_per_1k_tokens_usd: "0.0005" };
  for (const [n, budget] of [0, 12, 0.5, "1.50", "100"].entries()) {
    await fine({ endpoints: [endpointEntry({ name: `E${n}`, monthly_budget_usd: budget, ...price })] });
  }
  for (const budget of [-1, "-1", "1e3", "ten", "1,5"]) {
    const error = await refused(fileOf({ endpoint: { monthly_budget_usd: budget, ...price } }));
    assert.ok(error.path.endsWith("monthly_budget_usd"), JSON.stringify(error));
  }
});

verifies(
  ["config.endpoint.required", "config.error.one-of", "config.endpoint.provider"],
  "an endpoint needs a name and a choice of provider",
  async () => {
    const nameless = await refused(fileOf({ endpoints: [{ slug: "x", provider: "mock", model: "m" }] }));
    assert.match(`${nameless.path} ${nameless.message}`, /endpoints\[1\].*name/);
    const bare = await refused(fileOf({ endpoints: [{ name: "Bare" }] }));
    assert.equal(bare.code, "E0311");
    // Somebody who gives a provider means the manual way: the model is what is missing.
    const half = await refused(
      fileOf({ endpoints: [{ name: "Half", provider: "openai", credential: "main" }] }),
    );
    assert.match(half.message, /model/);
    const typo = await refused(fileOf({ endpoints: [endpointEntry({ name: "Typo", provider: "opnai" })] }));
    assert.equal(typo.code, "E0303");
    assert.equal(typo.suggestion, "openai");
  },
);

verifies(
  ["config.unknown-key", "config.error.place", "config.error.code"],
  "an unknown key is an error with its place and the key that was meant",
  async () => {
    const text = `version: 1
projects:
  - uuid: ${PROJECT}
    name: Support
    type: ai_gateway
    endpoints:
      - name: Echo
        provider: mock
        model: m
        temprature: 1
`;
    const error = await refused({ "gateway.config.yaml": text });
    assert.match(error.code, /^E\d{4}$/);
    assert.deepEqual(
      [error.code, error.file, error.line, error.column, error.path, error.suggestion],
      ["E0101", "gateway.config.yaml", 10, 9, "projects[0].endpoints[0].temprature", "temperature"],
    );
  },
);

verifies(
  ["config.error.all", "config.error.frame"],
  "all errors are reported at once, each with its line and a mark",
  async () => {
    const { errors } = await loadFiles(
      fileOf({ endpoint: { temperature: 9, top_q: 1, credential: "man" }, server: { port: "x" } }),
    );
    assert.deepEqual(new Set(errors.map(({ code }) => code)), new Set(["E0107", "E0101", "E0301", "E0103"]));
    const text = renderText(errors, false);
    assert.match(text, /error\[E0107\]/);
    assert.match(text, /--> .*gateway\.config\.yaml:\d+:\d+/);
    assert.match(text, /\d+ \| .*"temperature": 9/);
    assert.match(text, /\| +\^/);
  },
);

verifies("config.version", "another version is an error that names the supported one", async () => {
  const error = await refused(fileOf({ root: { version: 2 } }));
  assert.equal(error.code, "E0010");
  assert.match(error.message, /\b1\b/);
});

verifies(
  ["config.cross.exists", "config.cross.credential-provider", "config.cross.complete"],
  "what refers to something is checked at load",
  async () => {
    const second = { name: "second", provider: "mock" };
    const wrong: [ConfigParts, string, RegExp][] = [
      [{ endpoint: { credential: "mian" } }, "E0301", /mian/],
      [{ endpoints: [{ name: "T", provider_template: "fats" }] }, "E0304", /fats/],
      [{ endpoint: { guardrails: [{ use: "pij" }] } }, "E0305", /pij/],
      [{ endpoint: { failover: [{ credential: "none", model: "m" }] } }, "E0301", /none/],
      [{ credentials: [second], endpoint: { credential: "second" } }, "E0302", /openai|mock/],
      [{ endpoint: { monthly_budget_usd: 1 } }, "E0313", /estimated_cost_per_1k_tokens_usd/],
      [{ endpoint: { user_prompt_template: "No place" } }, "E0314", /\{\{input\}\}/],
    ];
    for (const [parts, code, message] of wrong) {
      const error = await refused(fileOf(parts));
      assert.equal(error.code, code, JSON.stringify(error));
      assert.match(error.message, message);
    }
    const proxy = {
      uuid: "0d4c6a1e-93f5-4d2b-b0a7-5c1f8e2d3a92",
      name: "Proxy",
      type: "proxy",
      proxy_endpoints: [
        { slug: "crm", upstream_url: "https://crm.example.com/v2", oauth_connection: "none" },
      ],
    };
    assert.equal((await refused(fileOf({ projects: [proxy] }))).code, "E0306");
    const provider = await refused(fileOf({ root: { providers: { opnai: { enabled: false } } } }));
    assert.equal(provider.suggestion, "openai");
    const near = await refused(fileOf({ endpoint: { guardrails: [{ use: "pij" }] } }));
    assert.equal(near.suggestion, "pii");
  },
);

verifies(
  ["config.slug.reserved", "config.slug.pattern"],
  "slugs are plain words, and not those of routes",
  async () => {
    for (const slug of ["endpoints", "chat", "v1", "mcp", "proxy"]) {
      assert.equal((await refused(fileOf({ endpoint: { slug } }))).code, "E0308", slug);
    }
    for (const slug of ["Ask", "a_b", "-a", "a-", "a--b", "a/b", "ä"]) {
      assert.ok((await refused(fileOf({ endpoint: { slug } }))).path.endsWith("slug"), slug);
    }
    await fine({ endpoint: { slug: "a-1-b" } });
  },
);

verifies("config.slug.generated", "a slug is made from the name", async () => {
  const endpoints = ["Élan vital!", "  Two  Words ", "v2.1"].map((name) => echoEntry({ name }));
  const config = await loaded(fileOf({ endpoints }));
  const slugs = config.projects[0]?.endpoints.slice(1).map(({ slug }) => slug);
  assert.deepEqual(slugs, ["elan-vital", "two-words", "v2-1"]);
  assert.equal((await refused(fileOf({ endpoints: [echoEntry({ name: "Chat" })] }))).code, "E0308");
});

verifies(
  ["config.endpoint-defaults", "config.provider-template", "config.endpoint.template-overrides"],
  "defaults of the project and templates are filled in, an endpoint's own value wins",
  async () => {
    const config = await loaded(
      fileOf({
        project: {
          endpoint_defaults: { temperature: 0.2, prompt: "From the project." },
          provider_templates: [
            { name: "fast", provider: "openai", model: "gpt-4o-mini", credential: "main" },
          ],
        },
        endpoint: { temperature: 0.9 },
        endpoints: [{ name: "Templated", provider_template: "fast", top_p: 0.5, max_output_tokens: 9 }],
      }),
    );
    const [ask, templated] = config.projects[0]?.endpoints ?? [];
    assert.deepEqual([ask?.temperature, ask?.prompt], [0.9, "From the project."]);
    const { provider, model, credential, top_p, max_output_tokens, temperature } = templated ?? {};
    assert.deepEqual([provider, model, credential], ["openai", "gpt-4o-mini", "main"]);
    assert.deepEqual([top_p, max_output_tokens, temperature], [0.5, 9, 0.2]);
    const both = {
      name: "Both",
      provider_template: "fast",
      provider: "openai",
      model: "m",
      credential: "main",
    };
    const project = {
      provider_templates: [{ name: "fast", provider: "openai", model: "m", credential: "main" }],
    };
    assert.equal((await refused(fileOf({ project, endpoints: [both] }))).code, "E0310");
  },
);

verifies(
  ["config.project.required", "config.project.type", "config.project.id"],
  "a project has uuid, name and a known type; its id is derived from the uuid",
  async () => {
    const full = { uuid: "0d4c6a1e-93f5-4d2b-b0a7-5c1f8e2d3a91", name: "More", type: "proxy" };
    for (const key of ["uuid", "name", "type"]) {
      const { errors } = await loadFiles(fileOf({ projects: [{ ...full, [key]: undefined }] }));
      assert.ok(
        errors.some(({ message }) => message.includes(key)),
        `${key}: ${JSON.stringify(errors)}`,
      );
    }
    assert.equal((await refused(fileOf({ projects: [{ ...full, type: "gateway" }] }))).code, "E0104");
    const config = await loaded(fileOf({ project: { id: 77 }, projects: [full] }));
    assert.deepEqual([config.projects[0]?.id, config.projects[2]?.id], [77, numericId(full.uuid)]);
  },
);

verifies(
  "config.defaults.root",
  "a configuration of nothing but projects runs on the documented defaults",
  async () => {
    const config = await loaded({ "gateway.config.yaml": "version: 1\nprojects: []\n" });
    assert.deepEqual(config.server, {
      host: "127.0.0.1",
      port: 8080,
      max_body_bytes: 33_554_432,
      max_buffered_bytes: 268_435_456,
      max_connections_per_address: 1_000,
      max_judged_characters: 4_000_000,
      request_timeout_ms: 120_000,
      stream_idle_timeout_ms: 300_000,
      stream_timeout_ms: null,
      drain_timeout_ms: 30_000,
      lame_duck_ms: 0,
      body_timeout_ms: 10_000,
      trusted_proxies: [],
      expose_config_hash: false,
      expose_cost: false,
    });
    assert.deepEqual(config.admin, { enabled: true, host: "127.0.0.1", port: 8081, metrics_token: null });
    const {
      driver,
      directory,
      snapshot_interval_seconds,
      on_error,
      key_prefix,
      on_unavailable,
      max_sessions,
    } = config.state;
    assert.deepEqual(
      [
        driver,
        directory.split("/").at(-1),
        snapshot_interval_seconds,
        on_error,
        key_prefix,
        on_unavailable,
        max_sessions,
      ],
      ["memory", ".sluice", 60, "degrade", "sluice", "deny", 100_000],
    );
    assert.deepEqual(config.log, { level: "info", content: "none" });
    assert.deepEqual(config.telemetry, { otlp: { endpoint: null, headers: {}, content: false } });
    assert.deepEqual(config.network, { allow: [] });
  },
);

verifies(
  ["config.endpoint.defaults", "config.defaults.token", "config.defaults.guardrail"],
  "endpoints, tokens, guardrails and providers have the documented defaults",
  async () => {
    const config = await loaded(fileOf({ endpoint: { guardrails: [{ use: "pii" }] } }));
    const [endpoint] = config.projects[0]?.endpoints ?? [];
    assert.ok(endpoint);
    const { guardrails, at: _at, uuid: _uuid, name: _name, ...rest } = endpoint;
    assert.deepEqual(rest, {
      slug: "ask",
      description: "",
      is_active: true,
      expose_as_mcp_tool: false,
      provider: "openai",
      model: "gpt-4o-mini",
      credential: "main",
      failover: [],
      temperature: null,
      top_p: null,
      max_output_tokens: 4096,
      usage_hard_limit_tokens: null,
      monthly_budget_usd: null,
      budget_estimate: "worst_case",
      estimated_cost_per_1k_tokens_usd: null,
      rate_limit_per_minute: null,
      rate_limit_per_hour: null,
      streaming_enabled: true,
      sessions_enabled: false,
      session_ttl_seconds: 3600,
      session_max_messages: 50,
      session_max_tokens: null,
      session_overflow: "trim",
      prompt: "",
      user_prompt_template: "",
      input_schema: null,
      moved_from: null,
      output_schema: null,
      stages: [],
    });
    const [guardrail] = guardrails;
    const { on, on_error, timeout_ms, isolate, shadow } = guardrail ?? {};
    assert.deepEqual([on, on_error, timeout_ms, isolate, shadow], [["input"], "block", 1000, false, false]);
    const [token] = config.projects[0]?.tokens ?? [];
    assert.deepEqual(
      [token?.is_active, token?.monthly_budget_usd_cap, token?.expires_at],
      [true, null, null],
    );
    const { enabled, base_url, timeout_ms: whole, first_byte_timeout_ms } = config.providers["openai"] ?? {};
    assert.deepEqual([enabled, base_url, whole, first_byte_timeout_ms], [true, null, 60_000, 30_000]);
  },
);

verifies(
  ["config.endpoint.schemas", "schema.no-network"],
  "a schema that is none, or that points elsewhere, is an error at its place",
  async () => {
    const wrong = [
      { type: "objekt" },
      { properties: { a: { minimum: "1" } } },
      { $ref: "https://schemas.example.com/a.json" },
      { $ref: "#/$defs/none" },
    ];
    for (const input_schema of wrong) {
      const { errors } = await loadFiles(fileOf({ endpoint: { input_schema } }));
      assert.ok(errors.length > 0, JSON.stringify(input_schema));
      for (const error of errors) assert.match(error.path, /endpoints\[0\]\.input_schema/);
    }
  },
);

verifies("config.schema.slow", "a schema that takes seconds to compile is refused", async () => {
  // Short to read, long to compile: each of the references is compiled in its place.
  const one = {
    properties: Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`p${n}`, { enum: [n, `${n}`] }])),
  };
  const input_schema = { $defs: { one }, anyOf: Array(12_000).fill({ $ref: "#/$defs/one" }) };
  const { errors } = await loadFiles(fileOf({ endpoint: { input_schema } }));
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["E0315"],
  );
});

verifies(
  ["config.secret.token-hash", "auth.scopes.control", "auth.scopes.known"],
  "tokens are hashes with known scopes",
  async () => {
    const token = (fields: object): ConfigParts => ({
      tokens: [{ name: "t", hash: hashOf("gw_live_t"), scopes: ["chat"], ...fields }],
    });
    await fine(token({ scopes: ["chat", "models", "admin", "mcp", "proxy"] }));
    for (const hash of ["gw_live_t", "sha256:abc", `sha256:${"z".repeat(64)}`, `md5:${"a".repeat(32)}`]) {
      const error = await refused(fileOf(token({ hash })));
      assert.ok(error.path.endsWith("hash"), JSON.stringify(error));
      assert.ok(!JSON.stringify(error).includes("gw_live_t"), "a token in the wrong place is not shown");
    }
    for (const scope of ["control", "everything"]) {
      assert.match((await refused(fileOf(token({ scopes: [scope] })))).path, /scopes/);
    }
  },
);

verifies(
  ["config.secret.literal", "config.secret.hidden", "config.warning.code"],
  "a secret in the file is a warning that does not show it; from a reference it is none",
  async () => {
    const literal = await loadFiles(fileOf({}));
    assert.ok(literal.config, "a warning keeps no config from loading");
    const warning = literal.warnings.find(({ path }) => path.includes("api_key"));
    assert.equal(warning?.code, "W0101");
    assert.doesNotMatch(JSON.stringify(literal.warnings), /sk-upstream/);
    const text = renderText(literal.warnings, false);
    assert.doesNotMatch(text, /sk-upstream/);
    const referenced = fileOf({})["gateway.config.yaml"]?.replace(/sk-upstream-\w+/, "${env:KEY}") ?? "";
    const clean = await loadFiles({ "gateway.config.yaml": referenced }, { env: { KEY: "sk-upstream-1" } });
    assert.deepEqual(
      clean.warnings.filter(({ code }) => code === "W0101"),
      [],
    );
    assert.doesNotMatch(JSON.stringify([clean.errors, clean.warnings]), /sk-upstream/);
  },
);

const STRICT_PLUGIN = `export default {
  api: 1, kind: "guardrail", name: "acme-strict", description: "A test's own.", examples: [{ level: 1 }],
  schema: { type: "object", additionalProperties: false, required: ["level"],
    properties: { level: { type: "integer", minimum: 1 }, label: { type: "string" } } },
  setup() { return { judge() {} }; },
};`;

verifies("config.plugin.options", "a third party's options are checked at their line", async () => {
  const text = (use: string): string => `version: 1
plugins: [./acme.ts]
projects:
  - uuid: ${PROJECT}
    name: Support
    type: ai_gateway
    endpoints:
      - name: Echo
        provider: mock
        model: m
        guardrails:
          - ${use}
`;
  const wrong: [string, RegExp][] = [
    ["{ use: acme-strict, level: 0 }", /guardrails\[0\]\.level/],
    ["{ use: acme-strict, options: { level: 1, labl: x } }", /guardrails\[0\]\.options\.labl/],
    ["{ use: acme-strict }", /guardrails\[0\]/],
  ];
  for (const [use, path] of wrong) {
    const error = await refused({ "gateway.config.yaml": text(use), "acme.ts": STRICT_PLUGIN });
    assert.equal(error.line, 12, JSON.stringify(error));
    assert.match(error.path, path);
  }
  await loaded({ "gateway.config.yaml": text("{ use: acme-strict, level: 3 }"), "acme.ts": STRICT_PLUGIN });
});

verifies("config.plugin.broken", "a module that cannot be loaded is an error at its line", async () => {
  const broken = { "broken.ts": "export default {", "empty.ts": "export const x = 1;" };
  for (const name of ["./broken.ts", "./empty.ts", "./gone.ts", "no-such-package-here"]) {
    const error = await refused({ ...broken, ...fileOf({ root: { plugins: [name] } }) });
    assert.equal(error.code, "E0316", name);
    assert.match(error.path, /plugins\[0\]/);
  }
});
