/** Reads Anthropic's whole answers, and the final fields of its streams. Pure; any field may be missing. */
import type { ChatResult, FinishReason, ModelUsage, ProviderFailure, ToolCall, Usage } from "sluice/provider";
import {
  areCounts,
  asCount,
  asObject,
  asObjects,
  asText,
  embeddedError,
  invalidJson,
  isPresent,
  type JsonObject,
  parseObject,
  readErrorReason,
  readFinish,
  unusableAnswer,
} from "sluice/provider";

import { endWithJson, jsonToolText } from "./anthropic-json-tool.ts";

/** Text of a 2xx answer. */
export function decodeAnthropic(text: string, newId: () => string): ChatResult | ProviderFailure {
  const answer = parseObject(text);
  if (answer === undefined) return invalidJson("the answer", text);
  if (isPresent(answer["error"])) return embeddedError(readErrorReason(answer["error"]));
  if (!Array.isArray(answer["content"])) return unusableAnswer("the answer has no content");
  let content = "";
  let json: string | undefined;
  const toolCalls: ToolCall[] = [];
  for (const block of asObjects(answer["content"])) {
    if (block["type"] === "text") content += asText(block["text"]);
    else if (block["type"] !== "tool_use") continue;
    else if (jsonToolText(block) !== undefined) json = jsonToolText(block);
    else toolCalls.push(toolCallOf(block, newId));
  }
  return {
    id: asText(answer["id"]),
    model: asText(answer["model"]),
    content: json ?? content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...readFinish(endWithJson(asText(answer["stop_reason"]), json !== undefined), FINISH_REASONS, {
      text: content !== "" || json !== undefined,
      calls: toolCalls.length > 0,
    }),
    usage: usageOf(asObject(answer["usage"])),
  };
}

function toolCallOf(block: JsonObject, newId: () => string): ToolCall {
  return {
    id: asText(block["id"]) || newId(),
    name: asText(block["name"]),
    arguments: JSON.stringify(asObject(block["input"]) ?? {}),
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
export function usageOf(usage: JsonObject | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  if (!areCounts(input, output, read, written)) return undefined;
  const cachedPromptTokens = asCount(read);
  const cacheWriteTokens = asCount(written);
  const cacheWrite1hTokens = asCount(asObject(usage["cache_creation"])?.["ephemeral_1h_input_tokens"]);
  const webSearches = asCount(asObject(usage["server_tool_use"])?.["web_search_requests"]);
  // A call in fast mode has prices of its own, as a tier has.
  const serviceTier = usage["speed"] === "fast" ? "fast" : asText(usage["service_tier"]);
  const inferenceGeo = asText(usage["inference_geo"]);
  const otherModels = otherModelsOf(usage);
  const promptTokens = asCount(usage["input_tokens"]) + cachedPromptTokens + cacheWriteTokens;
  const completionTokens = asCount(usage["output_tokens"]);
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
    reasoningTokens: asCount(asObject(usage["output_tokens_details"])?.["thinking_tokens"]),
  };
}

/** Steps of one answer that are read: each asks a model. */
const ITERATIONS_MAX = 100;

/**
 * What an answer cost beside the counts of its top level. Those are the sum of its steps of type `message`; steps of an
 * adviser, of a compaction or of a fallback model are charged for beside them, unless the top level has them all.
 */
function otherModelsOf(usage: JsonObject): readonly ModelUsage[] {
  if (!Array.isArray(usage["iterations"])) return NO_MODELS;
  const steps = asObjects(usage["iterations"]).slice(0, ITERATIONS_MAX);
  const others = steps.filter((step) => step["type"] !== "message");
  const sum = (key: string): number => steps.reduce((all, step) => all + asCount(step[key]), 0);
  const isWhole = ["input_tokens", "output_tokens"].every((key) => asCount(usage[key]) === sum(key));
  return isWhole ? NO_MODELS : others.map(modelUsageOf);
}

const NO_MODELS: readonly ModelUsage[] = [];

function modelUsageOf(step: JsonObject): ModelUsage {
  const cachedPromptTokens = asCount(step["cache_read_input_tokens"]);
  const cacheWriteTokens = asCount(step["cache_creation_input_tokens"]);
  const hourly = asCount(asObject(step["cache_creation"])?.["ephemeral_1h_input_tokens"]);
  const promptTokens = asCount(step["input_tokens"]) + cachedPromptTokens + cacheWriteTokens;
  const completionTokens = asCount(step["output_tokens"]);
  return {
    model: asText(step["model"]),
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedPromptTokens,
    cacheWriteTokens,
    ...(hourly > 0 && { cacheWrite1hTokens: Math.min(hourly, cacheWriteTokens) }),
  };
}
