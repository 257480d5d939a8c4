/** Reads the events of a streamed answer in OpenAI's chat format. Pure, and as wary as answer.ts. */
import type { ChatChunk, Usage } from "../chat.ts";
import { eventChunk } from "../chat.ts";
import type { ProviderFailure, StreamDecoder } from "../provider.ts";
import { unusable } from "../wire/failures.ts";
import { firstOf, isPresent, type Json, parsed, record, textOf } from "../wire/json.ts";
import { answerText, TOO_MANY_CALLS, told, toldIn } from "./answer.ts";
import { finish, usageIn } from "./finish.ts";
import { PlainEvents } from "./plain-event.ts";
import { ToolCallParts } from "./tool-calls.ts";

const NOTHING: Json = {};

/** State of one streamed answer. */
export class ChunkDecoder implements StreamDecoder {
  id = "";
  model = "";
  /** A finish reason came. `[DONE]` is not asked for: a stream without one is cut short, marker or not. */
  complete = false;
  readonly #plain = new PlainEvents();
  readonly #toolCalls: ToolCallParts;
  #text = false;
  #refusal = false;

  constructor(newId: () => string) {
    this.#toolCalls = new ToolCallParts(newId);
  }

  event(name: string, text: string, out: ChatChunk[]): ProviderFailure | undefined {
    const plain = name === "" ? this.#plain.textOf(text) : undefined;
    if (plain !== undefined) {
      out.push(eventChunk(plain, text));
      return undefined;
    }
    const event = parsed(text);
    if (event === undefined) return unusable("an event of the answer is not JSON");
    const failed = toldIn(event) ?? (name === "error" ? told(event) : undefined);
    if (failed !== undefined) return failed;
    // Some servers begin with an event that has neither.
    this.id ||= textOf(event["id"]);
    this.model ||= textOf(event["model"]);
    const usage = usageIn(event);
    const choice = firstOf(event["choices"]);
    if (choice !== undefined) this.#choice(choice, usage, text, out);
    else if (usage !== undefined) out.push({ ...eventChunk("", undefined), usage });
    return this.#toolCalls.tooMany ? unusable(TOO_MANY_CALLS) : undefined;
  }

  #choice(choice: Json, usage: Usage | undefined, raw: string, out: ChatChunk[]): void {
    const delta = record(choice["delta"]) ?? NOTHING;
    const refusal = textOf(delta["refusal"]);
    const text = answerText(delta["content"]) + refusal;
    const toolCalls = this.#toolCalls.take(delta);
    if (text !== "") this.#text = true;
    if (refusal !== "") this.#refusal = true;
    const word = textOf(choice["finish_reason"]);
    const silent = text === "" && toolCalls === undefined;
    if (word === "" && usage === undefined) {
      const passes = this.id !== "" && this.#toolCalls.regular && isPlain(delta) && !raw.includes("\n");
      // Of thoughts, which nobody sees, not even an empty chunk is left: it would look like content.
      if (!silent || passes) push(out, eventChunk(text, passes ? raw : undefined), toolCalls);
      if (passes && text !== "" && toolCalls === undefined) this.#plain.learn(raw, text, contentOf);
      return;
    }
    // Clients drop what shares an event with the finish reason, so it goes ahead.
    if (!silent) push(out, eventChunk(text, undefined), toolCalls);
    if (word === "") out.push({ ...eventChunk("", undefined), usage });
    else this.#finish(word, usage, out);
  }

  #finish(word: string, usage: Usage | undefined, out: ChatChunk[]): void {
    this.complete = true;
    const rest = this.#toolCalls.end();
    if (rest !== undefined) push(out, eventChunk("", undefined), rest);
    const seen = { text: this.#text, refusal: this.#refusal, toolCalls: this.#toolCalls.told > 0 };
    out.push({ ...eventChunk("", undefined), ...finish(word, seen), usage });
  }
}

function push(out: ChatChunk[], chunk: ChatChunk, toolCalls: ChatChunk["toolCalls"]): void {
  out.push(toolCalls === undefined ? chunk : { ...chunk, toolCalls });
}

/** What is read of a delta. */
const READ: ReadonlySet<string> = new Set(["role", "content", "tool_calls"]);

/** Nothing but what was read speaks to the client: no thoughts, no refusal, no parts, nothing that hooks never saw. */
function isPlain(delta: Json): boolean {
  const { role, content } = delta;
  if (typeof content === "object" && content !== null) return false;
  if (isPresent(role) && role !== "assistant") return false;
  for (const key in delta) if (!READ.has(key) && speaks(delta[key])) return false;
  return true;
}

function speaks(value: unknown): boolean {
  if (typeof value === "object") return value !== null && Object.keys(value).length > 0;
  return typeof value === "string" && value !== "";
}

/** Text of an event's first choice. */
function contentOf(event: string): string | undefined {
  return textOf(record(firstOf(parsed(event)?.["choices"])?.["delta"])?.["content"]);
}
