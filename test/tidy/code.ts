/**
 * A source text as code alone: the same text, at the same places, with comments and the insides of strings, templates
 * and regular expressions turned to spaces. Not a parser: it knows just enough for tidy's checks.
 */

const REGEX_BEFORE = /(?:^|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|do|else))\s*$/;

/**
 * The code of a source text. Line ends stay, so that places in both are the same. `regex` hears of each regular
 * expression literal: where it starts and ends, its flags included.
 */
export function codeOf(source: string, regex?: (start: number, end: number) => void): string {
  const out: string[] = [];
  // One entry a template that is open: how many braces are open in its `${`.
  const templates: number[] = [];
  const blank = (to: number): void => {
    out.push(source.slice(at, to).replace(/[^\n]/g, " "));
    at = to;
  };
  let at = 0;
  while (at < source.length) {
    const two = source.slice(at, at + 2);
    const one = two[0] ?? "";
    const depth = templates.at(-1);
    if (two === "//") blank(endOf(source, "\n", at + 2));
    else if (two === "/*") blank(endOf(source, "*/", at + 2) + 2);
    else if (one === '"' || one === "'") blank(endOfQuoted(source, at + 1, one) + 1);
    else if (one === "`") {
      const end = endOfTemplateText(source, at + 1);
      if (source[end] === "$") templates.push(0);
      blank(end + (source[end] === "$" ? 2 : 1));
    } else if (one === "}" && depth === 0) {
      const end = endOfTemplateText(source, at + 1);
      if (source[end] !== "$") templates.pop();
      blank(end + (source[end] === "$" ? 2 : 1));
    } else if (one === "/" && REGEX_BEFORE.test(out.slice(-40).join("").slice(-40))) {
      const end = endOfRegex(source, at + 1);
      regex?.(at, end);
      blank(end);
    } else {
      if (depth !== undefined && one === "{") templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && one === "}") templates[templates.length - 1] = depth - 1;
      out.push(one);
      at += 1;
    }
  }
  return out.join("");
}

/** For every bracket of a code, the place of its partner. Angle brackets are none. */
export function bracketsOf(code: string): ReadonlyMap<number, number> {
  const partners = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < code.length; at += 1) {
    const one = code[at] ?? "";
    if ("([{".includes(one)) open.push(at);
    else if (")]}".includes(one)) {
      const start = open.pop();
      if (start === undefined) continue;
      partners.set(start, at);
      partners.set(at, start);
    }
  }
  return partners;
}

/** Number of the line that a place is in, from 1. */
export function lineOf(text: string, at: number): number {
  let line = 1;
  for (let next = text.indexOf("\n"); next >= 0 && next < at; next = text.indexOf("\n", next + 1)) line += 1;
  return line;
}

function endOf(source: string, mark: string, from: number): number {
  const end = source.indexOf(mark, from);
  return end < 0 ? source.length : end;
}

function endOfQuoted(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source[at] === quote) return at;
  }
  return source.length;
}

/** Where a template's text ends: at its last backtick, or at the `$` of a `${`. */
function endOfTemplateText(source: string, from: number): number {
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === "\\") at += 1;
    else if (source[at] === "`" || source.startsWith("${", at)) return at;
  }
  return source.length;
}

function endOfRegex(source: string, from: number): number {
  let inClass = false;
  for (let at = from; at < source.length; at += 1) {
    const one = source[at];
    if (one === "\\") at += 1;
    else if (one === "[") inClass = true;
    else if (one === "]") inClass = false;
    else if (one === "/" && !inClass) return at + 1 + (/^[a-z]*/.exec(source.slice(at + 1))?.[0].length ?? 0);
    else if (one === "\n") return at;
  }
  return source.length;
}
