/**
 * Regular expressions of the sources: finds the literals, and tells those whose running time is proportional to the
 * text from those for which a test must show it.
 */
import { createRequire } from "node:module";
import { codeOf, lineOf } from "./code.ts";

export interface Expression {
  /** `/…/flags`, as the source has it. */
  readonly literal: string;
  readonly source: string;
  readonly flags: string;
  readonly line: number;
}

/** All literals of a source text. */
export function expressionsOf(text: string): readonly Expression[] {
  const found: Expression[] = [];
  // A first line that names an interpreter is no code.
  const code = text.startsWith("#!") ? text.replace(/^#!.*/, (line) => " ".repeat(line.length)) : text;
  codeOf(code, (start, end) => {
    const literal = code.slice(start, end);
    const close = literal.lastIndexOf("/");
    const [source, flags] = [literal.slice(1, close), literal.slice(close + 1)];
    found.push({ literal, source, flags, line: lineOf(code, start) });
  });
  return found;
}

/** How many expressions a source text builds from texts. */
export function builtExpressions(text: string): number {
  return codeOf(text).match(/\bRegExp\s*\(/g)?.length ?? 0;
}

/** True when no text takes the expression longer than in proportion to the text's length. */
export function isProvablyLinear({ source, flags }: Pick<Expression, "source" | "flags">): boolean {
  return isLinearByForm(source, flags) || isProvedSafe(source, flags);
}

/**
 * Linear by its form alone: no repetition without a bound, or a single one, of a single character, tried from one place
 * only (the beginning of the text, or where a sticky expression stands).
 */
export function isLinearByForm(source: string, flags: string): boolean {
  // Classes and escapes count as one character each.
  const plain = source.replace(/\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]/gs, "c");
  const unbounded = plain.match(/(?:[*+]|\{\d+,\})\??/g) ?? [];
  // A group that is repeated many times multiplies what its inside may try.
  if (/\)(?:\{\d*,?(?:9|\d{2,})\d*\})/.test(plain)) return false;
  if (unbounded.length === 0) return true;
  const ofCharacter = /[^)*+}?](?:[*+]|\{\d+,\})/.test(plain);
  const fromOnePlace =
    flags.includes("y") || (plain.startsWith("^") && !flags.includes("m") && !hasTopLevelChoice(plain));
  return unbounded.length === 1 && ofCharacter && fromOnePlace;
}

function hasTopLevelChoice(plain: string): boolean {
  let depth = 0;
  for (const one of plain) {
    if (one === "(") depth++;
    else if (one === ")") depth--;
    else if (one === "|" && depth === 0) return true;
  }
  return false;
}

/** What is used of recheck, which proves by automata that an expression cannot be made to backtrack. */
interface Recheck {
  checkSync(
    source: string,
    flags: string,
    parameters: { readonly checker: "automaton"; readonly timeout: number },
  ): { readonly status: "safe" | "vulnerable" | "unknown" };
}

const PROOF_MS_MAX = 5000;
let recheck: Recheck | undefined;

function isProvedSafe(source: string, flags: string): boolean {
  process.env["RECHECK_BACKEND"] = "pure";
  // `require` knows no types; this is the part of the package's own that is used here.
  recheck ??= createRequire(import.meta.url)("recheck") as Recheck;
  const known = flags.replace(/[vd]/g, (flag) => (flag === "v" ? "u" : ""));
  return recheck.checkSync(source, known, { checker: "automaton", timeout: PROOF_MS_MAX }).status === "safe";
}
