/** Reads Anthropic's whole answers, and the words and numbers that its streams end with too. Pure, and wary. */
import type { ChatResult, FinishReason, ModelUsage, ProviderFailure, ToolCall, Usage } from "sluice/provider";
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
} from "sluice/provider";

import { endWithJson, jsonToolText } from "./anthropic-json-tool.ts";

/** Text of a 2xx answer. */
export function decodeAnthropic(text: string, newId: () => string): ChatResult | ProviderFailure {
  const answer = parsed(text);
  if (answer === undefined) return notJson("the answer", text);
  if (isPresent(answer["error"])) return errorWithin(shortReason(answer["error"]));
  if (!Array.isArray(answer["content"])) return unusable("the answer has no content");
  let content = "";
  let json: string | undefined;
  const toolCalls: ToolCall[] = [];
  for (const block of records(answer["content"])) {
    if (block["type"] === "text") content += textOf(block["text"]);
    else if (block["type"] !== "tool_use") continue;
    else if (jsonToolText(block) !== undefined) json = jsonToolText(block);
    else toolCalls.push(toolCallOf(block, newId));
  }
  return {
    id: textOf(answer["id"]),
    model: textOf(answer["model"]),
    content: json ?? content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...endOf(endWithJson(textOf(answer["stop_reason"]), json !== undefined), FINISH_REASONS, {
      text: content !== "" || json !== undefined,
      calls: toolCalls.length > 0,
    }),
    usage: usageOf(record(answer["usage"])),
  };
}

function toolCallOf(block: Json, newId: () => string): ToolCall {
  return {
    id: textOf(block["id"]) || newId(),
    name: textOf(block["name"]),
    arguments: JSON.stringify(record(block["input"]) ?? {}),
  };
}

/** `pause_turn` pauses the tools of Anthropic's own, which nobody asks for here. */
export const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "error"],
]);

/** Anthropic counts what it read from its cache, and what it wrote into it, beside the input and not within it. */
export function usageOf(usage: Json | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  if (!areCounts(input, output, read, written)) return undefined;
  const cachedPromptTokens = count(read);
  const cacheWriteTokens = count(written);
  const cacheWrite1hTokens = count(record(usage["cache_creation"])?.["ephemeral_1h_input_tokens"]);
  const webSearches = count(record(usage["server_tool_use"])?.["web_search_requests"]);
  // A call in fast mode has prices of its own, as a tier has.
  const serviceTier = usage["speed"] === "fast" ? "fast" : textOf(usage["service_tier"]);
  const inferenceGeo = textOf(usage["inference_geo"]);
  const otherModels = otherModelsOf(usage);
  const promptTokens = count(usage["input_tokens"]) + cachedPromptTokens + cacheWriteTokens;
  const completionTokens = count(usage["output_tokens"]);
  return {
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedPromptTokens,
    cacheWriteTokens,
    ...(cacheWrite1hTokens > 0 && { cacheWrite1hTokens: Math.min(cacheWrite1hTokens, cacheWriteTokens) }),
    ...(webSearches > 0 && { webSearches }),
    ...(serviceTier !== "" && { serviceTier }),
    ...(inferenceGeo !== "" && inferenceGeo !== "not_available" && { inferenceGeo }),
    ...(otherModels.length > 0 && { otherModels }),
    reasoningTokens: count(record(usage["output_tokens_details"])?.["thinking_tokens"]),
  };
}

/** Steps of one answer that are read: each asks a model. */
const ITERATIONS_MAX = 100;

/**
 * What an answer cost beside the counts of its top level. Those are the sum of its steps of type `message`; steps of an
 * adviser, of a compaction or of a fallback model are charged for beside them, unless the top level has them all.
 */
function otherModelsOf(usage: Json): readonly ModelUsage[] {
  if (!Array.isArray(usage["iterations"])) return NO_MODELS;
  const steps = records(usage["iterations"]).slice(0, ITERATIONS_MAX);
  const others = steps.filter((step) => step["type"] !== "message");
  const sum = (key: string): number => steps.reduce((all, step) => all + count(step[key]), 0);
  const isWhole = ["input_tokens", "output_tokens"].every((key) => count(usage[key]) === sum(key));
  return isWhole ? NO_MODELS : others.map(modelUsageOf);
}

const NO_MODELS: readonly ModelUsage[] = [];

function modelUsageOf(step: Json): ModelUsage {
  const cachedPromptTokens = count(step["cache_read_input_tokens"]);
  const cacheWriteTokens = count(step["cache_creation_input_tokens"]);
  const hourly = count(record(step["cache_creation"])?.["ephemeral_1h_input_tokens"]);
  const promptTokens = count(step["input_tokens"]) + cachedPromptTokens + cacheWriteTokens;
  const completionTokens = count(step["output_tokens"]);
  return {
    model: textOf(step["model"]),
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedPromptTokens,
    cacheWriteTokens,
    ...(hourly > 0 && { cacheWrite1hTokens: Math.min(hourly, cacheWriteTokens) }),
  };
}
