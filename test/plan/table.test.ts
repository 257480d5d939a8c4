/** What a change of each key means, in both directions: rows of before, after, the rules of the change and of its opposite. */
import assert from "node:assert/strict";
import { verifies } from "../spec/verifies.ts";
import { judgedAround, rulesOf } from "./kit.ts";

type Row = readonly [before: string, after: string, rules: string, reverse: string];

const endpoint = (keys: string): string =>
  `endpoints:\n  - { name: Triage${keys === "" ? "" : `, ${keys}`} }`;
const guarded = (list: string): string => endpoint(`guardrails: [${list}]`);
const input = (schema: string): string => endpoint(`input_schema: ${schema}`);
const token = (keys: string): string =>
  `tokens:\n  - { id: 7, hash: "sha256:a…"${keys === "" ? "" : `, ${keys}`} }`;
const proxy = (keys: string): string =>
  `type: proxy\nproxy_endpoints:\n  - { slug: crm, upstream_url: "https://crm.example/v2"${keys} }`;
const alias = (keys: string): string =>
  `type: ai_wrapper\naliases:\n  - { alias: fast, provider: openai, model: gpt-5-mini, credential: main${keys} }`;
const webhook = (keys: string): string =>
  `webhooks:\n  - { name: siem, url: "https://siem.example/hook", secret: "\${env:S}"${keys} }`;
const spare = (keys: string): string =>
  `credentials:\n  - { name: spare, provider: openai, api_key: "\${env:B}"${keys} }\nendpoints:\n  - { name: Triage, credential: spare }`;
const price = (keys: string): string =>
  `prices:\n  - { provider: openai, model: gpt-5-mini, ${keys} }\nendpoints:\n  - { name: Triage }`;
const oauth = (keys: string): string =>
  `type: proxy\noauth_connections:\n  - { name: sso, token_url: "https://auth.example/token", client_id: a, client_secret: "\${env:S}"${keys} }\nproxy_endpoints:\n  - { slug: crm, upstream_url: "https://crm.example/v2", oauth_connection: sso }`;
const PLAIN = endpoint("");

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  "what clients call": [
    [endpoint("is_active: false"), "endpoints: []", "P101", "P502"],
    [PLAIN, endpoint("slug: sorting"), "P101 P502", "P101 P502"],
    [alias(""), "type: ai_wrapper", "P101", "P502"],
    [endpoint("slug: sorting"), endpoint("slug: triage, moved_from: sorting"), "P501", "P101 P502"],
    [endpoint("slug: triage, moved_from: sorting"), endpoint("slug: triage"), "P101", "P501"],
    [
      endpoint("slug: triage, moved_from: sorting"),
      endpoint("slug: triage, moved_from: tickets"),
      "P101",
      "P101",
    ],
    [proxy(""), "type: proxy", "P101", "P203 P502"],
    [proxy(""), proxy(", is_active: false"), "P101", "P502"],
    [endpoint("is_active: false, top_p: 0.5"), endpoint("is_active: false, top_p: 0.6"), "P501", "P501"],
  ],
  tokens: [
    [PLAIN, `${token("")}\n${PLAIN}`, "P202", "P104"],
    ["", token("is_active: false"), "P502", "P104"],
    ["", token("expires_at: 2026-01-01T00:00:00Z"), "P502", "P104"],
    [token(""), token("is_active: false"), "P104", "P202"],
    [token(""), token("expires_at: 2027-01-01T00:00:00Z"), "P105", "P202"],
    [
      token("expires_at: 2027-01-01T00:00:00Z"),
      token("expires_at: 2026-12-31T19:00:00-05:00"),
      "P501",
      "P501",
    ],
    [
      token("expires_at: 2026-01-01T00:00:00Z, scopes: [chat]"),
      token("expires_at: 2026-01-01T00:00:00Z, scopes: [mcp]"),
      "P501",
      "P501",
    ],
    [token("scopes: [chat]"), token("scopes: [models]"), "P105 P202", "P105 P202"],
    [token("monthly_budget_usd_cap: 10"), token("monthly_budget_usd_cap: 20"), "P301", "P107"],
    [token("monthly_budget_usd_cap: 10"), token('monthly_budget_usd_cap: "10.0"'), "P501", "P501"],
    ['control_plane: { tokens: [{ name: ops, hash: "sha256:a…" }] }', "", "P104", "P202"],
    [
      'control_plane: { tokens: [{ name: ops, hash: "sha256:a…" }] }',
      'control_plane: { tokens: [{ name: ops, hash: "sha256:a…", expires_at: 2027-01-01T00:00:00Z }] }',
      "P105",
      "P202",
    ],
    ["control_plane: { listener: public }", "control_plane: { listener: admin }", "P107", "P202"],
  ],
  limits: [
    [PLAIN, endpoint("rate_limit_per_minute: 60"), "P107", "P202"],
    [PLAIN, endpoint("usage_hard_limit_tokens: 8000"), "P107", "P202"],
    [
      endpoint("rate_limit_per_hour: 60"),
      endpoint('rate_limit_per_hour: "${env:RATE}"'),
      "P107 P202",
      "P107 P202",
    ],
    [
      endpoint("monthly_budget_usd: 20, estimated_cost_per_1k_tokens_usd: 0.1"),
      endpoint("estimated_cost_per_1k_tokens_usd: 0.1"),
      "P301",
      "P107",
    ],
    [
      endpoint("monthly_budget_usd: 20, estimated_cost_per_1k_tokens_usd: 0.1"),
      endpoint("monthly_budget_usd: 20, estimated_cost_per_1k_tokens_usd: 0.2"),
      "P401",
      "P301",
    ],
    [endpoint("budget_estimate: worst_case"), endpoint("budget_estimate: expected"), "P501", "P501"],
    [
      `${token("monthly_budget_usd_cap: 9")}\n${endpoint("budget_estimate: worst_case")}`,
      `${token("monthly_budget_usd_cap: 9")}\n${endpoint("budget_estimate: expected")}`,
      "P301",
      "P107",
    ],
    [endpoint("max_output_tokens: 4096"), endpoint("max_output_tokens: 2048"), "P107", "P301"],
    [endpoint("streaming_enabled: true"), endpoint("streaming_enabled: false"), "P107", "P502"],
    [endpoint("sessions_enabled: true"), PLAIN, "P107", "P502"],
    [
      endpoint("sessions_enabled: true, session_max_tokens: 9"),
      endpoint("sessions_enabled: true"),
      "P401",
      "P107",
    ],
    [
      endpoint("sessions_enabled: true, session_overflow: trim"),
      endpoint("sessions_enabled: true, session_overflow: reject"),
      "P107",
      "P401",
    ],
    [proxy(", rate_limit_per_minute: 9"), proxy(", rate_limit_per_minute: 8"), "P107", "P202"],
    [proxy(", allowed_methods: [GET, POST]"), proxy(", allowed_methods: [GET]"), "P107", "P202"],
    [alias(", allowed_fields: [seed]"), alias(", allowed_fields: [seed, stop]"), "P202", "P107"],
    [alias(", allowed_fields: []"), alias(""), "P202", "P107"],
    [alias(", allowed_fields: [seed]"), alias(""), "P107 P202", "P107 P202"],
  ],
  schemas: [
    [PLAIN, input("{ type: object }"), "P106", "P201"],
    [
      input("{ properties: { a: { maxLength: 5 } } }"),
      input("{ properties: { a: { maxLength: 9 } } }"),
      "P201",
      "P106",
    ],
    [
      input("{ properties: { a: {} }, additionalProperties: false }"),
      input("{ properties: { a: {}, b: {} }, additionalProperties: false }"),
      "P201",
      "P106",
    ],
    [
      input("{ properties: { a: {} } }"),
      input("{ properties: { a: {}, b: { type: string } } }"),
      "P106",
      "P201",
    ],
    [input("{ enum: [1, 2] }"), input("{ enum: [2, 3] }"), "P106 P201", "P106 P201"],
    [input("{ type: integer }"), input("{ type: number }"), "P201", "P106"],
    [input("{ pattern: a }"), input("{ pattern: b }"), "P106", "P106"],
    [input("{ pattern: a }"), input("{ }"), "P106", "P106"],
    [input("{ const: 1, description: a }"), input("{ const: 1, description: b }"), "P501", "P501"],
    [PLAIN, endpoint("output_schema: { type: string }"), "P106", "P201"],
    [
      endpoint("output_schema: { maxLength: 5 }"),
      endpoint("output_schema: { maxLength: 9 }"),
      "P106",
      "P106",
    ],
    [endpoint("output_schema: { title: a }"), endpoint("output_schema: { title: b }"), "P501", "P501"],
    [endpoint("expose_as_mcp_tool: true"), PLAIN, "P106", "P202"],
    [
      endpoint("expose_as_mcp_tool: true, input_schema: { type: object }"),
      endpoint("expose_as_mcp_tool: true"),
      "P106 P201",
      "P106 P201",
    ],
    ['mcp_servers:\n  - { name: docs, url: "https://docs.example/mcp" }', "", "P106", "P203 P502"],
    [
      'mcp_servers:\n  - { name: docs, url: "https://docs.example/mcp" }',
      'mcp_servers:\n  - { name: docs, url: "https://docs.example/mcp", is_active: false }',
      "P106",
      "P502",
    ],
  ],
  guardrails: [
    [PLAIN, guarded("{ use: content_length, max: 9 }"), "P107", "P201"],
    [PLAIN, guarded("{ use: pii, shadow: true }"), "P402", "P201"],
    [guarded("{ use: pii, shadow: true }"), guarded("{ use: pii }"), "P107", "P201"],
    [guarded("{ use: pii, shadow: true }"), guarded("{ use: pii, mode: mask }"), "P402", "P201"],
    [
      guarded("{ use: pii, shadow: true }"),
      guarded("{ use: pii, mode: mask, shadow: true }"),
      "P401",
      "P401",
    ],
    [
      guarded("{ use: pii, mode: mask, kinds: [email] }"),
      guarded("{ use: pii, mode: mask, kinds: [email, ssn] }"),
      "P402",
      "P201",
    ],
    [
      guarded("{ use: pii, kinds: [email] }"),
      guarded("{ use: pii, kinds: [ssn] }"),
      "P107 P201",
      "P107 P201",
    ],
    [
      guarded("{ use: pii, kinds: [email, ssn] }"),
      guarded("{ use: pii, kinds: [ssn, email] }"),
      "P501",
      "P501",
    ],
    [guarded("{ use: pii, mode: mask }"), guarded("{ use: pii, mode: mask, restore: true }"), "P201", "P402"],
    [guarded("{ use: pii, regions: [DE] }"), guarded("{ use: pii }"), "P107 P201", "P107 P201"],
    [
      guarded("{ use: content_length, max: 9 }"),
      guarded("{ use: content_length, options: { max: 9 } }"),
      "P501",
      "P501",
    ],
    [guarded("{ use: content_length, max: 9 }"), guarded("{ use: content_length, max: 8 }"), "P107", "P201"],
    [
      guarded('{ use: content_length, max: "${env:MAX}" }'),
      guarded("{ use: content_length, max: 8 }"),
      "P107 P201",
      "P107 P201",
    ],
    [
      guarded("{ use: prompt_injection, threshold: 1 }"),
      guarded("{ use: prompt_injection, threshold: 2 }"),
      "P201",
      "P107",
    ],
    [
      guarded("{ use: keyword_blocklist, keywords: [a] }"),
      guarded("{ use: keyword_blocklist, keywords: [a], whole_word: false }"),
      "P107",
      "P201",
    ],
    [
      guarded("{ use: keyword_blocklist, keywords: [a] }"),
      guarded("{ use: keyword_blocklist, keywords: [a], case_sensitive: true }"),
      "P201",
      "P107",
    ],
    [
      guarded("{ use: patterns, patterns: { a: x } }"),
      guarded("{ use: patterns, patterns: { a: x, b: y } }"),
      "P107",
      "P201",
    ],
    [
      guarded("{ use: patterns, mode: mask, patterns: { a: x } }"),
      guarded('{ use: patterns, mode: mask, patterns: { a: x }, replacement: "-" }'),
      "P401",
      "P401",
    ],
    [guarded("{ use: pii, on: [input] }"), guarded("{ use: pii, on: [input, output] }"), "P107", "P201"],
    [guarded("{ use: pii, on: [input] }"), guarded("{ use: pii, on: [output] }"), "P107 P201", "P107 P201"],
    [guarded("{ use: pii, roles: [user] }"), guarded("{ use: pii, roles: [user, tool] }"), "P107", "P201"],
    [
      guarded("{ use: pii, on: [output], roles: [user] }"),
      guarded("{ use: pii, on: [output], roles: [tool] }"),
      "P501",
      "P501",
    ],
    [guarded("{ use: pii, on_error: block }"), guarded("{ use: pii, on_error: allow }"), "P201", "P107"],
    [guarded("{ use: pii, isolate: true }"), guarded("{ use: pii }"), "P201", "P107"],
    [guarded("{ use: pii, timeout_ms: 50 }"), guarded("{ use: pii, timeout_ms: 20 }"), "P107", "P401"],
    [
      guarded("{ use: pii, timeout_ms: 50, on_error: allow }"),
      guarded("{ use: pii, timeout_ms: 20, on_error: allow }"),
      "P201",
      "P107",
    ],
    [
      guarded("{ use: secrets }, { use: pii, mode: mask }"),
      guarded("{ use: pii, mode: mask }, { use: secrets }"),
      "P201",
      "P107",
    ],
    [
      guarded("{ use: secrets, on: [output] }, { use: pii, mode: mask }"),
      guarded("{ use: pii, mode: mask }, { use: secrets, on: [output] }"),
      "P401",
      "P401",
    ],
    [
      guarded("{ use: secrets, shadow: true }, { use: pii, shadow: true }"),
      guarded("{ use: pii, shadow: true }, { use: secrets, shadow: true }"),
      "P501",
      "P501",
    ],
    [
      guarded("{ use: pii, kinds: [ssn] }, { use: pii, kinds: [email], mode: mask }"),
      guarded("{ use: pii, kinds: [email], mode: mask }"),
      "P201",
      "P107",
    ],
    [
      guarded('{ use: webhook, url: "https://a.example/judge" }'),
      guarded('{ use: webhook, url: "https://a.example/other" }'),
      "P107 P201",
      "P107 P201",
    ],
    [PLAIN, guarded('{ use: webhook, url: "https://a.example/judge" }'), "P107 P203", "P201"],
    [
      guarded('{ use: webhook, url: "https://a.example/judge" }'),
      guarded('{ use: webhook, url: "https://b.example/judge" }'),
      "P107 P201 P203",
      "P107 P201 P203",
    ],
    [
      guarded("{ use: content_length, max: 20 }, { use: secrets }, { use: content_length, max: 5 }"),
      guarded("{ use: content_length, max: 5 }, { use: secrets }, { use: content_length, max: 5 }"),
      "P107",
      "P201",
    ],
  ],
  "the gateway": [
    ["log: { content: none }", "log: { content: full }", "P202", "P401"],
    ["calls: { content: none }", "calls: { content: redacted }", "P202", "P401"],
    ["calls: { keep: 5 }", "calls: { keep: 0 }", "P401", "P401"],
    ["log: { level: info }", "log: { level: warn }", "P401", "P401"],
    ["telemetry: { otlp: { content: true } }", "telemetry: { otlp: { content: false } }", "P401", "P202"],
    ["", 'telemetry: { otlp: { endpoint: "http://127.0.0.1:4318" } }', "P203", "P401"],
    ["network: { allow: [10.0.0.0/8] }", "network: { allow: [10.1.0.0/16] }", "P107", "P202"],
    ["network: { allow: [10.0.0.0/8] }", "network: { allow: [10.0.0.0/8, 10.1.0.0/16] }", "P501", "P501"],
    ["network: { allow: [a.example] }", "network: { allow: [b.example] }", "P107 P202", "P107 P202"],
    ["server: { trusted_proxies: [10.0.0.1] }", "server: { trusted_proxies: [10.0.0.0/24] }", "P202", "P601"],
    ["server: { host: 10.0.0.1 }", "server: { host: 10.0.0.2 }", "P202 P601", "P202 P601"],
    ["admin: { enabled: false }", "", "P601", "P601"],
    ['admin: { metrics_token: "sha256:a…" }', "", "P202", "P601"],
    ["state: { on_unavailable: deny }", "state: { on_unavailable: allow }", "P202", "P601"],
    ["state: { max_sessions: 5 }", "state: { max_sessions: 6 }", "P601", "P601"],
    [
      'state: { driver: redis, url: "redis://a.example:1" }',
      'state: { driver: redis, url: "redis://b.example:1" }',
      "P203",
      "P203",
    ],
    [
      'state: { driver: redis, url: "redis://a.example:1" }',
      'state: { driver: redis, url: "redis://a.example:1/4" }',
      "P601",
      "P601",
    ],
    ["reload: { watch: true }", "reload: { watch: false }", "P401", "P401"],
  ],
  "providers and credentials": [
    [PLAIN, `providers: { openai: { enabled: false } }\n${PLAIN}`, "P107", "P502"],
    [PLAIN, `providers: { openai: {} }\n${PLAIN}`, "P502", "P501"],
    [PLAIN, `providers: { groq: { timeout_ms: 5 } }\n${PLAIN}`, "P501", "P501"],
    [PLAIN, `providers: { openai: { timeout_ms: 5 } }\n${PLAIN}`, "P401", "P401"],
    [PLAIN, `providers: { openai: { proxy: "http://proxy.example:3128" } }\n${PLAIN}`, "P203", "P401"],
    [PLAIN, `providers: { openai: { base_url: "https://llm.example/v1" } }\n${PLAIN}`, "P203", "P203"],
    [spare(""), spare(", is_active: false"), "P107", "P502"],
    ['credentials:\n  - { name: spare, provider: openai, api_key: "${env:B}" }', "", "P501", "P502"],
    [spare(""), spare("").replace("env:B", "env:C"), "P401", "P401"],
    [
      spare(', base_url: "https://${env:HOST}/v1"'),
      spare(', base_url: "https://llm.example/v1"'),
      "P203",
      "P203",
    ],
    [
      spare(', base_url: "https://${env:HOST}/v1"'),
      spare(', base_url: "https://${env:HOST}/v2"'),
      "P401",
      "P401",
    ],
  ],
  "models and money": [
    [PLAIN, endpoint("temperature: 0.5"), "P401", "P401"],
    [PLAIN, endpoint("model: nobody-knows"), "P301", "P301"],
    [PLAIN, endpoint("failover: [{ credential: main, model: gpt-5 }]"), "P301", "P401"],
    [PLAIN, endpoint("failover: [{ credential: main, model: gpt-5-nano }]"), "P401", "P401"],
    [price("input: 1, output: 2"), price("input: 2, output: 2"), "P401", "P301"],
    [price("input: 1, output: 2"), price("input: 2, output: 1"), "P301 P401", "P301 P401"],
    [price("input: 1, output: 2, cached_input: 0.5"), price("input: 1, output: 2"), "P401", "P301"],
    [PLAIN, price("input: 0.01, output: 0.02"), "P301", "P401"],
    [PLAIN, price("input: 0.25, output: 2, cached_input: 0.025"), "P502", "P501"],
    [
      "prices:\n  - { provider: openai, model: o3, input: 1, output: 1 }",
      "prices:\n  - { provider: openai, model: o3, input: 2, output: 1 }",
      "P501",
      "P501",
    ],
  ],
  "webhooks, connections and the project": [
    [webhook(""), "", "P202", "P203 P502"],
    [webhook(", active: false"), "", "P501", "P203 P502"],
    [
      webhook(", events: [token.revoked]"),
      webhook(", events: [token.revoked, token.created]"),
      "P502",
      "P202",
    ],
    [webhook(""), webhook(", active: false"), "P202", "P502"],
    [oauth(""), oauth(", scopes: [read]"), "P401", "P401"],
    ["error_format: auto", "error_format: openai", "P401", "P401"],
    ["id: 1", "id: 2", "P401", "P401"],
    [proxy(""), proxy(', headers: { X-Key: "${env:K}" }'), "P401", "P401"],
  ],
};

for (const [what, rows] of Object.entries(TABLES)) {
  verifies("plan.rules.keys", `changes of ${what} have their rules, in both directions`, async (t) => {
    for (const [before, after, rules, reverse] of rows) {
      const text = `${before}\n->\n${after}`;
      assert.equal(rulesOf(await judgedAround(t, before, after)).join(" "), rules, text);
      assert.equal(rulesOf(await judgedAround(t, after, before)).join(" "), reverse, `opposite of ${text}`);
    }
  });
}
