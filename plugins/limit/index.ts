/**
 * Stage limit: the endpoint's two rate windows, then its per-request token cap. The windows are claims, decided by the
 * store together with the budgets; a call over the token cap still counts against both windows.
 */
import { definePlugin, estimateTokens, type RateClaim, reject } from "sluice/plugin";

const limit = { type: ["integer", "null"], minimum: 1, maximum: 1_000_000_000, default: null } as const;

const endpointKeys = {
  usage_hard_limit_tokens: {
    ...limit,
    description: "Cap on a request's input, at about 4 characters a token; null: unlimited.",
    examples: [8000],
  },
  rate_limit_per_minute: { ...limit, description: "Calls in any 60 s; null: unlimited.", examples: [60] },
  rate_limit_per_hour: { ...limit, description: "Calls in any 3,600 s; null: unlimited.", examples: [1000] },
} as const;

function rateClaim(subject: string, scope: "minute" | "hour", limit: number): RateClaim {
  return {
    kind: "rate",
    key: `rate:${subject}:${scope}`,
    limit,
    windowMs: scope === "minute" ? 60_000 : 3_600_000,
    policy: scope,
    refuse: (retryAfterSeconds) => {
      const headers = {
        "RateLimit-Policy": `"${scope}";q=${limit};w=${scope === "minute" ? 60 : 3600}`,
        RateLimit: `"${scope}";r=0;t=${retryAfterSeconds}`,
        "X-RateLimit-Limit": String(limit),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": String(retryAfterSeconds),
      };
      return reject("rate_limited", {}, { scope, retryAfterSeconds, headers });
    },
  };
}

export default definePlugin({
  name: "limit",
  stage: "limit",
  description: "Holds an endpoint's calls a minute and an hour, and the tokens of one request.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["subject"],
    properties: {
      subject: {
        type: "string",
        description: "What the windows are kept under, e.g. `<project uuid>/<slug>`.",
      },
      ...endpointKeys,
    },
  },
  endpointKeys,
  areAliasKeys: true,
  examples: [
    { subject: "p/s", rate_limit_per_minute: 60, rate_limit_per_hour: null, usage_hard_limit_tokens: null },
  ],
  setup({ subject, rate_limit_per_minute, rate_limit_per_hour, usage_hard_limit_tokens: cap }) {
    const claims: RateClaim[] = [];
    if (rate_limit_per_minute !== null) claims.push(rateClaim(subject, "minute", rate_limit_per_minute));
    if (rate_limit_per_hour !== null) claims.push(rateClaim(subject, "hour", rate_limit_per_hour));

    return {
      request(x) {
        for (const claim of claims) x.claim(claim);
        if (cap === null) return undefined;
        const estimated = estimateTokens(x.receivedCharacters);
        return estimated > cap ? reject("token_limit", { estimated, cap }) : undefined;
      },
    };
  },
});
