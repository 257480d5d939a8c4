/** The way back of an answer: what was tried, the checks of the answer, and what the call has cost. */
import type { TraceRecord } from "../../pipeline/trace-record.ts";
import type { Detail, StageExplanation } from "./explanation.ts";
import { checkStage, counted, guardStage } from "./guard-stages.ts";
import { type Explained, usd } from "./request-stages.ts";

/** `content`: as the client gets it; undefined: it gets none. */
export function answerStages(explained: Explained, content: string | undefined): readonly StageExplanation[] {
  const { record, object } = explained;
  if (record.attempts.length === 0) return [];
  const stages = [attemptsStage(record)];
  const hasAnswer = record.attempts.some(({ outcome }) => outcome === "ok");
  if (hasAnswer && object.settings !== undefined) {
    stages.push(checkStage(explained));
    // An answer that fails the check is not judged.
    if (record.refused_at !== "check") stages.push(guardStage(explained, "output"));
  }
  return [...stages, recordStage(explained, content)];
}

export function attemptsStage({ attempts, refused_at: at, error, status }: TraceRecord): StageExplanation {
  const details = attempts.map(({ provider, credential, model, outcome, status: answered, ms }): Detail => {
    const name = `${credential || provider}/${model}`;
    const text = outcome === "ok" ? `${answered ?? 200}` : outcome;
    const took = ms > 0 ? ` after ${Math.round(ms)} ms` : "";
    const verdict = outcome === "ok" ? "ok" : outcome.startsWith("skipped") ? "skipped" : "failed";
    return { name, verdict, text: text + took, at: null, data: { status: answered, ms } };
  });
  const last = attempts.at(-1);
  const isRefused = at === "call";
  const summary = isRefused
    ? `${status} ${error?.message ?? ""}`
    : `${last?.credential || last?.provider}/${last?.model} answers${tries(attempts.length)}`;
  return { stage: "call", outcome: isRefused ? "refused" : "ok", summary, details };
}

function tries(count: number): string {
  return count === 1 ? "" : `, at attempt ${count}`;
}

function recordStage({ record, object, places }: Explained, content: string | undefined): StageExplanation {
  const { usage, cost_usd: cost, session_id: session } = record;
  const details: Detail[] = [];
  if (usage !== null) {
    const { prompt_tokens: input, completion_tokens: output, estimated } = usage;
    const text = `${counted(input, "token")} in, ${output} out${estimated ? ", estimated: the provider reports none" : ""}`;
    details.push({ name: "usage", text, at: null, data: { ...usage } });
  }
  if (cost !== null) {
    const reserved = record.reserved_usd === null ? "" : `, in place of ${usd(record.reserved_usd)} reserved`;
    details.push({
      name: "cost",
      text: `${usd(cost)} settled${reserved}`,
      at: null,
      data: { cost_usd: cost },
    });
  }
  if (session !== null && record.outcome === "done") {
    const at = object.settings === undefined ? null : places.key("sessions_enabled");
    details.push({ name: "session", text: "the turn is stored", at });
  }
  if (content !== undefined) {
    const characters = content.length;
    const text = `${counted(characters, "character")} for the client`;
    details.push({ name: "answer", text, at: null, body: content, data: { characters } });
  }
  const summary = cost === null ? "nothing to settle" : `${usd(cost)} settled`;
  return { stage: "record", outcome: "ok", summary, details };
}
