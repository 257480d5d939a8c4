/**
 * What is kept of one call: the fields of its log line and its stage trace, as references to small objects that the call
 * made anyway. Never the call itself, which holds its body, its messages and its answer.
 */
import type { Call } from "../pipeline/call.ts";
import type { ClaimTrace, GuardrailTrace, StopTrace } from "../pipeline/trace.ts";
import type { Usage } from "../plugin/chat.ts";
import type { Attempt, ConfigRef, EndpointRef, ProjectRef, Surface, TokenRef } from "../plugin/exchange.ts";
import type { CallEnd, Message } from "../plugin/index.ts";
import { contentText, STAGES } from "../plugin/index.ts";
import type { Kept } from "./recent-calls.ts";

export interface CallRecord extends Kept {
  readonly traceId: string;
  readonly startedAtMs: number;
  readonly surface: Surface;
  readonly method: string;
  readonly path: string;
  readonly project: ProjectRef;
  readonly endpoint: EndpointRef;
  readonly token: TokenRef;
  readonly client: string;
  readonly status: number;
  readonly outcome: CallEnd["outcome"];
  readonly stream: boolean;
  readonly provider: string;
  readonly model: string;
  readonly finishReason: CallEnd["finishReason"];
  readonly sessionId: string | undefined;
  readonly durationMs: number;
  readonly firstByteMs: number | undefined;
  readonly stageMs: readonly number[];
  readonly usage: Usage | undefined;
  readonly costNanoUsd: number;
  readonly listCostNanoUsd: number | undefined;
  readonly attempts: readonly Attempt[];
  readonly config: ConfigRef;
  readonly error: KeptError | undefined;
  /** Of the trace; empty where the call was refused before its chain began. */
  readonly guardrails: readonly GuardrailTrace[];
  readonly claims: readonly ClaimTrace[];
  readonly stop: StopTrace | undefined;
  readonly texts: KeptTexts | undefined;
}

export interface KeptError {
  readonly code: string;
  readonly message: string;
  readonly detail: unknown;
  readonly scope: string | undefined;
}

export interface KeptTexts {
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  readonly answer: string | null;
}

/** A longer text is cut, and says so. */
const TEXT_CHARACTERS_MAX = 8 * 1024;
/** More messages than that are left out, the oldest first. */
const MESSAGES_MAX = 50;
/** A longer path is cut: it comes from the client. */
const PATH_CHARACTERS_MAX = 500;

/** `shown`: how texts are kept; undefined: not at all. */
export function recordOf(
  x: Call,
  end: CallEnd,
  sequence: number,
  shown: ((text: string) => string) | undefined,
): CallRecord {
  const { error } = end;
  const { trace } = x;
  // Field by field: spreading costs microseconds, and this runs on every call.
  return {
    sequence,
    requestId: x.requestId,
    projectUuid: x.project.uuid,
    traceId: x.traceId,
    startedAtMs: x.startedAtMs,
    surface: x.surface,
    method: x.method,
    path: x.path.length > PATH_CHARACTERS_MAX ? x.path.slice(0, PATH_CHARACTERS_MAX) : x.path,
    project: x.project,
    endpoint: x.endpoint,
    token: x.token,
    client: x.clientAddress,
    status: end.status,
    outcome: end.outcome,
    stream: x.stream,
    provider: end.provider,
    model: end.model,
    finishReason: end.finishReason,
    sessionId: x.sessionId,
    durationMs: end.durationMs,
    firstByteMs: end.firstByteMs,
    stageMs: end.stageMs,
    usage: end.usage,
    costNanoUsd: end.costNanoUsd,
    listCostNanoUsd: end.listCostNanoUsd,
    attempts: x.attempts,
    config: x.config,
    error: error === undefined ? undefined : keptError(error),
    guardrails: trace === undefined ? [] : trace.guardrails,
    claims: trace === undefined ? [] : trace.claims,
    stop: trace?.stop,
    texts: shown === undefined ? undefined : textsOf(x.messages, end.result?.content, shown),
  };
}

function keptError({ code, message, extras }: NonNullable<CallEnd["error"]>): KeptError {
  const { detail, scope } = extras;
  // What a client's own schema or text made long is cut; the log has it whole.
  const isLong = typeof detail === "string" && detail.length > TEXT_CHARACTERS_MAX;
  return { code, message, detail: isLong ? cut(detail) : detail, scope };
}

function textsOf(
  messages: readonly Message[],
  answer: string | undefined,
  shown: (text: string) => string,
): KeptTexts {
  return {
    messages: messages
      .slice(-MESSAGES_MAX)
      .map(({ role, content }) => ({ role, text: cut(shown(cut(contentText(content)))) })),
    answer: answer === undefined ? null : cut(shown(cut(answer))),
  };
}

function cut(text: string): string {
  if (text.length <= TEXT_CHARACTERS_MAX) return text;
  return `${text.slice(0, TEXT_CHARACTERS_MAX - 20)}… (${text.length} characters)`;
}

/** Stage by stage, in order: only those that the call has been through. */
export function stagesMs({
  stageMs,
}: CallRecord): readonly { readonly stage: (typeof STAGES)[number]; readonly ms: number }[] {
  return STAGES.flatMap((stage, i) => {
    const ms = stageMs[i] ?? -1;
    return ms < 0 ? [] : [{ stage, ms: Math.round(ms * 1000) / 1000 }];
  });
}
