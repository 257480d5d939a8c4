/** A document that a JSON Schema accepts, as small as its plain keywords allow. The caller finds out whether it does. */
import { isPlainMap, type PlainMap } from "../../config/read/tree.ts";
import { patternSample } from "./pattern-sample.ts";

const DEPTH_MAX = 12;
const ITEMS_MAX = 100;

export function schemaSample(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isPlainMap(schema) || depth > DEPTH_MAX) return "text";
  const { const: constant, enum: values, default: standard, examples, $ref: reference } = schema;
  if (constant !== undefined) return constant;
  if (Array.isArray(values)) return values[0];
  if (typeof reference === "string") return schemaSample(referred(root, reference), root, depth + 1);
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (standard !== undefined) return standard;
  const branches = schema["oneOf"] ?? schema["anyOf"];
  if (Array.isArray(branches))
    return schemaSample({ ...without(schema), ...asMap(branches[0]) }, root, depth + 1);
  const all = schema["allOf"];
  if (Array.isArray(all)) return schemaSample(all.reduce(merged, without(schema)), root, depth + 1);
  return ofType(schema, root, depth);
}

function ofType(schema: PlainMap, root: unknown, depth: number): unknown {
  const { type } = schema;
  const name: unknown = Array.isArray(type) ? type[0] : type;
  switch (name) {
    case "integer":
    case "number":
      return number(schema, name === "integer");
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return list(schema, root, depth);
    case "string":
      return text(schema);
    default:
      return isPlainMap(schema["properties"]) || Array.isArray(schema["required"]) || name === "object"
        ? map(schema, root, depth)
        : "text";
  }
}

function map(schema: PlainMap, root: unknown, depth: number): PlainMap {
  const { properties, required } = schema;
  const known = asMap(properties);
  const keys = Array.isArray(required) ? required.filter((key) => typeof key === "string") : [];
  return Object.fromEntries(keys.map((key) => [key, schemaSample(known[key], root, depth + 1)]));
}

function list(schema: PlainMap, root: unknown, depth: number): readonly unknown[] {
  const { minItems, items } = schema;
  const count = typeof minItems === "number" ? Math.min(minItems, ITEMS_MAX) : 0;
  return Array.from({ length: count }, () => schemaSample(items, root, depth + 1));
}

function number({ minimum, exclusiveMinimum, maximum, multipleOf }: PlainMap, isInteger: boolean): number {
  const step = typeof multipleOf === "number" ? multipleOf : 1;
  if (typeof minimum === "number") return Math.ceil(minimum / step) * step;
  if (typeof exclusiveMinimum === "number") {
    const next = (Math.floor(exclusiveMinimum / step) + 1) * step;
    return isInteger ? Math.ceil(next) : next;
  }
  return typeof maximum === "number" ? Math.min(step, Math.floor(maximum / step) * step) : step;
}

const FORMATS: Readonly<Record<string, string>> = {
  email: "ann@example.org",
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  uri: "https://example.org/",
  url: "https://example.org/",
  uuid: "6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11",
  hostname: "example.org",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
};

function text({ format, pattern, minLength, maxLength }: PlainMap): string {
  if (typeof format === "string" && FORMATS[format] !== undefined) return FORMATS[format];
  const sample = (typeof pattern === "string" ? patternSample(pattern) : undefined) ?? "text";
  const least = typeof minLength === "number" ? minLength : 0;
  const most = typeof maxLength === "number" ? maxLength : Number.POSITIVE_INFINITY;
  return sample.padEnd(least, "x").slice(0, most);
}

function referred(root: unknown, reference: string): unknown {
  let value = root;
  for (const part of reference.replace(/^#\/?/, "").split("/")) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (key !== "") value = asMap(value)[key];
  }
  return value;
}

function merged(one: PlainMap, other: unknown): PlainMap {
  const { properties, required, ...rest } = asMap(other);
  const keys = [one["required"], required].flatMap((list) => (Array.isArray(list) ? list : []));
  return {
    ...one,
    ...rest,
    properties: { ...asMap(one["properties"]), ...asMap(properties) },
    required: keys,
  };
}

function without({ oneOf: _one, anyOf: _any, allOf: _all, ...rest }: PlainMap): PlainMap {
  return rest;
}

function asMap(value: unknown): PlainMap {
  return isPlainMap(value) ? value : {};
}
