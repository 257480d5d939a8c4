/**
 * Reads whole answers and errors in OpenAI's chat format. Pure, and wary: every field may be missing or of another
 * type.
 */
import type { Alternative, ChatResult } from "../../plugin/chat.ts";
import type { ProviderFailure } from "../../plugin/provider.ts";
import { errorCode, errorWithin, notJson, shortReason, statusWithin, unusable } from "../wire/failures.ts";
import { isPresent, type Json, parsed, record, records, textOf } from "../wire/json.ts";
import { tooManyCalls } from "../wire/tools.ts";
import { finish, usageIn } from "./finish.ts";
import { wholeCalls } from "./tool-calls.ts";

/** Text of a 2xx answer. `native`: it is kept as it came, too. */
export function decodeAnswer(
  text: string,
  newId: () => string,
  native = false,
): ChatResult | ProviderFailure {
  const answer = parsed(text);
  if (answer === undefined) return notJson("the answer", text);
  const failed = toldIn(answer);
  if (failed !== undefined) return failed;
  const [first, ...others] = Array.isArray(answer["choices"]) ? answer["choices"].map(record) : [];
  const said = first === undefined ? undefined : saidIn(first, newId);
  if (said === undefined) return unusable("the answer has no choices");
  if (said === "too many") return tooManyCalls();
  const { content, toolCalls, finishReason, providerFinishReason } = said;
  const result = {
    id: textOf(answer["id"]),
    model: textOf(answer["model"]),
    content,
    toolCalls,
    finishReason,
    providerFinishReason,
    usage: usageIn(answer),
  };
  if (!native) return result;
  const more: Alternative[] = [];
  for (const other of others) {
    const alternative = other === undefined ? undefined : saidIn(other, newId);
    if (alternative === undefined) return unusable("a choice of the answer has no message");
    if (alternative === "too many") return tooManyCalls();
    more.push(alternative);
  }
  const alternatives = more.length === 0 ? undefined : more;
  return {
    ...result,
    ...(alternatives !== undefined && { more: alternatives }),
    raw: { json: answer, content, toolCalls, more: alternatives },
  };
}

/** What one choice says; undefined: it has no message. */
function saidIn(choice: Json, newId: () => string): Alternative | "too many" | undefined {
  const message = record(choice["message"]);
  if (message === undefined) return undefined;
  const refusal = textOf(message["refusal"]);
  const content = answerText(message["content"]) || refusal;
  const toolCalls = wholeCalls(message, newId);
  if (toolCalls === "too many") return toolCalls;
  const seen = { text: content !== "", refusal: refusal !== "", calls: toolCalls !== undefined };
  return { content, toolCalls, ...finish(textOf(choice["finish_reason"]), seen) };
}

/** The error that stands where an answer or event should; undefined where none does. */
export function toldIn(answer: Json): ProviderFailure | undefined {
  const error = answer["error"] ?? record(answer["x_groq"])?.["error"];
  if (isPresent(error)) return told(error);
  return answer["object"] === "error" ? told(answer) : undefined;
}

export function told(error: unknown): ProviderFailure {
  return errorWithin(shortReason(error), statusWithin(error), errorCode(error));
}

/** A text, or the text among parts: what a model thinks is no part of its answer. */
export function answerText(content: unknown): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const part of records(content)) if (part["type"] === "text") text += textOf(part["text"]);
  return text;
}
