/** Reads the events of a streamed answer in OpenAI's chat format. Pure; any field may be missing. */
import type { ChatChunk, JsonObject, Usage } from "../../plugin/chat.ts";
import { eventChunk } from "../../plugin/chat.ts";
import type { ProviderFailure, StreamDecoder } from "../../plugin/provider.ts";
import { invalidJson } from "../wire/failures.ts";
import { asObject, asText, firstObject, isPresent, parseObject } from "../wire/json.ts";
import { PlainEvents } from "../wire/plain-events.ts";
import { tooManyToolCalls } from "../wire/tools.ts";
import { answerText, told, toldIn } from "./answer.ts";
import { finish, usageIn } from "./finish.ts";
import { repairedEvent } from "./repaired-event.ts";
import { callJson, ToolCallParts } from "./tool-calls.ts";

const NOTHING: JsonObject = {};

/** State of one streamed answer. */
export class ChunkDecoder implements StreamDecoder {
  id = "";
  model = "";
  /** A finish reason came. `[DONE]` is not asked for: a stream without one is cut short, marker or not. */
  complete = false;
  thinking = false;
  readonly #plain = new PlainEvents();
  readonly #toolCalls: ToolCallParts;
  /** The caller wants all that an event says, not only what is read of it. */
  readonly #native: boolean;
  #text = false;
  #refusal = false;

  constructor(newId: () => string, native = false) {
    this.#toolCalls = new ToolCallParts(newId);
    this.#native = native;
  }

  event(name: string, text: string, out: ChatChunk[]): ProviderFailure | undefined {
    const plain = name === "" ? this.#plain.textOf(text) : undefined;
    if (plain !== undefined) {
      out.push(eventChunk(plain, text));
      return undefined;
    }
    const event = parseObject(text);
    if (event === undefined) return invalidJson("an event of the answer", text);
    const failed = toldIn(event) ?? (name === "error" ? told(event) : undefined);
    if (failed !== undefined) return failed;
    // Some servers begin with an event that has neither.
    this.id ||= asText(event["id"]);
    this.model ||= asText(event["model"]);
    const usage = usageIn(event);
    const choice = firstObject(event["choices"]);
    if (choice !== undefined) this.#choice({ event, choice, usage, raw: text }, out);
    else if (usage !== undefined) out.push({ ...eventChunk("", this.#native ? text : undefined), usage });
    return this.#toolCalls.tooMany ? tooManyToolCalls() : undefined;
  }

  #choice({ event, choice, usage, raw }: OneChoice, out: ChatChunk[]): void {
    const delta = asObject(choice["delta"]) ?? NOTHING;
    const refusal = asText(delta["refusal"]);
    const text = textIn(delta);
    const toolCalls = this.#toolCalls.take(delta);
    if (text !== "") this.#text = true;
    if (refusal !== "") this.#refusal = true;
    const word = asText(choice["finish_reason"]);
    const silent = text === "" && toolCalls === undefined;
    if (silent && thinks(delta)) this.thinking = true;
    const regular = this.id !== "" && this.#toolCalls.regular && !raw.includes("\n");
    if (this.#native) return this.#whole({ event, choice, usage, raw }, { text, toolCalls, regular }, out);
    if (word === "" && usage === undefined) {
      const passes = regular && isPlain(delta);
      // Of thoughts, which nobody sees, not even an empty chunk is left: it would look like content.
      if (!silent || passes) push(out, eventChunk(text, passes ? raw : undefined), { toolCalls });
      if (passes && text !== "" && toolCalls === undefined) this.#plain.learn(raw, text, contentOf);
      return;
    }
    // Clients drop what shares an event with the finish reason, so it goes ahead.
    if (!silent) push(out, eventChunk(text, undefined), { toolCalls });
    if (word === "") out.push({ ...eventChunk("", undefined), usage });
    else this.#finish(word, { ...eventChunk("", undefined), usage }, out);
  }

  /** For a caller who speaks all of the format: whatever tells of an event goes with it. */
  #whole({ event, choice, usage, raw }: OneChoice, read: Read, out: ChatChunk[]): void {
    const { text, toolCalls } = read;
    const delta = asObject(choice["delta"]) ?? NOTHING;
    const word = asText(choice["finish_reason"]);
    const nativeOnly = speaksBeside(delta, READ_NATIVE);
    // A function's call has neither number nor id to put in order.
    const isLegacy = isPresent(delta["function_call"]) && this.id !== "" && !raw.includes("\n");
    const passes = (read.regular || isLegacy) && isText(delta);
    const told: Told = nativeOnly ? { toolCalls, nativeOnly } : { toolCalls };
    const repaired = repairedEvent(event, choice, delta, this);
    const [base, said] = [repaired ?? event, firstObject(repaired?.["choices"]) ?? choice];
    const ends = word !== "" || usage !== undefined;
    const speaks = text !== "" || toolCalls !== undefined || nativeOnly;
    if (toolCalls !== undefined && !passes && this.id !== "" && isText(delta)) {
      for (const chunk of callChunks(base, said, told)) out.push(chunk);
    } else if (!ends) {
      const own = repaired === undefined ? raw : JSON.stringify(repaired);
      push(out, eventChunk(text, passes ? own : undefined), told);
      if (passes && own === raw && text !== "" && toolCalls === undefined && !nativeOnly)
        this.#plain.learn(raw, text, contentOf);
    } else if (speaks) push(out, eventChunk(text, passes ? midway(base, said) : undefined), told);
    if (!ends) return;
    const { index, finish_reason } = said;
    const end = speaks ? { ...base, choices: [{ index, delta: NOTHING, finish_reason }] } : base;
    const ending = eventChunk("", JSON.stringify(end));
    if (word === "") out.push({ ...ending, usage });
    else this.#finish(word, { ...ending, usage }, out);
  }

  #finish(word: string, ending: ChatChunk, out: ChatChunk[]): void {
    this.complete = true;
    const rest = this.#toolCalls.end();
    if (rest !== undefined) push(out, eventChunk("", undefined), { toolCalls: rest });
    const seen = { text: this.#text, refusal: this.#refusal, calls: this.#toolCalls.told > 0 };
    out.push({ ...ending, ...finish(word, seen) });
  }
}

/** An event with its one choice. `raw`: its text. */
interface OneChoice {
  readonly event: JsonObject;
  readonly choice: JsonObject;
  readonly usage: Usage | undefined;
  readonly raw: string;
}

/** What was read of an event. `regular`: nothing of it had to be put in order. */
interface Read {
  readonly text: string;
  readonly toolCalls: ChatChunk["toolCalls"];
  readonly regular: boolean;
}

/** What an event tells beside its text. */
type Told = Pick<ChatChunk, "toolCalls" | "nativeOnly">;

function push(out: ChatChunk[], chunk: ChatChunk, told: Told): void {
  out.push(told.toolCalls === undefined && told.nativeOnly === undefined ? chunk : { ...chunk, ...told });
}

/** The event with this choice, as one that does not end the answer. */
function midway(event: JsonObject, choice: JsonObject): string {
  return JSON.stringify({ ...event, usage: undefined, choices: [{ ...choice, finish_reason: null }] });
}

/** Calls that had to be put in order: an event for each, and in the first of them what came beside. */
function callChunks(
  event: JsonObject,
  choice: JsonObject,
  { toolCalls = [], nativeOnly }: Told,
): ChatChunk[] {
  const { tool_calls: _list, function_call: _legacy, ...beside } = asObject(choice["delta"]) ?? NOTHING;
  return toolCalls.map((call, n) => {
    const delta = { ...(n === 0 && beside), tool_calls: [callJson(call)] };
    const chunk = eventChunk(n === 0 ? textIn(beside) : "", midway(event, { ...choice, delta }));
    return { ...chunk, toolCalls: [call], ...(n === 0 && nativeOnly && { nativeOnly }) };
  });
}

/** What a delta says: text, or why there is none. */
function textIn(delta: JsonObject): string {
  return answerText(delta["content"]) + asText(delta["refusal"]);
}

/** What is read of a delta. */
const READ: ReadonlySet<string> = new Set(["role", "content", "tool_calls"]);
/** For a caller who knows what a refusal is. */
const READ_NATIVE: ReadonlySet<string> = new Set([...READ, "refusal"]);

/** Nothing but what was read speaks to the client: no thoughts, no refusal, no parts, nothing that hooks never saw. */
function isPlain(delta: JsonObject): boolean {
  return isText(delta) && !speaksBeside(delta, READ);
}

function isText({ role, content }: JsonObject): boolean {
  if (typeof content === "object" && content !== null) return false;
  return !isPresent(role) || role === "assistant";
}

function speaksBeside(delta: JsonObject, read: ReadonlySet<string>): boolean {
  for (const key in delta) if (!read.has(key) && speaks(delta[key])) return true;
  return false;
}

function speaks(value: unknown): boolean {
  if (typeof value === "object") return value !== null && Object.keys(value).length > 0;
  return typeof value === "string" && value !== "";
}

/** Text of an event's first choice. */
function contentOf(event: string): string | undefined {
  return asText(asObject(firstObject(parseObject(event)?.["choices"])?.["delta"])?.["content"]);
}

/** The names under which servers send what a model thinks. */
const THOUGHTS = ["reasoning_content", "reasoning", "thinking"] as const;

/** Of parts, those that are no text are thoughts too (Mistral). */
function thinks(delta: JsonObject): boolean {
  return (
    Array.isArray(delta["content"]) || THOUGHTS.some((name) => isPresent(delta[name]) && delta[name] !== "")
  );
}
