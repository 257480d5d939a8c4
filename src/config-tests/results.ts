/** What a run of test files found, as plain data: reports are made of it, and nothing secret is in it. */
import type { SourcePlace } from "../config/model.ts";

export interface RunResults {
  readonly cases: readonly CaseResult[];
  readonly durationMs: number;
  /** Snapshot files that `--update` wrote. */
  readonly written: readonly string[];
  readonly coverage?: Coverage;
  /** "skipped": cases fail already. */
  readonly mutations?: Mutations | "skipped";
}

export interface CaseResult {
  readonly name: string;
  /** Absolute path of the test file. */
  readonly file: string;
  readonly place: SourcePlace;
  readonly failures: readonly Failure[];
  readonly durationMs: number;
  /** Of the call that failed: the lines of `sluice explain`. */
  readonly trace: readonly string[];
}

export interface Failure {
  /** Of what is expected; of the case where nothing is written. */
  readonly place: SourcePlace;
  /** `status`, `steps[1].sent.messages[0].content`. "": the case as a whole. */
  readonly path: string;
  /** Values as JSON, or a matcher in words. Absent where `message` says it all. */
  readonly expected?: string;
  readonly actual?: string;
  readonly message?: string;
}

export interface Coverage {
  readonly covered: number;
  readonly all: number;
  /** 100 when there is nothing to cover. */
  readonly percent: number;
  readonly uncovered: readonly Uncovered[];
}

export interface Uncovered {
  /** `pii on support/triage`. */
  readonly protection: string;
  readonly place: SourcePlace;
  /** What no case shows: `a case it acts on`. */
  readonly missing: readonly string[];
}

export interface Mutations {
  /** Protections that were taken out. */
  readonly all: number;
  /** Those that no case missed. */
  readonly survived: readonly Survivor[];
}

export interface Survivor {
  readonly protection: string;
  readonly place: SourcePlace;
  /** False: no case calls what it protects. */
  readonly isTouched: boolean;
}

/** undefined: there were none. */
export function mutationsOf({ mutations }: RunResults): Mutations | undefined {
  return mutations === "skipped" ? undefined : mutations;
}

export function counts({ cases }: RunResults): { readonly passed: number; readonly failed: number } {
  const failed = cases.filter(({ failures }) => failures.length > 0).length;
  return { passed: cases.length - failed, failed };
}

/** One line for a failure, for reports without columns. */
export function failureText({ path, expected, actual, message }: Failure): string {
  const subject = path === "" ? "" : `${path}: `;
  if (message !== undefined) return `${subject}${message}`;
  return `${subject}expected: ${expected ?? "nothing"}; actual: ${actual ?? "nothing"}`;
}

/** `no test fails without pii on support/triage`. */
export function survivorText({ protection }: Pick<Survivor, "protection">): string {
  return `no test fails without ${protection}`;
}

export function uncoveredText({ protection, missing }: Uncovered): string {
  return `${protection} is not covered: add ${missing.join(" and ")}`;
}

export function summaryText(results: RunResults): string {
  const { passed, failed } = counts(results);
  return `${passed} passed, ${failed} failed`;
}
