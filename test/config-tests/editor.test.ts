/**
 * What editors make of `sluice schema --for test`: the language server behind most of them completes and explains the keys
 * of test files, finds nothing wrong in valid ones, and mistakes of shape where `sluice test` finds them.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { schemaCommand } from "../../src/cli/schema.ts";
import { testEditorSchema } from "../../src/config-tests/editor-schema.ts";
import { pluginLoader } from "../../src/gateway/load.ts";
import { startLanguageServer } from "../config/language-server.ts";
import { verifies } from "../spec/verifies.ts";
import { CONFIG, testFolder } from "./kit.ts";

const MODELINE = "# yaml-language-server: $schema=./test.json\n";
const GUIDE = readFileSync(new URL("../../docs/testing.md", import.meta.url), "utf8");

async function printed(): Promise<string> {
  let text = "";
  const io = {
    stdout: (piece: string) => void (text += piece),
    stderr: assert.fail,
    stdin: async () => "",
    env: {},
    cwd: "/",
    isTerminal: false,
  };
  assert.equal(await schemaCommand(pluginLoader).run(["--for", "test"], io), 0);
  return text;
}

verifies("tests.schema", "the schema is valid JSON Schema, and describes every key", async () => {
  const schema: unknown = JSON.parse(await printed());
  assert.deepEqual(schema, testEditorSchema());
  const draft = new Ajv({
    strict: true,
    strictTypes: false,
    allowUnionTypes: true,
    keywords: ["patternErrorMessage"],
  });
  assert.ok(draft.validateSchema(testEditorSchema()), draft.errorsText());
  const undescribed: string[] = [];
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    const { properties } = node as { properties?: object }; // A schema may have them.
    for (const [key, child] of Object.entries(properties ?? {})) {
      if (typeof Reflect.get(child, "description") !== "string") undescribed.push(`${path}.${key}`);
      visit(child, `${path}.${key}`);
    }
    visit(Reflect.get(node, "items"), `${path}[]`);
  };
  visit(schema, "");
  assert.deepEqual(undescribed, []);
});

/** One mistake of shape in each line that ends in a comment. */
const BROKEN = `clock: tomorrow # form
tests:
  - name: a
    call: { endpoint: triage, message: hi }
    expct: { status: 200 } # unknown key
  - name: b
    call: { endpoint: triage, message: 5 } # type
    expect: { status: ok } # form
  - name: c
    call: { endpoint: triage, message: hi }
    provider: { reply: hi, usage: { prompt: -1 } } # out of range
    expect: { guardrails: { pii: 5 } } # type
  - name: d
    steps:
      - { advance: soon } # form
      - { call: { endpoint: triage, message: hi }, repeat: 0 } # out of range
      - { call: { endpoint: triage, message: hi }, expect: { content: { matchs: x } } } # unknown key
`;

verifies(
  "tests.schema",
  "the editor finds the mistakes of shape that the command finds, at the same places, and no others",
  async (t) => {
    const folder = testFolder(t, {
      "gateway.config.yaml": CONFIG,
      "test.json": await printed(),
      "broken.test.yaml": MODELINE + BROKEN,
    });
    const server = await startLanguageServer(t);
    const shown = await server.open(folder.path("broken.test.yaml"), folder.read("broken.test.yaml"));
    const editor = shown.map(({ range: { start } }) => `${start.line + 1}:${start.character + 1}`).toSorted();
    const { errors }: { errors: { line: number; column: number }[] } = JSON.parse(
      (await folder.run(["--output", "json"])).stdout,
    );
    assert.deepEqual(editor, errors.map(({ line, column }) => `${line}:${column}`).toSorted());
    const wrong = folder
      .read("broken.test.yaml")
      .split("\n")
      .flatMap((line, n) => (/ # \w/.test(line) ? [n + 1] : []));
    const lines = editor.map((place) => Number.parseInt(place, 10)).toSorted((a, b) => a - b);
    assert.deepEqual(lines, wrong);
    const examples = [...GUIDE.matchAll(/^```yaml test\n([\s\S]*?)^```$/gm)]
      .map(([, text = ""]) => text)
      .join("---\n");
    const good = await server.open(folder.path("good.test.yaml"), MODELINE + examples);
    assert.deepEqual(good, []);
  },
);

verifies(
  "tests.schema",
  "the editor completes keys, answers, verdicts of a call and matchers, and explains them",
  async (t) => {
    const text = `${MODELINE}tests:
  - name: a
    call:
      endpoint: triage
      
    provider:
      reply: hi
      
    expect:
      status: 200
      
      content:
        
`;
    const folder = testFolder(t, { "test.json": await printed() });
    const server = await startLanguageServer(t);
    const path = folder.path("a.test.yaml");
    await server.open(path, text);
    const offered = async (line: number, column: number) =>
      new Set(await server.completions(path, line, column));
    const includes = (labels: ReadonlySet<string>, ...wanted: readonly string[]) => {
      for (const label of wanted) assert.ok(labels.has(label), `${label} in ${[...labels].join(" ")}`);
    };
    includes(await offered(6, 7), "message", "messages", "token", "stream");
    includes(await offered(9, 7), "usage", "chunks", "tool_calls");
    includes(await offered(12, 7), "guardrails", "cost_usd", "attempts", "snapshot");
    includes(await offered(14, 9), "contains", "matches", "one_of");
    assert.match(await server.hover(path, 11, 9), /HTTP status of the answer/);
  },
);
