/** Reads Cohere's whole answers, and the words and numbers that its streams end with too. Pure, and wary. */
import type { ChatResult, FinishReason, ProviderFailure, ToolCall, Usage } from "sluice/provider";
import {
  areCounts,
  count,
  endOf,
  errorWithin,
  isPresent,
  type Json,
  notJson,
  parsed,
  record,
  records,
  shortReason,
  textOf,
  unusable,
  vectorsIn,
} from "sluice/provider";

/**
 * Cohere counts twice: all that its models read and write, and the part of it that it bills. Undefined: the first is the
 * usage, the second what the call costs.
 */
export type CountedTokens = "tokens" | "billed_units" | undefined;

/** Text of a 2xx answer. */
export function decodeCohere(
  text: string,
  counted: CountedTokens,
  newId: () => string,
): ChatResult | ProviderFailure {
  const answer = parsed(text);
  if (answer === undefined) return notJson("the answer", text);
  if (isPresent(answer["error"])) return errorWithin(shortReason(answer["error"]));
  const message = record(answer["message"]);
  if (message === undefined) return unusable("the answer has no message");
  const content = answerText(message["content"]);
  const toolCalls = records(message["tool_calls"]).map((call) => toolCallOf(call, newId));
  return {
    id: textOf(answer["id"]),
    // Cohere does not say which model answered.
    model: "",
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...endOf(textOf(answer["finish_reason"]), FINISH_REASONS, {
      text: content !== "",
      calls: toolCalls.length > 0,
    }),
    usage: usageOf(answer["usage"], counted),
  };
}

/** Text of a 2xx answer to a call for embeddings. */
export function decodeCohereVectors(text: string): ChatResult | ProviderFailure {
  const answer = parsed(text);
  const embeddings = vectorsIn(record(answer?.["embeddings"])?.["float"]);
  if (answer === undefined || embeddings === undefined) return unusable("the answer has no embeddings");
  const billed = count(record(record(answer["meta"])?.["billed_units"])?.["input_tokens"]);
  const usage = billed === 0 ? undefined : { promptTokens: billed, completionTokens: 0, totalTokens: billed };
  return { id: textOf(answer["id"]), model: "", content: "", finishReason: "stop", usage, embeddings };
}

/** The text parts: neither what the model thought nor, beside the content, what it planned. */
function answerText(content: unknown): string {
  let text = textOf(content);
  for (const part of records(content)) if (part["type"] === "text") text += textOf(part["text"]);
  return text;
}

function toolCallOf(call: Json, newId: () => string): ToolCall {
  const about = record(call["function"]);
  const text = textOf(about?.["arguments"]);
  return {
    id: textOf(call["id"]) || newId(),
    name: textOf(about?.["name"]),
    arguments: isNothing(text) ? "{}" : text,
  };
}

/** What Cohere writes where a tool wants no arguments. */
export function isNothing(argumentsText: string): boolean {
  return argumentsText === "" || argumentsText === "null";
}

export const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["COMPLETE", "stop"],
  ["STOP_SEQUENCE", "stop"],
  ["MAX_TOKENS", "length"],
  ["TOOL_CALL", "tool_calls"],
  ["ERROR", "error"],
  ["TIMEOUT", "error"],
]);

export function usageOf(value: unknown, counted: CountedTokens): Usage | undefined {
  const usage = record(value);
  const tokens =
    record(usage?.[counted ?? "tokens"]) ?? record(usage?.["tokens"]) ?? record(usage?.["billed_units"]);
  if (tokens === undefined || !areCounts(tokens["input_tokens"], tokens["output_tokens"])) return undefined;
  const promptTokens = count(tokens["input_tokens"]);
  const completionTokens = count(tokens["output_tokens"]);
  const charged = record(usage?.["billed_units"]);
  const isCharged = counted === undefined && areCounts(charged?.["input_tokens"], charged?.["output_tokens"]);
  const billed = isCharged
    ? { promptTokens: count(charged?.["input_tokens"]), completionTokens: count(charged?.["output_tokens"]) }
    : undefined;
  // A part of all tokens; how much of it is billed is not said.
  const cachedPromptTokens = counted !== "billed_units" ? count(usage?.["cached_tokens"]) : 0;
  return {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedPromptTokens: Math.min(cachedPromptTokens, promptTokens),
    ...(billed !== undefined && { billed }),
  };
}
