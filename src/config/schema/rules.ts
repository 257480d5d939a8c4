/**
 * Applies a JSON Schema to plain values and returns every fault, each with the schema that it breaks. Schemas written
 * in the plain keywords, as the configuration's own and most plugins' are, are interpreted here: compiling them would
 * take longer than a whole load. Any other schema goes to Ajv.
 */
import {
  type CompiledRules,
  compileRules,
  type JsonPath,
  malformation,
  refusedPattern,
  type SchemaFault,
} from "../../base/json-schema.ts";
import { type LinearPattern, linearPattern } from "../../base/linear-pattern.ts";
import type { JsonSchema } from "../../plugin/chat.ts";
import { isPlainMap } from "../read/tree.ts";
import { kindOf } from "../report/diagnostic.ts";

type SchemaMap = Readonly<Record<string, unknown>>;

const ANNOTATIONS = [
  "$comment",
  "default",
  "deprecated",
  "description",
  "examples",
  "patternErrorMessage",
  "title",
];
const PLAIN_KEYWORDS: ReadonlySet<string> = new Set([
  ...ANNOTATIONS,
  ...["type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["minLength", "maxLength", "pattern", "items", "minItems", "maxItems", "uniqueItems"],
  ...["properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties"],
]);

/** Who wrote a schema. The gateway's own patterns are held to linear time by a test; a plugin's run on RE2. */
export type Author = "gateway" | "plugin";

/** Rules of a schema, or why it has none. Equal schemas may be given again and again: one object is looked up once. */
export function rulesOf(schema: JsonSchema, author: Author = "gateway"): CompiledRules {
  if (typeof schema !== "object") return compileRules(schema);
  const known = author === "gateway" ? own : foreign;
  let rules = known.get(schema);
  if (rules === undefined) {
    const plain: CompiledRules = { ok: true, faultsOf: (value) => collect(schema, value, author) };
    const malformed = (): CompiledRules | undefined =>
      malformation(schema) ?? (author === "plugin" ? refusedPattern(schema) : undefined);
    rules = isPlain(schema) ? (malformed() ?? plain) : compileRules(schema);
    known.set(schema, rules);
  }
  return rules;
}

const own = new WeakMap<object, CompiledRules>();
const foreign = new WeakMap<object, CompiledRules>();

/** True when every keyword of the schema, at every depth, is one that is interpreted here. */
export function isPlain(schema: unknown): boolean {
  if (typeof schema === "boolean") return true;
  if (!isPlainMap(schema)) return false;
  const { properties, items, additionalProperties, propertyNames } = schema;
  const children: unknown[] = [items, additionalProperties, propertyNames].filter(
    (child) => child !== undefined,
  );
  if (isPlainMap(properties)) children.push(...Object.values(properties));
  return Object.keys(schema).every((keyword) => PLAIN_KEYWORDS.has(keyword)) && children.every(isPlain);
}

/** One schema at one place of the value. */
interface Visit {
  readonly schema: SchemaMap;
  readonly path: JsonPath;
  readonly faults: Faults;
}

/** The faults found so far, and whose schema finds them. */
interface Faults {
  readonly found: SchemaFault[];
  readonly author: Author;
}

function collect(schema: SchemaMap, value: unknown, author: Author): readonly SchemaFault[] {
  const found: SchemaFault[] = [];
  apply(schema, value, [], { found, author });
  return found;
}

function apply(schema: unknown, value: unknown, path: JsonPath, faults: Faults): void {
  if (schema === false) add({ schema: {}, path, faults }, "false schema", "nothing may stand here");
  if (!isPlainMap(schema)) return;
  const visit = { schema, path, faults };
  const { type } = schema;
  if (type !== undefined && !isOfType(value, Array.isArray(type) ? type : [type])) {
    add(visit, "type", `must be ${String(type)}, not ${kindOf(value)}`, { type });
    return; // What else the schema says is about values of its type.
  }
  applyToAny(visit, value);
  if (typeof value === "string") applyToText(visit, value);
  else if (typeof value === "number") applyToNumber(visit, value);
  else if (Array.isArray(value)) applyToList(visit, value);
  else if (isPlainMap(value)) applyToMap(visit, value);
}

function applyToAny(visit: Visit, value: unknown): void {
  const { schema } = visit;
  const allowedValues = "const" in schema ? [schema["const"]] : schema["enum"];
  if (!Array.isArray(allowedValues) || allowedValues.some((allowed) => isEqual(allowed, value))) return;
  add(visit, "enum", "must be one of the allowed values", { allowedValues });
}

function applyToText(visit: Visit, value: string): void {
  const { length } = value; // Code points are counted only where code units do not decide.
  limit(visit, "minLength", (min) => length < min || (length < 2 * min && [...value].length < min));
  limit(visit, "maxLength", (max) => length > max && [...value].length > max);
  const { pattern } = visit.schema;
  if (typeof pattern !== "string" || patternOf(pattern, visit.faults.author).test(value)) return;
  add(visit, "pattern", `must match ${pattern}`, { pattern });
}

function applyToNumber(visit: Visit, value: number): void {
  limit(visit, "minimum", (min) => value < min);
  limit(visit, "maximum", (max) => value > max);
  limit(visit, "exclusiveMinimum", (min) => value <= min);
  limit(visit, "exclusiveMaximum", (max) => value >= max);
}

function applyToList(visit: Visit, value: readonly unknown[]): void {
  limit(visit, "minItems", (min) => value.length < min);
  limit(visit, "maxItems", (max) => value.length > max);
  const { items, uniqueItems } = visit.schema;
  if (uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length) {
    add(visit, "uniqueItems", "must not hold an item twice");
  }
  if (items === undefined) return;
  for (const [index, item] of value.entries()) apply(items, item, [...visit.path, index], visit.faults);
}

function applyToMap(visit: Visit, value: SchemaMap): void {
  const { properties, required, additionalProperties, propertyNames } = visit.schema;
  const keys = Object.keys(value);
  limit(visit, "minProperties", (min) => keys.length < min);
  limit(visit, "maxProperties", (max) => keys.length > max);
  for (const missingProperty of Array.isArray(required) ? required : []) {
    if (Object.hasOwn(value, missingProperty)) continue;
    add(visit, "required", `must have ${missingProperty}`, { missingProperty });
  }
  for (const key of keys) {
    const path = [...visit.path, key];
    if (propertyNames !== undefined) apply(propertyNames, key, path, visit.faults);
    if (isPlainMap(properties) && Object.hasOwn(properties, key)) {
      apply(properties[key], value[key], path, visit.faults);
    } else if (additionalProperties === false) {
      add(visit, "additionalProperties", `must not have ${key}`, { additionalProperty: key });
    } else if (additionalProperties !== undefined) {
      apply(additionalProperties, value[key], path, visit.faults);
    }
  }
}

function limit(visit: Visit, keyword: string, isBroken: (bound: number) => boolean): void {
  const bound = visit.schema[keyword];
  if (typeof bound !== "number" || !isBroken(bound)) return;
  add(visit, keyword, `breaks ${keyword} ${bound}`, { limit: bound });
}

function add(
  { schema, path, faults }: Visit,
  keyword: string,
  message: string,
  params: SchemaMap = {},
): void {
  faults.found.push({ keyword, path, schema, message, params, schemaPath: "" });
}

function isOfType(value: unknown, types: readonly unknown[]): boolean {
  return types.some((type) => {
    if (type === "null") return value === null;
    if (type === "array") return Array.isArray(value);
    if (type === "object") return isPlainMap(value);
    if (type === "integer") return Number.isInteger(value);
    if (type === "number") return Number.isFinite(value);
    return typeof value === type;
  });
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && a !== null && JSON.stringify(a) === JSON.stringify(b));
}

const PATTERNS_MAX = 1000;
const patterns: Readonly<Record<Author, Map<string, LinearPattern>>> = {
  gateway: new Map(),
  plugin: new Map(),
};

function patternOf(source: string, author: Author): LinearPattern {
  const known = patterns[author];
  let pattern = known.get(source);
  if (pattern === undefined) {
    pattern = author === "gateway" ? new RegExp(source, "u") : linearPattern(source);
    if (known.size < PATTERNS_MAX) known.set(source, pattern);
  }
  return pattern;
}
