/**
 * Reads whole answers and errors in OpenAI's chat format. Pure; every field may be missing or of another
 * type.
 */
import type { Alternative, ChatResult, JsonObject } from "../../plugin/chat.ts";
import type { ProviderFailure } from "../../plugin/provider.ts";
import {
  embeddedError,
  invalidJson,
  readErrorCode,
  readErrorReason,
  readErrorStatus,
  unusableAnswer,
} from "../wire/failures.ts";
import { asObject, asObjects, asText, isPresent, parseObject } from "../wire/json.ts";
import { tooManyToolCalls } from "../wire/tools.ts";
import { finish, usageIn } from "./finish.ts";
import { wholeCalls } from "./tool-calls.ts";

/** Text of a 2xx answer. `native`: it is kept as it came, too. */
export function decodeAnswer(
  text: string,
  newId: () => string,
  native = false,
): ChatResult | ProviderFailure {
  const answer = parseObject(text);
  if (answer === undefined) return invalidJson("the answer", text);
  const failed = toldIn(answer);
  if (failed !== undefined) return failed;
  const [first, ...others] = Array.isArray(answer["choices"]) ? answer["choices"].map(asObject) : [];
  const said = first === undefined ? undefined : saidIn(first, newId);
  if (said === undefined) return unusableAnswer("the answer has no choices");
  if (said === "too many") return tooManyToolCalls();
  const { content, toolCalls, finishReason, providerFinishReason } = said;
  const result = {
    id: asText(answer["id"]),
    model: asText(answer["model"]),
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
    if (alternative === undefined) return unusableAnswer("a choice of the answer has no message");
    if (alternative === "too many") return tooManyToolCalls();
    more.push(alternative);
  }
  const alternatives = more.length === 0 ? undefined : more;
  return {
    ...result,
    ...(alternatives !== undefined && { alternatives: alternatives }),
    native: { json: answer, content, toolCalls, alternatives: alternatives },
  };
}

/** What one choice says; undefined: it has no message. */
function saidIn(choice: JsonObject, newId: () => string): Alternative | "too many" | undefined {
  const message = asObject(choice["message"]);
  if (message === undefined) return undefined;
  const refusal = asText(message["refusal"]);
  const content = answerText(message["content"]) || refusal;
  const toolCalls = wholeCalls(message, newId);
  if (toolCalls === "too many") return toolCalls;
  const seen = { text: content !== "", refusal: refusal !== "", calls: toolCalls !== undefined };
  return { content, toolCalls, ...finish(asText(choice["finish_reason"]), seen) };
}

/** The error that stands where an answer or event should; undefined where none does. */
export function toldIn(answer: JsonObject): ProviderFailure | undefined {
  const error = answer["error"] ?? asObject(answer["x_groq"])?.["error"];
  if (isPresent(error)) return told(error);
  return answer["object"] === "error" ? told(answer) : undefined;
}

export function told(error: unknown): ProviderFailure {
  return embeddedError(readErrorReason(error), readErrorStatus(error), readErrorCode(error));
}

/** A text, or the text among parts: what a model thinks is no part of its answer. */
export function answerText(content: unknown): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const part of asObjects(content)) if (part["type"] === "text") text += asText(part["text"]);
  return text;
}
