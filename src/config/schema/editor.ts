/**
 * The configuration's schema as editors want it: draft-07, which all of them read, with the plugins' names offered and
 * their options described. Not used to validate: see rules.ts and check/options.ts.
 */
import type { PluginKind, PluginLookup } from "../plugins.ts";
import { isPlainMap, type PlainMap } from "../tree.ts";
import { configSchema } from "./config.ts";
import { GUARDRAIL_KEYS, guardrailUse, stageUse } from "./endpoint.ts";

/** Schemas by what they say: the parts that stand in many places are written once, under `definitions`. */
export function editorSchema(plugins: PluginLookup): PlainMap {
  const providers = plugins.names("provider");
  const shared = new Map<unknown, string>([
    [guardrailUse, "guardrail"],
    [stageUse, "stage"],
  ]);
  const root = written(configSchema, shared);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Sluice configuration",
    ...(isPlainMap(root) ? offerProviders(root, providers) : {}),
    definitions: {
      guardrail: withOptions(guardrailUse, "guardrail", plugins),
      stage: withOptions(stageUse, "stage", plugins),
    },
  };
}

/** A copy with shared parts as `$ref`. */
function written(schema: unknown, shared: ReadonlyMap<unknown, string>): unknown {
  const name = shared.get(schema);
  if (name !== undefined) return { $ref: `#/definitions/${name}` };
  if (Array.isArray(schema)) return schema.map((item) => written(item, shared));
  if (!isPlainMap(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, written(value, shared)]));
}

/** Every `provider` key offers the providers there are. */
function offerProviders(schema: PlainMap, names: readonly string[]): PlainMap {
  const copy: PlainMap = {};
  for (const [key, value] of Object.entries(schema)) {
    if (Array.isArray(value)) copy[key] = value;
    else if (isPlainMap(value)) copy[key] = offerProviders(value, names);
    else copy[key] = value;
    const isChoice = key === "provider" && isPlainMap(value) && "description" in value;
    if (isChoice) copy[key] = { ...value, enum: Array.isArray(value["type"]) ? [...names, null] : names };
  }
  return copy;
}

/** One branch for each plugin: what `use` names decides which options are known. */
function withOptions(use: PlainMap, kind: PluginKind, plugins: PluginLookup): PlainMap {
  const names = plugins.names(kind);
  const properties = isPlainMap(use["properties"]) ? use["properties"] : {};
  const named = isPlainMap(properties["use"]) ? { ...properties["use"], enum: names } : {};
  const branches = names.map((name) => ({
    if: { properties: { use: { const: name } }, required: ["use"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then:
      kind === "guardrail"
        ? besideUse(plugins.find(kind, name)?.schema)
        : underOptions(plugins.find(kind, name)?.schema),
  }));
  return {
    ...use,
    properties: { ...properties, use: named },
    ...(branches.length === 0 ? {} : { allOf: branches }),
  };
}

function underOptions(schema: unknown): PlainMap {
  return { properties: { options: schema ?? true } };
}

/** A guardrail's options stand beside its own keys, so those are allowed too; what is required may stand under `options`. */
function besideUse(schema: unknown): PlainMap {
  if (!isPlainMap(schema)) return {};
  const { required: _, properties, ...rest } = schema;
  const own = Object.fromEntries([...GUARDRAIL_KEYS].map((key) => [key, true]));
  return { ...rest, properties: { ...(isPlainMap(properties) ? properties : {}), ...own } };
}
