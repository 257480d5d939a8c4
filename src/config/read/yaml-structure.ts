/**
 * Finds the first place where the layout of a YAML text is wrong: indentation, brackets, quotes, colons. YAML's parser
 * notices such a mistake where it can read no further, which may be far below. Called for texts that do not parse only;
 * reads each character once.
 */
import { type Cause, FlowScanner } from "./yaml-flow.ts";

/** One mapping or list that is open at the current line. */
interface Level {
  /** Blanks before its entries. */
  readonly indent: number;
  readonly kind: "map" | "list";
  /** True: the last entry has no value yet, so that deeper lines may give it one. */
  isOpen: boolean;
}

interface Line {
  readonly start: number;
  readonly text: string;
}

/** A key, or the dash of an item, and where its value begins. */
interface KeyOnLine {
  readonly key: string;
  readonly end: number;
}

export function structuralCause(text: string): Cause | undefined {
  return new StructureScanner(text).scan();
}

class StructureScanner {
  readonly #text: string;
  readonly #levels: Level[] = [];
  #at = 0;
  /** The block text (`|`, `>`) that the next lines are: indentation of its key, and of its first line once known. */
  #blockText: { readonly owner: number; indent: number | undefined } | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): Cause | undefined {
    while (this.#at < this.#text.length) {
      const line = this.#line();
      this.#at = line.start + line.text.length + 1;
      const cause = this.#inspect(line);
      if (cause !== undefined) return cause;
    }
    return undefined;
  }

  #line(): Line {
    const end = this.#text.indexOf("\n", this.#at);
    return { start: this.#at, text: this.#text.slice(this.#at, end < 0 ? this.#text.length : end) };
  }

  #inspect({ start, text }: Line): Cause | undefined {
    const content = text.trim();
    const indent = text.length - text.trimStart().length;
    if (this.#blockText !== undefined) {
      const { owner, indent: first } = this.#blockText;
      if (content === "") return undefined;
      if (indent > owner) {
        this.#blockText.indent ??= indent;
        return first === undefined || indent >= first ? undefined : outdented(start, text, indent, first);
      }
      this.#blockText = undefined;
    }
    if (content === "" || content.startsWith("#")) return undefined;
    if (/^(?:---|\.\.\.)(?:\s|$)/.test(text)) {
      this.#levels.length = 0;
      return undefined;
    }
    const tab = text.slice(0, indent).indexOf("\t");
    if (tab >= 0) {
      const message = "a tab is used as indentation";
      return { start: start + tab, end: start + indent, message, help: "indent with spaces" };
    }
    return this.#entry(start, text, indent);
  }

  /** What stands at one column of a line: items first, each of which may hold a mapping that begins on its line. */
  #entry(start: number, text: string, column: number): Cause | undefined {
    const rest = text.slice(column);
    if (/^-(?:\s|$)/.test(rest)) {
      const cause = this.#place(start, text, column, "list");
      if (cause !== undefined || this.#isContinued(column)) return cause;
      const inner = column + 1 + (rest.length - 1 - rest.slice(1).trimStart().length);
      const isEmpty = isBlank(text.slice(inner));
      this.#top().isOpen = isEmpty || keyAt(text, inner) !== undefined || /^-\s/.test(text.slice(inner));
      if (isEmpty) return undefined;
      if (/^-(?:\s|$)/.test(text.slice(inner)) || keyAt(text, inner) !== undefined)
        return this.#entry(start, text, inner);
      return this.#value(start, text, inner, column);
    }
    const key = keyAt(text, column);
    if (key === undefined) return this.#loose(start, text, column);
    const cause = this.#place(start, text, column, "map");
    if (cause !== undefined) return cause;
    const value = key.end + (text.slice(key.end).length - text.slice(key.end).trimStart().length);
    const isEmpty = isBlank(text.slice(value));
    this.#top().isOpen = isEmpty;
    return isEmpty ? undefined : this.#value(start, text, value, column);
  }

  #top(): Level {
    const top = this.#levels.at(-1);
    if (top === undefined) throw new RangeError("no level is open");
    return top;
  }

  /** True when a dash continues a plain text, as `a: one` above `  - two` does. */
  #isContinued(column: number): boolean {
    const top = this.#levels.at(-1);
    return top === undefined || top.indent !== column || top.kind !== "list";
  }

  /** Finds the level that a key or item belongs to, or opens one. */
  #place(start: number, text: string, column: number, kind: Level["kind"]): Cause | undefined {
    const levels = this.#levels;
    const closed: Level[] = [];
    while ((levels.at(-1)?.indent ?? -1) > column) closed.push(...levels.splice(-1));
    // A list may be as deep as the key that it belongs to; the next key ends it.
    const [below, above] = [levels.at(-1), levels.at(-2)];
    if (below?.indent === column && below.kind === "list" && kind === "map" && above?.indent === column)
      closed.push(...levels.splice(-1));
    const top = levels.at(-1);
    if (top?.indent === column && top.kind === kind) return undefined;
    const opens = top === undefined || (top.isOpen && closed.length === 0);
    const isDeeper = top === undefined || top.indent < column;
    if (opens && (isDeeper || (kind === "list" && top.kind === "map"))) {
      levels.push({ indent: column, kind, isOpen: false });
      return undefined;
    }
    if (top?.indent === column) return mixed(start, column, text, kind);
    // Text of several lines may hold a dash.
    if (kind === "list" && closed.length === 0) return undefined;
    const siblings = nearestLevel([...closed, ...levels], column, kind);
    return indentation(start, text, column, siblings);
  }

  /** A line that is neither an item nor a key: the rest of a text, or a mistake. */
  #loose(start: number, text: string, column: number): Cause | undefined {
    const rest = text.slice(column).trimEnd();
    const top = this.#levels.at(-1);
    const first = rest[0] ?? "";
    if (top === undefined || first === "{" || first === "[" || first === '"' || first === "'")
      return this.#value(start, text, column, top?.indent ?? -1);
    if (first === "}" || first === "]") return stray(start + column, first);
    if (column > top.indent) return undefined;
    const end = start + column + rest.length;
    const glued = /^([a-z][a-z0-9_]{0,40}):\S/.exec(rest);
    if (glued !== null && top.kind === "map") {
      const [, key = ""] = glued;
      const colon = start + column + key.length;
      return {
        start: start + column,
        end: colon + 1,
        message: `a blank is missing after the \`:\` of \`${key}\``,
        suggestion: `${key}: `,
      };
    }
    if (/^-\S/.test(rest) && top.kind === "list")
      return {
        start: start + column,
        end: start + column + 1,
        message: DASH_WITHOUT_BLANK,
        suggestion: "- ",
      };
    if (!this.#levels.some(({ indent, kind }) => indent === column && kind === "map")) return undefined;
    // Anything else could be a piece of a secret.
    const [, word = ""] = /^([a-z][a-z0-9_]{0,40})(?:[ \t=]|$)/.exec(rest) ?? [];
    const message = word === "" ? "a `:` is missing" : `a \`:\` is missing after \`${word}\``;
    const help = word === "" ? "write `key: value`" : `write \`${word}: …\``;
    return { start: start + column, end, message, help };
  }

  /** A value that begins at a column. `owner`: indentation of its key or dash. */
  #value(start: number, text: string, column: number, owner: number): Cause | undefined {
    // Anchors and tags come before the value itself.
    const property = /^(?:[&!][^\s]*\s+)+/.exec(text.slice(column));
    const at = column + (property?.[0].length ?? 0);
    const rest = text.slice(at);
    const first = rest[0] ?? "";
    if (/^[|>][-+\d]*\s*(?:#.*)?$/.test(rest)) {
      // With a digit the author says how deep the text is.
      this.#blockText = { owner, indent: /^.[-+]?\d/.test(rest) ? owner + 1 : undefined };
      return undefined;
    }
    if (`{["'`.includes(first) && first !== "") return this.#flow(start + at, owner);
    if (first === "}" || first === "]") return stray(start + at, first);
    if (/^-\s/.test(rest))
      return {
        start: start + at,
        end: start + at + 1,
        message: "a list cannot begin on the line of its key",
        help: "begin it on the next line, indented deeper",
      };
    const plain = withoutComment(rest);
    const range = { start: start + at, end: start + at + plain.length };
    const quoted = JSON.stringify(plain);
    if (/^[@`%,]/.test(plain)) {
      const message = `a value cannot begin with \`${first}\` unless it is in quotes`;
      return { ...range, message, suggestion: quoted };
    }
    if (/:(?:\s|$)/.test(plain) && !/^[*&!]/.test(plain))
      return { ...range, message: "a value that contains `: ` must be in quotes", suggestion: quoted };
    return undefined;
  }

  #flow(from: number, owner: number): Cause | undefined {
    const scanner = new FlowScanner(this.#text, from, owner);
    const cause = scanner.scan();
    if (cause !== undefined) return cause;
    const lineEnd = this.#text.indexOf("\n", scanner.end);
    const end = lineEnd < 0 ? this.#text.length : lineEnd;
    this.#at = end + 1;
    const tail = this.#text.slice(scanner.end, end);
    const content = tail.trim();
    if (content === "" || content.startsWith("#") || content.startsWith(":")) return undefined;
    const at = scanner.end + tail.length - tail.trimStart().length;
    const first = content[0] ?? "";
    if (first === "}" || first === "]") return stray(at, first);
    const quote = this.#text[from] ?? "";
    const help =
      quote === "'" ? "inside single quotes a quote is written twice: `''`" : "put the whole value in quotes";
    return { start: at, end, message: "nothing may follow the end of the value on its line", help };
  }
}

const DASH_WITHOUT_BLANK = "a blank is missing after the `-`";

function isBlank(text: string): boolean {
  return /^\s*(?:#.*)?$/.test(text);
}

/** A plain value ends at a blank and `#`. */
function withoutComment(text: string): string {
  const comment = text.search(/\s#/);
  return (comment < 0 ? text : text.slice(0, comment)).trimEnd();
}

const QUOTED = /"[^"\\]*(?:\\.[^"\\]*)*"|'[^']*'/y;

/** The key that begins at a column, undefined when none does. */
function keyAt(text: string, column: number): KeyOnLine | undefined {
  const first = text[column] ?? "";
  if (first === '"' || first === "'") {
    QUOTED.lastIndex = column;
    if (!QUOTED.test(text)) return undefined;
    const rest = text.slice(QUOTED.lastIndex);
    const colon = text.length - rest.trimStart().length;
    const isKey = text[colon] === ":" && /^\s?$/.test(text[colon + 1] ?? "");
    return isKey ? { key: text.slice(column, colon), end: colon + 1 } : undefined;
  }
  if (`{}[],#&*!|>%@\``.includes(first)) return undefined;
  for (let colon = text.indexOf(":", column); colon > column; colon = text.indexOf(":", colon + 1)) {
    const next = text[colon + 1];
    if (next !== undefined && next !== " " && next !== "\t" && next !== "\r") continue;
    const key = text.slice(column, colon);
    return key.includes(" #") ? undefined : { key, end: colon + 1 };
  }
  return undefined;
}

function nearestLevel(levels: readonly Level[], column: number, kind: Level["kind"]): Level | undefined {
  const distance = (level: Level): number => Math.abs(level.indent - column);
  const same = levels.filter((level) => level.kind === kind);
  return [...(same.length > 0 ? same : levels)].sort((a, b) => distance(a) - distance(b))[0];
}

function indentation(start: number, text: string, column: number, siblings: Level | undefined): Cause {
  const wanted = siblings?.indent ?? 0;
  const message = `wrong indentation: indented ${column}, its siblings ${wanted}`;
  const help = `indent it ${wanted} spaces; if it belongs to the entry above, that entry must end in \`:\``;
  return { start: start + column, end: start + text.trimEnd().length, message, help };
}

function outdented(start: number, text: string, column: number, first: number): Cause {
  const message = `wrong indentation: indented ${column}, the first line of this block text ${first}`;
  const help = `indent it ${first} spaces`;
  return { start: start + column, end: start + text.trimEnd().length, message, help };
}

function mixed(start: number, column: number, text: string, kind: Level["kind"]): Cause {
  const range = { start: start + column, end: start + text.trimEnd().length };
  if (kind === "map" && text[column] === "-")
    return { start: range.start, end: range.start + 1, message: DASH_WITHOUT_BLANK, suggestion: "- " };
  if (kind === "map") {
    const help = "begin it with `- ` if it is an entry, indent it deeper if it belongs to the entry above";
    return { ...range, message: "expected an entry of the list, found a key", help };
  }
  const help = "indent it deeper than its key, which must end in `:`";
  return { ...range, message: "expected a key, found an entry of a list", help };
}

function stray(at: number, bracket: string): Cause {
  const open = bracket === "}" ? "{" : "[";
  const message = `this \`${bracket}\` closes nothing`;
  return { start: at, end: at + 1, message, help: `remove it, or add the \`${open}\` that it closes` };
}
