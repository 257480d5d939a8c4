/**
 * The shape of the specification as data. A rule says where it is written and what the gateway does, in one sentence;
 * a rule that a later step of the project delivers says which. It must hold no test and no code under test.
 */

/** Steps of the project that are still to come. */
export type Step = 2 | 3 | 4 | 5 | 6;

export interface Requirement {
  /** Document and section, e.g. `SPEC Authentication`, `CONTRACT 3`. */
  readonly source: string;
  /** One sentence: what somebody outside can see. */
  readonly behaviour: string;
  /** The step that delivers it. Absent: it holds now, and the gate wants a test for it. */
  readonly deferred?: Step;
}

/** Rules of one section that hold now: id -> behaviour. */
export function rules<const T extends Readonly<Record<string, string>>>(source: string, table: T) {
  return entries(table, (behaviour) => ({ source, behaviour }));
}

/** Rules of one section that a later step delivers: id -> behaviour. */
export function later<const T extends Readonly<Record<string, string>>>(
  deferred: Step,
  source: string,
  table: T,
) {
  return entries(table, (behaviour) => ({ source, behaviour, deferred }));
}

function entries<T extends Readonly<Record<string, string>>>(
  table: T,
  make: (behaviour: string) => Requirement,
): Readonly<Record<keyof T, Requirement>> {
  const made = Object.entries(table).map(([id, behaviour]) => [id, make(behaviour)]);
  // fromEntries forgets the keys, which are those of `table` by construction.
  return Object.fromEntries(made) as Readonly<Record<keyof T, Requirement>>;
}
