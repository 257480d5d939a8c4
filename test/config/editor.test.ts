/**
 * What editors make of `sluice schema`: the language server behind most of them, on each kind of file. It must find the
 * mistakes of shape that `sluice validate` finds, at the same places, and none in files that are valid.
 */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { schemaCommand } from "../../src/cli/schema.ts";
import { FILE_KINDS, type FileKind } from "../../src/config/schema/editor.ts";
import { pluginLoader } from "../../src/gateway/load.ts";
import { type Folder, folderOf, PROJECT_UUID } from "./kit.ts";
import { type LanguageServer, startLanguageServer } from "./language-server.ts";

const HASH = `sha256:${"a".repeat(64)}`;

async function printed(kind: FileKind): Promise<string> {
  let text = "";
  const io = {
    stdout: (piece: string) => void (text += piece),
    stderr: (piece: string) => assert.fail(piece),
    stdin: async () => "",
    env: {},
    cwd: "/",
    isTerminal: false,
  };
  assert.equal(await schemaCommand(pluginLoader).run(["/none.yaml", "--for", kind], io), 0);
  return text;
}

let schemas: Readonly<Record<string, string>>;
before(async () => {
  const texts = await Promise.all(FILE_KINDS.map(async (kind) => [`${kind}.json`, await printed(kind)]));
  schemas = Object.fromEntries(texts);
});

const modeline = (kind: FileKind) => `# yaml-language-server: $schema=./${kind}.json\n`;

/** A project, and endpoints in it with everything that a reference may stand for. */
const VALID: Readonly<Record<FileKind, string>> = {
  config: `version: 1
include: [part.yaml]
server: { port: "\${env:PORT:-0}" }
admin: { enabled: "\${env:ADMIN:-false}" }
state: { driver: "\${env:DRIVER:-memory}" }
log: { level: "\${env:LEVEL:-info}" }
providers: { openai: { timeout_ms: 1000 } }
projects:
  - uuid: ${PROJECT_UUID}
    name: Support
    type: ai_gateway
    include: [project-part.yaml]
    tokens:
      - { id: web, hash: "${HASH}", monthly_budget_usd_cap: "12.50" }
    endpoint_defaults: { provider: mock, model: m }
    endpoints:
      - name: A
        rate_limit_per_minute: \${env:RPM:-20}
        temperature: \${env:T:-0.5}
        streaming_enabled: \${env:S:-true}
        session_overflow: \${env:O:-trim}
        estimated_cost_per_1k_tokens_usd: "0.002"
        monthly_budget_usd: \${env:B:-100}
        guardrails:
          - { use: content_length, max: "\${env:MAX:-8000}" }
          - { use: content_length, options: { max: 5 } }
`,
  part: `prices:
  - { provider: openai, model: m, input: "0.25", output: 2 }
`,
  "project-part": `endpoints:
  - name: B
    guardrails: [{ use: pii, mode: "\${env:MODE:-mask}" }]
`,
  overlay: `server: { port: 0 }
log: null
projects:
  - uuid: ${PROJECT_UUID}
    tokens:
      - { id: web, is_active: false, monthly_budget_usd_cap: null }
    endpoints:
      - slug: a
        temperature: null
        guardrails:
          - replace: true
          - { use: pii }
`,
};

/** One mistake of shape in each line that ends in a comment. */
const BROKEN: Readonly<Record<FileKind, string>> = {
  config: `version: 1
include: [part.yaml]
server: { prot: 1 } # unknown key
admin: { port: 70000 } # out of range
projects:
  - uuid: ${PROJECT_UUID}
    name: Support
    type: ai_gatewya # word
    include: [project-part.yaml]
    credentials:
      - { name: main } # missing key
    tokens:
      - { id: web, hash: "${HASH.replace(/a{64}/, "d".repeat(64))}" }
      - { hash: "sha256:abc" } # form
      - { hash: "${HASH}", scopes: [chatt] } # word in a list
      - { hash: "${HASH.replace(/a{64}/, "b".repeat(64))}", monthly_budget_usd_cap: "$200" } # amount
      - { hash: "${HASH.replace(/a{64}/, "c".repeat(64))}", scopes: chat } # type
    endpoints:
      - name: A
        provider: mokc # word
        model: m
        temperature: warm # type
        max_output_tokens: 300000 # out of range
        is_active: 5 # type
        temprature: 1 # unknown key
        guardrails:
          - { use: content_length } # missing option
          - { use: content_length, max: 0 } # out of range
          - { use: pii, mode: blok } # word
          - { use: pii, knds: [email] } # unknown option
          - { use: piii } # word
`,
  part: `prices:
  - { provider: openai, model: m, input: "$1", output: 2 } # amount
  - { provider: openai, input: 1, output: 2 } # missing key
telemetry: { otlp: { endpont: null } } # unknown key
`,
  "project-part": `endpoints:
  - name: B
    provider: mock
    model: m
    top_p: 7 # out of range
    guardrails:
      - { use: keyword_blocklist, keywords: foo } # type
tokns: [] # unknown key
`,
  overlay: `log: { level: loud } # word
projects:
  - uuid: ${PROJECT_UUID}
    tokens:
      - { id: web, is_actve: false } # unknown key
    endpoints:
      - slug: b
        top_p: many # type
        guardrails:
          - { use: prompt_injectoin } # word
`,
};

/** The lines that say that they are wrong. */
function wrongLines(text: string): readonly number[] {
  return text.split("\n").flatMap((line, index) => (/ # \w/.test(line) ? [index + 1] : []));
}

type Files = Readonly<Record<FileKind, string>>;

function write(t: Parameters<typeof folderOf>[0], texts: Files): Folder {
  const files = FILE_KINDS.map((kind) => {
    const name = kind === "config" ? "gateway.config" : kind;
    return [`${name}.yaml`, modeline(kind) + texts[kind]] as const;
  });
  return folderOf(t, { ...Object.fromEntries(files), ...schemas });
}

function fileOf(folder: Folder, kind: FileKind): string {
  return folder.path(`${kind === "config" ? "gateway.config" : kind}.yaml`);
}

/** What the editor and `validate` find in each file, as `line:column`. */
async function found(
  texts: Files,
  folder: Folder,
  server: LanguageServer,
): Promise<readonly { readonly kind: FileKind; readonly editor: string[]; readonly validate: string[] }[]> {
  const base = await folder.load({}, pluginLoader);
  const whole = await folder.load({ overlays: [fileOf(folder, "overlay")] }, pluginLoader);
  const results = [];
  for (const kind of FILE_KINDS) {
    const path = fileOf(folder, kind);
    const shown = await server.open(path, modeline(kind) + texts[kind]);
    const { errors } = kind === "overlay" ? whole : base;
    results.push({
      kind,
      editor: shown.map(({ range: { start } }) => `${start.line + 1}:${start.character + 1}`).sort(),
      validate: errors
        .filter(({ file }) => file === path)
        .map(({ line, column }) => `${line}:${column}`)
        .sort(),
    });
  }
  return results;
}

test("the editor finds the same mistakes as validate, at the same places, in each kind of file", async (t) => {
  const server = await startLanguageServer(t);
  for (const { kind, editor, validate } of await found(BROKEN, write(t, BROKEN), server)) {
    assert.deepEqual(editor, validate, kind);
    const lines = editor.map((place) => Number.parseInt(place, 10)).sort((a, b) => a - b);
    assert.deepEqual(lines, wrongLines(modeline(kind) + BROKEN[kind]), kind);
  }
});

test("the editor finds nothing wrong in valid files, references included", async (t) => {
  const server = await startLanguageServer(t);
  for (const { kind, editor, validate } of await found(VALID, write(t, VALID), server)) {
    assert.deepEqual({ editor, validate }, { editor: [], validate: [] }, kind);
  }
});

test("the editor completes keys, providers, guardrails and their options, and explains them", async (t) => {
  const endpoint = (indent: string) =>
    [
      "endpoints:",
      "  - name: A",
      "    provider: ",
      "    session_overflow: trim",
      "    max_output_tokens: 5",
      "    ",
      "    guardrails:",
      "      - use: ",
      "      - use: pii",
      "        mode: block",
      "        ",
    ]
      .map((line) => `${indent}${line}\n`)
      .join("");
  const project = `projects:\n  - uuid: ${PROJECT_UUID}\n`;
  const texts: Files = {
    config: `version: 1\n${project}${endpoint("    ")}`,
    part: `${project}${endpoint("    ")}`,
    "project-part": endpoint(""),
    overlay: `${project}${endpoint("    ")}`,
  };
  const folder = write(t, texts);
  const server = await startLanguageServer(t);
  for (const kind of FILE_KINDS) {
    const path = fileOf(folder, kind);
    const text = modeline(kind) + texts[kind];
    await server.open(path, text);
    const lines = text.split("\n");
    const offered = async (line: string, from = 0): Promise<ReadonlySet<string>> => {
      const index = lines.findIndex((one, at) => at >= from && one.trimStart() === line);
      const column = (lines[index]?.length ?? 0) + 1;
      return new Set(await server.completions(path, index + 1, column));
    };
    const includes = (labels: ReadonlySet<string>, ...wanted: readonly string[]) => {
      for (const label of wanted)
        assert.ok(labels.has(label), `${kind}: ${label} in ${[...labels].join(" ")}`);
    };
    const inEndpoint = lines.findIndex((line) => line.includes("max_output_tokens"));
    const inGuardrail = lines.findIndex((line) => line.includes("mode: block"));
    includes(await offered("", inEndpoint), "temperature", "failover", "monthly_budget_usd");
    includes(await offered("provider: "), "openai", "anthropic", "mock");
    includes(await offered("- use: "), "content_length", "pii", "prompt_injection");
    includes(await offered("", inGuardrail), "kinds", "on_error", "shadow");
    const hover = (key: string) => {
      const index = lines.findIndex((line) => line.includes(`${key}:`));
      return server.hover(path, index + 1, (lines[index]?.indexOf(key) ?? 0) + 2);
    };
    assert.match(
      await hover("max_output_tokens"),
      /Hard cap per answer.*From 1 to 200000.*Default: 4096/,
      kind,
    );
    assert.match(await hover("session_overflow"), /One of trim, reject.*Default/, kind);
    assert.match(await hover("mode"), /block.*mask/, kind);
  }
});
