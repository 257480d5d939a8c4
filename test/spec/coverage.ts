/**
 * The coverage gate as pure functions: which ids a test's text names, and what is wrong with the whole. Reads no
 * file itself; coverage.test.ts does.
 */
import type { Requirement } from "./requirements.ts";

const CALL = /(?:^|[^\w.])verifies\(\s*("[^"]*"|\[[^\]]*\])/g;
const LITERAL = /"([^"]*)"/g;

/** Ids that the `verifies` calls of one source text name. */
export function idsOf(source: string): string[] {
  const ids: string[] = [];
  for (const [, first = ""] of source.matchAll(CALL)) {
    for (const [, id = ""] of first.matchAll(LITERAL)) ids.push(id);
  }
  return ids;
}

/** What is wrong, one sentence each; empty when every rule is held and every id is known. */
export function gaps(
  rules: Readonly<Record<string, Requirement>>,
  tests: ReadonlyMap<string, string>,
): string[] {
  const found: string[] = [];
  const held = new Set<string>();
  for (const [file, source] of tests) {
    for (const id of idsOf(source)) {
      held.add(id);
      if (!Object.hasOwn(rules, id)) found.push(`${file} verifies "${id}", which is no rule.`);
    }
  }
  for (const [id, rule] of Object.entries(rules)) {
    if (!held.has(id)) found.push(`"${id}" (${rule.source}) has no test.`);
  }
  return found;
}
