/** Reads the events of an answer that Cohere streams. `type` says what an event is. Pure; any field may be missing. */
import type { ChatChunk, ProviderFailure, StreamDecoder, ToolCallDelta } from "sluice/provider";
import {
  asObject,
  asText,
  embeddedError,
  eventChunk,
  firstObject,
  invalidJson,
  isPresent,
  type JsonObject,
  parseObject,
  readErrorReason,
  readFinish,
  TOOL_CALLS_MAX,
  tooManyToolCalls,
} from "sluice/provider";
import { type CountedTokens, FINISH_REASONS, isNothing, usageOf } from "./cohere-answer.ts";

const NO_DELTA: JsonObject = {};

/** A tool call that has begun. */
interface OpenCall {
  readonly index: number;
  /** Arguments that may yet turn out to be nothing: "" and the beginnings of `null`. undefined: they are something. */
  held: string | undefined;
}

/** State of one streamed answer. */
export class CohereDecoder implements StreamDecoder {
  id = "";
  /** Cohere does not say which model answers. */
  readonly model = "";
  /** `message-end` came. */
  complete = false;
  thinking = false;
  readonly #counted: CountedTokens;
  readonly #newId: () => string;
  /** By Cohere's index, which counts texts and thoughts too. */
  readonly #open = new Map<unknown, OpenCall>();
  #calls = 0;
  #text = false;

  constructor(counted: CountedTokens, newId: () => string) {
    this.#counted = counted;
    this.#newId = newId;
  }

  event(name: string, text: string, out: ChatChunk[]): ProviderFailure | undefined {
    const event = parseObject(text);
    if (event === undefined) return invalidJson("an event of the answer", text);
    if (name === "error" || isPresent(event["error"])) return embeddedError(readErrorReason(event));
    const delta = asObject(event["delta"]) ?? NO_DELTA;
    const message = asObject(delta["message"]);
    switch (asText(event["type"]) || name) {
      case "message-start":
        this.id ||= asText(event["id"]);
        return undefined;
      case "content-start":
      case "content-delta":
        // Thoughts come under another key, plans in events of their own.
        if (isPresent(asObject(message?.["content"])?.["thinking"])) this.thinking = true;
        this.#say(asText(asObject(message?.["content"])?.["text"]), out);
        return undefined;
      case "tool-plan-delta":
        this.thinking = true;
        return undefined;
      case "tool-call-start":
        return this.#begin(event["index"], callIn(message), out);
      case "tool-call-delta":
        this.#goOn(event["index"], callIn(message), out);
        return undefined;
      case "tool-call-end":
        this.#close(event["index"], out);
        return undefined;
      case "message-end":
        return this.#end(delta, out);
      default:
        return undefined;
    }
  }

  #say(text: string, out: ChatChunk[]): void {
    if (text === "") return;
    this.#text = true;
    out.push(eventChunk(text, undefined));
  }

  #begin(theirs: unknown, call: JsonObject | undefined, out: ChatChunk[]): ProviderFailure | undefined {
    if (this.#calls === TOOL_CALLS_MAX) return tooManyToolCalls();
    this.#close(theirs, out);
    const open: OpenCall = { index: this.#calls++, held: "" };
    this.#open.set(theirs, open);
    const about = asObject(call?.["function"]);
    const id = asText(call?.["id"]) || this.#newId();
    const name = asText(about?.["name"]);
    push(out, { index: open.index, id, name, arguments: told(open, asText(about?.["arguments"])) });
    return undefined;
  }

  #goOn(theirs: unknown, call: JsonObject | undefined, out: ChatChunk[]): void {
    const open = this.#open.get(theirs);
    if (open === undefined) return;
    const text = told(open, asText(asObject(call?.["function"])?.["arguments"]));
    if (text !== "") push(out, { index: open.index, id: undefined, name: undefined, arguments: text });
  }

  #close(theirs: unknown, out: ChatChunk[]): void {
    const open = this.#open.get(theirs);
    if (open === undefined) return;
    this.#open.delete(theirs);
    const { index, held } = open;
    if (held === undefined) return;
    push(out, { index, id: undefined, name: undefined, arguments: isNothing(held) ? "{}" : held });
  }

  #end(delta: JsonObject, out: ChatChunk[]): ProviderFailure | undefined {
    if (isPresent(delta["error"])) return embeddedError(readErrorReason(delta["error"]));
    if (this.complete) return undefined;
    this.complete = true;
    for (const theirs of [...this.#open.keys()]) this.#close(theirs, out);
    const end = readFinish(asText(delta["finish_reason"]), FINISH_REASONS, {
      text: this.#text,
      calls: this.#calls > 0,
    });
    out.push({ ...eventChunk("", undefined), ...end, usage: usageOf(delta["usage"], this.#counted) });
    return undefined;
  }
}

/** One call an event; an object, where the format elsewhere has a list. */
function callIn(message: JsonObject | undefined): JsonObject | undefined {
  return asObject(message?.["tool_calls"]) ?? firstObject(message?.["tool_calls"]);
}

/** Arguments that may go out now, those held before among them. */
function told(call: OpenCall, text: string): string {
  if (call.held === undefined) return text;
  const held = call.held + text;
  const isOpen = "null".startsWith(held);
  call.held = isOpen ? held : undefined;
  return isOpen ? "" : held;
}

function push(out: ChatChunk[], toolCall: ToolCallDelta): void {
  out.push({ ...eventChunk("", undefined), toolCalls: [toolCall] });
}
