/** Explains a call that a gateway has answered, from what the gateway keeps of it. */
import { type ShownCall, shownCall } from "../../surfaces/admin/v1/call-schema.ts";
import type { Detail, Explanation, StageExplanation, StageOutcome } from "./explanation.ts";
import { counted } from "./guard-stages.ts";
import { usd } from "./request-stages.ts";

export { type ShownCall, shownCall };

/** Places of the configuration that the call ran on; a call of another one has none. */
export interface RecordedPlaces {
  readonly object: string | null;
  /** The nth guardrail of the endpoint that judges that side, in the order in which they run. */
  guardrail(side: "input" | "output", n: number): string | null;
  key(...path: readonly (string | number)[]): string | null;
  token(id: string): string | null;
}

const NOWHERE: RecordedPlaces = {
  object: null,
  guardrail: () => null,
  key: () => null,
  token: () => null,
};

/** The stages of the way to the provider; a stage that took no time there may still have run on the way back. */
const REQUEST_STAGES = ["authenticate", "limit", "budget", "guard", "validate", "prepare", "call"] as const;

export function explainRecorded(call: ShownCall, places: RecordedPlaces = NOWHERE): Explanation {
  const { project, endpoint, method, path, surface, stream } = call;
  const object = `${project.name}/${endpoint?.id ?? "?"}`;
  const stages = REQUEST_STAGES.map((stage) => requestStage(call, stage, places));
  const early = call.refused_at === "request" ? [refusedStage(call, "request", [])] : [];
  const [first, ...rest] = stages;
  const all = first === undefined ? rest : [first, ...early, ...rest];
  return {
    ...{ explain_version: 1, source: "running" },
    request: { object, surface, method, path, stream, at: places.object },
    stages: all,
    answer: answerStages(call, places),
    outcome: outcomeOf(call, all),
    notes: notesOf(call),
  };
}

function refusedStage(
  { status, error }: ShownCall,
  stage: string,
  details: readonly Detail[],
): StageExplanation {
  return { stage, outcome: "refused", summary: `${status} ${error?.message ?? ""}`, details };
}

function requestStage(
  call: ShownCall,
  stage: (typeof REQUEST_STAGES)[number],
  places: RecordedPlaces,
): StageExplanation {
  const details = detailsOf(call, stage, places);
  const ms = call.stages.find((one) => one.stage === stage)?.ms;
  const timed = ms === undefined ? {} : { ms };
  const isOutput = call.guardrails.at(-1)?.side === "output";
  if (call.refused_at === stage && !(stage === "guard" && isOutput)) {
    return { ...refusedStage(call, stage, details), ...timed };
  }
  if (ms === undefined && details.length === 0) {
    const isPast = call.refused_at === null || REQUEST_STAGES.indexOf(stage) < refusedIndex(call);
    return { stage, outcome: isPast ? "none" : "not reached", summary: "", details };
  }
  const acted = details.filter(({ verdict = "" }) => ACTS.has(verdict));
  const outcome: StageOutcome = stage === "guard" && acted.length > 0 ? "acted" : "ok";
  return { stage, outcome, summary: summaryOf(call, stage, details), details, ...timed };
}

const ACTS: ReadonlySet<string> = new Set(["mask", "block", "error", "shadow"]);

function refusedIndex({ refused_at: at }: ShownCall): number {
  if (at === "request") return 1;
  const names: readonly (string | null)[] = REQUEST_STAGES;
  const index = names.indexOf(at);
  // Stages of the way back come after all of these.
  return index < 0 ? REQUEST_STAGES.length : index;
}

function summaryOf(
  { token, claims, attempts, session_id: session }: ShownCall,
  stage: (typeof REQUEST_STAGES)[number],
  details: readonly Detail[],
): string {
  switch (stage) {
    case "authenticate":
      return token === null ? "" : `token ${token.name}`;
    case "limit":
      return details.length === 0 ? "no rate limit" : counted(details.length, "rate window");
    case "budget": {
      const reserved = claims.find(({ kind }) => kind === "spend")?.reserved_usd;
      return reserved === undefined || reserved === null ? "nothing reserved" : `${usd(reserved)} reserved`;
    }
    case "guard": {
      const acting = details.filter(({ verdict = "" }) => ACTS.has(verdict));
      if (acting.length > 0) return acting.map(({ name, verdict }) => `${name}: ${verdict}`).join(", ");
      return details.length === 0 ? "no guardrail" : `${counted(details.length, "guardrail")} passed`;
    }
    case "prepare":
      return session === null ? "" : `conversation ${session}`;
    case "call": {
      const last = attempts.at(-1);
      return last === undefined ? "" : `${last.credential || last.provider}/${last.model} ${last.outcome}`;
    }
    case "validate":
      return "";
  }
}

function detailsOf(
  call: ShownCall,
  stage: (typeof REQUEST_STAGES)[number],
  places: RecordedPlaces,
): readonly Detail[] {
  switch (stage) {
    case "authenticate": {
      const { token } = call;
      return token === null
        ? []
        : [{ name: `token ${token.name}`, text: `id ${token.id}`, at: places.token(token.id) }];
    }
    case "limit":
      return call.claims.filter(({ kind }) => kind === "rate").map((claim) => windowDetail(claim, places));
    case "budget":
      return call.claims.filter(({ kind }) => kind === "spend").flatMap((claim) => sumDetail(claim, places));
    case "guard":
      return guardDetails(call, "input", places);
    case "call":
      return call.attempts.map(attemptDetail);
    default:
      return [];
  }
}

type Claim = ShownCall["claims"][number];

function windowDetail({ limit, window_ms: ms, remaining, outcome }: Claim, places: RecordedPlaces): Detail {
  const window = ms === 60_000 ? "minute" : ms === 3_600_000 ? "hour" : `${(ms ?? 0) / 1000} s`;
  const key = `rate_limit_per_${window}`;
  const left = remaining === null ? outcome : `${remaining} left`;
  const text = `${limit ?? 0} per ${window}: ${outcome === "refused" ? "all used" : left}`;
  return { name: key, text, at: places.key(key), data: { limit, remaining, refused: outcome === "refused" } };
}

function sumDetail({ key, cap_usd: cap, outcome }: Claim, places: RecordedPlaces): readonly Detail[] {
  if (cap === null) return [];
  const isToken = key.startsWith("spend:token:");
  const name = isToken ? "monthly_budget_usd_cap of the token" : "monthly_budget_usd";
  const id = key.slice(key.lastIndexOf("/") + 1);
  const at = isToken ? places.token(id) : places.key("monthly_budget_usd");
  const text = `$${cap} a month${outcome === "refused" ? ": the call did not fit" : ""}`;
  return [{ name, text, at, data: { cap_usd: cap, refused: outcome === "refused" } }];
}

function guardDetails(
  { guardrails, refused_by: by, refused_at: at, error }: ShownCall,
  side: "input" | "output",
  places: RecordedPlaces,
): readonly Detail[] {
  const runs = guardrails.filter((run) => run.side === side);
  return runs.map(({ guardrail: name, verdicts, more }, n): Detail => {
    const place = places.guardrail(side, n);
    const strongest = verdicts.toSorted((a, b) => rank(b) - rank(a))[0];
    const isLast = n === runs.length - 1 && guardrails.at(-1)?.side === side;
    if (strongest === undefined) {
      const stopped = isLast && by === name && at === "guard";
      return {
        name,
        verdict: stopped ? "block" : "pass",
        text: stopped ? (error?.message ?? "") : "",
        at: place,
      };
    }
    const texts = verdicts.map(({ rule, spans, shadow, verdict }) => {
      const would = shadow ? `would ${verdict === "replace" ? "mask" : verdict}: ` : "";
      return `${would}${rule}${spans === 0 ? "" : `, ${counted(spans, "place")}`}`;
    });
    if (more > 0) texts.push(`${more} more`);
    return { name, verdict: shownVerdict(strongest), text: texts.join("; "), at: place };
  });
}

type Verdict = ShownCall["guardrails"][number]["verdicts"][number];

function rank({ verdict, shadow }: Verdict): number {
  return shadow ? 0 : ["pass", "replace", "error", "block"].indexOf(verdict);
}

function shownVerdict({ verdict, shadow }: Verdict): string {
  if (shadow) return "shadow";
  return verdict === "replace" ? "mask" : verdict;
}

function attemptDetail(attempt: ShownCall["attempts"][number]): Detail {
  const { provider, credential, model, outcome, status, duration_ms: ms, dropped } = attempt;
  const verdict = outcome === "ok" ? "ok" : outcome.startsWith("skipped") ? "skipped" : "failed";
  const left = dropped.length === 0 ? "" : `, without ${dropped.join(", ")}`;
  const text = `${outcome === "ok" ? (status ?? "") : outcome} after ${Math.round(ms)} ms${left}`;
  return { name: `${credential || provider}/${model}`, verdict, text, at: null, data: { status, ms } };
}

function answerStages(call: ShownCall, places: RecordedPlaces): readonly StageExplanation[] {
  if (!call.attempts.some(({ outcome }) => outcome === "ok")) return [];
  const stages: StageExplanation[] = [];
  const check = call.stages.find(({ stage }) => stage === "check");
  if (call.refused_at === "check") {
    const detail: Detail = { name: "output_schema", text: "", at: places.key("output_schema") };
    stages.push(refusedStage(call, "check", [detail]));
  } else if (check !== undefined) {
    stages.push({ stage: "check", outcome: "ok", summary: "", ms: check.ms, details: [] });
  }
  const judged = guardDetails(call, "output", places);
  const isRefused = call.refused_at === "guard" && call.guardrails.at(-1)?.side === "output";
  const acted = judged.some(({ verdict = "" }) => ACTS.has(verdict));
  if (isRefused) stages.push(refusedStage(call, "guard", judged));
  else if (judged.length > 0) {
    const summary = `${counted(judged.length, "guardrail")} judged the answer`;
    stages.push({ stage: "guard", outcome: acted ? "acted" : "ok", summary, details: judged });
  }
  return [...stages, recordStage(call)];
}

function recordStage({ tokens, cost_usd: cost, finish_reason: reason }: ShownCall): StageExplanation {
  const details: Detail[] = [];
  if (tokens !== null) {
    const { prompt, completion, estimated } = tokens;
    const text = `${counted(prompt, "token")} in, ${completion} out${estimated ? ", estimated" : ""}`;
    details.push({ name: "usage", text, at: null });
  }
  if (reason !== null) details.push({ name: "finish_reason", text: reason, at: null });
  return { stage: "record", outcome: "ok", summary: `${usd(cost)} settled`, details };
}

function outcomeOf(call: ShownCall, stages: readonly StageExplanation[]): Explanation["outcome"] {
  const { status, refused_at, refused_by, error, cost_usd: cost, duration_ms: ms } = call;
  const took = `${Math.round(ms)} ms`;
  if (error === null) {
    const none = { refused_at: null, error: null, detail: null, decided_by: null, at: null };
    const how = call.outcome === "client_gone" ? "The client was gone" : `Answered with ${status}`;
    return { ...none, status, summary: `${how} after ${took}; ${usd(cost)} settled.` };
  }
  const stage = stages.find((one) => one.outcome === "refused");
  const deciding =
    stage?.details.find(({ verdict }) => verdict === "block" || verdict === "error") ??
    stage?.details.find(({ data }) => data?.["refused"] === true);
  const by = deciding?.name ?? (refused_by === "gateway" ? null : refused_by);
  const where = refused_at === "request" ? "before the chain" : `at ${refused_at}`;
  const summary = `Refused ${where}${by === null ? "" : ` by ${by}`} after ${took}: ${status} ${error.message}`;
  const detail = typeof error.detail === "string" ? error.detail : null;
  return {
    status,
    refused_at,
    error: error.message,
    detail,
    decided_by: by,
    at: deciding?.at ?? null,
    summary,
  };
}

function notesOf({ id, started_at: at, config, client }: ShownCall): readonly string[] {
  const revision = config.revision === "" ? "" : `, revision ${config.revision}`;
  return [
    `Request ${id} of ${at} from ${client}, on configuration ${config.hash.slice(0, 12)}${revision} (generation ${config.generation}).`,
  ];
}
