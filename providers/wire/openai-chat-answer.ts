/**
 * Reads what comes back in OpenAI's chat-completions format: whole answers, stream events, errors. Pure, and wary:
 * every field may be missing or of another type.
 */
import type {
  ChatChunk,
  ChatResult,
  FinishReason,
  ProviderFailure,
  StreamDecoder,
  Usage,
} from "sluice/plugin";
import { failure } from "sluice/plugin";
import { PlainEvents } from "./plain-event.ts";

type Json = Readonly<Record<string, unknown>>;

const REASON_CHARACTERS_MAX = 200;
const RETRY_AFTER_SECONDS_MAX = 86_400;

/** Text of a 2xx answer. */
export function decodeAnswer(text: string): ChatResult | ProviderFailure {
  const answer = parsed(text);
  if (answer === undefined) return unusable("the answer is not JSON");
  if (isPresent(answer["error"])) return errorWithin(answer["error"]);
  const choice = firstOf(answer["choices"]);
  const message = record(choice?.["message"]);
  if (choice === undefined || message === undefined) return unusable("the answer has no choices");
  const refusal = textOf(message["refusal"]);
  const content = textOf(message["content"]) || refusal;
  const seen = { text: content !== "", refusal: refusal !== "", tools: hasItems(message["tool_calls"]) };
  return {
    id: textOf(answer["id"]),
    model: textOf(answer["model"]),
    content,
    ...finish(textOf(choice["finish_reason"]), seen),
    usage: usageOf(answer["usage"]),
  };
}

/** An answer with an error status. */
export function decodeFailure(
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): ProviderFailure {
  const body = parsed(text);
  const reason = shortReason(body?.["error"]) || shortReason(body) || "no reason given";
  const movesOn = status === 408 || status === 429 || status >= 500;
  const retryAfterSeconds = retryAfter(headers);
  return failure({ status, reason, movesOn, accepted: false, retryAfterSeconds });
}

/** State of one streamed answer. */
export class ChunkDecoder implements StreamDecoder {
  id = "";
  model = "";
  /** A finish reason came. `[DONE]` is not asked for: a stream without one is cut short, marker or not. */
  complete = false;
  readonly #seen = { text: false, refusal: false, tools: false };
  readonly #plain = new PlainEvents();
  #begun = false;

  event(name: string, text: string, out: ChatChunk[]): ProviderFailure | undefined {
    const plain = name === "" ? this.#plain.textOf(text) : undefined;
    if (plain !== undefined) {
      out.push(chunk(plain, text));
      return undefined;
    }
    const event = parsed(text);
    if (event === undefined) return unusable("an event of the answer is not JSON");
    if (name === "error" || isPresent(event["error"])) return errorWithin(event["error"] ?? event);
    if (!this.#begun) {
      this.#begun = true;
      this.id = textOf(event["id"]);
      this.model = textOf(event["model"]);
    }
    const usage = usageOf(event["usage"]);
    const choice = firstOf(event["choices"]);
    if (choice !== undefined) this.#choice(choice, usage, text, out);
    else if (usage !== undefined) out.push({ ...chunk("", undefined), usage });
    return undefined;
  }

  #choice(choice: Json, usage: Usage | undefined, raw: string, out: ChatChunk[]): void {
    const delta = record(choice["delta"]);
    const refusal = textOf(delta?.["refusal"]);
    const added = textOf(delta?.["content"]) + refusal;
    const seen = this.#seen;
    if (added !== "") seen.text = true;
    if (refusal !== "") seen.refusal = true;
    if (hasItems(delta?.["tool_calls"])) seen.tools = true;
    const word = textOf(choice["finish_reason"]);
    if (word === "" && usage === undefined) {
      // Multi-line JSON cannot be sent on as one data line; a refusal goes out as content.
      const mayPass = refusal === "" && !raw.includes("\n");
      out.push(chunk(added, mayPass ? raw : undefined));
      if (mayPass && added !== "") this.#plain.learn(raw, added, contentOf);
      return;
    }
    // Clients drop text that shares an event with the finish reason, so it goes ahead.
    if (added !== "") out.push(chunk(added, undefined));
    if (word === "") {
      out.push({ ...chunk("", undefined), usage });
    } else {
      this.complete = true;
      out.push({ text: "", ...finish(word, seen), usage, raw: undefined });
    }
  }
}

function chunk(text: string, raw: string | undefined): ChatChunk {
  return { text, finishReason: undefined, providerFinishReason: undefined, usage: undefined, raw };
}

/** Text of an event's first choice. */
function contentOf(event: string): string | undefined {
  return textOf(record(firstOf(parsed(event)?.["choices"])?.["delta"])?.["content"]);
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "error"],
]);

interface Seen {
  readonly text: boolean;
  readonly refusal: boolean;
  readonly tools: boolean;
}

interface End {
  readonly finishReason: FinishReason;
  readonly providerFinishReason: string | undefined;
}

/** The rules of CONTRACT section 5 for what an answer ended with. */
function finish(word: string, seen: Seen): End {
  if (word === "stop" && seen.refusal) return { finishReason: "error", providerFinishReason: "refusal" };
  if (word === "stop" && seen.tools) return { finishReason: "tool_calls", providerFinishReason: word };
  const finishReason = FINISH_REASONS.get(word) ?? (seen.text ? "stop" : "error");
  return { finishReason, providerFinishReason: word === finishReason || word === "" ? undefined : word };
}

function usageOf(value: unknown): Usage | undefined {
  const usage = record(value);
  if (usage === undefined) return undefined;
  const promptTokens = count(usage["prompt_tokens"]);
  const completionTokens = count(usage["completion_tokens"]);
  const cachedPromptTokens = count(record(usage["prompt_tokens_details"])?.["cached_tokens"]);
  const totalTokens = count(usage["total_tokens"]) || promptTokens + completionTokens;
  return { promptTokens, completionTokens, totalTokens, cachedPromptTokens };
}

/** A 2xx answer that is not what was asked for: another target may do better. */
function unusable(reason: string): ProviderFailure {
  return failure({ status: undefined, reason, movesOn: true, accepted: true });
}

/** An error told inside a 2xx answer. Moves on whatever it is (CONTRACT section 5). */
function errorWithin(error: unknown): ProviderFailure {
  const status = count(record(error)?.["status_code"]) || undefined;
  return failure({ status, reason: shortReason(error) || "no reason given", movesOn: true, accepted: true });
}

/** `message` of an error object, or the error itself where it is a text: its first line. */
function shortReason(error: unknown): string {
  const message = textOf(error) || textOf(record(error)?.["message"]);
  const line = message.trim().split(/[\r\n]/, 1)[0] ?? "";
  return line.length > REASON_CHARACTERS_MAX ? `${line.slice(0, REASON_CHARACTERS_MAX - 1)}…` : line;
}

/** `retry-after-ms`, or `retry-after` in seconds; a date is left alone. */
function retryAfter(headers: Readonly<Record<string, string>>): number | undefined {
  const seconds =
    headers["retry-after-ms"] === undefined
      ? Number(headers["retry-after"])
      : Number(headers["retry-after-ms"]) / 1000;
  return seconds > 0 && seconds <= RETRY_AFTER_SECONDS_MAX ? Math.ceil(seconds) : undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return record(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function record(value: unknown): Json | undefined {
  // An object of JSON.parse: any key may be asked for, and gives unknown.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function firstOf(value: unknown): Json | undefined {
  return Array.isArray(value) ? record(value[0]) : undefined;
}

function hasItems(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A whole number that is not negative; 0 for anything else. */
function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
