/**
 * Rate limit fields of calls that were admitted: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers)
 * name every window, the older `X-RateLimit-*` the one that refuses first. Refused calls have those of their refusal.
 */
import type { FlatHeaders } from "../http/respond.ts";
import type { Call } from "../pipeline/call.ts";

/** What may stand between the quotes of a field without escapes. */
const POLICY_NAME = /^[\w.:/-]{1,64}$/;

/** Names in lower case, for answers of upstreams that have fields of their own. */
export const RATE_HEADER_NAMES: readonly string[] = [
  ...["ratelimit-policy", "ratelimit"],
  ...["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
];

/** `windows`: the call's `Admission.windows`. Empty where no claim has a name to be shown. */
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
    // Of two with as few places left, the one that is longer without another.
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
