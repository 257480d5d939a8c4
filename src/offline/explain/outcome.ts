/** The last line of an explanation: what becomes of the call, and what decided it. */
import type { Detail, ExplainedOutcome, StageExplanation } from "./explanation.ts";
import { type Explained, usd } from "./request-stages.ts";

/** `isAnswered`: the way back is part of the explanation. */
export function outcomeOf(
  explained: Explained,
  stages: readonly StageExplanation[],
  isAnswered: boolean,
): ExplainedOutcome {
  const { record, places } = explained;
  const { refused_at, error, status, reserved_usd: reserved } = record;
  if (error !== null) {
    const deciding = decidingDetail(stages, refused_at);
    const by = deciding?.name ?? null;
    const where = refused_at === "request" ? "before the chain" : `at ${refused_at}`;
    const named = by === null ? "" : ` by ${by}`;
    const summary = `Refused ${where}${named}: ${status} ${error.message}`;
    const at = deciding?.at ?? (refused_at === "call" ? places.object : null);
    return {
      ...{ status, refused_at, error: error.message, detail: error.detail, decided_by: by, at, summary },
    };
  }
  const call = stages.find(({ stage }) => stage === "call");
  const none = { refused_at: null, error: null, detail: null, decided_by: null, at: null };
  const changes = changesOf(stages);
  if (!isAnswered) {
    const money = reserved === null ? [] : [`${usd(reserved)} reserved`];
    return {
      ...none,
      status: 0,
      summary: `Admitted: ${[call?.summary ?? "", ...changes, ...money].join("; ")}.`,
    };
  }
  const money = record.cost_usd === null ? [] : [`${usd(record.cost_usd)} settled`];
  return { ...none, status, summary: `Answered with ${[status, ...changes, ...money].join("; ")}.` };
}

/** What guardrails have changed: `pii masks`. */
function changesOf(stages: readonly StageExplanation[]): readonly string[] {
  const names = stages.flatMap(({ stage, details }) =>
    stage !== "guard" ? [] : details.filter(({ verdict }) => verdict === "mask").map(({ name }) => name),
  );
  const unique = [...new Set(names)];
  return unique.length === 0 ? [] : [`${unique.join(" and ")} ${unique.length === 1 ? "masks" : "mask"}`];
}

/** What in the refusing stage refused: the guardrail that blocked, the window that was full, the schema. */
function decidingDetail(stages: readonly StageExplanation[], refusedAt: string | null): Detail | undefined {
  const stage = stages.findLast((one) => one.stage === refusedAt && one.outcome === "refused");
  if (stage === undefined) return undefined;
  const { details } = stage;
  const blocking = details.find(({ verdict }) => verdict === "block" || verdict === "error");
  if (blocking !== undefined) return blocking;
  if (stage.stage === "guard" || stage.stage === "call") return undefined;
  return (
    details.find(({ data }) => data?.["refused"] === true) ?? (details.length === 1 ? details[0] : undefined)
  );
}
