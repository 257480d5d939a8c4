/** Reads Cohere's whole answers, and the final fields of its streams. Pure; any field may be missing. */
import type { ChatResult, FinishReason, ProviderFailure, ToolCall, Usage } from "sluice/provider";
import {
  areCounts,
  asCount,
  asObject,
  asObjects,
  asText,
  asVectors,
  embeddedError,
  invalidJson,
  isPresent,
  type JsonObject,
  parseObject,
  readErrorReason,
  readFinish,
  unusableAnswer,
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
  const answer = parseObject(text);
  if (answer === undefined) return invalidJson("the answer", text);
  if (isPresent(answer["error"])) return embeddedError(readErrorReason(answer["error"]));
  const message = asObject(answer["message"]);
  if (message === undefined) return unusableAnswer("the answer has no message");
  const content = answerText(message["content"]);
  const toolCalls = asObjects(message["tool_calls"]).map((call) => toolCallOf(call, newId));
  return {
    id: asText(answer["id"]),
    // Cohere does not say which model answered.
    model: "",
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...readFinish(asText(answer["finish_reason"]), FINISH_REASONS, {
      text: content !== "",
      calls: toolCalls.length > 0,
    }),
    usage: usageOf(answer["usage"], counted),
  };
}

/** Text of a 2xx answer to a call for embeddings. */
export function decodeCohereVectors(text: string): ChatResult | ProviderFailure {
  const answer = parseObject(text);
  const embeddings = asVectors(asObject(answer?.["embeddings"])?.["float"]);
  if (answer === undefined || embeddings === undefined) return unusableAnswer("the answer has no embeddings");
  const billed = asCount(asObject(asObject(answer["meta"])?.["billed_units"])?.["input_tokens"]);
  const usage = billed === 0 ? undefined : { promptTokens: billed, completionTokens: 0, totalTokens: billed };
  return { id: asText(answer["id"]), model: "", content: "", finishReason: "stop", usage, embeddings };
}

/** The text parts: neither what the model thought nor, beside the content, what it planned. */
function answerText(content: unknown): string {
  let text = asText(content);
  for (const part of asObjects(content)) if (part["type"] === "text") text += asText(part["text"]);
  return text;
}

function toolCallOf(call: JsonObject, newId: () => string): ToolCall {
  const about = asObject(call["function"]);
  const text = asText(about?.["arguments"]);
  return {
    id: asText(call["id"]) || newId(),
    name: asText(about?.["name"]),
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
  const usage = asObject(value);
  const tokens =
    asObject(usage?.[counted ?? "tokens"]) ??
    asObject(usage?.["tokens"]) ??
    asObject(usage?.["billed_units"]);
  if (tokens === undefined || !areCounts(tokens["input_tokens"], tokens["output_tokens"])) return undefined;
  const promptTokens = asCount(tokens["input_tokens"]);
  const completionTokens = asCount(tokens["output_tokens"]);
  const charged = asObject(usage?.["billed_units"]);
  const isCharged = counted === undefined && areCounts(charged?.["input_tokens"], charged?.["output_tokens"]);
  const billed = isCharged
    ? {
        promptTokens: asCount(charged?.["input_tokens"]),
        completionTokens: asCount(charged?.["output_tokens"]),
      }
    : undefined;
  // A part of all tokens; how much of it is billed is not said.
  const cachedPromptTokens = counted !== "billed_units" ? asCount(usage?.["cached_tokens"]) : 0;
  return {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedPromptTokens: Math.min(cachedPromptTokens, promptTokens),
    ...(billed !== undefined && { billed }),
  };
}
