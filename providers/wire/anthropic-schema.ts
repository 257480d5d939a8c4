/**
 * The part of a JSON Schema that Anthropic's models can be held to. What is left out makes it looser, never wrong: the
 * gateway checks the answer against the whole schema anyway.
 */
import { asObject, type JsonObject, type JsonSchema } from "sluice/provider";

const KEPT = ["type", "enum", "const", "title", "description", "required"] as const;
/** One of these says what a value is; a value of any kind cannot be asked for. */
const SAYS_WHAT = ["type", "enum", "const", "anyOf", "allOf"] as const;
const FORMATS: ReadonlySet<unknown> = new Set([
  ...["date-time", "time", "date", "duration"],
  ...["email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
]);

/** Deeper ones, and those that refer to themselves. */
const DEPTH_MAX = 32;
const SCHEMAS_MAX = 2000;

/**
 * undefined: the models cannot be told it. It is no object, refers to itself, or has a part that may hold anything, such
 * as an object with keys of any name.
 */
export function anthropicSchema(schema: JsonSchema): JsonObject | undefined {
  return typeof schema === "object" && schema["type"] === "object"
    ? new Reduction(schema).of(schema, DEPTH_MAX)
    : undefined;
}

class Reduction {
  readonly #root: JsonObject;
  #schemasLeft = SCHEMAS_MAX;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  of(value: unknown, depthLeft: number): JsonObject | undefined {
    const schema = asObject(value);
    if (schema === undefined || depthLeft === 0 || this.#schemasLeft-- === 0) return undefined;
    const { $ref, format, minItems, items, properties, oneOf, anyOf = oneOf, allOf } = schema;
    // In the place of a reference stands what it refers to.
    if (typeof $ref === "string") return this.of(this.#target($ref), depthLeft - 1);
    const parts: Record<string, unknown> = {};
    if (items !== undefined) parts["items"] = this.of(items, depthLeft - 1);
    if (properties !== undefined) parts["properties"] = this.#named(properties, depthLeft - 1);
    if (anyOf !== undefined) parts["anyOf"] = this.#list(anyOf, depthLeft - 1);
    if (allOf !== undefined) parts["allOf"] = this.#list(allOf, depthLeft - 1);
    if (Object.values(parts).includes(undefined)) return undefined;
    for (const key of KEPT) if (key in schema) parts[key] = schema[key];
    if (FORMATS.has(format)) parts["format"] = format;
    if (minItems === 0 || minItems === 1) parts["minItems"] = minItems;
    if (!SAYS_WHAT.some((key) => key in parts)) return undefined;
    return isObject(parts) ? closed(parts, schema) : parts;
  }

  #target(reference: string): unknown {
    const [, where = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? [];
    return asObject(this.#root[where])?.[name];
  }

  #named(schemas: unknown, depthLeft: number): JsonObject | undefined {
    const entries = Object.entries(asObject(schemas) ?? {}).map(
      ([name, schema]) => [name, this.of(schema, depthLeft)] as const,
    );
    return entries.some(([, schema]) => schema === undefined) ? undefined : Object.fromEntries(entries);
  }

  #list(schemas: unknown, depthLeft: number): readonly unknown[] | undefined {
    if (!Array.isArray(schemas)) return undefined;
    const list = schemas.map((schema) => this.of(schema, depthLeft));
    return list.includes(undefined) ? undefined : list;
  }
}

function isObject({ type }: JsonObject): boolean {
  return type === "object" || (Array.isArray(type) && type.includes("object"));
}

/** Objects must be closed. One whose keys are not named would be closed to all of them. */
function closed(
  parts: JsonObject,
  { additionalProperties: more = false, required = [] }: JsonObject,
): JsonObject | undefined {
  const properties = asObject(parts["properties"]);
  if (properties === undefined || more !== false || !Array.isArray(required)) return undefined;
  if (!required.every((name) => Object.hasOwn(properties, name))) return undefined;
  return { ...parts, additionalProperties: false };
}
