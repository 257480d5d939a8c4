/**
 * Events of compatible servers as OpenAI's own schema has them: what they leave out, or write as null where there is
 * nothing to say, breaks clients that hold them to it.
 */

import type { JsonObject } from "../../plugin/chat.ts";
import { asObject, asText, isPresent } from "../wire/json.ts";

const NULL_BREAKS = ["system_fingerprint", "obfuscation"] as const;
const NULL_BREAKS_DELTA = ["tool_calls", "function_call", "role"] as const;

/** What the answer's events have said of it so far. */
interface Named {
  readonly id: string;
  readonly model: string;
}

/** The event with its one choice set right; undefined: it is right as it came. */
export function repairedEvent(
  event: JsonObject,
  choice: JsonObject,
  delta: JsonObject,
  named: Named,
): JsonObject | undefined {
  const { index, finish_reason } = choice;
  const [id, model] = [asText(event["id"]), asText(event["model"])];
  const right =
    id !== "" &&
    model !== "" &&
    event["object"] === "chat.completion.chunk" &&
    Number.isSafeInteger(event["created"]) &&
    Number.isSafeInteger(index) &&
    finish_reason !== undefined &&
    finish_reason !== "" &&
    typeof choice["delta"] === "object" &&
    NULL_BREAKS.every((key) => event[key] !== null) &&
    isTier(event["service_tier"]) &&
    isUsage(event["usage"]) &&
    wholeLogprobs(choice["logprobs"]) === choice["logprobs"] &&
    NULL_BREAKS_DELTA.every((key) => delta[key] !== null) &&
    delta["role"] !== "";
  if (right) return undefined;
  const logprobs = wholeLogprobs(choice["logprobs"]);
  const said = { ...choice, index: Number.isSafeInteger(index) ? index : 0, logprobs };
  const reason = isPresent(finish_reason) && finish_reason !== "" ? finish_reason : null;
  const { service_tier, usage, ...rest } = without(event, NULL_BREAKS);
  return {
    ...rest,
    ...(isTier(service_tier) && { service_tier }),
    ...("usage" in event && isUsage(usage) && { usage }),
    id: id || named.id,
    object: "chat.completion.chunk",
    created: Number.isSafeInteger(event["created"]) ? event["created"] : 0,
    model: model || named.model,
    choices: [{ ...said, delta: without(delta, NULL_BREAKS_DELTA), finish_reason: reason }],
  };
}

/** False: an object without counts, which some servers send before the last event. */
function isUsage(value: unknown): boolean {
  return !isPresent(value) || typeof asObject(value)?.["prompt_tokens"] === "number";
}

/** With both of its lists, null where there is none; the same where it has them, undefined where it is none. */
export function wholeLogprobs(value: unknown): unknown {
  const told = asObject(value);
  if (told === undefined) return value === null ? value : undefined;
  return "content" in told && "refusal" in told ? value : { content: null, refusal: null, ...told };
}

/** OpenAI's own, or none. */
const TIERS: ReadonlySet<unknown> = new Set([
  ...["auto", "default", "flex", "scale", "priority", "fast"],
  ...[null, undefined],
]);

/** False: another vendor's word, which OpenAI's schema refuses. */
export function isTier(value: unknown): boolean {
  return TIERS.has(value);
}

function without(from: JsonObject, keys: readonly string[]): JsonObject {
  const kept = Object.entries(from).filter(([key, value]) => {
    return !keys.includes(key) || (isPresent(value) && value !== "");
  });
  return Object.fromEntries(kept);
}
