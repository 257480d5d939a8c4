/** Explains what would happen to one request: runs it on the offline gateway, and tells stage by stage what decided. */
import type { ResolvedConfig } from "../../config/model.ts";
import type { Call } from "../../pipeline/call.ts";
import { type TraceRecord, traceRecord } from "../../pipeline/trace-record.ts";
import type { Target } from "../../plugin/index.ts";
import type { Registry } from "../../plugins-host/registry.ts";
import { COMMON_FIELDS, firstUnsupportedField } from "../../provider-kit/index.ts";
import type { OfflineRequest } from "../exchange.ts";
import { type OfflineGateway, openOffline } from "../offline.ts";
import { chatRequest, completionRequest, proxyRequest } from "../requests.ts";
import type { OfflineResult } from "../result.ts";
import { answerStages } from "./answer-stages.ts";
import type { Explanation, StageExplanation } from "./explanation.ts";
import { guardStage, validateStage } from "./guard-stages.ts";
import { findObject, findToken, objectName, objectOf } from "./objects.ts";
import { outcomeOf } from "./outcome.ts";
import { type ExplainedObject, Places, type Written } from "./places.ts";
import { callStage, type PromptParts, prepareStage } from "./prompt-stages.ts";
import { authenticateStage, budgetStage, type Explained, limitStage } from "./request-stages.ts";
import { standIns } from "./stand-ins.ts";

export interface ExplainRequest {
  readonly config: ResolvedConfig;
  readonly registry: Registry;
  readonly hash: string;
  readonly written: Written;
  /** `support/summarise`. */
  readonly endpoint: string;
  /** Its own fields: `message`, `messages`, and whatever else the client sends. */
  readonly body: Readonly<Record<string, unknown>>;
  /** By name or id; default: the first active one that may make the call. */
  readonly token?: string | undefined;
  readonly stream: boolean;
  /** Explains the way back of this answer too. */
  readonly reply?: string | undefined;
  readonly showsText: boolean;
  readonly nowMs: number;
  /** What the reader should know beside it. */
  readonly notes?: readonly string[];
}

const SCOPES = {
  endpoint: "chat",
  alias: "chat",
  proxy: "proxy",
} as const;

const EMPTY_STATE = "Nothing was asked: rate windows, spend and conversations begin empty here.";

/** A text: why there is nothing to explain. Rejects with ConfigError when a plugin cannot be set up. */
export async function explain(request: ExplainRequest): Promise<Explanation | string> {
  const { config, registry, hash, written, nowMs } = request;
  const notExecuted = standIns(config, registry);
  const object = findObject(config, registry, request.endpoint);
  if (typeof object === "string") return object;
  const token = findToken(object.project, SCOPES[object.kind], { named: request.token, nowMs });
  if (typeof token === "string") return token;
  const offline = await openOffline({ config, registry, hash, placeOf: written.placeOf });
  try {
    const run = await offline.case({ startMs: nowMs, keepsTexts: request.showsText });
    const plaintext = token === undefined ? undefined : offline.token(object.project.uuid, token.id);
    const { reply } = request;
    const script = reply === undefined ? undefined : [{ reply }];
    const asked = requestOf(object, request, plaintext);
    const result = await run.call(asked, script === undefined ? {} : { script });
    const noToken = token === undefined ? [`No active token has scope '${SCOPES[object.kind]}'.`] : [];
    const notes = [...noToken, ...(request.notes ?? []), EMPTY_STATE];
    const { showsText } = request;
    const isAnswered = reply !== undefined;
    const ran = { result, config, registry, written, object, showsText, isAnswered, notExecuted, notes };
    return explainRun(ran) ?? "the request reached no route of calls";
  } finally {
    await offline.close();
  }
}

function requestOf(
  { kind, project: { uuid }, name }: ExplainedObject,
  { body, stream }: ExplainRequest,
  token: string | undefined,
): OfflineRequest {
  const whole = stream ? { ...body, stream: true } : body;
  const build = { endpoint: chatRequest, alias: completionRequest, proxy: proxyRequest };
  const request = build[kind](uuid, name, whole, token ?? "");
  if (token !== undefined) return request;
  const { authorization: _none, ...headers } = request.headers ?? {};
  return { ...request, headers };
}

/** A request that was run, and the configuration that it ran on. */
export interface RunRequest {
  readonly result: OfflineResult;
  readonly config: ResolvedConfig;
  readonly registry: Registry;
  readonly written: Written;
  /** What the request was for. Default: what the call came to. */
  readonly object?: ExplainedObject;
  readonly showsText?: boolean;
  /** False: the providers' answers were not asked for, and nothing that became of them counts. Default: true. */
  readonly isAnswered?: boolean;
  /** Guardrails whose plugins were not executed. Default: none. */
  readonly notExecuted?: ReadonlySet<string>;
  /** What the reader should know beside it. */
  readonly notes?: readonly string[];
}

const NONE: ReadonlySet<string> = new Set();

/** Explains a call of an offline gateway's case, its way back included. undefined: it reached nothing that is configured. */
export function explainResult(
  result: OfflineResult,
  { offline, ...source }: Pick<RunRequest, "registry" | "written"> & { readonly offline: OfflineGateway },
): Explanation | undefined {
  return explainRun({ result, config: offline.config, ...source });
}

/** Explains a request that an offline case has run. undefined: it reached no endpoint. */
export function explainRun(run: RunRequest): Explanation | undefined {
  const { result, config, registry, written, isAnswered = true, notExecuted = NONE } = run;
  const { call, trace } = result;
  const object = run.object ?? (call && objectOf(config, registry, call));
  if (call === undefined || trace === undefined || object === undefined) return undefined;
  const places = new Places(config, object, written);
  const record = traceRecord(call, trace);
  const about: Explained = {
    ...{ config, object, places, showsText: run.showsText === true, notExecuted },
    record: isAnswered ? record : wayThere(record, result),
    received: call.received,
    receivedCharacters: call.receivedCharacters,
  };
  const stages = requestStages(about, promptParts(call, result, registry));
  const answer = isAnswered ? answerStages(about, result.answer?.content) : [];
  const closed = result.closed.map((what) => `Closed in an offline run: ${what}.`);
  const { surface, method, path, stream } = about.record;
  return {
    ...{ explain_version: 1, source: "offline" },
    request: { object: objectName(object), surface, method, path, stream, at: places.object },
    ...{ stages, answer, outcome: outcomeOf(about, [...stages, ...answer], isAnswered) },
    notes: [...closed, ...(run.notes ?? [])],
  };
}

/** Without an answer nothing that became of one counts. */
function wayThere(record: TraceRecord, { sent, upstream }: OfflineResult): TraceRecord {
  if (sent.length === 0 && upstream.length === 0) return record;
  return {
    ...record,
    refused_at: null,
    refused_by: null,
    error: null,
    outcome: "done",
    status: 0,
    cost_usd: null,
  };
}

function requestStages(about: Explained, parts: PromptParts): readonly StageExplanation[] {
  const { record, object } = about;
  const refused = record.error;
  const request: readonly StageExplanation[] =
    record.refused_at !== "request"
      ? []
      : [
          {
            stage: "request",
            outcome: "refused",
            summary: `${record.status} ${refused?.message ?? ""}`,
            details: [],
          },
        ];
  const first = [authenticateStage(about), ...request, limitStage(about), budgetStage(about)];
  if (object.settings === undefined) return [...first, callStage(about, parts)];
  return [
    ...first,
    guardStage(about, "input"),
    validateStage(about),
    prepareStage(about, parts),
    callStage(about, parts),
  ];
}

function promptParts(call: Call, result: OfflineResult, registry: Registry): PromptParts {
  const messages = result.sent[0]?.messages;
  const { options } = call;
  const requestFor = (target: Target) => ({ ...target.settings, messages: call.messages, options });
  return {
    ...{ messages, targets: call.targets, registry },
    unsupported: (target) => {
      if (options === undefined) return undefined;
      const { client } = target;
      if (client.unsupported === undefined) return firstUnsupportedField(requestFor(target), COMMON_FIELDS);
      return client.unsupported(requestFor(target), call.stream);
    },
    dropped: (target) => (options === undefined ? [] : (target.client.dropped?.(requestFor(target)) ?? [])),
  };
}
