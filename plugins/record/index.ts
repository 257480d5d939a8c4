/**
 * Stage record: one JSON line a call in the request log, and its numbers in `/metrics`. The line is built from a
 * template, since a logger's general serialiser costs ten times as much and runs on every call.
 */
import { type CallEnd, definePlugin, type Exchange, type Message, STAGES } from "sluice/plugin";
import type { ContentPart } from "sluice/provider";
import { callCounters } from "./call-counters.ts";

export default definePlugin({
  name: "record",
  stage: "record",
  description: "Writes the request log and counts calls, tokens, cost and verdicts.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["content"],
    properties: {
      content: {
        enum: ["none", "redacted", "full"],
        description:
          "Whether texts of prompts and answers are logged: never, without personal data, or as they are.",
      },
    },
  },
  examples: [{ content: "none" }],
  setup({ content }, host) {
    const count = callCounters(host.metrics);
    const shown = content === "redacted" ? (text: string) => host.redact(text) : (text: string) => text;
    return {
      readsAnswer: content !== "none",
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
      : `{"prompt":${usage.promptTokens},"completion":${usage.completionTokens},"total":${usage.totalTokens},"cached":${usage.cachedPromptTokens ?? 0},"cache_write":${usage.cacheWriteTokens ?? 0},"reasoning":${usage.reasoningTokens ?? 0},"estimated":${usage.estimated === true}}`;
  const refusal =
    error === undefined
      ? "null"
      : JSON.stringify({ code: error.code, message: error.message, detail: error.extras.detail });
  const verdicts = x.verdicts.length === 0 ? "[]" : JSON.stringify(x.verdicts);
  return `{"level":"info","time":${nowMs},"msg":"call","request_id":"${x.requestId}","trace_id":"${x.traceId}",${configFields(x.config)},"surface":"${x.surface}","project":${text(x.project.uuid)},"endpoint":${text(x.endpoint.slug)},"token_id":${text(x.token.id)},"client":"${x.clientAddress}","status":${end.status},"outcome":"${end.outcome}","stream":${x.stream},"provider":"${end.provider}","model":${text(end.model)},"finish_reason":"${end.finishReason ?? ""}","session_id":"${x.sessionId ?? ""}","duration_ms":${ms(end.durationMs)},"first_byte_ms":${end.firstByteMs === undefined ? "null" : ms(end.firstByteMs)},"stages_ms":${stages(end.stageMs)},"tokens":${tokens},"cost_usd":${end.costNanoUsd / 1e9},"list_cost_usd":${end.listCostNanoUsd === undefined ? "null" : end.listCostNanoUsd / 1e9},"attempts":${attempts(x)},"guardrails":${guardrails(x)},"verdicts":${verdicts},"error":${refusal}${texts}}`;
}

let knownConfig: Exchange["config"] | undefined;
let knownFields = "";

/** The configuration that a call ran with: the same for nearly all calls in a row. */
function configFields(config: Exchange["config"]): string {
  if (config !== knownConfig) {
    knownConfig = config;
    knownFields = `"config_hash":"${config.hash}","generation":${config.generation},"revision":${text(config.revision)}`;
  }
  return knownFields;
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
  for (const { provider, model, credential, outcome, status, durationMs, dropped } of x.attempts) {
    list += `${list === "" ? "" : ","}{"provider":"${provider}","model":${text(model)},"credential":${text(credential)},"outcome":${text(outcome)},"status":${status ?? "null"},"duration_ms":${ms(durationMs)}${droppedField(dropped)}}`;
  }
  return `[${list}]`;
}

/** Hints that the provider has no field for. */
function droppedField(dropped: readonly string[] | undefined): string {
  return dropped === undefined ? "" : `,"dropped":${JSON.stringify(dropped)}`;
}

/** From the mildest on; of several verdicts of a guardrail the gravest is its result. */
const RESULTS = ["pass", "replace", "block", "error"] as const;

function guardrails({ guardrails: ran, verdicts }: Exchange): string {
  let list = "";
  for (const { guardrail, side } of ran) {
    let gravest = 0;
    let shadow = false;
    for (const one of verdicts) {
      if (one.guardrail !== guardrail || one.side !== side) continue;
      gravest = Math.max(gravest, RESULTS.indexOf(one.verdict));
      shadow ||= one.shadow;
    }
    list += `${list === "" ? "" : ","}{"guardrail":${text(guardrail)},"side":"${side}","result":"${RESULTS[gravest]}"${shadow ? ',"shadow":true' : ""}}`;
  }
  return `[${list}]`;
}

function contentFields(x: Exchange, end: CallEnd, shown: (text: string) => string): string {
  // What an image shows, no one can redact: its place is named, no more.
  const part = (one: ContentPart): string =>
    one.type === "text" ? shown(one.text) : `[${one.type.toUpperCase()}]`;
  const show = ({ role, content }: Message): Message => ({
    role,
    content: typeof content === "string" ? shown(content) : content.map(part).join("\n"),
  });
  const answer = end.result === undefined ? null : shown(end.result.content);
  return `,"messages":${JSON.stringify(x.messages.map(show))},"answer":${JSON.stringify(answer)}`;
}
