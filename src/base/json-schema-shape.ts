/**
 * Whether a JSON Schema is well formed: each keyword has a value of its kind. Does the meta-schema's
 * work at a thousandth of its cost, and returns the position of the fault. Compiles nothing.
 */
import { isJsonObject } from "./json.ts";
import { patternRefusal } from "./linear-pattern.ts";

/** Segments of a path into a value or a schema. */
export type JsonPath = readonly (string | number)[];

/** Why a schema cannot be used, and where the fault is. */
export interface SchemaRefusal {
  readonly ok: false;
  readonly message: string;
  readonly path: JsonPath;
  /** What to do about it. */
  readonly help?: string;
}

type Shape =
  | "schema"
  | "schemas"
  | "schemaMap"
  | "pattern"
  | "patternMap"
  | "schemaOrList"
  | "dependencies"
  | Kind;
type Kind = keyof typeof KINDS;

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

const isText = (value: unknown) => typeof value === "string";
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isType = (value: unknown) => isText(value) && TYPES.some((type) => type === value);

/** Checks of values that are not schemas, and their descriptions. */
const KINDS = {
  text: { check: isText, words: "a string" },
  texts: { check: isTexts, words: "a list of strings" },
  flag: { check: (value: unknown) => typeof value === "boolean", words: "true or false" },
  number: { check: (value: unknown) => typeof value === "number", words: "a number" },
  positive: { check: (value: unknown) => typeof value === "number" && value > 0, words: "a number above 0" },
  count: {
    check: (value: unknown) => Number.isInteger(value) && Number(value) >= 0,
    words: "an integer of 0 or more",
  },
  list: { check: Array.isArray, words: "a list" },
  pattern: { check: isPattern, words: "a regular expression" },
  type: {
    check: (value: unknown) =>
      Array.isArray(value) ? value.length > 0 && value.every(isType) : isType(value),
    words: `one of ${TYPES.join(", ")}, or a list of them`,
  },
} as const;

const KEYWORDS: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ...group(
    "schema",
    "additionalItems additionalProperties contains contentSchema else if not propertyNames then",
  ),
  ...group("schema", "unevaluatedItems unevaluatedProperties"),
  ...group("schemas", "allOf anyOf oneOf prefixItems"),
  ...group("schemaMap", "$defs definitions dependentSchemas properties"),
  ...group("patternMap", "patternProperties"),
  ...group("schemaOrList", "items"),
  ...group("dependencies", "dependencies dependentRequired"),
  ...group(
    "text",
    "$anchor $comment $dynamicAnchor $dynamicRef $id $ref $schema contentEncoding contentMediaType",
  ),
  ...group("text", "description format title"),
  ...group("texts", "required"),
  ...group("flag", "deprecated readOnly uniqueItems writeOnly"),
  ...group("number", "exclusiveMaximum exclusiveMinimum maximum minimum"),
  ...group("positive", "multipleOf"),
  ...group(
    "count",
    "maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties",
  ),
  ...group("list", "enum examples"),
  ...group("pattern", "pattern"),
  ...group("type", "type"),
]);

const DEPTH_MAX = 200;

/** undefined when the schema is well formed. Unknown keywords are annotations and may hold anything. */
export function malformation(schema: unknown, path: JsonPath = []): SchemaRefusal | undefined {
  if (typeof schema === "boolean") return undefined;
  if (path.length > DEPTH_MAX) return refused("the schema is nested too deeply", path);
  if (!isJsonObject(schema)) return refused("a schema must be a map, true or false", path);
  for (const [keyword, value] of Object.entries(schema)) {
    const shape = KEYWORDS.get(keyword);
    const fault = shape === undefined ? undefined : misfit(shape, value, [...path, keyword]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function misfit(shape: Shape, value: unknown, path: JsonPath): SchemaRefusal | undefined {
  const keyword = path.at(-1);
  switch (shape) {
    case "schema":
      return malformation(value, path);
    case "schemaOrList":
      return misfit(Array.isArray(value) ? "schemas" : "schema", value, path);
    case "schemas":
      if (!Array.isArray(value)) return refused(`\`${keyword}\` must be a list of schemas`, path);
      return firstOf(value.map((item, index) => () => malformation(item, [...path, index])));
    case "patternMap":
      return misfit("schemaMap", value, path);
    case "schemaMap":
      if (!isJsonObject(value)) return refused(`\`${keyword}\` must be a map of schemas`, path);
      return firstOf(
        Object.entries(value).map(
          ([key, item]) =>
            () =>
              malformation(item, [...path, key]),
        ),
      );
    case "dependencies":
      if (!isJsonObject(value)) return refused(`\`${keyword}\` must be a map`, path);
      return firstOf(
        Object.entries(value).map(
          ([key, item]) =>
            () =>
              isTexts(item) ? undefined : malformation(item, [...path, key]),
        ),
      );
    default:
      return KINDS[shape].check(value)
        ? undefined
        : refused(`\`${keyword}\` must be ${KINDS[shape].words}`, path);
  }
}

function firstOf(checks: readonly (() => SchemaRefusal | undefined)[]): SchemaRefusal | undefined {
  for (const check of checks) {
    const fault = check();
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isPattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    new RegExp(value, "u");
    return true;
  } catch {
    return false;
  }
}

/** The first pattern of a well-formed schema that cannot be run in linear time; undefined: there is none. */
export function refusedPattern(schema: unknown, path: JsonPath = []): SchemaRefusal | undefined {
  if (!isJsonObject(schema)) return undefined;
  return firstOf(
    Object.entries(schema).map(
      ([keyword, value]) =>
        () =>
          refusedIn(KEYWORDS.get(keyword), value, [...path, keyword]),
    ),
  );
}

function refusedIn(shape: Shape | undefined, value: unknown, path: JsonPath): SchemaRefusal | undefined {
  if (shape === "pattern") return typeof value === "string" ? patternFault(value, path) : undefined;
  if (shape === "schema" || (shape === "schemaOrList" && !Array.isArray(value))) {
    return refusedPattern(value, path);
  }
  const isMapOfSchemas = shape === "schemaMap" || shape === "patternMap" || shape === "dependencies";
  const entries = isMapOfSchemas && isJsonObject(value) ? Object.entries(value) : [];
  const items = (shape === "schemas" || shape === "schemaOrList") && Array.isArray(value) ? value : [];
  return firstOf([
    ...entries.map(([key, item]) => () => {
      const fault = shape === "patternMap" ? patternFault(key, [...path, key]) : undefined;
      return fault ?? refusedPattern(item, [...path, key]);
    }),
    ...items.map((item: unknown, index) => () => refusedPattern(item, [...path, index])),
  ]);
}

/** A pattern of none of these takes linear time in every engine; RE2 is not loaded for it. */
const SPECIAL = /[\\()[\]{}*+?|.]/;

function patternFault(source: string, path: JsonPath): SchemaRefusal | undefined {
  const refusal = SPECIAL.test(source) ? patternRefusal(source) : undefined;
  if (refusal === undefined) return undefined;
  const { message, help } = refusal;
  return { ok: false, message: `pattern: ${message}`, path, ...(help !== undefined && { help }) };
}

function group(shape: Shape, keywords: string): [string, Shape][] {
  return keywords.split(" ").map((keyword) => [keyword, shape]);
}

function refused(message: string, path: JsonPath): SchemaRefusal {
  return { ok: false, message, path };
}
