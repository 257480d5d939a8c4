/** What an explanation of a call is: one entry for each stage, with what decided it and where that is configured. Plain JSON. */
import type { JsonMap } from "../../base/json.ts";

export interface Explanation {
  readonly explain_version: 1;
  /** `offline`: nothing was asked, and counts begin empty; `running`: a call that a gateway has answered. */
  readonly source: "offline" | "running";
  readonly request: ExplainedRequest;
  /** On the way to the provider, in the order of the chain. */
  readonly stages: readonly StageExplanation[];
  /** On the way back; empty where no answer was scripted or none came. */
  readonly answer: readonly StageExplanation[];
  readonly outcome: ExplainedOutcome;
  /** What the reader should know beside it. */
  readonly notes: readonly string[];
}

export interface ExplainedRequest {
  /** `support/summarise`. */
  readonly object: string;
  readonly surface: string;
  readonly method: string;
  readonly path: string;
  readonly stream: boolean;
  /** Where the endpoint is configured; null: not known. */
  readonly at: string | null;
}

export interface ExplainedOutcome {
  readonly status: number;
  /** null: nothing refused it. */
  readonly refused_at: string | null;
  readonly error: string | null;
  readonly detail: string | null;
  /** What decided it, and where. */
  readonly decided_by: string | null;
  readonly at: string | null;
  /** One sentence. */
  readonly summary: string;
}

/** `acted`: a guardrail changed a text, or would have. `none`: nothing is configured for it. */
export type StageOutcome = "ok" | "acted" | "refused" | "none" | "not reached";

export interface StageExplanation {
  readonly stage: string;
  readonly outcome: StageOutcome;
  readonly summary: string;
  /** Of a call that a gateway has answered. */
  readonly ms?: number;
  readonly details: readonly Detail[];
}

export interface Detail {
  readonly name: string;
  /** `pass`, `mask`, `block`, `error`, `shadow`, `skipped`; of other details absent. */
  readonly verdict?: string;
  readonly text: string;
  /** `file:line:column`; null: a default, or not configured. */
  readonly at: string | null;
  /** A longer text, such as a message of the prompt. */
  readonly body?: string;
  /** The same in numbers. */
  readonly data?: JsonMap;
}
