/**
 * Whether one JSON Schema accepts every document that another one does, as far as `type`, `enum`, `const`, bounds,
 * `required`, `properties`, `additionalProperties` and `items` decide it. Anything else that differs counts as narrower,
 * and annotations do not count. Never says "wider" of a schema that refuses a document which the other accepts.
 */
import { isDeepStrictEqual } from "node:util";
import { asJsonMap, isJsonMap, type JsonMap } from "../../config/shown.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import {
  bySet,
  type Compare,
  type Direction,
  directionOf,
  joined,
  known,
  SAME,
  STRICTER,
  WEAKER,
} from "./direction.ts";

/** Schemas; null and absence accept everything. */
export const bySchema: Compare = known((before, after) => {
  const [was, is] = [withoutAnnotations(before ?? true), withoutAnnotations(after ?? true)];
  if (isDeepStrictEqual(was, is)) return SAME;
  const direction = between(was, is);
  // What a reference stands for, or what is left over for `unevaluated…`, may change with anything around it.
  return dependsOnMore(was) || dependsOnMore(is) ? joined(direction, STRICTER) : direction;
});

const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"],
]);
const MAPS_OF_SCHEMAS: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
]);
const LISTS_OF_SCHEMAS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMAS: ReadonlySet<string> = new Set([
  ...["items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"],
  ...["unevaluatedProperties", "unevaluatedItems"],
]);

function withoutAnnotations(schema: JsonValue): JsonValue {
  if (!isJsonMap(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.has(keyword));
  return Object.fromEntries(
    kept.map(([keyword, value]): [string, JsonValue] => {
      if (MAPS_OF_SCHEMAS.has(keyword) && isJsonMap(value))
        return [
          keyword,
          Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutAnnotations(one)])),
        ];
      if (LISTS_OF_SCHEMAS.has(keyword) && Array.isArray(value))
        return [keyword, value.map((one: JsonValue) => withoutAnnotations(one))];
      return [keyword, SCHEMAS.has(keyword) ? withoutAnnotations(value) : value];
    }),
  );
}

const MORE = /"(?:\$ref|\$dynamicRef|\$recursiveRef|unevaluatedProperties|unevaluatedItems)":/;

const dependsOnMore = (schema: JsonValue): boolean => MORE.test(JSON.stringify(schema));

function between(before: JsonValue, after: JsonValue): Direction {
  if (isDeepStrictEqual(before, after)) return SAME;
  if (after === false) return STRICTER;
  if (before === false) return WEAKER;
  if (!isSchema(before) || !isSchema(after)) return STRICTER;
  const [was, is] = [asJsonMap(before), asJsonMap(after)];
  const keywords = new Set([...Object.keys(was), ...Object.keys(is)]);
  const others = [...keywords].filter((keyword) => !DECIDED.has(keyword));
  return joined(
    byTypes(was["type"], is["type"]),
    byValues(was, is),
    ...BOUNDS.map(([keyword, least, sign]) => byBound(was[keyword] ?? least, is[keyword] ?? least, sign)),
    bySet()(is["required"] ?? [], was["required"] ?? []),
    byProperties(was, is),
    between(was["items"] ?? true, is["items"] ?? true),
    ...others.map((keyword) => (isDeepStrictEqual(was[keyword], is[keyword]) ? SAME : STRICTER)),
  );
}

/** Not a list of them, as older drafts have under `items`. */
const isSchema = (value: JsonValue): boolean => typeof value === "boolean" || isJsonMap(value);

const INFINITE = Number.POSITIVE_INFINITY;

/** Keyword, what its absence means, and 1 where the larger value is the stricter. */
const BOUNDS: readonly (readonly [keyword: string, absent: number, sign: 1 | -1])[] = [
  ["minimum", -INFINITE, 1],
  ["exclusiveMinimum", -INFINITE, 1],
  ["maximum", INFINITE, -1],
  ["exclusiveMaximum", INFINITE, -1],
  ["minLength", 0, 1],
  ["maxLength", INFINITE, -1],
  ["minItems", 0, 1],
  ["maxItems", INFINITE, -1],
  ["minProperties", 0, 1],
  ["maxProperties", INFINITE, -1],
];

const DECIDED: ReadonlySet<string> = new Set([
  ...["type", "enum", "const", "required", "properties", "additionalProperties", "items"],
  ...BOUNDS.map(([keyword]) => keyword),
]);

/** A bound that is no number is another draft's, which nothing is known of. */
function byBound(before: JsonValue, after: JsonValue, sign: 1 | -1): Direction {
  if (typeof before !== "number" || typeof after !== "number")
    return isDeepStrictEqual(before, after) ? SAME : STRICTER;
  return directionOf((after - before) * sign > 0, (after - before) * sign < 0);
}

const ALL_TYPES = ["null", "boolean", "object", "array", "string", "integer", "number"];

function typesOf(type: JsonValue | undefined): readonly JsonValue[] {
  if (type === undefined) return ALL_TYPES;
  const types = Array.isArray(type) ? type : [type];
  return types.includes("number") ? [...types, "integer"] : types;
}

function byTypes(before: JsonValue | undefined, after: JsonValue | undefined): Direction {
  return bySet()([...typesOf(before)], [...typesOf(after)]);
}

function valuesOf(schema: JsonMap): readonly JsonValue[] | undefined {
  if ("const" in schema) return [schema["const"] ?? null];
  const { enum: values } = schema;
  return Array.isArray(values) ? values : undefined;
}

function byValues(before: JsonMap, after: JsonMap): Direction {
  const [was, is] = [valuesOf(before), valuesOf(after)];
  if (was === undefined || is === undefined)
    return directionOf(is !== was && is !== undefined, is !== was && was !== undefined);
  // `const` is what counts above; an `enum` beside it counts as well.
  const hasBoth = [before, after].some((schema) => "const" in schema && "enum" in schema);
  return joined(bySet()([...was], [...is]), hasBoth && !isDeepStrictEqual(before, after) ? STRICTER : SAME);
}

/** A property that only one side names is held to `additionalProperties` on the other. */
function byProperties(before: JsonMap, after: JsonMap): Direction {
  const [was, is] = [asJsonMap(before["properties"]), asJsonMap(after["properties"])];
  const [others, othersNow] = [before["additionalProperties"] ?? true, after["additionalProperties"] ?? true];
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const own = (map: JsonMap, key: string): JsonValue | undefined =>
    Object.hasOwn(map, key) ? map[key] : undefined;
  const isNamedByBoth = keys.every((key) => Object.hasOwn(was, key) && Object.hasOwn(is, key));
  // Patterns may hold a property that one side no longer names.
  const mayMatch = !isNamedByBoth && ("patternProperties" in before || "patternProperties" in after);
  return joined(
    between(others, othersNow),
    ...keys.map((key) => between(own(was, key) ?? others, own(is, key) ?? othersNow)),
    mayMatch ? STRICTER : SAME,
  );
}
