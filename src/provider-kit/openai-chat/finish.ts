/** What an answer in OpenAI's format ended with, and what it used, in the gateway's words. */
import type { FinishReason, Usage } from "../../plugin/chat.ts";
import { type End, endOf } from "../wire/end-of.ts";
import { areCounts, count, type Json, record, textOf } from "../wire/json.ts";

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["eos", "stop"],
  ["length", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "error"],
  ["error", "error"],
]);

/** What an answer holds. */
interface Held {
  readonly text: boolean;
  readonly refusal: boolean;
  readonly calls: boolean;
}

/** The rules of CONTRACT section 5 for what an answer ended with: a refusal is told beside an ordinary stop. */
export function finish(word: string, { refusal, ...said }: Held): End {
  const stops = (FINISH_REASONS.get(word) ?? "stop") === "stop";
  if (refusal && stops) return { finishReason: "error", providerFinishReason: "refusal" };
  return endOf(word, FINISH_REASONS, said);
}

/** Usage of an answer or event. Where two places have it they say the same, so one of them counts. */
export function usageIn(answer: Json): Usage | undefined {
  const tier = answer["service_tier"];
  return usageOf(answer["usage"], tier) ?? usageOf(record(answer["x_groq"])?.["usage"], tier);
}

function usageOf(value: unknown, tier: unknown): Usage | undefined {
  const usage = record(value);
  if (usage === undefined || !areCounts(usage["prompt_tokens"], usage["completion_tokens"])) return undefined;
  const serviceTier = textOf(tier) || textOf(usage["service_tier"]);
  const prompt = record(usage["prompt_tokens_details"]);
  const completion = record(usage["completion_tokens_details"]);
  const promptTokens = count(usage["prompt_tokens"]);
  const completionTokens = count(usage["completion_tokens"]);
  return {
    promptTokens,
    completionTokens,
    totalTokens: count(usage["total_tokens"]) || promptTokens + completionTokens,
    cachedPromptTokens:
      count(prompt?.["cached_tokens"]) || count(usage["num_cached_tokens"]) || count(usage["cached_tokens"]),
    cacheWriteTokens: count(prompt?.["cache_write_tokens"]),
    reasoningTokens: count(completion?.["reasoning_tokens"]),
    ...(serviceTier !== "" && { serviceTier }),
  };
}
