/** Values of keys that built-in stages declare: a configuration has them, and its static type does not. */
import type { EndpointConfig } from "../config/model.ts";

export type StageKey =
  | "rate_limit_per_minute"
  | "rate_limit_per_hour"
  | "usage_hard_limit_tokens"
  | "session_ttl_seconds"
  | "session_max_messages"
  | "session_max_tokens";

/** null: it is not set, or the endpoint (an alias) does not have the key. */
export function numberOf(settings: EndpointConfig, key: StageKey): number | null {
  const value: unknown = Reflect.get(settings, key);
  return typeof value === "number" ? value : null;
}

/** Both rate windows. */
export function rateLimitsOf(settings: EndpointConfig): {
  readonly rate_limit_per_minute: number | null;
  readonly rate_limit_per_hour: number | null;
} {
  return {
    rate_limit_per_minute: numberOf(settings, "rate_limit_per_minute"),
    rate_limit_per_hour: numberOf(settings, "rate_limit_per_hour"),
  };
}
