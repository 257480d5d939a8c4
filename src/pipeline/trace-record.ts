/** The stage trace of a call that has ended, as plain JSON: what commands print and the admin API answers. */

import { nanoUsdText } from "../base/money.ts";
import { STAGES } from "../plugin/index.ts";
import type { Call } from "./call.ts";
import type { CallTrace, ClaimTrace, GuardrailTrace } from "./trace.ts";

/** Amounts are USD as plain decimals, times milliseconds. */
export interface TraceRecord {
  readonly request_id: string;
  readonly surface: string;
  readonly method: string;
  readonly path: string;
  readonly project: { readonly uuid: string; readonly name: string };
  /** Slug, or alias; "": not known. */
  readonly endpoint: string;
  /** null: none was accepted. */
  readonly token: { readonly id: string; readonly name: string; readonly scopes: readonly string[] } | null;
  readonly stream: boolean;
  readonly session_id: string | null;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly outcome: "done" | "refused" | "failed" | "client_gone";
  readonly status: number;
  /** `request`: before the chain, for its body or because its path names nothing. */
  readonly refused_at: string | null;
  /** The plugin whose hook stopped the call; `gateway`: a claim was refused. */
  readonly refused_by: string | null;
  readonly error: ErrorRecord | null;
  /** Those that ran, in the order of the chain. */
  readonly stages: readonly { readonly stage: string; readonly ms: number }[];
  readonly claims: readonly ClaimRecord[];
  readonly guardrails: readonly GuardrailRecord[];
  readonly attempts: readonly AttemptRecord[];
  readonly usage: UsageRecord | null;
  readonly reserved_usd: string | null;
  readonly cost_usd: string | null;
}

interface ErrorRecord {
  readonly code: string;
  readonly message: string;
  readonly detail: string | null;
}

export interface ClaimRecord {
  readonly kind: "rate" | "spend";
  readonly key: string;
  readonly outcome: "admitted" | "refused" | "not decided";
  readonly window?: string | null;
  readonly window_ms?: number;
  readonly limit?: number;
  /** null: the store does not say. */
  readonly remaining?: number | null;
  readonly retry_after?: number;
  readonly reserved_usd?: string;
  readonly input_usd?: string;
  readonly cap_usd?: string | null;
  /** Before this call; where a cap refused it. */
  readonly spent_usd?: string;
}

export interface GuardrailRecord {
  readonly guardrail: string;
  readonly side: "input" | "output";
  /** Empty: it passed. */
  readonly verdicts: readonly VerdictRecord[];
  /** Verdicts that were not kept. */
  readonly more: number;
}

export interface VerdictRecord {
  readonly verdict: "pass" | "block" | "replace" | "error";
  readonly shadow: boolean;
  /** The rule that applied. */
  readonly rule: string;
  /** `messages[0]`, `request` (outside the messages) or `answer`. */
  readonly where: string;
  readonly role: string;
  /** Places where something was found; 0: the guardrail does not say where. */
  readonly places: number;
  /** The first of them, [start, end) in UTF-16 code units of the judged text. */
  readonly spans: readonly (readonly [start: number, end: number])[];
  /** The judged text, where it was kept. */
  readonly text?: string;
}

export interface AttemptRecord {
  readonly provider: string;
  readonly credential: string;
  readonly model: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly ms: number;
  readonly dropped: readonly string[];
}

interface UsageRecord {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly estimated: boolean;
}

/** Of a call that has ended. */
export function traceRecord(call: Call, trace: CallTrace): TraceRecord {
  const { token, project, endpoint, sessionId = null } = call;
  const { end, stop } = trace;
  const error = trace.refusal;
  const reserved = trace.claims.find(({ kind }) => kind === "spend")?.reservedNanoUsd;
  return {
    ...{ request_id: call.requestId, surface: call.surface, method: call.method, path: call.path },
    project: { uuid: project.uuid, name: project.name },
    endpoint: endpoint.slug,
    token: token.id === "" ? null : { id: token.id, name: token.name, scopes: token.scopes },
    ...{ stream: call.stream, session_id: sessionId },
    started_at: new Date(call.startedAtMs).toISOString(),
    ...{ duration_ms: end?.durationMs ?? 0, outcome: end?.outcome ?? "failed", status: end?.status ?? 0 },
    ...{
      refused_at: trace.refusedAt ?? null,
      refused_by: error === undefined ? null : (stop?.plugin ?? null),
    },
    error:
      error === undefined
        ? null
        : { code: error.code, message: error.message, detail: error.extras.detail ?? null },
    stages: STAGES.flatMap((stage, n) => {
      const ms = call.stageMs[n] ?? -1;
      return ms < 0 ? [] : [{ stage, ms }];
    }),
    claims: trace.claims.map(claimRecord),
    guardrails: trace.guardrails.map(guardrailRecord),
    attempts: trace.attempts.map(({ provider, credential, model, outcome, status, durationMs, dropped }) => ({
      ...{ provider, credential, model, outcome, status: status ?? null, ms: durationMs },
      dropped: dropped ?? [],
    })),
    usage: usageRecord(trace),
    reserved_usd: reserved === undefined ? null : nanoUsdText(reserved),
    cost_usd: trace.settledNanoUsd === undefined ? null : nanoUsdText(trace.settledNanoUsd),
  };
}

function claimRecord(claim: ClaimTrace): ClaimRecord {
  const { kind, key, outcome } = claim;
  if (kind === "rate") {
    const { policy = null, windowMs = 0, limit = 0, remaining = null, retryAfterSeconds = 0 } = claim;
    const refused = outcome === "refused" ? { retry_after: retryAfterSeconds } : {};
    return { kind, key, outcome, window: policy, window_ms: windowMs, limit, remaining, ...refused };
  }
  const { reservedNanoUsd = 0, inputNanoUsd = 0, capNanoUsd, spentNanoUsd } = claim;
  return {
    ...{ kind, key, outcome },
    reserved_usd: nanoUsdText(reservedNanoUsd),
    input_usd: nanoUsdText(inputNanoUsd),
    cap_usd: capNanoUsd === undefined ? null : nanoUsdText(capNanoUsd),
    ...(spentNanoUsd !== undefined && { spent_usd: nanoUsdText(spentNanoUsd) }),
  };
}

function guardrailRecord({ guardrail, side, verdicts, more }: GuardrailTrace): GuardrailRecord {
  return {
    ...{ guardrail, side, more },
    verdicts: verdicts.map(({ verdict, shadow, reason: rule, where, role, places, spans, text }) => ({
      ...{ verdict, shadow, rule, where, role, places, spans },
      ...(text !== undefined && { text }),
    })),
  };
}

function usageRecord({ end }: CallTrace): UsageRecord | null {
  if (end?.usage === undefined) return null;
  const { promptTokens, completionTokens, totalTokens, estimated = false } = end.usage;
  return {
    ...{ prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: totalTokens },
    estimated,
  };
}
