/**
 * Reads the members of a client's JSON object one by one and records the first invalid one; what a reader has returned
 * must not be used then. Null counts as "not set", since OpenAI's clients send it so.
 */
import { isJsonObject } from "../../base/json.ts";
import type { JsonObject } from "../../plugin/chat.ts";
import type { GatewayError } from "../../plugin/index.ts";
import { reject } from "../../plugin/index.ts";

/** The refusal of the first invalid member of a body. */
export interface FieldFindings {
  refusal: GatewayError | undefined;
}

export class Fields {
  readonly #from: JsonObject;
  /** Path of the object with a trailing dot; "" for the body. */
  readonly #at: string;
  readonly #findings: FieldFindings;
  readonly #read = new Set<string>();

  constructor(from: JsonObject, findings: FieldFindings, at = "") {
    this.#from = from;
    this.#at = at;
    this.#findings = findings;
  }

  /** undefined: not set. */
  any(name: string): unknown {
    this.#read.add(name);
    return this.#from[name] ?? undefined;
  }

  text(name: string): string | undefined {
    const value = this.any(name);
    return value === undefined || typeof value === "string" ? value : this.wrong(name, "a string");
  }

  /** A required, non-empty string. */
  required(name: string): string {
    const value = this.any(name);
    if (typeof value === "string" && value !== "") return value;
    this.wrong(name, "a non-empty string");
    return "";
  }

  flag(name: string): boolean | undefined {
    const value = this.any(name);
    return value === undefined || typeof value === "boolean" ? value : this.wrong(name, "a boolean");
  }

  number(name: string, min: number, max: number): number | undefined {
    const value = this.any(name);
    if (value === undefined || (typeof value === "number" && value >= min && value <= max)) return value;
    return this.wrong(name, `a number from ${min} to ${max}`);
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.any(name);
    if (value === undefined || (isInteger(value) && value >= min && value <= max)) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? ` of at least ${min}` : ` from ${min} to ${max}`;
    return this.wrong(name, `an integer${min === Number.MIN_SAFE_INTEGER ? "" : range}`);
  }

  choice<const Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.any(name);
    const word = words.find((one) => one === value);
    if (word === undefined && value !== undefined) this.wrong(name, `one of ${words.join(", ")}`);
    return word;
  }

  object(name: string): Fields | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    return isJsonObject(value) ? this.#inner(value, name) : this.wrong(name, "an object");
  }

  members(name: string): JsonObject | undefined {
    const value = this.any(name);
    return value === undefined || isJsonObject(value) ? value : this.wrong(name, "an object");
  }

  /** Reads each object of a list. */
  list<T>(name: string, read: (entry: Fields) => T | undefined): T[] | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) return this.wrong(name, "an array");
    const entries: T[] = [];
    for (let i = 0; i < value.length && this.#findings.refusal === undefined; i++) {
      const entry: unknown = value[i];
      if (!isJsonObject(entry)) return this.wrong(`${name}[${i}]`, "an object");
      const made = read(this.#inner(entry, `${name}[${i}]`));
      if (made !== undefined) entries.push(made);
    }
    return entries;
  }

  /** Members that are set and have not been read; undefined: none. */
  rest(): JsonObject | undefined {
    let rest: Record<string, unknown> | undefined;
    for (const name in this.#from) {
      const value = this.#from[name] ?? undefined;
      if (value !== undefined && !this.#read.has(name)) (rest ??= {})[name] = value;
    }
    return rest;
  }

  /** Refuses members that have not been read: they could not be passed on. */
  end(): void {
    for (const name in this.rest())
      this.#findings.refusal ??= reject("forbidden_field", { field: this.#at + name });
  }

  wrong(name: string, expected: string): undefined {
    this.#findings.refusal ??= reject("invalid_field", { field: this.#at + name, expected });
  }

  #inner(value: JsonObject, name: string): Fields {
    return new Fields(value, this.#findings, `${this.#at}${name}.`);
  }
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

const OF_TOOL: ReadonlySet<string> = new Set([
  ...["type", "function", "id", "index"],
  // A hint of Anthropic's clients, which is kept with the tool.
  "cache_control",
]);
const OF_FUNCTION: ReadonlySet<string> = new Set([
  ...["name", "description", "parameters", "strict"],
  // OpenAI's SDKs add the parsed arguments to tool calls and send them back.
  ...["arguments", "parsed_arguments"],
]);

/** Whether some tools or tool calls are custom, or have members that only OpenAI's format has. */
export function areOpenAiOnly(tools: unknown): boolean {
  return Array.isArray(tools) && tools.some(isOpenAiOnly);
}

function isOpenAiOnly(tool: unknown): boolean {
  if (!isJsonObject(tool)) return false;
  const { function: called } = tool;
  return (
    tool["type"] === "custom" || sets(tool, OF_TOOL) || (isJsonObject(called) && sets(called, OF_FUNCTION))
  );
}

/** Some member is set that is not among `known`. */
function sets(from: JsonObject, known: ReadonlySet<string>): boolean {
  return Object.entries(from).some(([name, value]) => value !== null && !known.has(name));
}

/** The `type` of an object; "": none. */
export function kindOf(value: unknown): string {
  const isTyped = typeof value === "object" && value !== null && "type" in value;
  return isTyped && typeof value.type === "string" ? value.type : "";
}
