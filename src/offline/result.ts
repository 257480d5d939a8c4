/** What came of one request of an offline run, as tests and explanations read it. */
import { isJsonObject } from "../base/json.ts";
import type { EndpointConfig } from "../config/model.ts";
import type { Call } from "../pipeline/call.ts";
import type { CallTrace, GuardrailTrace } from "../pipeline/trace.ts";
import type { Usage } from "../plugin/chat.ts";
import type { Target } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { AuditRecord } from "../plugin/store.ts";
import type { OfflineResponse } from "./exchange.ts";
import type { LogLine } from "./platform.ts";
import { labelOf, type Protection, type Way } from "./protections.ts";
import { type SentRequest, targetName } from "./sent.ts";
import type { UpstreamRequest } from "./upstream.ts";

export type GuardrailVerdict = "pass" | "mask" | "block" | "error" | "shadow" | "skipped";

/** One guardrail in use, and what it decided about the call. */
export interface GuardrailOutcome {
  /** `pii`; the second of the same is `pii[2]`. */
  readonly name: string;
  /** Index in the endpoint's `guardrails`. */
  readonly index: number;
  /** Of both sides the stronger one. */
  readonly verdict: GuardrailVerdict;
  /** undefined: it does not judge that side. */
  readonly input: GuardrailVerdict | undefined;
  readonly output: GuardrailVerdict | undefined;
  /** What it said of each text, in order. */
  readonly runs: readonly GuardrailTrace[];
}

export interface AttemptOutcome {
  /** See `targetName`. */
  readonly target: string;
  readonly provider: string;
  readonly credential: string;
  readonly model: string;
  /** `ok`, or the failure in short; `skipped: circuit open`. */
  readonly outcome: string;
  /** The provider's HTTP status, where it answered. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

/** The answer as the client has it, whichever surface it came over. */
export interface ClientAnswer {
  readonly content: string;
  readonly finishReason: string | undefined;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
}

export interface OfflineResult extends OfflineResponse {
  /** The body as JSON; undefined: it is not. */
  readonly json: unknown;
  /** `data` of server-sent events, as JSON where they are; undefined: the body has none. */
  readonly events: readonly unknown[] | undefined;
  readonly answer: ClientAnswer | undefined;
  /** Of a refusal or failure, as the gateway words it on every surface. */
  readonly error: RefusalOutcome | undefined;
  /** The stage that refused it; `request`: before the chain. */
  readonly refusedAt: string | undefined;
  readonly guardrails: readonly GuardrailOutcome[];
  readonly attempts: readonly AttemptOutcome[];
  /** Requests to providers, in order. */
  readonly sent: readonly SentRequest[];
  /** Requests to upstreams of proxy endpoints. */
  readonly upstream: readonly UpstreamRequest[];
  readonly usage: Usage | undefined;
  readonly costNanoUsd: number;
  /** Audit events that the request raised, oldest first. */
  readonly audit: readonly AuditRecord[];
  /** Warnings and errors of the log. */
  readonly log: readonly LogLine[];
  /** What an offline run could not do: uses of the network, replies of formats without a dialect. */
  readonly closed: readonly string[];
  /** Entries of the script, and how many of them were played; `missing`: requests for which there was none. */
  readonly script: { readonly entries: number; readonly played: number; readonly missing: number };
  /** Protections that the request has shown at work. */
  readonly shown: readonly { readonly id: string; readonly way: Way }[];
  /** Milliseconds of the case's clock that the request took. */
  readonly durationMs: number;
  /** undefined: the request named no route of calls. */
  readonly trace: CallTrace | undefined;
  readonly call: Call | undefined;
}

export interface RefusalOutcome {
  readonly code: string;
  readonly message: string;
  readonly detail: string | undefined;
  readonly scope: string | undefined;
  readonly retryAfterSeconds: number | undefined;
}

export function refusalOf(trace: CallTrace | undefined, json: unknown): RefusalOutcome | undefined {
  const error = trace?.refusal;
  if (error !== undefined) {
    const { detail, scope, retryAfterSeconds } = error.extras;
    return { code: error.code, message: error.message, detail, scope, retryAfterSeconds };
  }
  // No call of a project: an unknown path, a wrong method.
  const body = mapOf(json);
  if (typeof body["error"] !== "string") return undefined;
  return {
    ...{ code: "", message: body["error"], detail: undefined, scope: undefined },
    retryAfterSeconds: undefined,
  };
}

const ORDER: readonly GuardrailVerdict[] = ["skipped", "pass", "shadow", "mask", "error", "block"];

/** `endpoint`: the settings that the call ran on. Guardrails judge the input down the list and the answer up it. */
export function guardrailOutcomes(
  trace: CallTrace | undefined,
  { guardrails }: Pick<EndpointConfig, "guardrails">,
): readonly GuardrailOutcome[] {
  const inputs = trace?.guardrails.filter(({ side }) => side === "input") ?? [];
  const outputs = trace?.guardrails.filter(({ side }) => side === "output") ?? [];
  const indexes = (side: "input" | "output"): number[] =>
    guardrails.flatMap(({ on }, index) => (on.includes(side) ? [index] : []));
  const onInput = indexes("input");
  const onOutput = indexes("output").reverse();
  return guardrails.map(({ use }, index) => {
    const input = onInput.includes(index) ? inputs[onInput.indexOf(index)] : undefined;
    const output = onOutput.includes(index) ? outputs[onOutput.indexOf(index)] : undefined;
    const isStop = (side: "input" | "output", run: GuardrailTrace | undefined): boolean =>
      run !== undefined && trace?.stop?.plugin === use && lastOf(trace, side) === run && hasStopped(trace);
    const sides = {
      input: onInput.includes(index) ? verdictOf(input, isStop("input", input)) : undefined,
      output: onOutput.includes(index) ? verdictOf(output, isStop("output", output)) : undefined,
    };
    const verdict = strongest([sides.input ?? "skipped", sides.output ?? "skipped"]);
    const runs = [input, output].filter((run) => run !== undefined);
    return { name: labelOf(guardrails, index, use), index, verdict, ...sides, runs };
  });
}

function lastOf(trace: CallTrace, side: "input" | "output"): GuardrailTrace | undefined {
  return trace.guardrails.findLast((run) => run.side === side);
}

function hasStopped(trace: CallTrace): boolean {
  return trace.refusal !== undefined && trace.guardrails.every(({ verdicts }) => verdicts.every(isMild));
}

/** Neither blocks nor fails: a guardrail that stopped the call without a verdict did so for the length of its texts. */
function isMild({ verdict, shadow }: GuardrailTrace["verdicts"][number]): boolean {
  return shadow || verdict === "replace";
}

function verdictOf(run: GuardrailTrace | undefined, isStop: boolean): GuardrailVerdict {
  if (run === undefined) return "skipped";
  if (isStop) return "block";
  return strongest(
    run.verdicts.map(({ verdict, shadow }) => {
      if (shadow) return "shadow";
      return verdict === "replace" ? "mask" : verdict;
    }),
    "pass",
  );
}

function strongest(
  verdicts: readonly GuardrailVerdict[],
  least: GuardrailVerdict = "skipped",
): GuardrailVerdict {
  return verdicts.reduce((one, other) => (ORDER.indexOf(other) > ORDER.indexOf(one) ? other : one), least);
}

export function attemptsOf(trace: CallTrace | undefined): readonly AttemptOutcome[] {
  return (trace?.attempts ?? []).map(({ provider, credential, model, outcome, status, durationMs }) => ({
    target: targetName({ provider, credential, model }),
    ...{ provider, credential, model, outcome, status, durationMs },
  }));
}

const VALIDATE = STAGES.indexOf("validate");
const CHECK = STAGES.indexOf("check");

/** What of the owner's protections the call has shown at work. */
export function shownBy(
  trace: CallTrace,
  call: Call,
  { protections, guardrails, targets, isTool }: ShownOf,
): readonly { readonly id: string; readonly way: Way }[] {
  const code = trace.refusal?.code;
  const refusedWindow = trace.claims.find(({ outcome, kind }) => outcome === "refused" && kind === "rate");
  const refusedAt = trace.refusedAt;
  const ran = (stage: number): boolean => (call.stageMs[stage] ?? -1) >= 0;
  const waysOf = ({ kind, key, index = -1, owner }: Protection): readonly Way[] => {
    switch (kind) {
      case "guardrail":
        return guardrailWays(guardrails[index]);
      case "rate limit":
        return `rate_limit_per_${refusedWindow?.policy}` === key ? ["refuses"] : [];
      case "token cap":
        return code === "token_limit" ? ["refuses"] : [];
      case "budget": {
        const own = owner.kind === "token" ? "token_budget" : "endpoint_budget";
        return code === own ? ["refuses"] : [];
      }
      case "input schema":
        if (refusedAt === "validate") return ["refuses"];
        return ran(VALIDATE) ? ["accepts"] : [];
      case "output schema":
        if (refusedAt === "check") return ["refuses"];
        return ran(CHECK) || (trace.end?.outcome === "done" && trace.attempts.length > 0) ? ["accepts"] : [];
      case "failover":
        return tookOver(trace, targets[index + 1]) ? ["takes over"] : [];
      case "alias":
        return ["is called"];
      case "tool":
        return isTool ? ["is called"] : [];
    }
  };
  return protections.flatMap((protection) => waysOf(protection).map((way) => ({ id: protection.id, way })));
}

export interface ShownOf {
  /** Of the call's endpoint and of its token. */
  readonly protections: readonly Protection[];
  readonly guardrails: readonly GuardrailOutcome[];
  readonly targets: readonly Target[];
  readonly isTool: boolean;
}

function guardrailWays(outcome: GuardrailOutcome | undefined): readonly Way[] {
  if (outcome === undefined || outcome.verdict === "skipped") return [];
  return outcome.verdict === "pass" ? ["passes"] : ["acts"];
}

/** A failover entry that answered after another one had not. */
function tookOver({ attempts }: CallTrace, target: Target | undefined): boolean {
  const last = attempts.at(-1);
  if (target === undefined || last === undefined || attempts.length < 2) return false;
  return last.outcome === "ok" && last.credential === target.credential && last.model === target.model;
}

export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** `data` of each server-sent event; `[DONE]` and comments are left out. */
export function eventsOf({ headers, body }: OfflineResponse): readonly unknown[] | undefined {
  if (!headers["content-type"]?.startsWith("text/event-stream")) return undefined;
  return body
    .toString("utf8")
    .split(/\r?\n\r?\n/)
    .flatMap((event) => {
      const data = event
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith("data:") ? line.slice(5).trimStart() : []));
      const text = data.join("\n");
      if (text === "" || text === "[DONE]") return [];
      try {
        const data: unknown = JSON.parse(text);
        return [data];
      } catch {
        return [text];
      }
    });
}

type JsonMap = Readonly<Record<string, unknown>>;

function mapOf(value: unknown): JsonMap {
  return isJsonObject(value) ? value : {};
}

function listOf(value: unknown): readonly JsonMap[] {
  return Array.isArray(value) ? value.map(mapOf) : [];
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The answer in a body of the chat surface, of OpenAI's format, of a tool call, or in events. */
export function answerOf(json: unknown, events: readonly unknown[] | undefined): ClientAnswer | undefined {
  if (events !== undefined) return streamedAnswer(events.map(mapOf));
  const body = mapOf(json);
  if (body["ok"] === true && typeof body["content"] === "string") {
    return made(body["content"], body["finish_reason"], body["tool_calls"]);
  }
  const [choice] = listOf(body["choices"]);
  if (choice !== undefined) {
    const message = mapOf(choice["message"]);
    return made(textIn(message["content"]), choice["finish_reason"], message["tool_calls"]);
  }
  const result = mapOf(body["result"]);
  if (!Array.isArray(result["content"])) return undefined;
  return made(
    listOf(result["content"])
      .map(({ text }) => textIn(text))
      .join(""),
    undefined,
    undefined,
  );
}

function made(content: string, finish: unknown, calls: unknown): ClientAnswer {
  const toolCalls = listOf(calls).map((call) => {
    const { name, arguments: json } = mapOf(call["function"]);
    return { id: textIn(call["id"]), name: textIn(name), arguments: textIn(json) };
  });
  return { content, finishReason: typeof finish === "string" ? finish : undefined, toolCalls };
}

function streamedAnswer(events: readonly JsonMap[]): ClientAnswer | undefined {
  let content = "";
  let finishReason: string | undefined;
  const calls: { id: string; name: string; arguments: string }[] = [];
  let hasChoices = false;
  for (const event of events) {
    // Clients of a tool that streams its progress get its answer in the last event.
    if ("result" in event) return answerOf(event, undefined);
    const [choice] = listOf(event["choices"]);
    if (choice === undefined) continue;
    hasChoices = true;
    const delta = mapOf(choice["delta"]);
    content += textIn(delta["content"]);
    if (typeof choice["finish_reason"] === "string") finishReason = choice["finish_reason"];
    for (const part of listOf(delta["tool_calls"])) {
      const index = Number(part["index"] ?? 0);
      const call = (calls[index] ??= { id: "", name: "", arguments: "" });
      const about = mapOf(part["function"]);
      call.id ||= textIn(part["id"]);
      call.name ||= textIn(about["name"]);
      call.arguments += textIn(about["arguments"]);
    }
  }
  return hasChoices ? { content, finishReason, toolCalls: calls } : undefined;
}
