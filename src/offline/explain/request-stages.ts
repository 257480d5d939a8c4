/** The stages before the guardrails: token, limits and budget, with the keys that decide them. */
import { nanoUsdText, parseUsd } from "../../base/money.ts";
import { targetsOf } from "../../compile/targets.ts";
import type { ResolvedConfig } from "../../config/model.ts";
import { listSchedulesOf } from "../../config/price-schedules.ts";
import type { ClaimRecord, TraceRecord } from "../../pipeline/trace-record.ts";
import { estimateTokens, type Message } from "../../plugin/index.ts";
import { numberOf } from "../settings.ts";
import type { Detail, StageExplanation, StageOutcome } from "./explanation.ts";
import type { ExplainedObject, Places } from "./places.ts";

/** All that an explanation is made from. */
export interface Explained {
  readonly config: ResolvedConfig;
  readonly object: ExplainedObject;
  readonly places: Places;
  readonly record: TraceRecord;
  readonly received: readonly Message[];
  readonly receivedCharacters: number;
  /** Show texts of the call beside the spans of verdicts. */
  readonly showsText: boolean;
  /** Guardrails whose plugins were not executed. */
  readonly notExecuted: ReadonlySet<string>;
}

const ORDER = ["authenticate", "request", "limit", "budget", "guard", "validate", "prepare", "call"];

/** Whether the call came to the stage on its way to the provider. */
export function reached({ record }: Explained, stage: string): boolean {
  const { refused_at: refusedAt } = record;
  if (refusedAt === null) return true;
  const at = ORDER.indexOf(refusedAt);
  // Stages of the way back come after all of these.
  return at < 0 || ORDER.indexOf(stage) <= at;
}

export function stageEntry(
  explained: Explained,
  stage: string,
  {
    outcome,
    summary,
    details = [],
  }: {
    readonly outcome: Exclude<StageOutcome, "refused" | "not reached">;
    readonly summary: string;
    readonly details?: readonly Detail[];
  },
): StageExplanation {
  const { record } = explained;
  if (!reached(explained, stage)) return { stage, outcome: "not reached", summary: "", details: [] };
  if (record.refused_at !== stage) return { stage, outcome, summary, details };
  const { status, error } = record;
  return { stage, outcome: "refused", summary: `${status} ${error?.message ?? ""}`, details };
}

export function authenticateStage(explained: Explained): StageExplanation {
  const { record, object, places } = explained;
  const { token } = record;
  if (token === null) {
    return stageEntry(explained, "authenticate", { outcome: "ok", summary: "no token was accepted" });
  }
  const index = object.project.tokens.findIndex(({ id }) => id === token.id);
  const { expires_at: expiresMs = null } = object.project.tokens[index] ?? {};
  const detail: Detail = {
    name: `token ${token.name}`,
    text: `id ${token.id}, scopes ${token.scopes.join(", ") || "none"}${expiry(expiresMs)}`,
    at: index < 0 ? null : places.token(index),
    data: { id: token.id, name: token.name, scopes: token.scopes },
  };
  const summary = `token ${token.name} of ${object.project.name}`;
  return stageEntry(explained, "authenticate", { outcome: "ok", summary, details: [detail] });
}

function expiry(expiresMs: number | null): string {
  return expiresMs === null ? "" : `, expires ${new Date(expiresMs).toISOString().slice(0, 10)}`;
}

export function limitStage(explained: Explained): StageExplanation {
  const { record, object, places, receivedCharacters } = explained;
  const windows = record.claims.filter(({ kind }) => kind === "rate");
  const details = windows.map((claim): Detail => {
    const key = `rate_limit_per_${claim.window}`;
    const { limit = 0, remaining = null, outcome } = claim;
    const data = { limit, remaining, refused: outcome === "refused" };
    return { name: key, text: windowText(claim), at: places.key(key), data };
  });
  const cap = object.settings === undefined ? null : numberOf(object.settings, "usage_hard_limit_tokens");
  if (cap !== null) {
    const tokens = estimateTokens(receivedCharacters);
    const text = `${cap} tokens: the request has about ${tokens}`;
    const at = places.key("usage_hard_limit_tokens");
    const data = { cap, estimated: tokens, refused: record.error?.code === "token_limit" };
    details.push({ name: "usage_hard_limit_tokens", text, at, data });
  }
  const summary = details.length === 0 ? "no rate limit and no token cap" : limitSummary(windows, cap);
  const outcome = details.length === 0 ? "none" : "ok";
  return stageEntry(explained, "limit", { outcome, summary, details });
}

function windowText({
  limit = 0,
  remaining,
  window,
  outcome,
  retry_after: seconds = 0,
}: ClaimRecord): string {
  const calls = `${limit} ${limit === 1 ? "call" : "calls"} per ${window}`;
  if (outcome === "refused") return `${calls}: all used, one is free in ${seconds} s`;
  if (outcome === "not decided" || remaining === null || remaining === undefined) return calls;
  return `${calls}: this is number ${limit - remaining}, ${remaining} left`;
}

function limitSummary(windows: readonly ClaimRecord[], cap: number | null): string {
  const parts = windows.map(({ limit, window }) => `${limit} per ${window}`);
  if (cap !== null) parts.push(`${cap} tokens a request`);
  return parts.join(", ");
}

export function budgetStage(explained: Explained): StageExplanation {
  const { record } = explained;
  const sums = record.claims.filter(({ kind }) => kind === "spend");
  const [first] = sums;
  if (first === undefined) {
    const summary = "no price is known, so nothing is reserved";
    return stageEntry(explained, "budget", { outcome: "none", summary });
  }
  const details = [...sums.flatMap((claim) => sumDetail(explained, claim)), ...priceDetails(explained)];
  const { reserved_usd: reserved = "0", input_usd: input = "0" } = first;
  const output = usd(nanoUsdText(nanoOf(reserved) - nanoOf(input)));
  const summary = `reserves ${usd(reserved)}: ${usd(input)} for the input, ${output} for the longest answer`;
  return stageEntry(explained, "budget", { outcome: "ok", summary, details });
}

function nanoOf(amount: string): number {
  return parseUsd(amount)?.nanoUsd ?? 0;
}

/** Three digits at least of small amounts, four decimals of others. */
export function usd(amount: string | undefined): string {
  const value = Number(amount ?? 0);
  if (value === 0) return "$0";
  if (value >= 0.01) return `$${value.toFixed(4)}`;
  return `$${value.toFixed(2 - Math.floor(Math.log10(value)))}`;
}

/** Empty: the sum is kept, and nothing limits it. */
function sumDetail({ object, places, record }: Explained, claim: ClaimRecord): readonly Detail[] {
  const { cap_usd: cap = null, spent_usd: spent, reserved_usd: reserved = "0", outcome } = claim;
  if (cap === null) return [];
  const isToken = claim.key.startsWith("spend:token:");
  const index = object.project.tokens.findIndex(({ id }) => id === record.token?.id);
  const ofToken = index < 0 ? null : places.token(index, "monthly_budget_usd_cap");
  const name = isToken ? `budget of token ${record.token?.name ?? ""}` : "monthly_budget_usd";
  const limit = `$${cap} a month`;
  const text =
    outcome === "refused"
      ? `${limit}: ${usd(spent)} spent or reserved, ${usd(reserved)} more does not fit`
      : limit;
  const data = { cap_usd: cap, reserved_usd: reserved, refused: outcome === "refused" };
  return [{ name, text, at: isToken ? ofToken : places.key("monthly_budget_usd"), data }];
}

/** What the reservation is computed from. */
function priceDetails({ config, object, places }: Explained): readonly Detail[] {
  const { settings, project } = object;
  if (settings === undefined) return [];
  const own = settings.estimated_cost_per_1k_tokens_usd;
  if (own !== null) {
    const at = places.key("estimated_cost_per_1k_tokens_usd");
    return [{ name: "price", text: `$${own.text} for 1,000 tokens of any model`, at }];
  }
  const targets = targetsOf(project, settings);
  const schedules = listSchedulesOf(config, targets);
  const seen = new Set<string>();
  return targets.flatMap(({ provider, model }): readonly Detail[] => {
    const key = `${provider}/${model}`;
    const rates = schedules[key]?.[0]?.rates;
    if (rates === undefined || seen.has(key)) return [];
    seen.add(key);
    const at = places.price(provider, model);
    const source = at === null ? ", bundled price table" : "";
    const text = `${key}: ${perMillion(rates.input)} in, ${perMillion(rates.output)} out for 1,000,000 tokens`;
    return [{ name: "price", text: text + source, at }];
  });
}

function perMillion(nanoPerToken: number): string {
  const [whole = "0", fraction = ""] = nanoUsdText(Math.round(nanoPerToken * 1_000_000)).split(".");
  return `$${whole}.${fraction.padEnd(2, "0")}`;
}
