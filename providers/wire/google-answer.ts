/** Reads Google's answers: whole ones and events of a stream have one shape. Pure; any field may be missing. */
import type { ChatResult, FinishReason, ProviderFailure, ToolCall, Usage } from "sluice/provider";
import {
  areCounts,
  asCount,
  asObject,
  asObjects,
  asText,
  asVectors,
  firstObject,
  invalidJson,
  type JsonObject,
  parseValue,
  readFinish,
  TOOL_CALLS_MAX,
  tooManyToolCalls,
  unusableAnswer,
} from "sluice/provider";
import { callIdOf } from "./google-call-id.ts";
import { errorIn } from "./google-failure.ts";

/** Text of a 2xx answer. */
export function decodeGoogle(text: string, newId: () => string): ChatResult | ProviderFailure {
  const value = parseValue(text);
  const failed = errorIn(value);
  if (failed !== undefined) return failed;
  const answer = asObject(value);
  if (answer === undefined) return invalidJson("the answer", text);
  const word = endWord(answer);
  if (word === "" && firstObject(answer["candidates"]) === undefined) {
    return unusableAnswer("the answer has no candidates");
  }
  const { text: content, toolCalls } = saidIn(answer, newId);
  if (toolCalls.length > TOOL_CALLS_MAX) return tooManyToolCalls();
  return {
    id: asText(answer["responseId"]),
    model: asText(answer["modelVersion"]),
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...readFinish(word, FINISH_REASONS, { text: content !== "", calls: toolCalls.length > 0 }),
    usage: usageIn(answer),
  };
}

/** Text of a 2xx answer to a call for embeddings. Google does not say what they used. */
export function decodeGoogleVectors(text: string): ChatResult | ProviderFailure {
  const value = parseValue(text);
  const failed = errorIn(value);
  if (failed !== undefined) return failed;
  const embeddings = asVectors(asObjects(asObject(value)?.["embeddings"]).map(({ values }) => values));
  if (embeddings === undefined) return unusableAnswer("the answer has no embeddings");
  return { id: "", model: "", content: "", finishReason: "stop", embeddings };
}

/** What an answer or event says: thoughts are no part of it. */
export function saidIn(
  answer: JsonObject,
  newId: () => string,
): { readonly text: string; readonly toolCalls: readonly ToolCall[] } {
  let text = "";
  const toolCalls: ToolCall[] = [];
  const content = asObject(firstObject(answer["candidates"])?.["content"]);
  for (const part of asObjects(content?.["parts"])) {
    const call = asObject(part["functionCall"]);
    if (call !== undefined) {
      const id = callIdOf(asText(call["id"]), asText(part["thoughtSignature"]), newId);
      const args = JSON.stringify(asObject(call["args"]) ?? {});
      toolCalls.push({ id, name: asText(call["name"]), arguments: args });
    } else if (part["thought"] !== true) text += asText(part["text"]);
  }
  return { text, toolCalls };
}

/** The word that an answer ends with: why it stopped, or why its prompt was not answered at all; "" for none. */
export function endWord(answer: JsonObject): string {
  return (
    asText(firstObject(answer["candidates"])?.["finishReason"]) ||
    asText(asObject(answer["promptFeedback"])?.["blockReason"])
  );
}

/** Google has no word for tool calls. */
export const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  // More could be asked for with a token of Google's own.
  ["CONTINUATION", "length"],
  ...(
    [
      "FINISH_REASON_UNSPECIFIED",
      "SAFETY",
      "RECITATION",
      "LANGUAGE",
      "OTHER",
      "BLOCKLIST",
      "PROHIBITED_CONTENT",
      "SPII",
      "MALFORMED_FUNCTION_CALL",
      "MALFORMED_RESPONSE",
      "UNEXPECTED_TOOL_CALL",
      "TOO_MANY_TOOL_CALLS",
      "NO_IMAGE",
      "IMAGE_SAFETY",
      "IMAGE_PROHIBITED_CONTENT",
      "IMAGE_RECITATION",
      "IMAGE_OTHER",
    ] as const
  ).map((word): [string, FinishReason] => [word, "error"]),
]);

/** Google counts thoughts beside what the model says, and leaves out what is 0. */
export function usageIn(answer: JsonObject): Usage | undefined {
  const usage = asObject(answer["usageMetadata"]);
  if (usage === undefined) return undefined;
  const { promptTokenCount: prompt, candidatesTokenCount: said, thoughtsTokenCount: thought } = usage;
  if (!areCounts(prompt, said, thought)) return undefined;
  const reasoningTokens = asCount(usage["thoughtsTokenCount"]);
  const promptTokens = asCount(usage["promptTokenCount"]) + asCount(usage["toolUsePromptTokenCount"]);
  const completionTokens = asCount(usage["candidatesTokenCount"]) + reasoningTokens;
  return {
    promptTokens,
    completionTokens,
    totalTokens: asCount(usage["totalTokenCount"]) || promptTokens + completionTokens,
    cachedPromptTokens: asCount(usage["cachedContentTokenCount"]),
    reasoningTokens,
  };
}
