/** The schema of the configuration: documented whole, true to itself, and read alike by its readers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv } from "ajv";
import fc from "fast-check";
import { pointerSegments } from "../../src/base/json-schema-engine.ts";
import { isPlainMap } from "../../src/config/read/tree.ts";
import { nearestName } from "../../src/config/report/suggest.ts";
import { schemaWith } from "../../src/config/schema/config.ts";
import { editorSchema } from "../../src/config/schema/editor.ts";
import type { SchemaNode } from "../../src/config/schema/keywords.ts";
import { isPlain, rulesOf } from "../../src/config/schema/rules.ts";
import { Registry } from "../../src/plugins-host/registry.ts";
import { loadPlugins } from "./kit.ts";

const configSchema = schemaWith(new Registry([]).stageKeys);

/** Without the gateway's bound on the time that a schema may take to compile, which a busy machine exceeds. */
function ajvRules(schema: object) {
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);
  return {
    faultsOf: (value: unknown) =>
      validate(value)
        ? []
        : (validate.errors ?? []).map(({ keyword, instancePath }) => ({
            keyword,
            path: pointerSegments(instancePath),
          })),
  };
}

function* nodesOf(node: SchemaNode, path: string): Generator<readonly [string, SchemaNode]> {
  yield [path, node];
  for (const [key, property] of Object.entries(node.properties ?? {}))
    yield* nodesOf(property, `${path}.${key}`);
  if (node.items !== undefined) yield* nodesOf(node.items, `${path}[]`);
  if (typeof node.additionalProperties === "object") yield* nodesOf(node.additionalProperties, `${path}.*`);
}

test("every key has a description; its default and its examples are values that it takes", () => {
  for (const [path, node] of nodesOf(configSchema, "")) {
    assert.equal(typeof node["description"], "string", path);
    const rules = rulesOf({ ...node });
    assert.ok(rules.ok, path);
    const examples: readonly unknown[] = Array.isArray(node["examples"]) ? node["examples"] : [];
    const isContainer =
      node.properties !== undefined || node.type === "array" || node.additionalProperties !== undefined;
    assert.ok(
      isContainer || "default" in node || examples.length > 0,
      `${path} has neither default nor example`,
    );
    for (const value of "default" in node ? [node.default, ...examples] : examples) {
      assert.deepEqual(rules.faultsOf(value), [], `${path}: ${JSON.stringify(value)}`);
    }
  }
});

test("every key is either required or has a default", () => {
  for (const [path, { properties = {}, required = [] }] of nodesOf(configSchema, "")) {
    for (const [key, property] of Object.entries(properties)) {
      const isSection = property.properties !== undefined;
      assert.ok(required.includes(key) || "default" in property || isSection, `${path}.${key}`);
    }
  }
});

test("the configuration's schema is read without Ajv, and as Ajv reads it", () => {
  assert.ok(isPlain(configSchema));
  const own = rulesOf(configSchema);
  const ajv = ajvRules(configSchema);
  assert.ok(own.ok);
  const leaf = fc.oneof(
    fc.constantFrom(null, true, 0, 1, -1, 2.5, 3e9, "", "x", "ai_gateway", "chat", [], {}),
    fc.string(),
  );
  const keys = fc.constantFrom(
    ...[
      "version",
      "server",
      "port",
      "projects",
      "name",
      "uuid",
      "endpoints",
      "tokens",
      "scopes",
      "hash",
      "type",
      "guardrails",
    ],
    ...[
      "use",
      "on",
      "temperature",
      "webhooks",
      "secret",
      "providers",
      "openai",
      "enabled",
      "headers",
      "plugins",
      "id",
    ],
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      leaf,
      fc.dictionary(keys, tie("value")),
      fc.array(tie("value"), { maxLength: 3 }),
    ),
  }));
  const document = fc.dictionary(keys, value);
  fc.assert(
    fc.property(document, (candidate) => {
      const places = (faults: readonly { readonly keyword: string; readonly path: readonly unknown[] }[]) =>
        new Set(
          faults.filter(({ keyword }) => keyword !== "propertyNames").map(({ path }) => JSON.stringify(path)),
        );
      assert.equal(own.faultsOf(candidate).length === 0, ajv.faultsOf(candidate).length === 0);
      // Ajv goes on after a wrong type; the places it then names are the same or further out.
      for (const place of places(own.faultsOf(candidate)))
        assert.ok(places(ajv.faultsOf(candidate)).has(place), place);
    }),
    { numRuns: 300 },
  );
});

test("schemas with other keywords go to Ajv, with the same words for what is wrong", () => {
  const schema = { type: "object", properties: { a: { type: "integer", multipleOf: 5 } } };
  assert.equal(isPlain(schema), false);
  const rules = rulesOf(schema);
  assert.ok(rules.ok);
  assert.deepEqual(
    rules.faultsOf({ a: 7 }).map(({ keyword, path }) => [keyword, path]),
    [["multipleOf", ["a"]]],
  );
  assert.equal(rulesOf({ properties: 5 }).ok, false);
});

test("the editors' schema is a valid draft-07 that knows the plugins", async () => {
  const schema = editorSchema(await loadPlugins([]));
  const compiled = ajvRules(schema);
  const config = (guardrail: object, provider: string) => ({
    version: 1,
    projects: [
      {
        uuid: "3e2f6c1a-58d4-4b5e-9a07-6f1d2c8b4e90",
        name: "A",
        type: "ai_gateway",
        endpoints: [{ name: "A", provider, guardrails: [guardrail] }],
      },
    ],
  });
  const faults = (guardrail: object, provider = "openai") =>
    compiled.faultsOf(config(guardrail, provider)).length;
  assert.equal(faults({ use: "content_length", max: 5, on: ["output"] }), 0);
  assert.notEqual(faults({ use: "content_length", max: 0 }), 0);
  assert.notEqual(faults({ use: "content_length", max: 5, strictness: "low" }), 0);
  assert.notEqual(faults({ use: "tone" }, "opnai"), 0);
  const { properties } = schema;
  assert.ok(
    isPlainMap(properties) && isPlainMap(properties["server"]),
    "sections come with their descriptions",
  );
});

test("a near name is one that a typing mistake makes, and no other", () => {
  const names = ["temperature", "top_p", "timeout_ms", "prompt"];
  const cases = {
    temprature: "temperature",
    temperatuer: "temperature",
    topp: "top_p",
    promt: "prompt",
    Prompt: "prompt",
  };
  for (const [written, meant] of Object.entries(cases))
    assert.equal(nearestName(written, names), meant, written);
  for (const written of ["humidity", "x", ""]) assert.equal(nearestName(written, names), undefined, written);
});
