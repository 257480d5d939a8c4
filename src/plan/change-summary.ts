/** What a reload has changed, in an answer of bounded size: counts of objects and risks, and the changes that matter most. */
import type { ObjectChange } from "./changes.ts";
import { countsOf, type DocumentChange, type PlanCounts, verbsOf } from "./document.ts";
import type { PlanChange } from "./draft.ts";
import { RISKS } from "./rules.ts";

export interface ChangeSummary {
  readonly counts: PlanCounts;
  /** The highest risks first, at most CHANGES_MAX. */
  readonly changes: readonly SummarizedChange[];
  /** How many there are. */
  readonly total: number;
}

/** Without values: a prompt may be long, and a plan shows them. */
export interface SummarizedChange
  extends Pick<DocumentChange, "rule" | "risk" | "object" | "path" | "file" | "line" | "column" | "message"> {
  /** Objects that it is felt in beside its own. */
  readonly reaches: number;
}

const CHANGES_MAX = 100;
const MESSAGE_CHARACTERS_MAX = 500;

export function summaryOf(objects: readonly ObjectChange[], changes: readonly PlanChange[]): ChangeSummary {
  const ordered = RISKS.flatMap((risk) => changes.filter((change) => change.risk === risk));
  return {
    counts: countsOf(
      verbsOf(objects),
      changes.map(({ risk }) => ({ risk, accepted: null })),
    ),
    changes: ordered.slice(0, CHANGES_MAX).map(summarized),
    total: changes.length,
  };
}

function summarized({ rule, risk, object, path, at, message, reaches }: PlanChange): SummarizedChange {
  const { file, line, column } = at;
  return {
    ...{ rule, risk, object, path, file, line, column },
    message: message.slice(0, MESSAGE_CHARACTERS_MAX),
    reaches: reaches.length,
  };
}
