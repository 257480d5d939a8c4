/** A key is declared once: what it takes, its default, its type, the editors' schema and the reference follow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyRows } from "../../scripts/schema-table.ts";
import type { PluginLoader } from "../../src/config/load.ts";
import { isPlainMap } from "../../src/config/read/tree.ts";
import { declaredBy, schemaWith } from "../../src/config/schema/config.ts";
import { editorSchema } from "../../src/config/schema/editor.ts";
import { state } from "../../src/config/schema/gateway.ts";
import { flag, integer, name, orNull, type SchemaNode, section } from "../../src/config/schema/keywords.ts";
import { rulesOf } from "../../src/config/schema/rules.ts";
import type { OptionsOf } from "../../src/plugin/index.ts";
import { fill } from "../../src/plugin/schema-defaults.ts";
import type { FilledOf, ValueOf } from "../../src/plugin/schema-type.ts";
import { BUILT_IN } from "../../src/plugins-host/builtin.ts";
import { Registry } from "../../src/plugins-host/registry.ts";
import { brief, folderOf, loadPlugins, projectOf } from "./kit.ts";

/** Compiles only when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <Fact extends true>(fact: Fact): void => assert.ok(fact);

/** The whole declaration of a key that a stage might get. */
const endpointKeys = {
  session_turns_kept: {
    type: "integer",
    description: "Turns that trimming always keeps.",
    ...{ minimum: 1, maximum: 9, default: 3 },
  },
} as const;

const { stageKeys: known } = new Registry([]);
const stageKeys = [...known, { endpointKeys }];
const withStage: PluginLoader = async (modules) => ({ ...(await loadPlugins(modules)), stageKeys });

const endpoint = (more: string) =>
  projectOf(`    endpoints:\n      - { name: Echo, provider: mock, model: m${more} }\n`);

test("a stage's key is validated, filled in and typed by its declaration", async (t) => {
  const folder = folderOf(t, { "gateway.config.yaml": endpoint(", session_turns_kept: 10") });
  const { errors } = await folder.load({}, withStage);
  assert.deepEqual(errors.map(brief), ["E0107 7:69 projects[0].endpoints[0].session_turns_kept"]);
  for (const [written, value] of [
    ["", 3],
    [", session_turns_kept: 5", 5],
  ] as const) {
    folder.write({ "gateway.config.yaml": endpoint(written) });
    const { config } = await folder.load({}, withStage);
    const [loaded] = config?.projects[0]?.endpoints ?? [];
    assert.equal(Reflect.get(loaded ?? {}, "session_turns_kept"), value);
  }
  isTrue<Same<OptionsOf<object, typeof endpointKeys>, { readonly session_turns_kept: number }>>(true);
});

test("a key that no stage declares is unknown", async (t) => {
  const folder = folderOf(t, { "gateway.config.yaml": endpoint(", session_turns_kept: 5") });
  const { errors } = await folder.load();
  assert.deepEqual(
    errors.map(({ code }) => code),
    ["E0101"],
  );
});

test("endpoint_defaults, the editors' schema and the reference have a stage's key; aliases only where they should", async () => {
  const schema = schemaWith(stageKeys);
  const rows = keyRows(schema).filter(({ row }) => row.includes("session_turns_kept"));
  assert.deepEqual(
    rows.map(({ row }) => row),
    [
      "| `projects[].endpoint_defaults.session_turns_kept` | integer, 1 to 9 | `3` | Turns that trimming always keeps. |",
      "| `projects[].endpoints[].session_turns_kept` | integer, 1 to 9 | `3` | Turns that trimming always keeps. |",
    ],
  );
  const forAliases = schemaWith([{ endpointKeys, areAliasKeys: true }]);
  assert.ok(keyRows(forAliases).some(({ row }) => row.includes("aliases[].session_turns_kept")));
  const editors = JSON.stringify(editorSchema(await withStage([])));
  assert.equal(editors.split('"session_turns_kept":').length - 1, 2);
});

test("a key of a section is validated, filled in, typed and documented by its declaration", () => {
  const door = section(
    "Where calls come in.",
    {
      name: name("Its name.", { examples: ["front"] }),
      port: integer("Its port.", 1, 9, { default: 7 }),
      limit: orNull(integer("Calls at a time.", 1, 99, { examples: [9] })),
      quiet: flag("Whether it logs nothing.", false),
    },
    { required: ["name"] },
  );
  type Filled = { readonly limit: number | null; readonly port: number; readonly quiet: boolean };
  const valid: ValueOf<typeof door> = { name: "front", port: 7, limit: null, quiet: false };
  isTrue<Same<Pick<ValueOf<typeof door>, keyof Filled>, Filled>>(true);
  isTrue<Same<ValueOf<typeof door>["name"], string>>(true);
  isTrue<Same<FilledOf<typeof door>["name"], string | undefined>>(true);
  const rules = rulesOf(door);
  assert.ok(rules.ok);
  assert.deepEqual(
    rules.faultsOf({ port: 10 }).map(({ keyword }) => keyword),
    ["required", "maximum"],
  );
  assert.deepEqual(fill(door, { name: "front" }), valid);
  assert.deepEqual(keyRows(door)[1]?.row, "| `port` | integer, 1 to 9 | `7` | Its port. |");
});

test("filled maps have their keys in the schema's order, unknown ones last", () => {
  const schema = section("Two keys.", { a: flag("A.", true), b: flag("B.", true) });
  const keysOf = (value: unknown) => Object.keys(value ?? {});
  assert.deepEqual(keysOf(fill(schema, { z: 1, b: false, a: false })), ["a", "b", "z"]);
  const odd: unknown = JSON.parse('{ "b": false, "__proto__": { "a": false } }');
  assert.deepEqual(keysOf(fill(schema, odd)), ["a", "b", "__proto__"]);
});

test("a key is declared by one stage; what another reads of it is of its type", () => {
  const declared = new Set<string>();
  for (const { endpointKeys: keys = {}, name: stage } of known) {
    for (const key of Object.keys(declaredBy([{ endpointKeys: keys }]))) {
      assert.ok(!declared.has(key), `${stage}: ${key}`);
      declared.add(key);
    }
  }
  const { properties = {} } =
    schemaWith(known).properties?.["projects"]?.items?.properties?.["endpoints"]?.items ?? {};
  const typesOf = ({ type = [] }: SchemaNode): readonly string[] =>
    typeof type === "string" ? [type] : type;
  for (const { endpointKeys: keys = {}, name: stage } of known) {
    for (const [key, schema] of Object.entries(keys)) {
      const whole = properties[key];
      assert.ok(isPlainMap(whole), `${stage} reads ${key}, which nothing declares`);
      // A stage whose keys are all null is left out, so it need not name null.
      const missing = typesOf(schema).filter((type) => !typesOf(whole).includes(type));
      const isOfAlias = key === "max_output_tokens"; // null: of an alias that sets no cap.
      assert.ok(missing.length === 0 || isOfAlias, `${stage}: ${key} is never ${missing}`);
    }
  }
});

test("only built-in stages may add keys to endpoints", () => {
  const registry = new Registry(BUILT_IN);
  const module = { specifier: "x", from: "/", version: "", files: [], at: { file: "", line: 1, column: 1 } };
  const stage = BUILT_IN.find(({ name: one }) => one === "limit");
  assert.ok(stage);
  registry.addModule(module, [{ ...stage, name: "acme-limit" }]);
  assert.match(registry.failures[0]?.message ?? "", /endpointKeys, which only built-in stages may have/);
  assert.equal(registry.stages.has("acme-limit"), false);
});

test("stores that ship are registered like others, and only they may read keys of state", () => {
  const registry = new Registry(BUILT_IN);
  assert.deepEqual(registry.names("store"), ["memory", "file", "redis"]);
  const known = Object.keys(state.properties);
  for (const { stateKeys = {} } of registry.stores.values()) {
    for (const key of Object.keys(stateKeys)) assert.ok(known.includes(key), key);
  }
  const module = { specifier: "x", from: "/", version: "", files: [], at: { file: "", line: 1, column: 1 } };
  const file = registry.stores.get("file");
  assert.ok(file);
  registry.addModule(module, [{ ...file, name: "acme-file" }]);
  assert.match(registry.failures[0]?.message ?? "", /stateKeys, which only built-in stores may have/);
  const { stateKeys: _, ...plain } = file;
  registry.addModule(module, [plain]);
  assert.match(registry.failures[1]?.message ?? "", /there is a store named 'file' already/);
});

test("a section that requires keys is not made up when it is absent", () => {
  const inner = section("Both or none.", { key: name("A key.", { examples: ["k"] }) }, { required: ["key"] });
  const outer = section("An outer section.", {
    inner,
    other: section("Defaults only.", { a: flag("A.", true) }),
  });
  assert.deepEqual(fill(outer, {}), { other: { a: true } });
  isTrue<Same<ValueOf<typeof outer>["inner"], { readonly key: string } | undefined>>(true);
});
