/** The tables of keys are held to the configuration's schema: a key that is added to one is missed in the other. */
import assert from "node:assert/strict";
import { schemaWith } from "../../src/config/schema/config.ts";
import type { SchemaNode } from "../../src/config/schema/keywords.ts";
import { fieldsOf } from "../../src/plan/fields/fields.ts";
import type { ObjectKind } from "../../src/plan/objects.ts";
import { Registry } from "../../src/plugins-host/registry.ts";
import { verifies } from "../spec/verifies.ts";

const schema = schemaWith(new Registry([]).stageKeys);

const at = (node: SchemaNode, ...keys: readonly string[]): SchemaNode =>
  keys.reduce((one, key) => {
    const next = key === "[]" ? one.items : key === "*" ? one.additionalProperties : one.properties?.[key];
    assert.ok(typeof next === "object", keys.join("."));
    return next;
  }, node);

const keysOf = (node: SchemaNode): readonly string[] => Object.keys(node.properties ?? {});

/** Lists of a project whose items are objects of their own. */
const LISTS: Readonly<Record<string, ObjectKind>> = {
  credentials: "credential",
  provider_templates: "template",
  tokens: "token",
  endpoints: "endpoint",
  aliases: "alias",
  proxy_endpoints: "proxy_endpoint",
  oauth_connections: "oauth_connection",
  mcp_servers: "mcp_server",
  webhooks: "webhook",
};

/** Keys that have a rule before they are in the schema: of renames, roles and recent calls. */
const ANNOUNCED: readonly string[] = ["moved_from", "role", "projects"];

function assertTable(kind: ObjectKind, name: string, schemaKeys: readonly string[]): void {
  const table = Object.keys(fieldsOf({ ref: { kind, project: null, name } }));
  const missing = schemaKeys.filter((key) => !table.includes(key));
  const stale = table.filter((key) => !schemaKeys.includes(key) && !ANNOUNCED.includes(key));
  assert.deepEqual({ missing, stale }, { missing: [], stale: [] }, `${kind} ${name}`);
}

verifies("plan.rules.keys", "every key of the configuration has its place in a table of rules", () => {
  const project = at(schema, "projects", "[]");
  const own = keysOf(project).filter(
    (key) => !(key in LISTS) && key !== "endpoint_defaults" && key !== "include",
  );
  assertTable("project", "", own);
  for (const [list, kind] of Object.entries(LISTS)) assertTable(kind, "", keysOf(at(project, list, "[]")));
  assertTable("endpoint_defaults", "", [
    ...new Set([...keysOf(at(project, "endpoint_defaults")), ...keysOf(at(project, "endpoints", "[]"))]),
  ]);
  assertTable("provider", "", keysOf(at(schema, "providers", "*")));
  assertTable("price", "", keysOf(at(schema, "prices", "[]")));
  assertTable("control_token", "", keysOf(at(schema, "control_plane", "tokens", "[]")));
});

verifies(
  "plan.rules.keys",
  "every section of the gateway has a table, and no other key of the root is a section",
  () => {
    const lists = ["projects", "providers", "prices", "plugins", "include"];
    for (const key of keysOf(schema).filter((one) => !lists.includes(one))) {
      const section = at(schema, key);
      const keys = section.properties === undefined ? ["value"] : keysOf(section);
      assertTable(
        "gateway",
        key,
        keys.filter((one) => !(key === "control_plane" && one === "tokens")),
      );
    }
    const nested = Object.entries(at(schema, "telemetry").properties ?? {});
    assert.deepEqual(
      nested.map(([key, node]) => [key, keysOf(node)]),
      [["otlp", ["endpoint", "headers", "content"]]],
    );
  },
);
