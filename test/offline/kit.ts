/** Offline gateways over configurations that stand in a file of their own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { load } from "../../src/gateway/load.ts";
import { type OfflineGateway, openOffline } from "../../src/offline/offline.ts";

export const GATEWAY = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f701";
export const WRAPPER = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f702";
export const PROXY = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f703";

/** Writes the files into a folder of their own, removed with the test; returns the folder. */
export function folderWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-offline-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Opens the configuration without any secret. */
export async function offlineWith(
  t: TestContext,
  yaml: string,
  files: Readonly<Record<string, string>> = {},
): Promise<OfflineGateway> {
  const folder = folderWith(t, { "gateway.config.yaml": yaml, ...files });
  const request = { path: join(folder, "gateway.config.yaml"), overlays: [], env: {}, strict: false };
  const { config, registry, hash, errors } = await load({ ...request, secrets: "skip" });
  if (config === undefined)
    throw new Error(errors.map(({ message, line }) => `${line}: ${message}`).join("\n"));
  const offline = await openOffline({ config, registry, hash });
  t.after(() => offline.close());
  return offline;
}

const VENDORS = [
  ["openai", "gpt-5-mini"],
  ["anthropic", "claude-sonnet-4-5"],
  ["google", "gemini-2.5-flash"],
  ["cohere", "command-a-03-2025"],
  ["mistral", "mistral-large-latest"],
  ["groq", "llama-3.3-70b-versatile"],
  ["together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
  ["ollama", "llama3.2"],
  ["mock", "any"],
] as const;

/** An endpoint for each built-in provider, named as it is. */
export const EVERY_PROVIDER = `
version: 1
projects:
  - name: Vendors
    uuid: ${GATEWAY}
    type: ai_gateway
    credentials:
${VENDORS.filter(([key]) => key !== "mock")
  .map(
    ([key]) => `      - { name: ${key}-main, provider: ${key}, api_key: "\${env:${key.toUpperCase()}_KEY}" }`,
  )
  .join("\n")}
    tokens:
      - { id: 1, name: web, hash: "sha256:${"a".repeat(64)}", scopes: [chat, mcp] }
    endpoints:
${VENDORS.map(
  ([key, model]) =>
    `      - { name: ${key}, slug: ${key}, provider: ${key}, model: "${model}", ${key === "mock" ? "" : `credential: ${key}-main,`} prompt: Be brief., streaming_enabled: true }`,
).join("\n")}
`;

export const PROVIDERS: readonly string[] = VENDORS.map(([key]) => key);

/** Two models, guardrails, limits, a budget, schemas and a tool. */
export const SUPPORT = `
version: 1
projects:
  - name: Support
    uuid: ${GATEWAY}
    type: ai_gateway
    credentials:
      - { name: openai-main, provider: openai, api_key: "\${env:OPENAI_API_KEY}" }
      - { name: openai-spare, provider: openai, api_key: "\${env:OPENAI_SPARE_KEY}" }
    tokens:
      - id: 1
        name: web
        hash: "sha256:${"b".repeat(64)}"
        scopes: [chat, mcp]
        monthly_budget_usd_cap: 50
      - { id: 2, name: readonly, hash: "sha256:${"c".repeat(64)}", scopes: [admin] }
    endpoints:
      - name: Summarise
        slug: summarise
        provider: openai
        model: gpt-5-mini
        credential: openai-main
        failover:
          - { credential: openai-spare, model: gpt-5-nano }
        prompt: You summarise.
        user_prompt_template: "Text: {{input}}"
        max_output_tokens: 100
        streaming_enabled: true
        monthly_budget_usd: 200
        estimated_cost_per_1k_tokens_usd: 0.5
        guardrails:
          - { use: pii, mode: mask, kinds: [email], on: [input, output] }
          - { use: keyword_blocklist, keywords: [forbidden] }
      - name: Triage
        slug: triage
        provider: openai
        model: gpt-5-mini
        credential: openai-main
        prompt: You triage.
        rate_limit_per_minute: 2
        usage_hard_limit_tokens: 100
        sessions_enabled: true
        expose_as_mcp_tool: true
        input_schema: { type: object, properties: { message: { type: string, maxLength: 1000 } } }
        output_schema: { type: object, required: [level] }
  - name: Wrapper
    uuid: ${WRAPPER}
    type: ai_wrapper
    credentials:
      - { name: claude, provider: anthropic, api_key: "\${env:ANTHROPIC_API_KEY}" }
    tokens:
      - { id: 3, name: sdk, hash: "sha256:${"d".repeat(64)}", scopes: [chat, models] }
    aliases:
      - { alias: smart, provider: anthropic, model: claude-sonnet-4-5, credential: claude, rate_limit_per_minute: 5 }
  - name: Proxy
    uuid: ${PROXY}
    type: proxy
    tokens:
      - { id: 4, name: proxy, hash: "sha256:${"e".repeat(64)}", scopes: [proxy] }
    proxy_endpoints:
      - slug: items
        upstream_url: https://items.example.com/v1
        allowed_methods: [GET, POST]
        rate_limit_per_minute: 3
        headers: { X-Key: "\${env:ITEMS_KEY}" }
`;
