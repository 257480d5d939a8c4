/**
 * Which requirements the text of a test file verifies, and what is wrong with the whole. Pure functions: coverage.test.ts
 * and scripts/behavior-page.ts read the files.
 */

/** One `verifies` call. */
export interface Verification {
  readonly ids: readonly string[];
  /** The name of the test; placeholders of template literals as they are written. */
  readonly sentence: string;
}

export const IDS_MAX = 3;

const CALL =
  /(?:^|[^\w.])verifies\(\s*("[^"]*"|\[[^\]]*\])\s*,\s*(?:"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;
const LITERAL = /"([^"]*)"/g;

export function verificationsOf(source: string): readonly Verification[] {
  return [...source.matchAll(CALL)].map(([, first = "", quoted, template = ""]) => ({
    ids: [...first.matchAll(LITERAL)].map(([, id = ""]) => id),
    sentence: quoted === undefined ? template : quoted.replace(/\\(.)/g, "$1"),
  }));
}

/** What is wrong, one sentence each; empty when every requirement is verified and every id is known. */
export function gaps(
  requirements: Readonly<Record<string, string>>,
  tests: ReadonlyMap<string, string>,
): string[] {
  const found: string[] = [];
  const verified = new Set<string>();
  for (const [file, source] of tests) {
    for (const { ids, sentence } of verificationsOf(source)) {
      if (ids.length > IDS_MAX)
        found.push(`${file}: "${sentence}" verifies ${ids.length} requirements, more than ${IDS_MAX}.`);
      for (const id of ids) {
        verified.add(id);
        if (!Object.hasOwn(requirements, id))
          found.push(`${file} verifies "${id}", which is not a requirement.`);
      }
    }
  }
  for (const id of Object.keys(requirements)) {
    if (!verified.has(id)) found.push(`"${id}" is verified by no test.`);
  }
  return found;
}
