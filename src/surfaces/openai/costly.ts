/**
 * Refuses members of a request that cost more than what is reserved for the call, so that no client goes around a budget.
 * What costs and can be estimated (`n`, `service_tier`, tools, images) passes and is reserved. An alias's `allowed_fields`
 * says otherwise: listed members pass whatever they cost, and members that are not listed are refused.
 */
import type { CompiledEndpoint } from "../../compile/model.ts";
import type { CallOptions, GatewayError } from "../../plugin/index.ts";
import { reject } from "../../plugin/index.ts";

/** Members that buy more answers, longer ones, or searches, at servers that know them. */
const COSTLY: ReadonlySet<string> = new Set([
  "best_of",
  "web_search_options",
  ...["max_output_tokens", "max_new_tokens", "max_length", "num_predict", "max_tokens_to_sample"],
]);

/** Members that the gateway reads itself: `allowed_fields` is about the others. */
const READ: ReadonlySet<string> = new Set([
  ...["stream_options", "logprobs", "top_logprobs", "logit_bias"],
  ...["tools", "tool_choice"],
]);

/** A refusal of the first member that may not pass; undefined: all may. */
export function refusedCostly(
  { allowedFields }: CompiledEndpoint,
  { extra }: CallOptions,
): GatewayError | undefined {
  for (const field in extra) {
    const passes =
      allowedFields === undefined ? !COSTLY.has(field) : READ.has(field) || allowedFields.has(field);
    if (!passes) return reject("forbidden_field", { field });
  }
  return undefined;
}
