/** Reads the events of an answer that Anthropic streams. `type` says what an event is. Pure; any field may be missing. */
import type { ChatChunk, ProviderFailure, StreamDecoder, ToolCallDelta } from "sluice/provider";
import {
  asObject,
  asText,
  embeddedError,
  estimateTokens,
  eventChunk,
  invalidJson,
  isPresent,
  type JsonObject,
  PlainEvents,
  parseObject,
  readErrorReason,
  readFinish,
  TOOL_CALLS_MAX,
  tooManyToolCalls,
  unusableAnswer,
} from "sluice/provider";
import { FINISH_REASONS, usageOf } from "./anthropic-answer.ts";
import { endWithJson, jsonToolText } from "./anthropic-json-tool.ts";

/** The shape of plain events changes with each block of the answer. */
const SHAPES_MAX = 64;

/** A tool call that has begun. */
interface OpenCall {
  readonly index: number;
  readonly id: string;
  /** What its arguments are if no part of them comes. undefined: one has come. */
  whole: string | undefined;
}

/** State of one streamed answer. */
export class AnthropicDecoder implements StreamDecoder {
  id = "";
  model = "";
  /** `message_stop` came. */
  complete = false;
  thinking = false;
  readonly #newId: () => string;
  readonly #plain = new PlainEvents(SHAPES_MAX);
  /** By Anthropic's index, which counts texts and thoughts too. */
  readonly #open = new Map<unknown, OpenCall>();
  /** The block of the tool that the answer's JSON is given to, and what it began with; its text is the answer's. */
  #json: { readonly block: unknown; whole: string | undefined } | undefined;
  #calls = 0;
  #text = false;
  #usage: JsonObject | undefined;
  #thoughtCharacters = 0;
  /** A block of thoughts has not ended. */
  #thoughtsOpen = false;
  #stopReason = "";

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  event(name: string, text: string, out: ChatChunk[]): ProviderFailure | undefined {
    if (this.complete) return undefined;
    const plain = this.#plain.textOf(text);
    if (plain !== undefined) {
      this.#say(plain, out);
      return undefined;
    }
    const event = parseObject(text);
    if (event === undefined) return invalidJson("an event of the answer", text);
    if (name === "error" || isPresent(event["error"])) return embeddedError(readErrorReason(event));
    switch (asText(event["type"]) || name) {
      case "message_start":
        return this.#start(asObject(event["message"]), out);
      case "content_block_start":
        return this.#begin(event["index"], asObject(event["content_block"]), out);
      case "content_block_delta":
        this.#goOn(event, text, out);
        return undefined;
      case "content_block_stop":
        this.#close(event["index"], out);
        return undefined;
      case "message_delta":
        this.#stopReason = asText(asObject(event["delta"])?.["stop_reason"]) || this.#stopReason;
        this.#use(asObject(event["usage"]));
        return undefined;
      case "message_stop":
        this.#end(out);
        return undefined;
      default:
        // Pings, and what later versions add.
        return undefined;
    }
  }

  /**
   * Proxies send a second start, of the same answer or of another that continues it: it changes nothing. Inside an open
   * tool call another answer cannot continue it: the call's arguments are cut off.
   */
  #start(message: JsonObject | undefined, out: ChatChunk[]): ProviderFailure | undefined {
    if (this.#open.size > 0 && asText(message?.["id"]) !== this.id)
      return unusableAnswer("another answer began inside a tool call");
    this.id ||= asText(message?.["id"]);
    this.model ||= asText(message?.["model"]);
    if (this.#usage === undefined) {
      this.#use(asObject(message?.["usage"]));
      this.#report(out);
    }
    return undefined;
  }

  /** Counts are of the whole answer so far; a count that is left out, or null, still holds. */
  #use(usage: JsonObject | undefined): void {
    if (usage === undefined) return;
    const told = Object.entries(usage).filter(([, count]) => isPresent(count));
    this.#usage = { ...this.#usage, ...Object.fromEntries(told) };
  }

  /** What is known before the end: an answer that is aborted is settled by it. Thoughts so far count as output. */
  #report(out: ChatChunk[]): void {
    const usage = usageOf(this.#usage);
    if (usage === undefined) return;
    const reasoningTokens = estimateTokens(this.#thoughtCharacters);
    const completionTokens = Math.max(usage.completionTokens, reasoningTokens);
    const totalTokens = usage.promptTokens + completionTokens;
    const soFar = { ...usage, completionTokens, totalTokens, reasoningTokens };
    out.push({ ...eventChunk("", undefined), usage: soFar });
  }

  #begin(theirs: unknown, block: JsonObject | undefined, out: ChatChunk[]): ProviderFailure | undefined {
    if (asText(block?.["type"]).endsWith("thinking")) this.thinking = true;
    if (block?.["type"] === "text") this.#say(asText(block["text"]), out);
    if (block?.["type"] !== "tool_use") return undefined;
    const whole = jsonToolText(block);
    if (whole !== undefined) {
      this.#json = { block: theirs, whole };
      return undefined;
    }
    const id = asText(block["id"]) || this.#newId();
    if (this.#open.get(theirs)?.id === id) return undefined;
    if (this.#calls === TOOL_CALLS_MAX) return tooManyToolCalls();
    if (this.#open.has(theirs)) return unusableAnswer("a tool call began inside another one");
    const index = this.#calls++;
    this.#open.set(theirs, { index, id, whole: JSON.stringify(asObject(block["input"]) ?? {}) });
    push(out, { index, id, name: asText(block["name"]), arguments: "" });
    return undefined;
  }

  #goOn(event: JsonObject, raw: string, out: ChatChunk[]): void {
    const delta = asObject(event["delta"]);
    if (delta?.["type"] === "text_delta") {
      const text = asText(delta["text"]);
      this.#say(text, out);
      this.#plain.learn(raw, text, textDeltaOf);
    } else if (delta?.["type"] === "thinking_delta") {
      this.#thoughtCharacters += asText(delta["thinking"]).length;
      this.#thoughtsOpen = true;
    } else if (delta?.["type"] === "input_json_delta") {
      const call = this.#open.get(event["index"]);
      const text = asText(delta["partial_json"]);
      const json = this.#json;
      if (text !== "" && json !== undefined && json.block === event["index"]) {
        json.whole = undefined;
        this.#say(text, out);
      }
      if (call === undefined || text === "") return;
      call.whole = undefined;
      push(out, { index: call.index, id: undefined, name: undefined, arguments: text });
    }
  }

  /** A tool that wants no arguments gets no part of any. */
  #close(theirs: unknown, out: ChatChunk[]): void {
    if (this.#thoughtsOpen) {
      this.#thoughtsOpen = false;
      this.#report(out);
    }
    const json = this.#json;
    if (json !== undefined && json.block === theirs && json.whole !== undefined) {
      this.#say(json.whole, out);
      json.whole = undefined;
    }
    const call = this.#open.get(theirs);
    if (call === undefined) return;
    this.#open.delete(theirs);
    const { index, whole } = call;
    if (whole !== undefined) push(out, { index, id: undefined, name: undefined, arguments: whole });
  }

  #say(text: string, out: ChatChunk[]): void {
    if (text === "") return;
    this.#text = true;
    out.push(eventChunk(text, undefined));
  }

  #end(out: ChatChunk[]): void {
    this.complete = true;
    for (const theirs of [...this.#open.keys()]) this.#close(theirs, out);
    const word = endWithJson(this.#stopReason, this.#json !== undefined);
    const end = readFinish(word, FINISH_REASONS, { text: this.#text, calls: this.#calls > 0 });
    out.push({ ...eventChunk("", undefined), ...end, usage: usageOf(this.#usage) });
  }
}

function textDeltaOf(text: string): string | undefined {
  const event = parseObject(text);
  const delta = asObject(event?.["delta"]);
  const isText = event?.["type"] === "content_block_delta" && delta?.["type"] === "text_delta";
  return isText && !isPresent(event["error"]) ? asText(delta["text"]) : undefined;
}

function push(out: ChatChunk[], toolCall: ToolCallDelta): void {
  out.push({ ...eventChunk("", undefined), toolCalls: [toolCall] });
}
