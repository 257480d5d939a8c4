/** Reads Google's answers: whole ones and events of a stream have one shape. Pure, and wary: every field may be missing. */
import type { ChatResult, FinishReason, ProviderFailure, ToolCall, Usage } from "sluice/provider";
import {
  areCounts,
  count,
  endOf,
  firstOf,
  type Json,
  notJson,
  parsedValue,
  record,
  records,
  TOOL_CALLS_MAX,
  textOf,
  tooManyCalls,
  unusable,
  vectorsIn,
} from "sluice/provider";
import { callIdOf } from "./google-call-id.ts";
import { errorIn } from "./google-failure.ts";

/** Text of a 2xx answer. */
export function decodeGoogle(text: string, newId: () => string): ChatResult | ProviderFailure {
  const value = parsedValue(text);
  const failed = errorIn(value);
  if (failed !== undefined) return failed;
  const answer = record(value);
  if (answer === undefined) return notJson("the answer", text);
  const word = endWord(answer);
  if (word === "" && firstOf(answer["candidates"]) === undefined) {
    return unusable("the answer has no candidates");
  }
  const { text: content, toolCalls } = saidIn(answer, newId);
  if (toolCalls.length > TOOL_CALLS_MAX) return tooManyCalls();
  return {
    id: textOf(answer["responseId"]),
    model: textOf(answer["modelVersion"]),
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...endOf(word, FINISH_REASONS, { text: content !== "", calls: toolCalls.length > 0 }),
    usage: usageIn(answer),
  };
}

/** Text of a 2xx answer to a call for embeddings. Google does not say what they used. */
export function decodeGoogleVectors(text: string): ChatResult | ProviderFailure {
  const value = parsedValue(text);
  const failed = errorIn(value);
  if (failed !== undefined) return failed;
  const embeddings = vectorsIn(records(record(value)?.["embeddings"]).map(({ values }) => values));
  if (embeddings === undefined) return unusable("the answer has no embeddings");
  return { id: "", model: "", content: "", finishReason: "stop", embeddings };
}

/** What an answer or event says: thoughts are no part of it. */
export function saidIn(
  answer: Json,
  newId: () => string,
): { readonly text: string; readonly toolCalls: readonly ToolCall[] } {
  let text = "";
  const toolCalls: ToolCall[] = [];
  const content = record(firstOf(answer["candidates"])?.["content"]);
  for (const part of records(content?.["parts"])) {
    const call = record(part["functionCall"]);
    if (call !== undefined) {
      const id = callIdOf(textOf(call["id"]), textOf(part["thoughtSignature"]), newId);
      const args = JSON.stringify(record(call["args"]) ?? {});
      toolCalls.push({ id, name: textOf(call["name"]), arguments: args });
    } else if (part["thought"] !== true) text += textOf(part["text"]);
  }
  return { text, toolCalls };
}

/** The word that an answer ends with: why it stopped, or why its prompt was not answered at all; "" for none. */
export function endWord(answer: Json): string {
  return (
    textOf(firstOf(answer["candidates"])?.["finishReason"]) ||
    textOf(record(answer["promptFeedback"])?.["blockReason"])
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
export function usageIn(answer: Json): Usage | undefined {
  const usage = record(answer["usageMetadata"]);
  if (usage === undefined) return undefined;
  const { promptTokenCount: prompt, candidatesTokenCount: said, thoughtsTokenCount: thought } = usage;
  if (!areCounts(prompt, said, thought)) return undefined;
  const reasoningTokens = count(usage["thoughtsTokenCount"]);
  const promptTokens = count(usage["promptTokenCount"]) + count(usage["toolUsePromptTokenCount"]);
  const completionTokens = count(usage["candidatesTokenCount"]) + reasoningTokens;
  return {
    promptTokens,
    completionTokens,
    totalTokens: count(usage["totalTokenCount"]) || promptTokens + completionTokens,
    cachedPromptTokens: count(usage["cachedContentTokenCount"]),
    reasoningTokens,
  };
}
