/**
 * Puts a model's tool calls in order: every call with an id, a name and a number of its own, whichever of them its
 * server forgets, repeats, or sends late. Asks for no time and knows no wire but the list that it is given.
 */
import type { JsonObject, ToolCall, ToolCallDelta } from "../../plugin/chat.ts";
import { asObject, asObjects, asText, hasItems, isPresent } from "../wire/json.ts";
import { TOOL_CALLS_MAX } from "../wire/tools.ts";

/** A call as its vendor counts it, and as we do. */
interface Call {
  readonly theirIndex: number | undefined;
  theirId: string;
  name: string;
  /** -1 until it has a name and is told. */
  index: number;
  /** Arguments that came before the name. */
  held: string;
  /** No arguments came yet. */
  bare: boolean;
  /** Count of the last list that named it. */
  list: number;
}

/** One entry of a `tool_calls` list. */
interface Entry {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Every field has the type that OpenAI gives it. */
  readonly regular: boolean;
}

export class ToolCallParts {
  /** What was taken last may go to the client in the vendor's own words. */
  regular = true;
  /** More came than anybody asks for. */
  tooMany = false;
  /** How many calls have been told. */
  told = 0;
  readonly #newId: () => string;
  readonly #calls: Call[] = [];
  #ids: Set<string> | undefined;
  #lists = 0;
  #over = false;

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** Takes what a message or the delta of an event holds of calls. */
  take(message: JsonObject): readonly ToolCallDelta[] | undefined {
    const entries = entriesOf(message);
    this.regular = entries.length > 0 || !hasItems(message["tool_calls"]);
    if (entries.length === 0) return undefined;
    this.#lists++;
    const deltas: ToolCallDelta[] = [];
    for (const entry of entries) this.#take(entry, deltas);
    if (isPresent(message["function_call"])) this.regular = false;
    return deltas.length === 0 ? undefined : deltas;
  }

  /** The list is complete: a call without arguments has empty ones; one without a name was none. */
  end(): readonly ToolCallDelta[] | undefined {
    if (this.#over) return undefined;
    this.#over = true;
    const deltas = this.#calls
      .filter(({ index, bare }) => index >= 0 && bare)
      .map(({ index }) => ({ index, id: undefined, name: undefined, arguments: "{}" }));
    return deltas.length === 0 ? undefined : deltas;
  }

  #take(entry: Entry, deltas: ToolCallDelta[]): void {
    if (this.#over) {
      this.regular = false;
      return;
    }
    const known = this.#find(entry);
    const call = known ?? this.#begin(entry);
    if (call === undefined) return;
    call.list = this.#lists;
    if (call.index >= 0) {
      const { index } = call;
      this.regular &&= entry.regular && entry.index === index && entry.id === "" && entry.name === "";
      if (entry.arguments === "") return;
      call.bare = false;
      deltas.push({ index, id: undefined, name: undefined, arguments: entry.arguments });
      return;
    }
    call.held += entry.arguments;
    call.theirId ||= entry.id;
    call.name = entry.name;
    if (call.name === "") this.regular = false;
    else {
      const delta = this.#tell(call);
      this.regular &&=
        entry.regular && known === undefined && entry.index === delta.index && entry.id === delta.id;
      deltas.push(delta);
    }
  }

  #begin({ index, id }: Entry): Call | undefined {
    if (this.#calls.length === TOOL_CALLS_MAX) {
      this.tooMany = true;
      return undefined;
    }
    const call = { theirIndex: index, theirId: id, name: "", index: -1, held: "", bare: true, list: 0 };
    this.#calls.push(call);
    return call;
  }

  /** The first part of a call, as soon as it has a name. */
  #tell(call: Call): ToolCallDelta & { readonly id: string } {
    this.#ids ??= new Set();
    const id = call.theirId === "" || this.#ids.has(call.theirId) ? this.#newId() : call.theirId;
    this.#ids.add(id);
    call.index = this.told++;
    call.bare = call.held === "";
    const delta = { index: call.index, id, name: call.name, arguments: call.held };
    call.held = "";
    return delta;
  }

  /** The call that an entry goes on with; undefined: it begins one. */
  #find(entry: Entry): Call | undefined {
    const { index, id, name } = entry;
    const call = index === undefined && id === "" ? this.#calls.at(-1) : this.#numbered(index, id);
    // Another id under a number that was used before: the next call, or more of one that had another number.
    if (call === undefined || (id !== "" && call.theirId !== "" && call.theirId !== id)) {
      return name === "" && id !== "" ? this.#calls.findLast(({ theirId }) => theirId === id) : undefined;
    }
    if (name === "" || call.name === "") return call;
    // A name again: the same call said twice, unless one list says it twice or nothing else ties the two together.
    const tied = id !== "" ? call.theirId === id : index !== undefined && call.name === name;
    return tied && call.list !== this.#lists ? call : undefined;
  }

  #numbered(index: number | undefined, id: string): Call | undefined {
    return index === undefined
      ? this.#calls.findLast(({ theirId }) => theirId === id)
      : this.#calls.findLast(({ theirIndex }) => theirIndex === index);
  }
}

/** A part of a call as an event has it. */
export function callJson({ index, id, name, arguments: text }: ToolCallDelta): JsonObject {
  const type = id === undefined ? undefined : "function";
  return { index, id, type, function: { name, arguments: text } };
}

/** The calls of a whole answer; `too many`: more than anybody asks for. */
export function wholeCalls(
  message: JsonObject,
  newId: () => string,
): readonly ToolCall[] | "too many" | undefined {
  const parts = new ToolCallParts(newId);
  const calls: ToolCall[] = [];
  const deltas = [...(parts.take(message) ?? []), ...(parts.end() ?? [])];
  for (const { index, id, name, arguments: text } of deltas) {
    const known = calls[index];
    calls[index] =
      known === undefined
        ? { id: id ?? "", name: name ?? "", arguments: text }
        : { ...known, arguments: known.arguments + text };
  }
  if (parts.tooMany) return "too many";
  return calls.length === 0 ? undefined : calls;
}

function entriesOf(message: JsonObject): readonly Entry[] {
  const legacy = message["function_call"];
  if (isPresent(legacy)) return [entryOf({ index: 0, function: legacy })];
  return isPresent(message["tool_calls"]) ? asObjects(message["tool_calls"]).map(entryOf) : [];
}

const KINDS: ReadonlySet<unknown> = new Set(["function", "custom"]);

function entryOf(entry: JsonObject): Entry {
  // A custom tool is called with text that need not be JSON.
  const called = asObject(entry["function"]) ?? asObject(entry["custom"]);
  const { index, type } = entry;
  const text = called?.["arguments"] ?? called?.["input"];
  const name = asText(called?.["name"]);
  return {
    index: typeof index === "number" ? index : undefined,
    id: asText(entry["id"]),
    name,
    arguments: typeof text === "string" ? text : isPresent(text) ? JSON.stringify(text) : "",
    regular: (KINDS.has(type) || (name === "" && type === undefined)) && typeof text === "string",
  };
}
