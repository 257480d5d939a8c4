/**
 * Writes responses in OpenAI's format. A response of an upstream in that format is kept unchanged, except for what a hook
 * changed, for what guardrails cannot judge where there are some, and for members that OpenAI's schema requires.
 */
import { type ClosingAnswer, toolCallsJson } from "../../pipeline/reply.ts";
import type { Alternative, JsonObject, NativeAnswer, Usage } from "../../plugin/chat.ts";
import type { ChatResult } from "../../plugin/index.ts";
import { asObject, asObjects, parseJson, parseObject } from "../../provider-kit/index.ts";
import { isTier, wholeLogprobs } from "../../provider-kit/openai-chat/repaired-event.ts";

export interface CompletionBody {
  readonly result: ChatResult;
  readonly usage: Usage;
  /** Hooks check the response: members that they cannot judge (reasoning, audio) are left out. */
  readonly guarded: boolean;
  /** Unix seconds. */
  readonly created: number;
}

/** `chat.completion`. */
export function completionOf({ result, usage, guarded, created }: CompletionBody): JsonObject {
  const { native } = result;
  const from = native?.json ?? {};
  const unchanged = native !== undefined && isUntouched(native, result);
  const choices = [result, ...(result.alternatives ?? [])].map((said, n) => {
    const came = unchanged ? asObjects(from["choices"])[n] : undefined;
    return came === undefined ? choiceOf(said, n) : upstreamChoice(came, said, { n, guarded });
  });
  return {
    ...valid(from),
    id: result.id,
    object: "chat.completion",
    created: Number.isSafeInteger(from["created"]) ? from["created"] : created,
    model: result.model,
    choices,
    usage: usageOf(from["usage"], usage),
  };
}

function isUntouched(raw: NativeAnswer, { content, toolCalls, alternatives }: ChatResult): boolean {
  return raw.content === content && raw.toolCalls === toolCalls && raw.alternatives === alternatives;
}

function choiceOf(said: Alternative, index: number): JsonObject {
  const calls = said.toolCalls ?? [];
  const message = {
    role: "assistant",
    content: said.content === "" && calls.length > 0 ? null : said.content,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: parseJson(toolCallsJson(calls)) }),
  };
  return { index, message, logprobs: null, finish_reason: finishReasonOf(said.finishReason) };
}

/** Members of a message that hooks have judged. */
const JUDGED = ["role", "content", "refusal", "tool_calls", "function_call"];

function upstreamChoice(
  came: JsonObject,
  said: Alternative,
  { n, guarded }: { readonly n: number; readonly guarded: boolean },
): JsonObject {
  const message = withoutNull(asObject(came["message"]) ?? {}, ["tool_calls", "function_call"]);
  const own = choiceOf(said, n);
  const { content, refusal } = message;
  const { tool_calls: _calls, ...rest } = guarded ? only(message, JUDGED) : message;
  const kept = {
    ...rest,
    role: "assistant",
    // Compatible servers may send parts, or no content with a tool call.
    content:
      typeof content === "string" || content === null ? content : asObject(own["message"])?.["content"],
    refusal: typeof refusal === "string" ? refusal : null,
    ...callsIn(message, own),
  };
  const { logprobs, index } = came;
  const beside = guarded ? {} : came;
  return {
    ...beside,
    index: Number.isSafeInteger(index) ? index : n,
    message: kept,
    logprobs: wholeLogprobs(logprobs) ?? null,
    finish_reason: finishReasonFrom(came["finish_reason"], said),
  };
}

/** The upstream's tool calls if all are complete, else the decoded ones. */
function callsIn(message: JsonObject, own: JsonObject): JsonObject {
  const calls = asObjects(message["tool_calls"]);
  const ours = asObject(own["message"])?.["tool_calls"];
  if (message["function_call"] !== undefined || ours === undefined) return {};
  return { tool_calls: calls.length > 0 && calls.every(isWhole) ? calls : ours };
}

function isWhole(call: JsonObject): boolean {
  const called = asObject(call[call["type"] === "custom" ? "custom" : "function"]);
  const text = called?.["arguments"] ?? called?.["input"];
  return typeof call["id"] === "string" && call["id"] !== "" && typeof text === "string" && "type" in call;
}

const WORDS: ReadonlySet<unknown> = new Set([
  "stop",
  "length",
  "tool_calls",
  "content_filter",
  "function_call",
]);

/** The provider's finish reason if OpenAI defines it, except `stop` of a response that calls tools. */
function finishReasonFrom(came: unknown, said: Pick<Alternative, "finishReason">): unknown {
  const own = finishReasonOf(said.finishReason);
  return WORDS.has(came) && !(came === "stop" && own === "tool_calls") ? came : own;
}

function finishReasonOf(reason: Alternative["finishReason"]): string {
  return reason === "error" ? "content_filter" : reason;
}

function usageOf(came: unknown, usage: Usage): JsonObject {
  const { promptTokens, completionTokens, totalTokens } = usage;
  const counts = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: totalTokens,
  };
  const told = asObject(came);
  if (told !== undefined) {
    const { prompt_tokens_details, completion_tokens_details, ...others } = told;
    return { ...others, ...counts, ...countsIn({ prompt_tokens_details, completion_tokens_details }) };
  }
  return {
    ...counts,
    prompt_tokens_details: {
      cached_tokens: usage.cachedPromptTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  };
}

/** Details of the upstream without null members. */
function countsIn(details: JsonObject): JsonObject {
  const told = Object.entries(details).flatMap(([name, value]) => {
    const counts = asObject(value);
    return counts === undefined ? [] : [[name, withoutNull(counts, Object.keys(counts))]];
  });
  return Object.fromEntries(told);
}

/** The events that end a streamed response: the finish reason, the usage if requested, `[DONE]`. */
export function closingEvents(answer: ClosingAnswer, usageEvent: boolean): string {
  const { result, usage, head } = answer;
  const own = parseObject(`${head}]}`) ?? {};
  const finish = parseObject(answer.finishEvent ?? "") ?? own;
  const told = parseObject(answer.usageEvent ?? "") ?? finish;
  const came = asObjects(finish["choices"])[0] ?? {};
  const choice = {
    index: 0,
    delta: {},
    ...came,
    finish_reason: finishReasonFrom(came["finish_reason"], result),
  };
  const { usage: used, ...first } = valid(finish);
  // OpenAI sends null in every event but the last when usage is requested.
  const beside = usageEvent && used === null ? { usage: null } : {};
  let events = eventOf({ ...own, ...first, choices: [choice], ...beside });
  if (usageEvent) {
    const last = { ...own, ...valid(told), choices: [] };
    events += eventOf({ ...last, usage: usageOf(told["usage"], usage) });
  }
  return `${events}data: [DONE]\n\n`;
}

/** A complete response as the events of a stream: several choices are requested unstreamed. */
export function wholeAsEvents(answer: CompletionBody, usageEvent: boolean): string {
  const { choices, usage, ...completion } = completionOf(answer);
  const head = { ...completion, object: "chat.completion.chunk" };
  let events = "";
  for (const { index, message, logprobs, finish_reason } of asObjects(choices)) {
    const { tool_calls, ...said } = asObject(message) ?? {};
    const event = (delta: object, end: unknown = null): string =>
      eventOf({ ...head, choices: [{ index, delta, logprobs: null, finish_reason: end }] });
    events += eventOf({ ...head, choices: [{ index, delta: said, logprobs, finish_reason: null }] });
    // One per event, as OpenAI does: some clients read only the first of a list.
    for (const [at, call] of asObjects(tool_calls).entries())
      events += event({ tool_calls: [{ index: at, ...call }] });
    events += event({}, finish_reason);
  }
  if (usageEvent) events += eventOf({ ...head, choices: [], usage });
  return `${events}data: [DONE]\n\n`;
}

function eventOf(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

const NULL_BREAKS = ["id", "model", "system_fingerprint", "obfuscation", "metadata"];

/** A response or event without members that OpenAI's schema rejects. */
function valid(from: JsonObject): JsonObject {
  const { service_tier, ...others } = withoutNull(from, NULL_BREAKS);
  return service_tier !== undefined && isTier(service_tier) ? { ...others, service_tier } : others;
}

/** Removes members that must not be null. */
function withoutNull(from: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(from).filter(([key, value]) => value !== null || !keys.includes(key)),
  );
}

function only(from: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(from).filter(([key]) => keys.includes(key)));
}
