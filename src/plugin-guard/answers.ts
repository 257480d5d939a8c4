/**
 * What hooks of plugins may answer, checked at run time: plugins may be JavaScript, and one that answers
 * something else must cost its call and nothing beyond it. Checks look as deep as the gateway itself reads.
 */
import { isGatewayError } from "../plugin/index.ts";

type Fields = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

/** A number that counts something: tokens, milliseconds. */
function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value);
}

function isUsage(value: unknown): boolean {
  if (value === undefined) return true;
  if (!isObject(value)) return false;
  return (
    isCount(value["promptTokens"]) && isCount(value["completionTokens"]) && isCount(value["totalTokens"])
  );
}

function isToolCall(value: unknown): boolean {
  return isObject(value) && typeof value["name"] === "string" && typeof value["arguments"] === "string";
}

/** Tool calls of one answer. Their places are those of a list, which a far one would make long. */
const TOOL_CALLS_MAX = 4096;

function isToolCallDelta(value: unknown): boolean {
  if (!isObject(value) || typeof value["arguments"] !== "string") return false;
  const { index } = value;
  return typeof index === "number" && Number.isInteger(index) && index >= 0 && index < TOOL_CALLS_MAX;
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return value === undefined || (Array.isArray(value) && value.every(isItem));
}

const FINISH_REASONS: ReadonlySet<unknown> = new Set(["stop", "length", "tool_calls", "error"]);

export function isChatResult(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { id, model, content, finishReason, usage, toolCalls, alternatives, embeddings } = value;
  if (typeof content !== "string" || typeof id !== "string" || typeof model !== "string") return false;
  return (
    FINISH_REASONS.has(finishReason) &&
    isUsage(usage) &&
    isListOf(toolCalls, isToolCall) &&
    isListOf(alternatives, (one) => isObject(one) && typeof one["content"] === "string") &&
    isListOf(embeddings, Array.isArray)
  );
}

export function isChatChunk(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { text, toolCalls, finishReason, usage, native } = value;
  return (
    typeof text === "string" &&
    (native === undefined || typeof native === "string") &&
    (toolCalls === undefined || isListOf(toolCalls, isToolCallDelta)) &&
    (finishReason === undefined || FINISH_REASONS.has(finishReason)) &&
    (usage === undefined || isUsage(usage))
  );
}

/** Of `request`. */
export function isOutcome(value: unknown): boolean {
  return value === undefined || isGatewayError(value) || isChatResult(value);
}

/** Of `response`, which mostly returns the result that it was given. */
export function isResponse(value: unknown, _x: unknown, given: unknown): boolean {
  return value === given || isGatewayError(value) || isChatResult(value);
}

/** Of `chunk`, which mostly returns the chunk that it was given, and of `end`. */
export function isChunkAnswer(value: unknown, given: unknown): boolean {
  if (value === null) return true;
  return (value === given && value !== undefined) || isChatChunk(value) || isGatewayError(value);
}

/** Of `stream`. */
export function isChunkHook(value: unknown): boolean {
  return value === undefined || (isObject(value) && typeof value["chunk"] === "function");
}

/** Of `call`. */
export function isAnswer(value: unknown): boolean {
  if (isGatewayError(value)) return true;
  if (!isObject(value) || value["kind"] !== "stream") return isChatResult(value);
  return ["attach", "pause", "resume", "cancel"].every((name) => typeof value[name] === "function");
}

/** Of a provider's `complete` and `decode`. */
export function isProviderAnswer(value: unknown): boolean {
  return isProviderFailure(value) || isChatResult(value);
}

/** Of `failure`, and of `event` and `end` where something is wrong. */
export function isProviderFailure(value: unknown): boolean {
  if (!isObject(value) || value["kind"] !== "failure") return false;
  const { reason, status } = value;
  return typeof reason === "string" && (status === undefined || isCount(status));
}

/** Of `encode`. */
export function isWireRequest(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { url, method, headers, body } = value;
  return (
    typeof url === "string" &&
    (method === "POST" || method === "GET") &&
    typeof body === "string" &&
    isObject(headers) &&
    areTexts(headers)
  );
}

/** A loop rather than a list of the values, since this runs on every call. */
function areTexts(fields: Fields): boolean {
  for (const name in fields) if (typeof fields[name] !== "string") return false;
  return true;
}
