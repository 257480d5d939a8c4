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
import { eventChunk } from "sluice/plugin";
import { errorWithin, retryAfter, shortReason, statusFailed, unusable } from "./failures.ts";
import { count, firstOf, hasItems, isPresent, type Json, parsed, record, textOf } from "./json.ts";
import { PlainEvents } from "./plain-event.ts";

/** Text of a 2xx answer. */
export function decodeAnswer(text: string): ChatResult | ProviderFailure {
  const answer = parsed(text);
  if (answer === undefined) return unusable("the answer is not JSON");
  if (isPresent(answer["error"])) return told(answer["error"]);
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
  const reason = shortReason(body?.["error"]) || shortReason(body);
  return statusFailed(status, reason, { retryAfterSeconds: retryAfter(headers) });
}

function told(error: unknown): ProviderFailure {
  return errorWithin(shortReason(error), count(record(error)?.["status_code"]) || undefined);
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
      out.push(eventChunk(plain, text));
      return undefined;
    }
    const event = parsed(text);
    if (event === undefined) return unusable("an event of the answer is not JSON");
    if (name === "error" || isPresent(event["error"])) return told(event["error"] ?? event);
    if (!this.#begun) {
      this.#begun = true;
      this.id = textOf(event["id"]);
      this.model = textOf(event["model"]);
    }
    const usage = usageOf(event["usage"]);
    const choice = firstOf(event["choices"]);
    if (choice !== undefined) this.#choice(choice, usage, text, out);
    else if (usage !== undefined) out.push({ ...eventChunk("", undefined), usage });
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
      out.push(eventChunk(added, mayPass ? raw : undefined));
      if (mayPass && added !== "") this.#plain.learn(raw, added, contentOf);
      return;
    }
    // Clients drop text that shares an event with the finish reason, so it goes ahead.
    if (added !== "") out.push(eventChunk(added, undefined));
    if (word === "") {
      out.push({ ...eventChunk("", undefined), usage });
    } else {
      this.complete = true;
      out.push({ ...eventChunk("", undefined), ...finish(word, seen), usage });
    }
  }
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
