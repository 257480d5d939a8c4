/**
 * Ajv, set up so that it is safe on schemas and bodies written by others: no schema is fetched, a slow compilation is
 * cut off, and no keyword costs more than the length of the value, patterns included. Nothing but json-schema.ts imports this.
 */
import { createRequire } from "node:module";
import { createContext, Script } from "node:vm";
import type { Ajv, FuncKeywordDefinition, Options, ValidateFunction } from "ajv";
import type { Ajv2020 } from "ajv/dist/2020.js";
import type { FormatsPlugin } from "ajv-formats";
import type { JsonSchema } from "../plugin/chat.ts";
import { type JsonPath, malformation, refusedPattern, type SchemaRefusal } from "./json-schema-shape.ts";
import { type LinearPattern, linearPattern } from "./linear-pattern.ts";

export type Compilation = { readonly ok: true; readonly validate: ValidateFunction } | SchemaRefusal;

/** How much is reported of an invalid value: its first error, all of them, or all with the schemas they come from. */
export type Depth = "first" | "all" | "verbose";

type Draft = "2020-12" | "draft-07";

const COMPILE_MS_MAX = 2000;
const TIMED_OUT = "ERR_SCRIPT_EXECUTION_TIMEOUT";

const DRAFTS: ReadonlyMap<string, Draft> = new Map([
  ["json-schema.org/draft/2020-12/schema", "2020-12"],
  ["json-schema.org/draft-07/schema", "draft-07"],
]);

/** One Ajv per draft, depth and needs, since building one costs more than most schemas: 24 at most. */
const engines = new Map<string, Engine>();

interface Engine {
  readonly ajv: Ajv | Ajv2020;
  compiled: number;
}

/** Ajv's scope retains memory for every compiled schema: after this number an engine is replaced. */
const COMPILED_PER_ENGINE_MAX = 500;

/** Compiles one schema, or returns its error. Never throws. */
export function compileWithAjv(schema: JsonSchema, depth: Depth): Compilation {
  const draft = draftOf(schema);
  if (draft === undefined) {
    return refused("`$schema` names a draft that is not supported: use 2020-12 or draft-07", ["$schema"]);
  }
  const malformed = malformation(schema);
  if (malformed !== undefined) return malformed;
  const unusable = refusedPattern(schema);
  if (unusable !== undefined) return unusable;
  // Loading the formats takes 30 ms, and most schemas use none.
  const needs: Needs = {
    formats: mentions(schema, "format"),
    unevaluated: mentions(schema, "unevaluatedProperties") || mentions(schema, "unevaluatedItems"),
  };
  const key = `${draft} ${depth} ${needs.formats} ${needs.unevaluated}`;
  const engine = engines.get(key) ?? { ajv: newEngine(draft, depth, needs), compiled: 0 };
  if (++engine.compiled < COMPILED_PER_ENGINE_MAX) engines.set(key, engine);
  else engines.delete(key);
  try {
    return withinTime(() => compileNow(engine.ajv, schema));
  } catch (error) {
    engines.delete(key); // A compilation that was cut off leaves it half done.
    return refused(reasonOf(error), []);
  } finally {
    // A schema with an `$id` may have replaced one of Ajv's own.
    if (typeof schema === "object" && "$id" in schema) engines.delete(key);
  }
}

function compileNow(ajv: Ajv | Ajv2020, schema: JsonSchema): Compilation {
  const validate = ajv.compile(schema);
  if (typeof schema === "object") ajv.removeSchema(schema);
  return { ok: true, validate };
}

/** Ajv takes long to load, and a gateway without schemas never needs it. */
const load = createRequire(import.meta.url);
// `require` knows no types; these are the packages' own.
const loadAjv2020 = () => (load("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js")).Ajv2020;
const loadAjv = () => (load("ajv") as typeof import("ajv")).Ajv;

/** Whether the value has a key of that name at any depth. */
function mentions(value: unknown, key: string): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    if (Object.hasOwn(next, key)) return true;
    for (const child of Object.values(next)) open.push(child);
  }
  return false;
}

/** What of Ajv only some schemas need. */
interface Needs {
  readonly formats: boolean;
  readonly unevaluated: boolean;
}

function newEngine(draft: Draft, depth: Depth, needs: Needs): Ajv | Ajv2020 {
  const options: Options = {
    allErrors: depth !== "first",
    verbose: depth === "verbose",
    strict: false,
    logger: false,
    meta: false,
    validateSchema: false, // Done by json-schema-shape.ts.
    addUsedSchema: false,
    ownProperties: true,
    code: { regExp: linearRegExp },
  };
  const ajv = draft === "2020-12" ? new (loadAjv2020())(options) : new (loadAjv())(options);
  // The code that keeps track of evaluated properties fails for some schemas with `patternProperties` and `anyOf`.
  if (!needs.unevaluated) ajv.opts.unevaluated = false;
  // `require` knows no types; this is the package's own.
  if (needs.formats) (load("ajv-formats") as FormatsPlugin)(ajv);
  for (const keyword of CHEAP_KEYWORDS) {
    ajv.removeKeyword(String(keyword.keyword));
    ajv.addKeyword(keyword);
  }
  return ajv;
}

/** Replaces RegExp, which backtracks. Ajv identifies patterns by their text. */
class SchemaPattern implements LinearPattern {
  readonly #source: string;
  readonly #pattern: LinearPattern;

  constructor(source: string) {
    this.#source = source;
    this.#pattern = linearPattern(source);
  }

  test(text: string): boolean {
    return this.#pattern.test(text);
  }

  toString(): string {
    return `/${this.#source}/`;
  }
}

/** Ajv requires a name for stored code; none is stored. */
const linearRegExp = Object.assign((source: string) => new SchemaPattern(source), { code: "SchemaPattern" });

function draftOf(schema: JsonSchema): Draft | undefined {
  const named = typeof schema === "object" ? schema["$schema"] : undefined;
  if (named === undefined) return "2020-12";
  return typeof named === "string" ? DRAFTS.get(named.replace(/^https?:\/\/|#$/g, "")) : undefined;
}

let runFenced: (() => void) | undefined;
let fence: { readonly script: Script; readonly context: ReturnType<typeof createContext> } | undefined;

/** Runs a synchronous function and cuts it off after 2 s: a script's time limit holds for all that it calls. */
function withinTime(run: () => Compilation): Compilation {
  fence ??= { script: new Script("run()"), context: createContext({ run: () => runFenced?.() }) };
  let outcome: Compilation | undefined;
  runFenced = () => {
    outcome = run();
  };
  try {
    fence.script.runInContext(fence.context, { timeout: COMPILE_MS_MAX });
  } finally {
    runFenced = undefined;
  }
  return outcome ?? refused("the schema was not compiled", []);
}

function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return "the schema is nested too deeply";
  // The time limit's error is made by the other context, so it is not an instance of this one's Error.
  if (typeof error === "object" && error !== null && "code" in error && error.code === TIMED_OUT) {
    return `the schema takes over ${COMPILE_MS_MAX / 1000} s to compile`;
  }
  if (!(error instanceof Error)) return "the schema cannot be compiled";
  const reference = /^can't resolve reference (\S+)/.exec(error.message)?.[1];
  if (reference === undefined) return error.message;
  return `\`$ref: ${reference}\` leads nowhere: no schema is fetched, put it under \`$defs\``;
}

function refused(message: string, path: JsonPath): SchemaRefusal {
  return { ok: false, message, path };
}

/** `/messages/0/content` -> `["messages", 0, "content"]`. Digits are taken for an index. */
export function pointerSegments(pointer: string): JsonPath {
  if (pointer === "") return [];
  const segments = pointer.slice(1).split("/");
  return segments.map((segment) => {
    if (/^(?:0|[1-9]\d{0,8})$/.test(segment)) return Number(segment);
    return segment.replaceAll("~1", "/").replaceAll("~0", "~");
  });
}

/**
 * Ajv's own length keywords walk every code point, and its uniqueItems compares all pairs. These decide by the number
 * of code units wherever that is enough, and by a set.
 */
const CHEAP_KEYWORDS: readonly FuncKeywordDefinition[] = [
  {
    keyword: "maxLength",
    type: "string",
    schemaType: "number",
    error: { message: ({ schemaCode }) => `must NOT have more than ${schemaCode} characters` },
    compile: (max: number) => (text: string) =>
      text.length <= max || (text.length <= 2 * max && codePoints(text) <= max),
  },
  {
    keyword: "minLength",
    type: "string",
    schemaType: "number",
    error: { message: ({ schemaCode }) => `must NOT have fewer than ${schemaCode} characters` },
    compile: (min: number) => (text: string) =>
      text.length >= 2 * min || (text.length >= min && codePoints(text) >= min),
  },
  {
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must NOT have duplicate items" },
    compile: (wanted: boolean) => (items: readonly unknown[]) =>
      !wanted || new Set(items.map(canonical)).size === items.length,
  },
];

function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(at + 1);
    if (next < 0xdc00 || next > 0xdfff) continue;
    count--;
    at++;
  }
  return count;
}

/** Equal texts for equal JSON values, whatever the order of their keys. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join()}}`;
}
