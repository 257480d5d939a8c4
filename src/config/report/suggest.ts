/** The nearest of some known names to one that is not known: what a typing mistake meant. */

/** Longer words are not typed by hand. */
const WORD_CHARACTERS_MAX = 200;

/**
 * Returns the candidate that is fewest edits away (insert, delete, replace, swap of neighbours), or undefined when
 * none is within a third of the word's length.
 */
export function nearestName(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > WORD_CHARACTERS_MAX) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * Advice for an unknown name: the nearest known one, else a list of all. `none`: the text when there are none.
 */
export function nearestOf(
  word: string,
  known: readonly string[],
  none: string,
): { readonly suggestion: string } | { readonly help: string } {
  const suggestion = nearestName(word, known);
  if (suggestion !== undefined) return { suggestion };
  return { help: known.length === 0 ? none : `known: ${listed(known)}` };
}

/** Names that other gateways and vendors give to what has another name here. Each is tried in turn. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  rpm: ["rate_limit_per_minute"],
  requests_per_minute: ["rate_limit_per_minute"],
  rate_limit: ["rate_limit_per_minute"],
  limit_per_minute: ["rate_limit_per_minute"],
  rph: ["rate_limit_per_hour"],
  requests_per_hour: ["rate_limit_per_hour"],
  max_tokens: ["max_output_tokens", "session_max_tokens"],
  max_completion_tokens: ["max_output_tokens"],
  max_new_tokens: ["max_output_tokens"],
  output_tokens: ["max_output_tokens"],
  max_input_tokens: ["usage_hard_limit_tokens"],
  token_limit: ["usage_hard_limit_tokens"],
  system_prompt: ["prompt"],
  system: ["prompt"],
  system_message: ["prompt"],
  instructions: ["prompt"],
  prompt_template: ["user_prompt_template"],
  template: ["provider_template", "user_prompt_template"],
  budget: ["monthly_budget_usd", "monthly_budget_usd_cap"],
  monthly_budget: ["monthly_budget_usd", "monthly_budget_usd_cap"],
  max_budget: ["monthly_budget_usd", "monthly_budget_usd_cap"],
  budget_usd: ["monthly_budget_usd", "monthly_budget_usd_cap"],
  cost_per_1k_tokens: ["estimated_cost_per_1k_tokens_usd"],
  fallback: ["failover"],
  fallbacks: ["failover"],
  stream: ["streaming_enabled"],
  streaming: ["streaming_enabled"],
  sessions: ["sessions_enabled"],
  enabled: ["is_active", "active"],
  active: ["is_active"],
  is_active: ["active", "enabled"],
  disabled: ["is_active", "active", "enabled"],
  key: ["api_key"],
  apikey: ["api_key"],
  token: ["api_key", "hash"],
  secret_key: ["api_key"],
  endpoint: ["base_url", "url"],
  url: ["base_url", "upstream_url", "token_url"],
  upstream: ["upstream_url"],
  target: ["upstream_url", "url"],
  api_base: ["base_url"],
  host: ["base_url"],
  timeout: ["timeout_ms"],
  timeout_seconds: ["timeout_ms"],
  title: ["name"],
  label: ["name"],
  path: ["slug"],
  kind: ["type", "use"],
  type: ["use"],
  plugin: ["use"],
  guardrail: ["use"],
  maximum: ["max"],
  max_length: ["max"],
  limit: ["max"],
  minimum: ["min"],
  words: ["keywords"],
  blocklist: ["keywords"],
  entities: ["kinds"],
  types: ["kinds"],
  direction: ["on"],
  schema: ["input_schema"],
  response_schema: ["output_schema"],
  methods: ["allowed_methods"],
  expires: ["expires_at"],
  expiry: ["expires_at"],
  sha256: ["hash"],
  loglevel: ["level"],
  log_level: ["level"],
  bind: ["host"],
  assert: ["expect"],
  expected: ["expect"],
  expects: ["expect"],
  request: ["call", "http"],
  response: ["provider"],
  mock: ["provider"],
  setup: ["given"],
  before: ["given"],
  cases: ["tests"],
  now: ["clock"],
  wait: ["advance"],
  sleep: ["advance"],
  times: ["repeat"],
  capture: ["save"],
  address: ["host", "url"],
};

/** The key that was probably meant: by another name for the same, else by a typing mistake. */
export function meantKey(word: string, known: readonly string[]): string | undefined {
  const key = word.toLowerCase().replace(/[ -]/g, "_");
  const synonyms = Object.hasOwn(SYNONYMS, key) ? SYNONYMS[key] : undefined;
  return nearestName(word, known) ?? synonyms?.find((name) => known.includes(name));
}

const LISTED_MAX = 20;

/** The names for a message, the first of them when there are many. */
export function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return more > 0 ? `${names.slice(0, LISTED_MAX).join(", ")} and ${more} more` : names.join(", ");
}

/** Damerau-Levenshtein distance in its restricted form: no substring is edited twice. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const replaced = at(last, column - 1) + (same ? 0 : 1);
      let distance = Math.min(replaced, at(last, column) + 1, at(current, column - 1) + 1);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
