/** Takes each protection out, one at a time, and runs the cases again that call what it protects: one of them must fail. */
import type { Protection } from "../offline/protections.ts";
import { nameOf } from "./coverage.ts";
import type { TestCase } from "./model.ts";
import type { Mutations, Survivor } from "./results.ts";
import { type CaseContext, type CaseOutcome, runCase } from "./run-case.ts";

export interface Mutant {
  readonly protection: Protection;
  /** All of them pass with the protection. */
  readonly cases: readonly {
    readonly test: TestCase;
    readonly context: CaseContext;
    readonly outcome: CaseOutcome;
  }[];
}

export async function survivorsOf(mutants: readonly Mutant[]): Promise<Mutations> {
  const survived: Survivor[] = [];
  for (const mutant of mutants) {
    const { protection } = mutant;
    if (await isKilled(mutant)) continue;
    survived.push({
      protection: nameOf(protection),
      place: protection.at,
      isTouched: mutant.cases.length > 0,
    });
  }
  return { all: mutants.length, survived };
}

/** Cases that have shown it at work come first: one of them fails most likely. */
async function isKilled({ protection, cases }: Mutant): Promise<boolean> {
  const { id } = protection;
  const acted = (outcome: CaseOutcome): number =>
    outcome.shown.some((one) => one.id === id && one.way !== "passes") ? 0 : 1;
  const inOrder = cases.toSorted((a, b) => acted(a.outcome) - acted(b.outcome));
  for (const { test, context } of inOrder) {
    const outcome = await runCase(test, { ...context, update: false, without: id });
    if (outcome.failures.length > 0) return true;
  }
  return false;
}
