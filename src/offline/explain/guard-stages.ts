/** What guardrails and schemas decided, on the way to the provider and on the way back. */
import type { GuardrailUse } from "../../config/model.ts";
import type { GuardrailRecord, VerdictRecord } from "../../pipeline/trace-record.ts";
import { labelOf } from "../protections.ts";
import type { Detail, StageExplanation } from "./explanation.ts";
import { type Explained, reached, stageEntry } from "./request-stages.ts";

type Side = "input" | "output";

/** On the way back guardrails run up the list. */
export function guardStage(explained: Explained, side: Side): StageExplanation {
  const { object } = explained;
  const uses = object.settings?.guardrails ?? [];
  const indexes = uses.flatMap(({ on }, index) => (on.includes(side) ? [index] : []));
  const order = side === "input" ? indexes : indexes.reverse();
  const runs = explained.record.guardrails.filter((run) => run.side === side);
  const details = order.map((index, n) => guardDetail(explained, uses, { index, run: runs[n], side }));
  const acted = details.filter(({ verdict = "" }) => ACTS.has(verdict));
  const summary = guardSummary(details, acted, side);
  const outcome = details.length === 0 ? "none" : acted.length === 0 ? "ok" : "acted";
  const entry = { outcome, summary, details } as const;
  if (side === "input") return stageEntry(explained, "guard", entry);
  const { record } = explained;
  // A refusal of the request never comes to the way back.
  if (record.refused_at !== "guard") return { stage: "guard", ...entry };
  return {
    stage: "guard",
    ...entry,
    outcome: "refused",
    summary: `${record.status} ${record.error?.message ?? ""}`,
  };
}

const ACTS: ReadonlySet<string> = new Set(["mask", "block", "error", "shadow"]);
const WORDS: Readonly<Record<string, string>> = {
  mask: "masks",
  block: "blocks",
  error: "fails",
  shadow: "would act",
};

function guardSummary(details: readonly Detail[], acted: readonly Detail[], side: Side): string {
  const text = side === "input" ? "the request" : "the answer";
  if (details.length === 0) return `no guardrail judges ${text}`;
  const passed = details.filter(({ verdict }) => verdict === "pass").length;
  const doing = acted.map(({ name, verdict = "" }) => `${name} ${WORDS[verdict] ?? verdict}`);
  if (doing.length === 0)
    return `${counted(passed, "guardrail")} ${passed === 1 ? "passes" : "pass"} ${text}`;
  return [...doing, ...(passed > 0 ? [`${passed} ${passed === 1 ? "passes" : "pass"}`] : [])].join(", ");
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

interface UseOnSide {
  readonly index: number;
  readonly run: GuardrailRecord | undefined;
  readonly side: Side;
}

function guardDetail(
  explained: Explained,
  uses: readonly GuardrailUse[],
  { index, run, side }: UseOnSide,
): Detail {
  const use = uses[index];
  const name = use === undefined ? "" : labelOf(uses, index, use.use);
  const at = explained.places.key("guardrails", index);
  if (use !== undefined && explained.notExecuted.has(use.use))
    return { name, verdict: "skipped", text: "its plugin was not executed", at };
  if (run === undefined) return { name, verdict: "skipped", text: "not reached", at };
  const { record, showsText } = explained;
  const [strongest] = [...run.verdicts].sort((a, b) => rank(b) - rank(a));
  const stopsHere =
    record.refused_by === use?.use && record.refused_at === "guard" && isLast(record, run, side);
  if (strongest === undefined) {
    if (!stopsHere) return { name, verdict: "pass", text: "", at };
    // Refused before it was asked: the texts are longer than `server.max_judged_characters`.
    return { name, verdict: "block", text: record.error?.message ?? "", at };
  }
  const texts = run.verdicts.map((verdict) => verdictText(verdict, showsText));
  if (run.more > 0) texts.push(`${run.more} more`);
  const failed = strongest.verdict === "error" ? `, on_error: ${use?.on_error ?? "block"}` : "";
  return {
    ...{ name, verdict: shownVerdict(strongest), text: texts.join("; ") + failed, at },
    data: {
      side,
      verdicts: run.verdicts.map(({ verdict, shadow, rule, where, places, spans, text }) => ({
        ...{ verdict, shadow, rule, where, places, spans },
        ...(showsText &&
          text !== undefined && { texts: spans.map(([start, end]) => text.slice(start, end)) }),
      })),
    },
  };
}

function isLast(record: Explained["record"], run: GuardrailRecord, side: Side): boolean {
  return record.guardrails.findLast((other) => other.side === side) === run;
}

function rank({ verdict, shadow }: VerdictRecord): number {
  return shadow ? 0 : ["pass", "replace", "error", "block"].indexOf(verdict);
}

function shownVerdict({ verdict, shadow }: VerdictRecord): string {
  if (shadow) return "shadow";
  return verdict === "replace" ? "mask" : verdict;
}

/** Characters of a matched text that are shown. */
const SHOWN_CHARACTERS = 60;

function verdictText(
  { verdict, shadow, rule, where, places, spans, text }: VerdictRecord,
  showsText: boolean,
): string {
  const would = shadow ? `would ${verdict === "replace" ? "mask" : verdict}: ` : "";
  const shown = spans.map(([start, end]) => {
    const quoted = showsText && text !== undefined ? ` ${quote(text.slice(start, end))}` : "";
    return `[${start}, ${end})${quoted}`;
  });
  if (places > spans.length) shown.push(`${places - spans.length} more`);
  const place = where === "" ? "" : ` in ${where}`;
  return `${would}${rule}${place}${shown.length === 0 ? "" : ` at ${shown.join(", ")}`}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text);
}

export function validateStage(explained: Explained): StageExplanation {
  const { object, places, record } = explained;
  const schema = object.settings?.input_schema ?? null;
  if (schema === null) {
    return stageEntry(explained, "validate", { outcome: "none", summary: "no input_schema" });
  }
  const isRefused = record.refused_at === "validate";
  const text = isRefused ? (record.error?.detail ?? "the body does not match") : "the body matches";
  const detail: Detail = { name: "input_schema", text, at: places.key("input_schema") };
  const details = reached(explained, "validate") ? [detail] : [];
  return stageEntry(explained, "validate", {
    outcome: "ok",
    summary: "the body matches input_schema",
    details,
  });
}

export function checkStage(explained: Explained): StageExplanation {
  const { object, places, record } = explained;
  const schema = object.settings?.output_schema ?? null;
  if (schema === null) return { stage: "check", outcome: "none", summary: "no output_schema", details: [] };
  const isRefused = record.refused_at === "check";
  const at = places.key("output_schema");
  const text = isRefused ? (record.error?.detail ?? "the answer does not match") : "the answer matches";
  const summary = isRefused
    ? `${record.status} ${record.error?.message ?? ""}`
    : "the answer matches output_schema";
  const outcome = isRefused ? "refused" : "ok";
  return { stage: "check", outcome, summary, details: [{ name: "output_schema", text, at }] };
}
