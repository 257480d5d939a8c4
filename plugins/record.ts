/**
 * Stage record: one JSON line a call in the request log, and the counters behind `/metrics`. The line is built from a
 * template, since a logger's general serialiser costs ten times as much and runs on every call.
 */
import {
  type CallEnd,
  type ContentPart,
  definePlugin,
  type EndpointRef,
  type Exchange,
  type Host,
  type Message,
  STAGES,
} from "sluice/plugin";

interface Options {
  /** Whether texts of prompts and answers are logged: never, without personal data, or as they are. */
  readonly content: "none" | "redacted" | "full";
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const STAGE_SECONDS = [0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10, 60];

export default definePlugin<Options>({
  name: "record",
  stage: "record",
  description: "Writes the request log and counts calls, tokens, cost and verdicts.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["content"],
    properties: { content: { enum: ["none", "redacted", "full"] } },
  },
  examples: [{ content: "none" }],
  setup({ content }, host) {
    const count = counters(host);
    const shown = content === "redacted" ? (text: string) => host.redact(text) : (text: string) => text;
    return {
      finish(x, end) {
        if (host.requestLog.enabled) {
          const texts = content === "none" ? "" : contentFields(x, end, shown);
          host.requestLog.write(line(x, end, host.clock.nowMs(), texts));
        }
        count(x, end);
      },
    };
  },
});

function line(x: Exchange, end: CallEnd, nowMs: number, texts: string): string {
  const { usage, error } = end;
  const tokens =
    usage === undefined
      ? "null"
      : `{"prompt":${usage.promptTokens},"completion":${usage.completionTokens},"total":${usage.totalTokens},"cached":${usage.cachedPromptTokens ?? 0},"estimated":${usage.estimated === true}}`;
  const refusal =
    error === undefined
      ? "null"
      : JSON.stringify({ code: error.code, message: error.message, detail: error.extras.detail });
  const verdicts = x.verdicts.length === 0 ? "[]" : JSON.stringify(x.verdicts);
  return `{"level":"info","time":${nowMs},"msg":"call","request_id":"${x.requestId}","surface":"${x.surface}","project":${text(x.project.uuid)},"endpoint":"${x.endpoint.slug}","token_id":${text(x.token.id)},"client":"${x.clientAddress}","status":${end.status},"outcome":"${end.outcome}","stream":${x.stream},"provider":"${end.provider}","model":${text(end.model)},"finish_reason":"${end.finishReason ?? ""}","session_id":"${x.sessionId ?? ""}","duration_ms":${ms(end.durationMs)},"first_byte_ms":${end.firstByteMs === undefined ? "null" : ms(end.firstByteMs)},"stages_ms":${stages(end.stageMs)},"tokens":${tokens},"cost_usd":${end.costNanoUsd / 1e9},"attempts":${attempts(x)},"verdicts":${verdicts},"error":${refusal}${texts}}`;
}

/** Nearly all that is logged; looking for it is cheaper than asking for escapes. */
const PLAIN = /^[\w ./:-]*$/;

/** Quotes what the config or a client wrote. Ids, slugs, addresses and keys need no escapes and are not asked to. */
function text(value: string): string {
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
}

/** What follows the whole milliseconds, by microseconds: ".001", ".5", nothing. */
const FRACTIONS = Array.from({ length: 1000 }, (_, microseconds) => String(microseconds / 1000).slice(1));

/** Milliseconds with microseconds behind the point. Of two whole numbers: a fraction costs several times as much. */
function ms(value: number): string {
  const microseconds = Math.max(0, Math.round(value * 1000));
  return `${Math.floor(microseconds / 1000)}${FRACTIONS[microseconds % 1000]}`;
}

const STAGE_FIELDS = STAGES.map((stage) => `"${stage}":`);

function stages(stageMs: readonly number[]): string {
  let fields = "";
  for (let i = 0; i < stageMs.length; i++) {
    const spent = stageMs[i] ?? -1;
    if (spent >= 0) fields += `${fields === "" ? "" : ","}${STAGE_FIELDS[i]}${ms(spent)}`;
  }
  return `{${fields}}`;
}

function attempts(x: Exchange): string {
  let list = "";
  for (const { provider, model, credential, outcome, status, durationMs } of x.attempts) {
    list += `${list === "" ? "" : ","}{"provider":"${provider}","model":${text(model)},"credential":${text(credential)},"outcome":${text(outcome)},"status":${status ?? "null"},"duration_ms":${ms(durationMs)}}`;
  }
  return `[${list}]`;
}

function contentFields(x: Exchange, end: CallEnd, shown: (text: string) => string): string {
  // What an image shows, no one can redact: its place is named, no more.
  const part = (one: ContentPart): string => (one.type === "text" ? shown(one.text) : "[IMAGE]");
  const show = ({ role, content }: Message): Message => ({
    role,
    content: typeof content === "string" ? shown(content) : content.map(part).join("\n"),
  });
  const answer = end.result === undefined ? null : shown(end.result.content);
  return `,"messages":${JSON.stringify(x.messages.map(show))},"answer":${JSON.stringify(answer)}`;
}

/** Counts a call. Series are kept per endpoint: finding one costs more than counting. */
function counters({ metrics }: Host): (x: Exchange, end: CallEnd) => void {
  const where = ["project", "endpoint"];
  const calls = metrics.counter("sluice_calls_total", "Calls by status", [...where, "status"]);
  const duration = metrics.histogram("sluice_call_duration_seconds", "Arrival to end", where, SECONDS);
  const tokens = metrics.counter("sluice_tokens_total", "Tokens by kind", [...where, "kind"]);
  const cost = metrics.counter("sluice_cost_usd_total", "Settled cost in USD", where);
  const stage = metrics.histogram("sluice_stage_duration_seconds", "Per stage", ["stage"], STAGE_SECONDS);
  const attempt = ["provider", "model", "outcome"];
  const tries = metrics.counter("sluice_provider_attempts_total", "Tries by outcome", attempt);
  const verdict = ["guardrail", "side", "verdict"];
  const verdicts = metrics.counter("sluice_guardrail_verdicts_total", "What guardrails did", verdict);

  const ofStage = STAGES.map((name) => stage.series(name));
  const ofEndpoint = new WeakMap<EndpointRef, EndpointSeries>();
  const seriesOf = (x: Exchange): EndpointSeries => {
    let series = ofEndpoint.get(x.endpoint);
    if (series !== undefined) return series;
    // Calls that reach no endpoint are counted under no name: paths come from clients and are not bounded.
    const names = x.endpoint.slug === "" ? ["", ""] : [x.project.uuid, x.endpoint.slug];
    series = {
      ofStatus: new Map(),
      duration: duration.series(...names),
      prompt: tokens.series(...names, "prompt"),
      completion: tokens.series(...names, "completion"),
      cost: cost.series(...names),
      calls: (status) => calls.series(...names, status),
    };
    ofEndpoint.set(x.endpoint, series);
    return series;
  };

  return (x, end) => {
    const series = seriesOf(x);
    let ofStatus = series.ofStatus.get(end.status);
    if (ofStatus === undefined) {
      series.ofStatus.set(end.status, (ofStatus = series.calls(String(end.status))));
    }
    ofStatus(1);
    series.duration(end.durationMs / 1000);
    if (end.usage !== undefined) {
      series.prompt(end.usage.promptTokens);
      series.completion(end.usage.completionTokens);
    }
    series.cost(end.costNanoUsd / 1e9);
    for (let i = 0; i < ofStage.length; i++) {
      const spent = end.stageMs[i] ?? -1;
      if (spent >= 0) ofStage[i]?.(spent / 1000);
    }
    for (const { provider, model, outcome } of x.attempts) {
      tries.series(provider, model, outcome === "ok" ? "ok" : "failed")(1);
    }
    for (const { guardrail, side, verdict: word } of x.verdicts) verdicts.series(guardrail, side, word)(1);
  };
}

type Add = (value: number) => void;

interface EndpointSeries {
  readonly ofStatus: Map<number, Add>;
  readonly duration: Add;
  readonly prompt: Add;
  readonly completion: Add;
  readonly cost: Add;
  calls(status: string): Add;
}
