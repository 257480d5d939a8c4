/**
 * Lets a schema for editors accept `${env:NAME}` and `${file:PATH}` where a number, a boolean, one of some words or a
 * text of some form is expected: in the file a reference is a text, whatever it becomes.
 */
import { isPlainMap, type PlainMap } from "../read/tree.ts";

const REFERENCE = "\\$\\{(?:env|file):";
const AMOUNT = "^[0-9]+(?:\\.[0-9]+)?$";

const TYPE_WORDS: Readonly<Record<string, string>> = {
  boolean: "true or false",
  integer: "an integer",
  number: "a number",
};

/** A copy of the schema, and of all schemas in it. Descriptions say what editors do not show of a schema. */
export function acceptReferences(schema: PlainMap): PlainMap {
  return rewritten(schema, accepting);
}

/** The same for files without references. */
export function describedForEditors(schema: Readonly<PlainMap>): PlainMap {
  return rewritten(schema, (copy) => copy);
}

type Rewrite = (schema: PlainMap) => PlainMap;

function rewritten(schema: Readonly<PlainMap>, rewrite: Rewrite): PlainMap {
  const copy: PlainMap = {};
  for (const [keyword, value] of Object.entries(schema)) copy[keyword] = inner(keyword, value, rewrite);
  const { description } = copy;
  if (typeof description === "string") copy["description"] = [description, ...facts(copy)].join(" ");
  return rewrite(copy);
}

/** Allowed words, range and default: what a hover should tell. */
function facts({ enum: values, minimum, maximum, default: value }: PlainMap): readonly string[] {
  const told: string[] = [];
  const words = Array.isArray(values) ? values.filter((one) => typeof one === "string") : [];
  if (words.length > 0) told.push(`One of ${words.join(", ")}.`);
  if (typeof minimum === "number" && typeof maximum === "number") told.push(`From ${minimum} to ${maximum}.`);
  const isTold = value !== undefined && value !== "" && JSON.stringify(value).length < DEFAULT_CHARACTERS_MAX;
  if (isTold) told.push(`Default: ${JSON.stringify(value)}.`);
  return told;
}

const DEFAULT_CHARACTERS_MAX = 100;

/** The value of one keyword: a schema, schemas by name, a list of them, or anything else. */
function inner(keyword: string, value: unknown, rewrite: Rewrite): unknown {
  if (isPlainMap(value)) {
    if (keyword === "properties" || keyword === "definitions" || keyword === "$defs") {
      return Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, isPlainMap(one) ? rewritten(one, rewrite) : one]),
      );
    }
    // A condition decides between plugins; it is not about values.
    const holdsSchema = ["items", "additionalProperties", "then", "else"].includes(keyword);
    return holdsSchema ? rewritten(value, rewrite) : value;
  }
  const isList = ["allOf", "anyOf", "oneOf"].includes(keyword) && Array.isArray(value);
  return isList ? value.map((one) => (isPlainMap(one) ? rewritten(one, rewrite) : one)) : value;
}

function accepting(schema: PlainMap): PlainMap {
  const { type, enum: values, pattern } = schema;
  if (Array.isArray(values))
    return values.some((value) => typeof value === "string") ? acceptingWords(schema, values) : schema;
  const types = Array.isArray(type) ? type.map(String) : typeof type === "string" ? [type] : [];
  if (types.includes("string")) {
    const isAmount = types.includes("number");
    if (typeof pattern !== "string" && !isAmount) return schema;
    const form = isAmount ? AMOUNT : String(pattern);
    const words = isAmount ? "must be a plain decimal, such as 12 or 0.002" : schema["patternErrorMessage"];
    const bounds = isAmount ? { minimum: 0 } : {};
    return { ...schema, ...bounds, pattern: `(?:${form})|${REFERENCE}`, patternErrorMessage: words };
  }
  const scalar = types.find((one) => TYPE_WORDS[one] !== undefined);
  if (scalar === undefined) return schema;
  const patternErrorMessage = `must be ${TYPE_WORDS[scalar]}, or a reference such as \${env:NAME}`;
  return { ...schema, type: [...types, "string"], pattern: REFERENCE, patternErrorMessage };
}

/** Each word stays on offer; a text that is none of them may hold a reference. */
function acceptingWords(schema: PlainMap, values: readonly unknown[]): PlainMap {
  const { enum: _, type: __, ...rest } = schema;
  return { ...rest, anyOf: [{ enum: values }, { type: "string", pattern: REFERENCE }] };
}
