/**
 * Named regular expressions of a configuration, run on re2js: time proportional to the text, whatever the expression,
 * so that none can hang the process.
 */
import { createRequire } from "node:module";
import type * as Re2 from "re2js";
import { type Finding, withoutOverlaps } from "./findings.ts";

/** Longest match that is found across the pieces of a stream, in UTF-16 code units. */
export const PATTERN_CHARACTERS = 1024;
/** Instructions of one pattern. `.{1000}` has a thousand, each of which may cost one step per character. */
const PROGRAM_MAX = 1000;
/** Searches per pattern in one piece of text. Each may read a window ahead, so that more would take too long. */
const SEARCHES_MAX = 256;

type Patterns = Readonly<Record<string, string>>;

/** The schema of an option `patterns`. `reach`: which matches are found. */
export function patternsOption(reach: string) {
  return {
    type: "object",
    maxProperties: 100,
    propertyNames: { minLength: 1, maxLength: 100 },
    additionalProperties: { type: "string", minLength: 1, maxLength: 500 },
    description: `Regular expressions by the name that messages show, in RE2's syntax: no look-around, no back-references. ${reach}`,
  } as const;
}

export const CASE_SENSITIVE_OPTION = {
  type: "boolean",
  default: false,
  description: "Distinguish upper and lower case.",
} as const;

const LOOK_AROUND = /\(\?<?[=!]/;
const LOOK_AROUND_HELP = "look-around: RE2 has none";

interface OptionError {
  readonly option: string;
  readonly message: string;
  readonly help?: string;
}

/** Errors of the option `patterns` that its schema cannot express. */
export function patternErrors(patterns: Patterns): OptionError[] {
  return Object.entries(patterns).flatMap(([name, source]) => {
    const error = patternError(source);
    if (error === undefined) return [];
    const message = `pattern \`${name}\`: ${error}`;
    return [{ option: "patterns", message, ...(LOOK_AROUND.test(source) && { help: LOOK_AROUND_HELP }) }];
  });
}

function patternError(source: string): string | undefined {
  try {
    const pattern = re2js().RE2JS.compile(source);
    const size = pattern.programSize();
    if (size > PROGRAM_MAX) return `it is too large: ${size} steps, at most ${PROGRAM_MAX}`;
    return pattern.test("") ? "it matches the empty text" : undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** A piece of text, as a guardrail receives it. */
interface TextPiece {
  readonly text: string;
  /** Nothing precedes it. */
  readonly begins: boolean;
  /** Nothing follows it. */
  readonly ends: boolean;
}

/** Returns the name of the first pattern, in the order of the configuration, that the text contains. */
export function patternFinder(
  patterns: Patterns,
  ignoreCase: boolean,
): (piece: TextPiece) => string | undefined {
  const compiled = compiledPatterns(patterns, ignoreCase);
  return (piece) => {
    for (const { name, pattern } of compiled.candidates(piece.text)) {
      const matcher = pattern.matcher(piece.text);
      let found = matcher.find(searchStart(piece));
      while (found && mayGrow(piece, matcher.end())) found = matcher.find();
      if (found) return name;
    }
    return undefined;
  };
}

/**
 * Finds the matches of all patterns: ascending, not overlapping, the longer of two that begin together. `limit`: most
 * matches per pattern. After SEARCHES_MAX matches, the last one extends to the end of the piece.
 */
export function patternMatches(
  patterns: Patterns,
  ignoreCase: boolean,
  limit = SEARCHES_MAX,
): (piece: TextPiece) => readonly Finding[] {
  const compiled = compiledPatterns(patterns, ignoreCase);
  return (piece) => {
    const { text } = piece;
    const found: Finding[] = [];
    for (const { name, pattern } of compiled.candidates(text)) {
      const matcher = pattern.matcher(text);
      let searches = 0;
      for (let has = matcher.find(searchStart(piece)); has && searches < limit; has = matcher.find()) {
        searches++;
        const [start, end] = [matcher.start(), matcher.end()];
        if (end === start || mayGrow(piece, end)) continue;
        found.push({ name, start, end: searches === SEARCHES_MAX ? text.length : end });
      }
    }
    return withoutOverlaps(found);
  };
}

interface NamedPattern {
  readonly name: string;
  readonly pattern: Re2.RE2JS;
}

interface CompiledPatterns {
  /** The patterns that match the text, in the order of the configuration: one pass for all, and usually none. */
  candidates(text: string): readonly NamedPattern[];
}

function compiledPatterns(patterns: Patterns, ignoreCase: boolean): CompiledPatterns {
  const { RE2JS, RE2Set } = re2js();
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  const all = new RE2Set(RE2Set.UNANCHORED, flags);
  const each = Object.entries(patterns).map(([name, source]) => {
    all.add(source);
    return { name, pattern: RE2JS.compile(source, flags) };
  });
  all.compile();
  return {
    candidates: (text) => {
      const indexes = all.match(text);
      return indexes.length === 0 ? [] : indexes.sort((a, b) => a - b).flatMap((index) => each[index] ?? []);
    },
  };
}

/** From the second character on, `^` does not match the start of a piece in the middle of a text. */
function searchStart({ begins }: TextPiece): 0 | 1 {
  return begins ? 0 : 1;
}

/** A match at the end of a piece may become longer, or no match, when more text follows. */
function mayGrow({ text, ends }: TextPiece, end: number): boolean {
  return !ends && end === text.length;
}

let loaded: typeof Re2 | undefined;

/** Loaded on first use: few configurations have patterns. */
function re2js(): typeof Re2 {
  // What require returns is what the package's own types say.
  loaded ??= createRequire(import.meta.url)("re2js") as typeof Re2;
  return loaded;
}
