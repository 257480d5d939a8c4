/** What a model costs, as the gateway tells stage budget. Amounts are nano-dollars per token. */
import type { ValueOf } from "./schema-type.ts";

const amount = { type: "number", minimum: 0 } as const;

const rates = {
  type: "object",
  additionalProperties: false,
  required: ["input", "cached_input", "cache_write", "output"],
  properties: {
    input: amount,
    cached_input: amount,
    cache_write: amount,
    /** Of what is kept for an hour. Absent: as other cache writes. */
    cache_write_1h: amount,
    output: amount,
  },
} as const;

/** For the whole of a request with more prompt tokens than that, cached ones counted. */
const long = {
  type: "object",
  additionalProperties: false,
  required: ["above_tokens", "rates"],
  properties: { above_tokens: { type: "integer", minimum: 0 }, rates },
} as const;

const tier = {
  type: ["number", "object"],
  minimum: 0,
  additionalProperties: false,
  required: ["rates"],
  properties: { rates, long },
} as const;

/**
 * Schema of a price schedule: periods in the order of their beginning; the first one begins at 0.
 * @experimental
 * @since 0.2.0
 */
export const PRICE_SCHEDULE = {
  type: "array",
  minItems: 1,
  items: {
    type: "object",
    additionalProperties: false,
    required: ["from_ms", "rates"],
    properties: {
      /** Unix milliseconds. */
      from_ms: { type: "integer", minimum: 0 },
      rates,
      long,
      /** By processing tier: its own prices, or a factor on these. A tier that is not listed costs these. */
      tiers: { type: "object", additionalProperties: tier },
      /** By place: a factor on token prices. A place that is not listed costs no more. */
      geo: { type: "object", additionalProperties: amount },
      /** Nano-dollars for each web search that the provider runs. */
      web_search: amount,
    },
  },
} as const;

/** Prices by the time from which they hold. @since 0.2.0 */
export type PriceSchedule = ValueOf<typeof PRICE_SCHEDULE>;
