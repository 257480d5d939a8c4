/**
 * The spans of one ended call, by OpenTelemetry's conventions for generative AI: one for the call as its client saw it,
 * one for each try of a target. Reads the call and changes nothing.
 */
import { spanIdOf, type TraceParent, traceIdOf } from "../base/trace-context.ts";
import type { Content, ToolCall, Usage } from "../plugin/chat.ts";
import type { Attempt } from "../plugin/exchange.ts";
import type { CallEnd, Exchange, Message } from "../plugin/index.ts";
import { contentLength } from "../plugin/index.ts";
import { Attributes, CLIENT, SERVER, spanJson } from "./otlp-json.ts";

/** Of what a client wrote without a limit of its own. */
const PATH_MAX = 256;
/** Characters of prompts, and of an answer, that a span carries: of a long conversation, its end. */
export const CONTENT_MAX = 16_384;

export interface EndedCall {
  readonly x: Exchange;
  readonly end: CallEnd;
  /** The client's span; undefined: the trace begins here. */
  readonly parent: TraceParent | undefined;
  /** Whether spans carry prompts and answers. */
  readonly content: boolean;
}

/** As OTLP writes them: the call's own first, then the tries in their order. */
export function spansOf(call: EndedCall): readonly string[] {
  return [serverSpan(call), ...call.x.attempts.map((attempt, index) => clientSpan(call, attempt, index))];
}

function serverSpan({ x, end, parent }: EndedCall): string {
  const { error } = end;
  const attributes = new Attributes()
    .text(NAMES.method, x.method)
    .text(NAMES.path, x.path.slice(0, PATH_MAX))
    .count(NAMES.status, end.status)
    .text(NAMES.client, x.clientAddress)
    .text(NAMES.requestId, x.requestId)
    .text(NAMES.surface, x.surface)
    .text(NAMES.outcome, end.outcome)
    .flag(NAMES.stream, x.stream)
    .real(NAMES.cost, end.costNanoUsd / 1e9)
    .real(NAMES.firstByte, end.firstByteMs)
    .optional(NAMES.errorType, error?.code)
    .optional(NAMES.token, x.token.id)
    .optional(NAMES.conversation, x.sessionId)
    .texts(NAMES.guardrails, guardrailActions(x));
  // A project that does not exist is what some client made up.
  if (x.endpoint.slug !== "") {
    attributes.text(NAMES.project, x.project.uuid).text(NAMES.endpoint, x.endpoint.slug);
  }
  return spanJson({
    traceId: traceOf(x, parent),
    spanId: spanIdOf(x.requestId, 0),
    parentId: parent?.spanId,
    name: x.endpoint.slug === "" ? x.surface : `${x.surface} ${x.endpoint.slug}`,
    kind: SERVER,
    startMs: x.startedAtMs,
    endMs: x.startedAtMs + end.durationMs,
    attributes,
    // A client error is not a failure of the gateway.
    error: error !== undefined && error.status >= 500 ? error.message : undefined,
  });
}

function clientSpan(call: EndedCall, attempt: Attempt, index: number): string {
  const { x, end, parent, content } = call;
  const failure = attempt.outcome === "ok" ? undefined : attempt.outcome;
  const attributes = new Attributes()
    .text(NAMES.operation, CHAT)
    .text(NAMES.provider, providerName(attempt.provider))
    .text(NAMES.requestModel, attempt.model)
    .text(NAMES.credential, attempt.credential)
    .count(NAMES.status, attempt.status)
    .optional(NAMES.conversation, x.sessionId);
  if (failure !== undefined) attributes.text(NAMES.errorType, failureType(attempt));
  if (content) attributes.text(NAMES.inputMessages, inputMessages(x.messages));
  // Only the last one tried can have answered.
  if (index === x.attempts.length - 1 && end.result !== undefined) addAnswer(attributes, end, content);
  const callEndMs = x.startedAtMs + end.durationMs;
  const isOpen = failure !== undefined && attempt.durationMs === 0 && end.outcome === "client_gone";
  const endMs = isOpen ? callEndMs : Math.min(callEndMs, attempt.startedAtMs + attempt.durationMs);
  return spanJson({
    traceId: traceOf(x, parent),
    spanId: spanIdOf(x.requestId, index + 1),
    parentId: spanIdOf(x.requestId, 0),
    name: `${CHAT} ${attempt.model}`,
    kind: CLIENT,
    startMs: attempt.startedAtMs,
    endMs: Math.max(attempt.startedAtMs, endMs),
    attributes,
    error: failure,
  });
}

function addAnswer(
  attributes: Attributes,
  { result, model, finishReason, usage }: CallEnd,
  content: boolean,
): void {
  attributes
    .optional(NAMES.responseModel, model)
    .optional(NAMES.responseId, result?.id)
    .texts(NAMES.finishReasons, finishReason === undefined ? [] : [finishReason]);
  if (usage !== undefined) addUsage(attributes, usage);
  if (content && result !== undefined) {
    const { content: text, toolCalls } = result;
    const parts = [...textParts(text.slice(0, CONTENT_MAX)), ...toolParts(toolCalls)];
    const said = [{ role: "assistant", parts, finish_reason: finishReason ?? "" }];
    attributes.text(NAMES.outputMessages, JSON.stringify(said));
  }
}

function addUsage(attributes: Attributes, usage: Usage): void {
  attributes
    .count(NAMES.inputTokens, usage.promptTokens)
    .count(NAMES.outputTokens, usage.completionTokens)
    .count(NAMES.cacheReadTokens, usage.cachedPromptTokens)
    .count(NAMES.cacheWriteTokens, usage.cacheWriteTokens)
    .count(NAMES.reasoningTokens, usage.reasoningTokens);
  if (usage.estimated === true) attributes.flag(NAMES.estimated, true);
}

function traceOf(x: Exchange, parent: TraceParent | undefined): string {
  return parent?.traceId ?? traceIdOf(x.requestId);
}

/** What guardrails did: `pii: replace`. */
function guardrailActions(x: Exchange): readonly string[] {
  const told = x.verdicts.filter(({ verdict }) => verdict !== "pass");
  return told.map(({ guardrail, verdict, shadow }) => `${guardrail}: ${verdict}${shadow ? " (shadow)" : ""}`);
}

/** The status, where there is one; else the kind of failure. */
function failureType({ status, outcome }: Attempt): string {
  if (status !== undefined && status >= 300) return String(status);
  if (outcome.startsWith("timed out")) return "timeout";
  if (outcome === "cancelled" || outcome === "unreachable") return outcome;
  return outcome.startsWith("skipped") ? "skipped" : "_OTHER";
}

/** The last messages that fit, in the conventions' shape; the oldest of them cut to what is left. */
function inputMessages(messages: readonly Message[]): string {
  const shown: object[] = [];
  let left = CONTENT_MAX;
  for (const { role, content, toolCalls, toolCallId: id } of messages.toReversed()) {
    if (left <= 0) break;
    const text = shownText(content).slice(0, left);
    const parts = id === undefined ? textParts(text) : [{ type: "tool_call_response", id, response: text }];
    shown.unshift({ role, parts: [...parts, ...toolParts(toolCalls)] });
    left -= text.length + 1;
  }
  return JSON.stringify(shown);
}

/** Images have no text, and are too large to carry. */
function shownText(content: Content): string {
  if (typeof content === "string") return content;
  if (contentLength(content) === 0) return "[IMAGE]";
  return content.map((part) => (part.type === "text" ? part.text : "[IMAGE]")).join("\n");
}

function textParts(content: string): readonly object[] {
  return content === "" ? [] : [{ type: "text", content }];
}

function toolParts(calls: readonly ToolCall[] = []): readonly object[] {
  return calls.map(({ id, name, arguments: text }) => {
    return { type: "tool_call", id, name, arguments: text.slice(0, CONTENT_MAX) };
  });
}

export const NAMES = {
  serviceName: "service.name",
  serviceVersion: "service.version",
  serviceInstance: "service.instance.id",

  method: "http.request.method",
  path: "url.path",
  status: "http.response.status_code",
  client: "client.address",
  errorType: "error.type",

  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  finishReasons: "gen_ai.response.finish_reasons",
  conversation: "gen_ai.conversation.id",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",

  requestId: "sluice.request_id",
  surface: "sluice.surface",
  project: "sluice.project",
  endpoint: "sluice.endpoint",
  token: "sluice.token_id",
  outcome: "sluice.outcome",
  stream: "sluice.stream",
  firstByte: "sluice.first_byte_ms",
  cost: "sluice.cost_usd",
  guardrails: "sluice.guardrails",
  credential: "sluice.credential",
  estimated: "sluice.usage_estimated",
} as const;

export type Name = (typeof NAMES)[keyof typeof NAMES];

/** The one operation: a chat completion on every surface. */
export const CHAT = "chat";

/** Providers that the conventions call otherwise than the configuration does. */
const PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini", mistral: "mistral_ai" };

function providerName(key: string): string {
  return PROVIDERS[key] ?? key;
}
