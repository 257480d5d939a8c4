/**
 * JSON Schemas made into functions: short texts for the bodies of calls, full faults for configuration. A check
 * returns errors and throws for no value, however deep or large.
 */
import type { ErrorObject, ValidateFunction } from "ajv";
import type { JsonSchema } from "../plugin/chat.ts";
import type { SchemaCheck } from "../plugin/host.ts";
import { textKey } from "./ids.ts";
import { compileWithAjv, pointerSegments } from "./json-schema-engine.ts";
import type { JsonPath, SchemaRefusal } from "./json-schema-shape.ts";

export { type JsonPath, malformation, refusedPattern, type SchemaRefusal } from "./json-schema-shape.ts";

export type CompiledSchema = { readonly ok: true; readonly check: SchemaCheck } | SchemaRefusal;

/** One fault of a value, with what a diagnostic needs to explain it. */
export interface SchemaFault {
  readonly path: JsonPath;
  readonly keyword: string;
  readonly message: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The schema object that holds the keyword. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** JSON pointer of the keyword in the whole schema. */
  readonly schemaPath: string;
}

export type CompiledRules =
  | { readonly ok: true; readonly faultsOf: (value: unknown) => readonly SchemaFault[] }
  | SchemaRefusal;

const SHOWN_ERRORS_MAX = 5;
const SHOWN_CHARACTERS_MAX = 300;
/** Of a larger value only the first error is sought: all errors of a huge body would fill the memory. */
const EXPLAINED_NODES_MAX = 2000;

/** By the schema's text: those used since the latest load, and those used before and not since. */
let asked = new Map<string, CompiledSchema>();
let askedBefore = new Map<string, CompiledSchema>();

/**
 * Called after a load. Schemas that two consecutive loads have not used are dropped: even a small check takes 40 KB, and a gateway
 * that is reloaded all day meets many.
 */
export function forgetUnusedSchemas(): void {
  askedBefore = asked;
  asked = new Map();
}

/**
 * Compiles a schema of draft 2020-12, or draft-07 when its `$schema` says so. Only own properties count. Refuses
 * an invalid schema, one that refers to anything outside itself, and one that takes over 2 s. Equal schemas share one check.
 */
export function compileSchema(schema: JsonSchema): CompiledSchema {
  const text = textOf(schema);
  if (text === undefined) return { ok: false, message: "the schema is nested too deeply", path: [] };
  const key = textKey(text);
  let compiled = asked.get(key) ?? askedBefore.get(key);
  if (compiled === undefined) {
    const compilation = compileWithAjv(schema, "first");
    compiled = compilation.ok ? { ok: true, check: newCheck(schema, compilation.validate) } : compilation;
  }
  asked.set(key, compiled);
  return compiled;
}

/** Compiles a schema into a function that returns every fault of a value. For configuration, not for calls. */
export function compileRules(schema: JsonSchema): CompiledRules {
  const compilation = compileWithAjv(schema, "verbose");
  if (!compilation.ok) return compilation;
  const { validate } = compilation;
  return { ok: true, faultsOf: (value) => (validate(value) ? [] : (validate.errors ?? []).map(toFault)) };
}

function textOf(schema: JsonSchema): string | undefined {
  try {
    return JSON.stringify(schema);
  } catch {
    return undefined; // Nothing else makes plain data fail.
  }
}

function newCheck(schema: JsonSchema, first: ValidateFunction): SchemaCheck {
  let explaining: ValidateFunction | undefined;
  return (value) => {
    try {
      if (first(value)) return undefined;
      const found = texts(first.errors);
      if (!isSmall(value)) return found;
      if (explaining === undefined) {
        const compilation = compileWithAjv(schema, "all");
        explaining = compilation.ok ? compilation.validate : first;
      }
      return explaining(value) ? found : texts(explaining.errors);
    } catch (error) {
      if (error instanceof RangeError) return ["body is nested too deeply to be validated"];
      throw error;
    }
  };
}

function isSmall(value: unknown): boolean {
  const open: unknown[] = [value];
  let nodes = 0;
  while (open.length > 0) {
    const next = open.pop();
    if (++nodes + open.length > EXPLAINED_NODES_MAX) return false;
    if (typeof next !== "object" || next === null) continue;
    const items = Array.isArray(next) ? next : Object.values(next);
    if (items.length > EXPLAINED_NODES_MAX) return false;
    open.push(...items);
  }
  return true;
}

function texts(errors: readonly ErrorObject[] | null | undefined): readonly string[] {
  const found = new Set<string>();
  for (const error of errors ?? []) {
    found.add(`${readablePath(error.instancePath)} ${phrase(error)}`.slice(0, SHOWN_CHARACTERS_MAX));
    if (found.size === SHOWN_ERRORS_MAX) break;
  }
  return [...found];
}

function phrase({ keyword, message = "is not valid", params }: ErrorObject): string {
  if (keyword === "additionalProperties") return `${message}: '${params["additionalProperty"]}'`;
  if (keyword === "unevaluatedProperties") return `${message}: '${params["unevaluatedProperty"]}'`;
  if (keyword === "enum" && Array.isArray(params["allowedValues"])) {
    return `${message}: ${params["allowedValues"].map((allowed) => JSON.stringify(allowed)).join(", ")}`;
  }
  return message;
}

/** `/messages/0/content` -> `messages[0].content`; the root is `body`. */
function readablePath(pointer: string): string {
  if (pointer === "") return "body";
  const path = pointerSegments(pointer).map((segment) =>
    typeof segment === "number" ? `[${segment}]` : `.${segment}`,
  );
  return path.join("").replace(/^\./, "");
}

function toFault(error: ErrorObject): SchemaFault {
  const { instancePath, keyword, message = "is not valid", params, parentSchema = {}, schemaPath } = error;
  return { path: pointerSegments(instancePath), keyword, message, params, schema: parentSchema, schemaPath };
}
