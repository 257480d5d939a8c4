/** Runs `sluice test` in tests: files in a folder of their own, the command within the process, what it printed. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { CliIo } from "../../src/cli/command.ts";
import { command } from "../../src/cli/test/command.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TestFolder {
  path(name: string): string;
  read(name: string): string;
  write(files: Readonly<Record<string, string>>): void;
  /** Runs the command in the folder. */
  run(args?: readonly string[], io?: Partial<CliIo>): Promise<Ran>;
}

/** Gone after the test. */
export function testFolder(t: TestContext, files: Readonly<Record<string, string>>): TestFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sluice-test-")));
  t.after(() => rmSync(root, { recursive: true }));
  const folder: TestFolder = {
    path: (name) => join(root, name),
    read: (name) => readFileSync(join(root, name), "utf8"),
    write(more) {
      for (const [name, text] of Object.entries(more)) {
        mkdirSync(dirname(join(root, name)), { recursive: true });
        writeFileSync(join(root, name), text);
      }
    },
    async run(args = [], io = {}) {
      const out = { stdout: "", stderr: "" };
      const code = await command.run(args, {
        stdout: (text) => void (out.stdout += text),
        stderr: (text) => void (out.stderr += text),
        stdin: async () => "",
        env: {},
        cwd: root,
        isTerminal: false,
        ...io,
      });
      return { code, ...out };
    },
  };
  folder.write(files);
  return folder;
}

/** The hash of no known token. */
const HASH = `sha256:${"a".repeat(64)}`;

/** A project with something of everything that a case can be about. */
export const CONFIG = `version: 1
projects:
  - uuid: 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11
    name: Support
    type: ai_gateway
    tokens:
      - { id: web, name: web, hash: "${HASH}", scopes: [chat, mcp] }
      - { id: "7", name: capped, hash: "${HASH.replace("aa", "bb")}", monthly_budget_usd_cap: 5 }
    credentials:
      - { name: openai-main, provider: openai, api_key: "\${env:OPENAI_API_KEY}" }
      - { name: openai-spare, provider: openai, api_key: "\${file:/run/secrets/none}" }
      - { name: anthropic-main, provider: anthropic, api_key: "\${env:ANTHROPIC_API_KEY}" }
    endpoints:
      - name: Summarise
        slug: summarise
        provider: openai
        model: gpt-5-mini
        credential: openai-main
        failover: [{ credential: openai-spare, model: gpt-5-nano }]
        prompt: You summarise texts.
        monthly_budget_usd: 200
        estimated_cost_per_1k_tokens_usd: 0.002
        expose_as_mcp_tool: true
        guardrails:
          - { use: pii, mode: mask, on: [input, output] }
          - { use: prompt_injection }
      - name: Triage
        slug: triage
        provider: openai
        model: gpt-5-mini
        credential: openai-main
        sessions_enabled: true
        rate_limit_per_minute: 2
        guardrails:
          - { use: pii, kinds: [credit_card], mode: block }
      - name: Extract
        slug: extract
        provider: anthropic
        model: claude-haiku-4-5
        credential: anthropic-main
        temperature: 0.2
        usage_hard_limit_tokens: 50
        input_schema: { type: object, required: [message, order], properties: { order: { type: integer } } }
        output_schema: { type: object, required: [total], properties: { total: { type: number } } }
`;

export const WRAPPER = `version: 1
projects:
  - uuid: 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a12
    name: Wrap
    type: ai_wrapper
    tokens: [{ id: web, hash: "${HASH}" }]
    credentials: [{ name: openai-main, provider: openai, api_key: "\${env:OPENAI_API_KEY}" }]
    aliases: [{ alias: default, provider: openai, model: gpt-5-mini, credential: openai-main }]
`;

export const PROXY = `version: 1
projects:
  - uuid: 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a13
    name: Crm
    type: proxy
    tokens: [{ id: web, hash: "${HASH}", scopes: [proxy] }]
    proxy_endpoints:
      - slug: crm
        upstream_url: https://crm.example.org/v2
        headers: { X-Tenant: acme-tenant, X-Api-Key: "\${env:CRM_KEY}" }
        allowed_methods: [GET, POST]
        rate_limit_per_hour: 3
`;

/** Runs cases against `CONFIG`; `cases` is YAML below `tests:`. */
export function runCases(
  t: TestContext,
  cases: string,
  args: readonly string[] = [],
  config = CONFIG,
): Promise<Ran> {
  const files = { "gateway.config.yaml": config, "gateway.test.yaml": `tests:\n${cases}` };
  return testFolder(t, files).run(args);
}

/** The report of `--output json`, as far as tests read it. */
export interface JsonReport {
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly {
    readonly name: string;
    readonly file: string;
    readonly line: number;
    readonly ok: boolean;
    readonly failures: readonly JsonFailure[];
    readonly trace: readonly string[];
  }[];
  readonly coverage: {
    readonly covered: number;
    readonly all: number;
    readonly percent: number;
    readonly uncovered: readonly JsonProtection[];
  } | null;
  readonly mutations: {
    readonly all: number;
    readonly survived: readonly JsonProtection[];
  } | null;
}

export interface JsonFailure {
  readonly path: string;
  readonly line: number;
  readonly expected: string | null;
  readonly actual: string | null;
  readonly message: string | null;
}

export interface JsonProtection {
  readonly protection: string;
  readonly file: string;
  readonly line: number;
  readonly missing?: readonly string[];
  readonly touched?: boolean;
}

/** `JSON.parse` knows no types: tests fail on what is not there. */
export function reportOf({ stdout }: Ran): JsonReport {
  return JSON.parse(stdout);
}

/** Runs cases and returns each with its failures, briefly. */
export async function failuresOf(t: TestContext, cases: string, config?: string): Promise<readonly string[]> {
  const report = reportOf(await runCases(t, cases, ["--output", "json"], config));
  return report.cases.flatMap(({ name, failures }) =>
    failures.map(
      ({ path, line, expected, actual, message }) =>
        `${name} ${line} ${path}: ${message ?? `${expected} | ${actual}`}`,
    ),
  );
}
