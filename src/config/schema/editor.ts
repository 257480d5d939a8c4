/**
 * The configuration's schema as editors want it: draft-07, which all of them read, with the plugins' names offered and
 * their options described. Not used to validate: see rules.ts and check/options.ts.
 */
import type { PluginKind, PluginLookup } from "../plugins.ts";
import { isPlainMap, type PlainMap } from "../read/tree.ts";
import { schemaWith } from "./config.ts";
import { acceptReferences } from "./editor-references.ts";
import { GUARDRAIL_KEYS, guardrailUse, stageUse } from "./endpoint.ts";

/** What a file is: a whole configuration, a part of one, a part of a project, or an overlay. */
export const FILE_KINDS = ["config", "part", "project-part", "overlay"] as const;
export type FileKind = (typeof FILE_KINDS)[number];

const TITLES: Readonly<Record<FileKind, string>> = {
  config: "Sluice configuration",
  part: "Part of a Sluice configuration",
  "project-part": "Part of a project of a Sluice configuration",
  overlay: "Overlay of a Sluice configuration",
};

/** Schemas by what they describe: the parts that are used in many places are written once, under `definitions`. */
export function editorSchema(plugins: PluginLookup, kind: FileKind = "config"): PlainMap {
  const shared = new Map<unknown, string>([
    [guardrailUse, "guardrail"],
    [stageUse, "stage"],
  ]);
  const schema = schemaWith(plugins.stageKeys);
  const part = kind === "project-part" ? schema.properties?.["projects"]?.items : schema;
  const root = asMap(written(part, shared));
  const offered = offerNames(root, plugins);
  const definitions: PlainMap = {
    guardrail: withOptions(guardrailUse, "guardrail", plugins),
    stage: withOptions(stageUse, "stage", plugins),
    ...optionSchemas(plugins),
  };
  const accepting = acceptReferences({ ...ofKind(offered, kind), definitions });
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: TITLES[kind],
    ...asMap(accepting),
  };
}

function asMap(value: unknown): PlainMap {
  return isPlainMap(value) ? value : {};
}

/** What may be left out depends on the kind of file, and an overlay removes with null. */
function ofKind(schema: PlainMap, kind: FileKind): PlainMap {
  const { required: _, ...rest } = schema;
  if (kind === "config") return schema;
  return kind === "overlay" ? asMap(asOverlay(rest, true)) : rest;
}

/** Keys that tell the entries of a list apart, so that entries of an overlay are laid over them. */
const IDENTITIES = ["uuid", "slug", "alias", "id", "name", "hash"];

/** A copy of a map's schema whose values may be null, and whose entries may leave out what is given below them. */
function asOverlay(schema: unknown, isRoot = false): unknown {
  if (!isPlainMap(schema)) return schema;
  const { properties, items, additionalProperties, type, enum: values } = schema;
  const copy: PlainMap = { ...schema };
  if (!isRoot && type !== undefined) copy["type"] = withNull(type);
  if (!isRoot && Array.isArray(values) && !values.includes(null)) copy["enum"] = [...values, null];
  if (isPlainMap(properties)) {
    const { required: _, ...rest } = copy;
    const entries = Object.entries(properties).map(([key, value]) => [key, asOverlay(value)]);
    return { ...rest, properties: Object.fromEntries(entries) };
  }
  if (isPlainMap(items)) copy["items"] = isIdentified(items) ? asOverlay(items, true) : replacing(items);
  if (isPlainMap(additionalProperties)) copy["additionalProperties"] = asOverlay(additionalProperties);
  return copy;
}

function withNull(type: unknown): unknown {
  const types = Array.isArray(type) ? type : [type];
  return types.includes("null") ? type : [...types, "null"];
}

function isIdentified({ properties }: PlainMap): boolean {
  if (!isPlainMap(properties)) return false;
  const isPrice = Object.hasOwn(properties, "model") && Object.hasOwn(properties, "input");
  return isPrice || IDENTITIES.some((key) => Object.hasOwn(properties, key));
}

/** An entry of a list that an overlay replaces: whole, or the marker that says so. */
function replacing(items: PlainMap): PlainMap {
  const isObject = items["type"] === "object" || items["$ref"] !== undefined;
  if (!isObject) return items;
  const marker = {
    type: "object",
    description: "As the first entry: the list replaces the one below it.",
    properties: { replace: { const: true } },
    required: ["replace"],
  };
  return { if: marker, else: items };
}

/** A copy with shared parts as `$ref`. */
function written(schema: unknown, shared: ReadonlyMap<unknown, string>): unknown {
  const name = shared.get(schema);
  if (name !== undefined) return { $ref: `#/definitions/${name}` };
  if (Array.isArray(schema)) return schema.map((item) => written(item, shared));
  if (!isPlainMap(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, written(value, shared)]));
}

/** Every `provider` key offers the providers there are, `state.driver` the stores. */
function offerNames(schema: PlainMap, plugins: PluginLookup): PlainMap {
  const names: Readonly<Record<string, readonly string[]>> = {
    provider: plugins.names("provider"),
    driver: plugins.names("store"),
  };
  const copy: PlainMap = {};
  for (const [key, value] of Object.entries(schema)) {
    copy[key] = isPlainMap(value) ? offerNames(value, plugins) : value;
    const offered = names[key];
    if (offered === undefined || offered.length === 0 || !isPlainMap(value) || !("description" in value))
      continue;
    copy[key] = { ...value, enum: Array.isArray(value["type"]) ? [...offered, null] : offered };
  }
  const { description, additionalProperties, examples } = copy;
  const isByProvider = typeof description === "string" && description.includes("by provider key");
  if (isByProvider && isPlainMap(additionalProperties) && names["provider"]?.length !== 0) {
    const each = Object.fromEntries((names["provider"] ?? []).map((name) => [name, additionalProperties]));
    return { ...copy, properties: each, additionalProperties: false, examples };
  }
  return copy;
}

/** The schemas of the plugins' options, each under a name of its own, so that references inside them find their targets. */
function optionSchemas(plugins: PluginLookup): PlainMap {
  const schemas: PlainMap = {};
  for (const kind of ["guardrail", "stage"] as const) {
    for (const name of plugins.names(kind)) {
      const schema = plugins.find(kind, name)?.schema;
      if (schema !== undefined) schemas[definitionOf(kind, name)] = embedded(schema, kind, name);
    }
  }
  return schemas;
}

function definitionOf(kind: PluginKind, name: string): string {
  return `${kind} ${name}`;
}

/** The schema with what names itself left out, and references to itself pointing to where it is now. */
function embedded(schema: unknown, kind: PluginKind, name: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => embedded(item, kind, name));
  if (!isPlainMap(schema)) return schema;
  const copy: PlainMap = {};
  for (const [key, value] of Object.entries(schema)) {
    if ((key === "$schema" || key === "$id") && typeof value === "string") continue;
    const isOwn = key === "$ref" && typeof value === "string" && value.startsWith("#");
    const target = `#/definitions/${encodeURIComponent(definitionOf(kind, name))}`;
    copy[key] = isOwn ? `${target}${value.slice(1)}` : embedded(value, kind, name);
  }
  return copy;
}

/** One branch for each plugin: what `use` names decides which options are known. */
function withOptions(use: PlainMap, kind: "guardrail" | "stage", plugins: PluginLookup): PlainMap {
  const names = plugins.names(kind);
  const properties = asMap(use["properties"]);
  // An empty `enum` is not valid, and some editors drop the whole schema for it.
  const named = names.length === 0 ? properties["use"] : { ...asMap(properties["use"]), enum: names };
  const branches = names.map((name) => {
    const schema = embedded(plugins.find(kind, name)?.schema, kind, name);
    return {
      if: { properties: { use: { const: name } }, required: ["use"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: kind === "guardrail" ? besideUse(schema) : { properties: { options: schema ?? true } },
    };
  });
  return {
    ...use,
    properties: { ...properties, use: named },
    ...(branches.length === 0 ? {} : { allOf: branches }),
  };
}

/** A guardrail's options are next to its own keys, so those are allowed too; what is required may be under `options`. */
function besideUse(schema: unknown): PlainMap {
  if (!isPlainMap(schema)) return {};
  const { required, properties, ...rest } = schema;
  const own = Object.fromEntries([...GUARDRAIL_KEYS].map((key) => [key, true]));
  const beside = { ...rest, properties: { ...asMap(properties), ...own } };
  if (!Array.isArray(required) || required.length === 0) return beside;
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  return { ...beside, if: { not: { required: ["options"] } }, then: { required } };
}
