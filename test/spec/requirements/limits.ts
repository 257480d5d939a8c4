/** Requirements of rate windows, the per-request token cap, budgets and what a call costs. */
export const LIMITS = {
  "rate.minute": "Call N+1 within a minute of an endpoint with `rate_limit_per_minute: N` gets 429.",
  "rate.hour": "Call N+1 within an hour of an endpoint with `rate_limit_per_hour: N` gets 429.",
  "rate.independent": "The hour's window refuses when the minute's does not, and vice versa.",
  "rate.unlimited": "Without a rate limit no call is refused for its rate.",
  "rate.headers":
    "A 429 has `RateLimit-Policy`, `RateLimit` and `X-RateLimit-Limit`, `-Remaining` and `-Reset` in addition to `Retry-After`.",
  "rate.headers.admitted":
    "Answers to admitted calls have them too, JSON and streams, chat, wrapper, proxy and MCP tools: every window in `RateLimit`, the tighter one in `X-RateLimit-*`; none without a limit.",
  "rate.per-endpoint": "Each endpoint has its own windows.",
  "token-cap.message": "Input over `usage_hard_limit_tokens` gets 422 with the estimate and the cap.",
  "token-cap.exact": "Input of exactly the cap is accepted.",
  "token-cap.unlimited": "Without a cap input of any length is accepted.",
  "budget.endpoint.message":
    "An endpoint's spent budget gets 402 with spent (settled plus reserved) and estimate in 4 decimals, and the cap as the configuration writes it.",
  "budget.token.message": "A token's spent cap gets 402 with spent, estimate and cap in it.",
  "budget.upstream-untouched": "A call refused for its budget never reaches the provider.",
  "budget.month": "Budgets start again with the calendar month.",
  "budget.unlimited": "Without a budget no call is refused for money.",
  "rate.sliding": "No span of 60 s or 3,600 s, wherever it begins, admits more than N calls.",
  "rate.retry-after":
    "`Retry-After` is whole seconds, at least 1, and a client that waits exactly that long is admitted.",
  "rate.refused-free": "A refused call counts in neither window.",
  "rate.refused-later-counts": "A call refused after admission still counts in the windows.",
  "rate.together": "A call refused by one window or budget consumes nothing of the others.",
  "rate.before-money": "If both a window and a budget are exhausted, the answer is 429.",
  "budget.reserve": "The maximum cost of calls in flight counts as spent.",
  "budget.estimate.worst-case": "The estimate is everything that would be sent plus max_output_tokens.",
  "budget.boundary": "A call that fits the cap exactly is admitted; a nano-dollar more is refused.",
  "budget.settle": "After a call its actual cost replaces the estimate.",
  "budget.release": "A call that no provider accepted costs nothing.",
  "budget.refused-later": "A call that a guardrail or schema refuses releases its reservation.",
  "budget.concurrent":
    "Of 200 simultaneous calls on a budget for exactly k, k are answered and the rest get 402.",
  "budget.token-over-endpoints": "A token's cap covers its spend on all endpoints.",
  "budget.utc-month": "Months are calendar months in UTC.",
  "budget.month-of-reservation": "A call across midnight settles in the month in which it was reserved.",
  "budget.estimate.client-limit":
    "For an alias without `max_output_tokens` the client's limit is reserved, otherwise the model's maximum, otherwise 32,768.",
  "cost.endpoint-price": "A call costs estimated_cost_per_1k_tokens_usd for each 1,000 of its total tokens.",
  "cost.price-table": "Without that price, `prices` determine the cost of input and output.",
  "cost.price-table.cached": "Cached input is charged at its own price where one is given.",
  "cost.price-table.whole":
    "`prices` covers cache writes, long prompts, tiers, regions, searches and announced changes.",
  "cost.other-models": "Other models that a provider uses within an answer are charged at their own prices.",
  "cost.aborted-input":
    "A stream that ends early costs the input that its provider reported, and the output received.",
  "cost.bundled-prices": "Models of the bundled table have a price without configuration.",
  "log.evidence":
    "A call's log line names the guardrails that ran with their results, the configuration's hash, generation and git revision, and the trace.",
  "evidence.revision":
    "The git revision is in `/readyz`, `sluice_config_info` and reload events, with the configuration's hash.",
  "log.list-cost": "A call's log line has its cost, and the cost by list prices when they are known.",
  "log.limit-stage": "The time of a refusal by a rate limit is logged under stage `limit`.",
  "cost.fields":
    "Members of a wrapper request that could cost more than is reserved are refused; an alias's `allowed_fields` lists permitted ones.",
  "cost.vendor-rules":
    "Costs follow what each vendor charges: cache writes of an hour, tiers (flex, priority), web searches, billed units.",
  "cost.warn-unpriced": "`sluice validate` warns when a token's cap relies on a model without a price.",
  "cost.warn-estimate":
    "`sluice validate` warns, with both figures, when an endpoint's own price differs from its model's list price by more than 20 %.",
  "cost.none": "Without any price a call costs 0.",
  "cost.exact": "Sums of costs are exact to the nano-dollar.",
  "cost.estimate.everything":
    "Estimated usage counts everything sent (messages, tools, schemas, images) and everything received (text, tool calls, all choices), of aborted calls too.",
  "cost.usage-unusable":
    "Usage that is negative, fractional, not a number or missing is estimated and marked.",
  "cost.usage-implausible":
    "Usage beyond what the call could use (its output limit, the largest context window) is capped, marked and logged.",
  "cost.accepted-attempts":
    "An attempt that its provider accepted (a 2xx status) and that gave no usable answer costs its input estimate, also when another target answered; other failed attempts cost nothing.",
  "cost.usage-estimated":
    "When a provider reports no usage, 4 characters count as a token, marked as estimated.",
  "budget.estimate.expected": "`budget_estimate: expected` reserves the 95th percentile of recent answers.",
  "budget.crash": "After a crash an open reservation is settled at its input estimate, marked as estimated.",
  "budget.token.every-surface": "A token's cap applies on the wrapper and the proxy as well.",
};
