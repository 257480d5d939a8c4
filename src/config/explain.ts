/**
 * Faults of a schema -> diagnostics: what was found, what is allowed, what was probably meant. Reads the schema's own
 * words; knows no key of the configuration.
 */
import type { SchemaFault } from "../base/json-schema.ts";
import type { Code } from "./codes.ts";
import { type Details, type Reporter, shown } from "./diagnostic.ts";
import { SLUG_PATTERN, slugOf } from "./slug.ts";
import { nearestName } from "./suggest.ts";
import { isPlainMap, type Spot, type Tree } from "./tree.ts";

export interface Explanation {
  readonly tree: Tree;
  readonly reporter: Reporter;
  /** Keys that may stand here beside those of the schema. */
  readonly alsoKnown?: ReadonlySet<string>;
}

/** Reports one fault. `spot` is where the faulty value stands, `value` what stands there. */
export function explain(fault: SchemaFault, spot: Spot, value: unknown, to: Explanation): void {
  const { tree, reporter, alsoKnown } = to;
  const { code, message, ...details } = wording(fault, { spot, value, tree, alsoKnown });
  const inner = fault.params["additionalProperty"] ?? fault.params["missingProperty"];
  const at =
    typeof inner === "string" && isPlainMap(value) ? { container: value, key: inner, parent: spot } : spot;
  reporter.report(code, at, message, details);
}

interface Found {
  readonly spot: Spot;
  readonly value: unknown;
  readonly tree: Tree;
  readonly alsoKnown: ReadonlySet<string> | undefined;
}

type Wording = Details & { readonly code: Code; readonly message: string };

function wording(fault: SchemaFault, found: Found): Wording {
  const { keyword, schema, params } = fault;
  const label = labelOf(found.spot);
  switch (keyword) {
    case "additionalProperties":
    case "unevaluatedProperties":
      return unknownKey(String(params["additionalProperty"] ?? params["unevaluatedProperty"]), schema, found);
    case "required":
      return { code: "E0102", message: `missing key \`${params["missingProperty"]}\``, at: "key" };
    case "type":
      return wrongType(label, params["type"] ?? schema["type"], found);
    case "enum":
    case "const":
      return notAllowed(label, params["allowedValues"] ?? [params["allowedValue"]], found);
    case "pattern":
      return wrongForm(label, schema, found);
    case "format":
      return { code: "E0105", message: `${label} is ${seen(found)}: must be a valid ${params["format"]}` };
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
    case "multipleOf":
      return { code: "E0107", message: `${label} is ${seen(found)}: must be ${bounds(schema)}` };
    default:
      return wrongLength(keyword, label, schema) ?? { code: "E0108", message: `${label} ${fault.message}` };
  }
}

function unknownKey(key: string, schema: SchemaFault["schema"], { alsoKnown = new Set() }: Found): Wording {
  const known = [
    ...(isPlainMap(schema["properties"]) ? Object.keys(schema["properties"]) : []),
    ...alsoKnown,
  ];
  const suggestion = nearestName(key, known);
  const message = `unknown key \`${key}\``;
  if (key === "<<") {
    return {
      code: "E0101",
      message,
      at: "key",
      help: "merge keys are no part of YAML's core schema: use `endpoint_defaults`",
    };
  }
  const help = known.length === 0 ? "no key is known here" : `known here: ${known.join(", ")}`;
  return { code: "E0101", message, at: "key", suggestion, help: suggestion === undefined ? help : undefined };
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  integer: "an integer",
  number: "a number",
  object: "a map",
  string: "a string",
};

function wrongType(label: string, type: unknown, found: Found): Wording {
  const types = (Array.isArray(type) ? type : [type]).filter((name) => name !== "null");
  const allowed = types.map((name) => TYPE_WORDS[String(name)] ?? String(name)).join(" or ");
  const { value } = found;
  let help: string | undefined;
  if (types.includes("string") && (typeof value === "number" || typeof value === "boolean"))
    help = "put it in quotes";
  if (typeof value === "string" && types.length === 1 && isLiteral(value, types[0]))
    help = "write it without quotes";
  return { code: "E0103", message: `${label} is ${seen(found)}: must be ${allowed}`, help };
}

function isLiteral(text: string, type: unknown): boolean {
  if (type === "boolean") return text === "true" || text === "false";
  return (type === "number" || type === "integer") && /^-?\d+(?:\.\d+)?$/.test(text);
}

function notAllowed(label: string, allowedValues: unknown, found: Found): Wording {
  const allowed = (Array.isArray(allowedValues) ? allowedValues : []).filter((value) => value !== null);
  const list = allowed.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
  const { value } = found;
  const isWritten = typeof value === "string" && !isReferenced(found);
  const suggestion = isWritten ? nearestName(value, allowed.map(String)) : undefined;
  const choice = allowed.length === 1 ? list : `one of ${list}`;
  return { code: "E0104", message: `${label} is ${seen(found)}: must be ${choice}`, suggestion };
}

function wrongForm(label: string, schema: SchemaFault["schema"], found: Found): Wording {
  const { pattern, patternErrorMessage: words } = schema;
  const form = typeof words === "string" ? words : `must match ${pattern}`;
  const { value } = found;
  const message = `${label} is ${seen(found)}: ${form}`;
  if (typeof value !== "string") return { code: "E0105", message };
  if (isReferenced(found)) return { code: "E0105", message };
  if (pattern === SLUG_PATTERN) return { code: "E0105", message, suggestion: slugOf(value) || undefined };
  if (!/^gw_(?:live|test)_/.test(value)) return { code: "E0105", message };
  const help = "this is the token itself: make a new one with `sluice token new` and commit its hash";
  return { code: "E0105", message, help };
}

function wrongLength(keyword: string, label: string, schema: SchemaFault["schema"]): Wording | undefined {
  const words: Readonly<Record<string, string>> = {
    minLength:
      schema["minLength"] === 1
        ? "must not be empty"
        : `must have at least ${schema["minLength"]} characters`,
    maxLength: `must have at most ${schema["maxLength"]} characters`,
    minItems:
      schema["minItems"] === 1 ? "must not be empty" : `must hold at least ${schema["minItems"]} items`,
    maxItems: `must hold at most ${schema["maxItems"]} items`,
    minProperties: `must hold at least ${schema["minProperties"]} keys`,
    maxProperties: `must hold at most ${schema["maxProperties"]} keys`,
    uniqueItems: "must not hold an item twice",
  };
  const phrase = Object.hasOwn(words, keyword) ? words[keyword] : undefined;
  return phrase === undefined ? undefined : { code: "E0106", message: `${label} ${phrase}` };
}

function bounds(schema: SchemaFault["schema"]): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && typeof maximum === "number") return `from ${minimum} to ${maximum}`;
  const parts: string[] = [];
  if (typeof minimum === "number") parts.push(`at least ${minimum}`);
  if (typeof maximum === "number") parts.push(`at most ${maximum}`);
  if (typeof exclusiveMinimum === "number") parts.push(`above ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number") parts.push(`below ${exclusiveMaximum}`);
  if (typeof multipleOf === "number") parts.push(`a multiple of ${multipleOf}`);
  return parts.join(" and ");
}

/** `temperature`, `scopes[1]`: the last key of the path that is a name, and the indexes after it. */
function labelOf(spot: Spot): string {
  if (typeof spot.key === "string") return spot.key;
  return spot.parent === undefined ? "the item" : `${labelOf(spot.parent)}[${spot.key}]`;
}

/** A value from outside the files may be a secret: nothing is suggested that is made from it. */
function isReferenced({ spot, tree }: Found): boolean {
  return tree.reference(spot.container, spot.key) !== undefined;
}

function seen({ spot, value, tree }: Found): string {
  return value === null ? "empty" : shown(tree, spot, value);
}
