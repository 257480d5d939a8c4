/** What an answer in OpenAI's format ended with, and what it used, in the gateway's words. */
import type { FinishReason, JsonObject, Usage } from "../../plugin/chat.ts";
import { type Finish, readFinish } from "../wire/end-of.ts";
import { areCounts, asCount, asObject, asText } from "../wire/json.ts";

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

/** What an answer ended with (`provider.finish-reasons`): a refusal is told beside an ordinary stop. */
export function finish(word: string, { refusal, ...said }: Held): Finish {
  const stops = (FINISH_REASONS.get(word) ?? "stop") === "stop";
  if (refusal && stops) return { finishReason: "error", providerFinishReason: "refusal" };
  return readFinish(word, FINISH_REASONS, said);
}

/** Usage of an answer or event. Where two places have it they say the same, so one of them counts. */
export function usageIn(answer: JsonObject): Usage | undefined {
  const tier = answer["service_tier"];
  return usageOf(answer["usage"], tier) ?? usageOf(asObject(answer["x_groq"])?.["usage"], tier);
}

function usageOf(value: unknown, tier: unknown): Usage | undefined {
  const usage = asObject(value);
  if (usage === undefined || !areCounts(usage["prompt_tokens"], usage["completion_tokens"])) return undefined;
  const serviceTier = asText(tier) || asText(usage["service_tier"]);
  const prompt = asObject(usage["prompt_tokens_details"]);
  const completion = asObject(usage["completion_tokens_details"]);
  const promptTokens = asCount(usage["prompt_tokens"]);
  const completionTokens = asCount(usage["completion_tokens"]);
  return {
    promptTokens,
    completionTokens,
    totalTokens: asCount(usage["total_tokens"]) || promptTokens + completionTokens,
    cachedPromptTokens:
      asCount(prompt?.["cached_tokens"]) ||
      asCount(usage["num_cached_tokens"]) ||
      asCount(usage["cached_tokens"]),
    cacheWriteTokens: asCount(prompt?.["cache_write_tokens"]),
    reasoningTokens: asCount(completion?.["reasoning_tokens"]),
    ...(serviceTier !== "" && { serviceTier }),
  };
}
