/**
 * The shape of the specification as data. A rule says where it is written and what the gateway does, in one sentence.
 * It must hold no test and no code under test.
 */

export interface Requirement {
  /** Document and section, e.g. `SPEC Authentication`, `CONTRACT 3`. */
  readonly source: string;
  /** One sentence: what somebody outside can see. */
  readonly behaviour: string;
}

/** Rules of one section: id -> behaviour. */
export function rules<const T extends Readonly<Record<string, string>>>(
  source: string,
  table: T,
): Readonly<Record<keyof T, Requirement>> {
  const made = Object.entries(table).map(([id, behaviour]) => [id, { source, behaviour }]);
  // fromEntries forgets the keys, which are those of `table` by construction.
  return Object.fromEntries(made) as Readonly<Record<keyof T, Requirement>>;
}
