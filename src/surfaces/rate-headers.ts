/**
 * Rate limit fields of admitted calls: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers) name every
 * window, the older `X-RateLimit-*` the one with the fewest calls left. Refused calls have those of their refusal.
 */
import type { FlatHeaders } from "../http/respond.ts";
import type { Call } from "../pipeline/call.ts";

/** Names that need no escapes between the quotes of a field. */
const POLICY_NAME = /^[\w.:/-]{1,64}$/;

/** In lower case, to remove such fields from responses of upstreams. */
export const RATE_HEADER_NAMES: readonly string[] = [
  ...["ratelimit-policy", "ratelimit"],
  ...["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
];

/** `windows`: the call's `Admission.windows`. Empty when no claim has a policy name. */
export function rateHeaders(call: Call, windows: readonly number[]): FlatHeaders {
  const elapsedMs = call.rt.clock.monotonicMs() - call.windowsAtMs;
  let policies = "";
  let states = "";
  let at = 0;
  let limit = 0;
  let remaining = Number.POSITIVE_INFINITY;
  let reset = 0;
  for (const claim of call.decidedClaims) {
    if (claim.kind !== "rate") continue;
    const left = Math.max(0, Math.floor(windows[at] ?? 0));
    const seconds = Math.max(0, Math.ceil(((windows[at + 1] ?? 0) - elapsedMs) / 1000));
    at += 2;
    const { policy } = claim;
    if (policy === undefined || at > windows.length || !POLICY_NAME.test(policy)) continue;
    const separator = policies === "" ? '"' : ', "';
    policies += `${separator}${policy}";q=${claim.limit};w=${Math.ceil(claim.windowMs / 1000)}`;
    states += `${separator}${policy}";r=${left};t=${seconds}`;
    // Of two with the same number of calls left, the one that resets later.
    if (left > remaining || (left === remaining && seconds <= reset)) continue;
    limit = claim.limit;
    remaining = left;
    reset = seconds;
  }
  if (policies === "") return NO_HEADERS;
  return [
    ...["RateLimit-Policy", policies, "RateLimit", states],
    ...["X-RateLimit-Limit", String(limit), "X-RateLimit-Remaining", String(remaining)],
    ...["X-RateLimit-Reset", String(reset)],
  ];
}

const NO_HEADERS: FlatHeaders = [];
