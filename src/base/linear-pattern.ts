/**
 * Regular expressions of configurations, in the syntax of JavaScript and with the running time of RE2: proportional to
 * the text, whatever the pattern. A pattern that RE2 does not support is refused with a reason.
 */
import { createRequire } from "node:module";
import type * as Re2 from "re2js";

/** A pattern, ready to be used. */
export interface LinearPattern {
  test(text: string): boolean;
}

/** Why a pattern cannot be used. */
export interface PatternRefusal {
  readonly message: string;
  readonly help: string | undefined;
}

class PatternError extends Error {
  readonly help: string | undefined;

  constructor(message: string, help?: string) {
    super(message);
    this.help = help;
  }
}

/** Instructions of one pattern; each may cost a step at each character. */
const PROGRAM_MAX = 10_000;
/** Steps for one text, about half a second: a longer text does not match. */
const STEPS_MAX = 1_000_000_000;
const REPEAT_MAX = 1000;

/** Throws a PatternError. */
export function linearPattern(source: string): LinearPattern {
  assertJavaScript(source);
  const { RE2JS } = re2js();
  let compiled: Re2.RE2JS;
  try {
    compiled = RE2JS.compile(re2Source(source));
  } catch (thrown) {
    throw thrown instanceof PatternError ? thrown : new PatternError(reasonOf(thrown), helpFor(thrown));
  }
  const steps = compiled.programSize();
  if (steps > PROGRAM_MAX) {
    const help = "use `maxLength` for lengths, and smaller counts in braces";
    throw new PatternError(`it is too large: ${steps} steps, at most ${PROGRAM_MAX}`, help);
  }
  const charactersMax = STEPS_MAX / steps;
  return { test: (text) => text.length <= charactersMax && compiled.test(text) };
}

/** undefined: the pattern can be used. */
export function patternRefusal(source: string): PatternRefusal | undefined {
  try {
    linearPattern(source);
    return undefined;
  } catch (thrown) {
    const help = thrown instanceof PatternError ? thrown.help : undefined;
    return { message: thrown instanceof Error ? thrown.message : String(thrown), help };
  }
}

function assertJavaScript(source: string): void {
  try {
    new RegExp(source, "u");
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    throw new PatternError(message.replace(/^Invalid regular expression: /, ""));
  }
}

function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.replace(/^error parsing regexp: /, "");
}

function helpFor(thrown: unknown): string | undefined {
  if (reasonOf(thrown).startsWith("invalid repeat count")) {
    return `RE2 repeats at most ${REPEAT_MAX} times; use \`maxLength\` for lengths`;
  }
  return undefined;
}

/** What `\s` means in JavaScript, as members of a class, and what `\S` means. */
const SPACES =
  "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NOT_SPACES =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}" +
  "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const ANY = "[\\x{0}-\\x{10ffff}]";
const NONE = "[^\\x{0}-\\x{10ffff}]";
const NOT_LINE_END = "[^\\n\\r\\x{2028}\\x{2029}]";

/** One token: an escape, the opening of a group, an empty class, or a character. The source is valid JavaScript. */
const TOKEN =
  /\\u\{[0-9A-Fa-f]{1,32}\}|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\c[A-Za-z]|\\[pP]\{[^}]{1,64}\}|\\.|\(\?(?:<[=!]|[=!<])|\[\^?\]|./suy;
const TOKEN_IN_CLASS =
  /\\u\{[0-9A-Fa-f]{1,32}\}|\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\c[A-Za-z]|\\[pP]\{[^}]{1,64}\}|\\.|./suy;

/** The same pattern in RE2's syntax. Throws where there is none. */
function re2Source(source: string): string {
  let out = "";
  let inClass = false;
  for (let at = 0; at < source.length; ) {
    const expression: RegExp = inClass ? TOKEN_IN_CLASS : TOKEN;
    expression.lastIndex = at;
    const token: string = expression.exec(source)?.[0] ?? "";
    if (token === "") break;
    at += token.length;
    out += inClass ? inClassSource(token) : outsideSource(token);
    inClass = inClass ? token !== "]" : token === "[";
  }
  return out;
}

function inClassSource(token: string): string {
  if (token === "\\b") return "\\x08";
  if (token === "\\s") return SPACES;
  if (token === "\\S") return NOT_SPACES;
  // RE2 would read `[[:alpha:]]` as a class of its own.
  if (token === "[") return "\\[";
  return token.startsWith("\\") ? escapeSource(token) : token;
}

function outsideSource(token: string): string {
  if (token === ".") return NOT_LINE_END;
  if (token === "[]") return NONE;
  if (token === "[^]") return ANY;
  if (token === "\\s") return `[${SPACES}]`;
  if (token === "\\S") return `[^${SPACES}]`;
  if (token === "(?<") return "(?P<";
  if (/^\(\?<?[=!]$/.test(token)) {
    throw new PatternError(`look-around \`${token}\` is not supported`, "look-around: RE2 has none");
  }
  return token.startsWith("\\") ? escapeSource(token) : token;
}

const PROPERTY_NAMES = /^(?:Script|sc|Script_Extensions|scx|General_Category|gc)=/;

function escapeSource(token: string): string {
  const kind = token[1] ?? "";
  if (kind === "k" || /[1-9]/.test(kind)) {
    throw new PatternError(`back-reference \`${token}\` is not supported`, "back-references: RE2 has none");
  }
  if (kind === "0") return "\\x00";
  if (kind === "c") return `\\x{${(token.charCodeAt(2) % 32).toString(16)}}`;
  if (kind === "u") return `\\x{${codePoint(token).toString(16)}}`;
  if (kind !== "p" && kind !== "P") return token;
  return `\\${kind}{${token.slice(3, -1).replace(PROPERTY_NAMES, "")}}`;
}

function codePoint(token: string): number {
  const units = token.split("\\u").slice(1);
  if (units.length === 1) return Number.parseInt((units[0] ?? "").replace(/[{}]/g, ""), 16);
  return String.fromCharCode(...units.map((unit) => Number.parseInt(unit, 16))).codePointAt(0) ?? 0;
}

let loaded: typeof Re2 | undefined;

/** Loaded with the first pattern, since it takes 20 ms and few configurations have any. */
function re2js(): typeof Re2 {
  // The package's own types describe what require returns.
  loaded ??= createRequire(import.meta.url)("re2js") as typeof Re2;
  return loaded;
}
