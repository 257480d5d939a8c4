/**
 * Patterns that a config gives to keyword_blocklist, run on re2js: in time proportional to the text, whatever the
 * pattern, so that none can hang the process.
 */
import { createRequire } from "node:module";
import type * as Re2 from "re2js";

/** Longest match that is found across the pieces of a stream, in UTF-16 code units. */
export const PATTERN_CHARACTERS = 1024;
/** Instructions of one pattern. `.{1000}` has a thousand of them, and each may cost a step at each character. */
const PROGRAM_MAX = 1000;

/** A piece of text, as a guardrail gets it. */
export interface PatternText {
  readonly text: string;
  /** Nothing comes before it, nothing after it. */
  readonly begins: boolean;
  readonly ends: boolean;
}

/** Name of the first pattern, in the config's order, that is found in the text; undefined: none is. */
export type PatternFinder = (piece: PatternText) => string | undefined;

/** Patterns by name. Throws in words for the config's author when one cannot be used. */
export function patternFinder(
  patterns: Readonly<Record<string, string>>,
  ignoreCase: boolean,
): PatternFinder {
  const { RE2JS, RE2Set } = re2js();
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  const all = new RE2Set(RE2Set.UNANCHORED, flags);
  const each = Object.entries(patterns).map(([name, source]) => {
    all.add(source);
    return { name, pattern: RE2JS.compile(source, flags) };
  });
  all.compile();

  return ({ text, begins, ends }) => {
    // One pass for all patterns says which to look at; nearly always none.
    for (const index of all.match(text).sort((a, b) => a - b)) {
      const known = each[index];
      if (known === undefined) continue;
      const matcher = known.pattern.matcher(text);
      // From the second character on, `^` does not hold at a beginning that is none.
      let found = matcher.find(begins ? 0 : 1);
      // What ends where more is to come may yet be something else.
      while (found && !ends && matcher.end() === text.length) found = matcher.find();
      if (found) return known.name;
    }
    return undefined;
  };
}

/** A match in the text as it stands. */
export interface PatternMatch {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Searches in one piece of a text. More of them, each of which may read a window ahead, would take too long. */
const SEARCHES_MAX = 256;

/**
 * Finds the matches of all patterns: ascending, not overlapping, the longer of two that begin together. `most`: no more
 * of each pattern. From a row of hundreds of matches on, the rest of the piece counts as one.
 */
export function patternMatches(
  patterns: Readonly<Record<string, string>>,
  ignoreCase: boolean,
  most = SEARCHES_MAX,
): (piece: PatternText) => readonly PatternMatch[] {
  const { RE2JS, RE2Set } = re2js();
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  const all = new RE2Set(RE2Set.UNANCHORED, flags);
  const each = Object.entries(patterns).map(([name, source]) => {
    all.add(source);
    return { name, pattern: RE2JS.compile(source, flags) };
  });
  all.compile();

  return ({ text, begins, ends }) => {
    const found: PatternMatch[] = [];
    for (const index of all.match(text)) {
      const known = each[index];
      if (known === undefined) continue;
      const matcher = known.pattern.matcher(text);
      let searches = 0;
      for (let has = matcher.find(begins ? 0 : 1); has && searches < most; has = matcher.find()) {
        searches++;
        const [start, end] = [matcher.start(), matcher.end()];
        // What ends where more is to come may yet be something else.
        if (end === start || (!ends && end === text.length)) continue;
        const isRest = searches === SEARCHES_MAX;
        found.push({ name: known.name, start, end: isRest ? text.length : end });
      }
    }
    return apart(found);
  };
}

function apart(found: readonly PatternMatch[]): readonly PatternMatch[] {
  let end = 0;
  return [...found]
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .filter((match) => {
      if (match.start < end) return false;
      end = match.end;
      return true;
    });
}

/** What is wrong with a pattern; undefined: nothing. */
export function patternFault(source: string): string | undefined {
  try {
    const size = re2js().RE2JS.compile(source).programSize();
    if (size > PROGRAM_MAX) return `it is too large: ${size} steps, at most ${PROGRAM_MAX}`;
    return re2js().RE2JS.compile(source).test("") ? "it matches the empty text" : undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

let loaded: typeof Re2 | undefined;

/** Loaded when the first pattern is there, since few configs have any. */
function re2js(): typeof Re2 {
  // What require returns is what the package's own types say.
  loaded ??= createRequire(import.meta.url)("re2js") as typeof Re2;
  return loaded;
}
