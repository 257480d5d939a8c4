/** Loads configurations in tests: written to a folder of their own, with a few made-up plugins. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { type LoadOutcome, type LoadRequest, loadConfig, type PluginLoader } from "../../src/config/load.ts";
import type { ResolvedConfig } from "../../src/config/model.ts";
import type { KnownPlugin, PluginKind } from "../../src/config/plugins.ts";
import type { Diagnostic } from "../../src/config/report/diagnostic.ts";
import { Registry } from "../../src/plugins-host/registry.ts";
import { STORES } from "../../src/state/stores.ts";

const KNOWN: Readonly<Record<PluginKind, Readonly<Record<string, KnownPlugin>>>> = {
  provider: {
    openai: { schema: { type: "object", additionalProperties: false } },
    vendor: { schema: { type: "object", properties: { region: { type: "string", default: "eu" } } } },
    bare: { schema: { type: "object" }, hasBaseUrl: false },
    mock: {
      schema: {
        type: "object",
        properties: { reply: { type: "string", default: "{{input}}" } },
        additionalProperties: false,
      },
      needsApiKey: false,
    },
  },
  guardrail: {
    content_length: {
      schema: {
        type: "object",
        properties: { max: { type: "integer", minimum: 1, description: "Most characters." } },
        required: ["max"],
        additionalProperties: false,
      },
    },
    tone: {
      schema: {
        type: "object",
        properties: {
          strictness: { enum: ["low", "high"], default: "low" },
          words: { type: "array", items: { type: "string" } },
        },
        additionalProperties: false,
      },
    },
    shaped: {
      schema: {
        type: "object",
        properties: {
          rule: {
            oneOf: [
              {
                type: "object",
                properties: { kind: { const: "word" }, word: { type: "string" } },
                required: ["word"],
              },
              {
                type: "object",
                properties: { kind: { const: "size" }, size: { type: "integer" } },
                required: ["size"],
              },
            ],
          },
        },
      },
    },
  },
  stage: { "acme-audit": { schema: { type: "object", required: ["sink"] } } },
  store: Object.fromEntries(STORES.map(({ name, schema }) => [name, { schema }])),
};

/** Keys of endpoints are those of the real stages. */
const { stageKeys } = new Registry([]);

/** Plugins of the tests; any module of `plugins:` loads. */
export const loadPlugins: PluginLoader = async () => ({
  find: (kind, name) => (Object.hasOwn(KNOWN[kind], name) ? KNOWN[kind][name] : undefined),
  names: (kind) => Object.keys(KNOWN[kind]),
  stageKeys,
  failures: [],
});

export interface Folder {
  /** Absolute path of a file in it. */
  path(name: string): string;
  write(files: Readonly<Record<string, string>>): void;
  load(request?: Partial<LoadRequest>, plugins?: PluginLoader): Promise<LoadOutcome>;
}

/** A folder that is gone after the test. */
export function folderOf(t: TestContext, files: Readonly<Record<string, string>>): Folder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sluice-config-")));
  t.after(() => rmSync(root, { recursive: true }));
  const folder: Folder = {
    path: (name) => join(root, name),
    write(more) {
      for (const [name, text] of Object.entries(more)) {
        mkdirSync(dirname(join(root, name)), { recursive: true });
        writeFileSync(join(root, name), text);
      }
    },
    load: (request = {}, plugins = loadPlugins) =>
      loadConfig(
        {
          path: join(root, "gateway.config.yaml"),
          overlays: [],
          env: { OPENAI_API_KEY: "sk-hidden-0001" },
          secrets: "resolve",
          strict: false,
          ...request,
        },
        plugins,
      ),
  };
  folder.write(files);
  return folder;
}

export const PROJECT_UUID = "3e2f6c1a-58d4-4b5e-9a07-6f1d2c8b4e90";

/** One gateway project; `body` is indented by four spaces. */
export function projectOf(body: string): string {
  return `version: 1
projects:
  - uuid: ${PROJECT_UUID}
    name: Support
    type: ai_gateway
${body}`;
}

/** Loads one file that must be good. */
export async function loaded(
  t: TestContext,
  text: string,
  env: LoadRequest["env"] = {},
): Promise<ResolvedConfig> {
  const { config, errors } = await folderOf(t, { "gateway.config.yaml": text }).load({ env });
  assert.deepEqual(errors.map(brief), []);
  assert.ok(config);
  return config;
}

/** Loads one file and returns its errors, briefly. */
export async function errorsOf(
  t: TestContext,
  text: string,
  env: LoadRequest["env"] = {},
): Promise<readonly string[]> {
  const { errors } = await folderOf(t, { "gateway.config.yaml": text }).load({ env });
  return errors.map(brief);
}

/** `E0107 12:20 temperature`, with the suggestion after an arrow. */
export function brief({ code, line, column, path, suggestion }: Diagnostic): string {
  return `${code} ${line}:${column} ${path}${suggestion === undefined ? "" : ` -> ${suggestion}`}`;
}
