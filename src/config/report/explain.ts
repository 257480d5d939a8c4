/**
 * Faults of a schema -> diagnostics: what was found, what is allowed, what was probably meant. Reads the schema's own
 * words; knows no key of the configuration.
 */
import type { SchemaFault } from "../../base/json-schema.ts";
import { linearPattern } from "../../base/linear-pattern.ts";
import { isPlainMap, type Spot, type Tree } from "../read/tree.ts";
import { SLUG_PATTERN, slugOf } from "../slug.ts";
import type { Code } from "./codes.ts";
import { type Details, isSensitive, type Reporter, shown } from "./diagnostic.ts";
import { listed, meantKey, nearestName } from "./suggest.ts";

export interface Explanation {
  readonly tree: Tree;
  readonly reporter: Reporter;
  /** Other keys that are allowed here. */
  readonly alsoKnown?: ReadonlySet<string>;
}

/** Reports one fault. `spot` is the place of the faulty value `value`. */
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
      return {
        code: "E0102",
        message: `missing key \`${params["missingProperty"]}\``,
        at: "key",
        help: missingHelp(fault),
      };
    case "type":
      return wrongType(label, schema, params["type"] ?? schema["type"], found);
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

/** What the missing key is for, with an example where there is one. */
function missingHelp({ schema, params }: SchemaFault): string | undefined {
  const { properties } = schema;
  const key = String(params["missingProperty"]);
  const node = isPlainMap(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (!isPlainMap(node)) return undefined;
  const { description, enum: values, examples } = node;
  const allowed = Array.isArray(values) ? values : [];
  const example: unknown = Array.isArray(examples) ? examples[0] : undefined;
  const isShort = typeof example === "string" || typeof example === "number";
  const value = allowed.length > 1 ? allowed.join(" | ") : isShort ? String(example) : "…";
  const purpose = typeof description === "string" ? ` (${description.replace(/\.$/, "")})` : "";
  return `add \`${key}: ${value}\`${purpose}`;
}

function unknownKey(key: string, schema: SchemaFault["schema"], { alsoKnown = new Set() }: Found): Wording {
  const known = [
    ...(isPlainMap(schema["properties"]) ? Object.keys(schema["properties"]) : []),
    ...alsoKnown,
  ];
  const suggestion = meantKey(key, known);
  const message = `unknown key \`${key}\``;
  if (key === "<<") {
    return {
      code: "E0101",
      message,
      at: "key",
      help: "merge keys are not part of YAML's core schema: use `endpoint_defaults`",
    };
  }
  const help = known.length === 0 ? "no key is known here" : `known here: ${listed([...known].sort())}`;
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

function wrongType(label: string, schema: SchemaFault["schema"], type: unknown, found: Found): Wording {
  const types = (Array.isArray(type) ? type : [type]).filter((name) => name !== "null").map(String);
  const allowed = types.map((name) => TYPE_WORDS[name] ?? name).join(" or ");
  const message = `${label} is ${seen(found)}: must be ${allowed}`;
  return { code: "E0103", message, ...typeAdvice(types, schema, found) };
}

const TRUTHS: Readonly<Record<string, string>> = { yes: "true", on: "true", no: "false", off: "false" };

/** How the value is written in the type that its key takes, where that is known. */
function typeAdvice(types: readonly string[], schema: SchemaFault["schema"], found: Found): Details {
  const { spot, value, tree } = found;
  if (value === null) return { help: "give it a value, or remove the key" };
  const isScalar = typeof value !== "object";
  if (!isScalar) {
    const help = Array.isArray(value) ? "write one value, without `[…]` and `- `" : undefined;
    return types.includes("array") ? { help: "begin each entry with `- `" } : { help };
  }
  if (types.includes("object") && types.length === 1)
    return { help: "write `key: value` lines below the key" };
  const written = tree.sourceText(spot);
  const canBeShown = !isReferenced(found) && !isSensitive(spot) && written.length <= SUGGESTED_CHARACTERS_MAX;
  if (types.includes("array")) {
    if (canBeShown && !/[\n{}[\],]/.test(written)) return { suggestion: `[${written}]` };
    return { help: "begin each entry with `- `" };
  }
  if (types.includes("string")) {
    const hasForm = typeof schema["pattern"] === "string" || typeof schema["minLength"] === "number";
    if (hasForm && !takesText(schema, written)) return {};
    return canBeShown ? { suggestion: JSON.stringify(written) } : { help: "put it in quotes" };
  }
  if (typeof value !== "string" || types.length !== 1) return {};
  const truth = types[0] === "boolean" ? TRUTHS[value.toLowerCase()] : undefined;
  if (truth !== undefined && canBeShown) return { suggestion: truth };
  if (!isLiteral(value, types[0])) return {};
  return canBeShown ? { suggestion: value } : { help: "write it without quotes" };
}

/** True when the text would be taken if it were written as one. */
function takesText({ pattern, minLength }: SchemaFault["schema"], written: string): boolean {
  if (typeof minLength === "number" && written.length < minLength) return false;
  return typeof pattern !== "string" || linearPattern(pattern).test(written);
}

const SUGGESTED_CHARACTERS_MAX = 60;

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
  const curly = /[\u2018-\u201f]/.test(value);
  if (curly) return { code: "E0105", message, help: "it has curly quotes (“ ”): use straight ones" };
  if (isReferenced(found)) return { code: "E0105", message };
  if (pattern === SLUG_PATTERN) return { code: "E0105", message, suggestion: slugOf(value) || undefined };
  if (!/^gw_(?:live|test)_/.test(value)) return { code: "E0105", message, help: hashHelp(value) };
  const help = "this is the token itself: make a new one with `sluice token new` and commit its hash";
  return { code: "E0105", message, help };
}

/** The error of a hash is described without showing it. */
function hashHelp(value: string): string | undefined {
  const digits = /^sha256:([0-9a-fA-F]*)$/.exec(value)?.[1];
  if (digits !== undefined) return `it has ${digits.length} hex digits, not 64: was it cut off?`;
  return /^[0-9a-fA-F]{64}$/.test(value) ? "write `sha256:` before it" : undefined;
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
