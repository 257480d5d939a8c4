/**
 * Events of compatible servers as OpenAI's own schema has them: what they leave out, or write as null where there is
 * nothing to say, breaks clients that hold them to it.
 */
import { isPresent, type Json } from "../wire/json.ts";

const NULL_BREAKS = ["system_fingerprint", "obfuscation"] as const;
const NULL_BREAKS_DELTA = ["tool_calls", "function_call", "role"] as const;

/** The event with its one choice set right; undefined: it is right as it came. */
export function repairedEvent(event: Json, choice: Json, delta: Json): Json | undefined {
  const { index, finish_reason } = choice;
  const right =
    event["object"] === "chat.completion.chunk" &&
    Number.isSafeInteger(event["created"]) &&
    Number.isSafeInteger(index) &&
    finish_reason !== undefined &&
    finish_reason !== "" &&
    typeof choice["delta"] === "object" &&
    NULL_BREAKS.every((key) => event[key] !== null) &&
    isTier(event["service_tier"]) &&
    NULL_BREAKS_DELTA.every((key) => delta[key] !== null) &&
    delta["role"] !== "";
  if (right) return undefined;
  const said = { ...choice, index: Number.isSafeInteger(index) ? index : 0 };
  const reason = isPresent(finish_reason) && finish_reason !== "" ? finish_reason : null;
  const { service_tier, ...rest } = without(event, NULL_BREAKS);
  return {
    ...rest,
    ...(isTier(service_tier) && { service_tier }),
    object: "chat.completion.chunk",
    created: Number.isSafeInteger(event["created"]) ? event["created"] : 0,
    choices: [{ ...said, delta: without(delta, NULL_BREAKS_DELTA), finish_reason: reason }],
  };
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

function without(from: Json, keys: readonly string[]): Json {
  const kept = Object.entries(from).filter(([key, value]) => {
    return !keys.includes(key) || (isPresent(value) && value !== "");
  });
  return Object.fromEntries(kept);
}
