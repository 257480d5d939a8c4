/**
 * Hides secrets in what is shown of a configuration: by the names of their keys, read off the text, so that it works on
 * files that do not parse. When in doubt it hides too much. The cost of a line is linear in its length.
 */
const SENSITIVE =
  /^(?:headers|hash|.*(?:api[-_]?key|client[-_]?key|secret|password|passwd|token|authorization|cookie))$/i;
// A key begins where no key character precedes it: otherwise a long word would be tried from each of its characters.
const KEY = /(["']?)(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)\1[ \t]*:(?=[ \t"'{[]|$)[ \t]*/g;
const FIRST_KEY = new RegExp(`^${KEY.source}`);
const WHOLLY_REFERENCED = /["']?\$\{(?:env|file):[\w./-]+\}["']?[ \t]*(?:$|[,}\]])/y;
const QUOTED = /"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'/y;
const FLOW_END = /[,}\]]/g;
const FLOW_START = /[{[]/;
const USER_OF_URL = /(\/\/)[^\s/@]+@/g;

/** A longer line, as machines write them, is hidden whole: looking for its keys takes 40 ms a megabyte. */
const LINE_CHARACTERS_MAX = 1_000_000;
/** Of one file. When so much has been masked, long lines are hidden whole. */
const MASKED_CHARACTERS_MAX = 8_000_000;
const SHORT_LINE_CHARACTERS = 2_000;
/** How much of the end of a line is searched for the key that owns the lines below it. */
const OWNER_CHARACTERS_MAX = 1_000;

/** True for keys whose value, or whose children's values, are never shown. */
export function isSensitiveKey(key: string): boolean {
  return SENSITIVE.test(key);
}

/** One line of a file with every secret in it as `***` of the secret's length, so that columns stay. */
export function maskedLine(lines: readonly string[], index: number): string {
  return new LineMask(lines).line(index);
}

/** The same text with the part before the `@` of a URL hidden. */
export function maskedUser(text: string): string {
  return text.replace(USER_OF_URL, (user) => `//${"*".repeat(user.length - 3)}@`);
}

/** The lines of one file, masked when they are asked for. */
export class LineMask {
  readonly #lines: readonly string[];
  /** For each line the one that holds its parent key, or -1. */
  #owners: Int32Array | undefined;
  #charactersLeft = MASKED_CHARACTERS_MAX;
  #last: { readonly index: number; readonly text: string } | undefined;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  line(index: number): string {
    if (this.#last?.index !== index) this.#last = { index, text: this.#masked(index) };
    return this.#last.text;
  }

  #masked(index: number): string {
    const written = this.#lines[index] ?? "";
    this.#charactersLeft -= written.length;
    const isAffordable = this.#charactersLeft >= 0 || written.length <= SHORT_LINE_CHARACTERS;
    if (written.length > LINE_CHARACTERS_MAX || !isAffordable) return "*".repeat(written.length);
    const line = maskedUser(written);
    const owner = this.#sensitiveOwner(index);
    if (owner === undefined) return withoutValues(line);
    const content = Math.max(0, line.search(/[^\s-]/));
    // Names of headers are not secrets.
    const name = owner === "headers" ? (FIRST_KEY.exec(line.slice(content))?.[0].length ?? 0) : 0;
    return line.slice(0, content + name) + "*".repeat(line.length - content - name);
  }

  /** The sensitive key that a line above, with less indentation (or the same, above a list), ends in. */
  #sensitiveOwner(index: number): string | undefined {
    this.#owners ??= ownersOf(this.#lines);
    for (let above = this.#owners[index] ?? -1; above >= 0; above = this.#owners[above] ?? -1) {
      const end = (this.#lines[above] ?? "").slice(-OWNER_CHARACTERS_MAX);
      const key = [...end.matchAll(KEY)].at(-1)?.[2] ?? "";
      if (isSensitiveKey(key)) return key.toLowerCase();
    }
    return undefined;
  }
}

/** Hides the values of sensitive keys. */
function withoutValues(line: string): string {
  const pieces: string[] = [];
  let shownTo = 0;
  for (const match of line.matchAll(KEY)) {
    const start = match.index + match[0].length;
    if (start < shownTo || !isSensitiveKey(match[2] ?? "")) continue;
    const end = start + valueLength(line, start);
    pieces.push(line.slice(shownTo, start), "*".repeat(end - start));
    shownTo = end;
  }
  pieces.push(line.slice(shownTo));
  return pieces.join("");
}

/** How much of the line is the value that starts at `start`; 0 when it is a reference, which may be shown. */
function valueLength(line: string, start: number): number {
  WHOLLY_REFERENCED.lastIndex = start;
  if (WHOLLY_REFERENCED.test(line)) return 0;
  QUOTED.lastIndex = start;
  if (QUOTED.test(line)) return QUOTED.lastIndex - start;
  const first = line[start] ?? "";
  if (`"'{[|>`.includes(first) || !FLOW_START.test(line.slice(0, start))) return line.length - start;
  FLOW_END.lastIndex = start;
  return (FLOW_END.exec(line)?.index ?? line.length) - start;
}

/** One pass over all lines, with the lines open at each indentation on a stack. */
function ownersOf(lines: readonly string[]): Int32Array {
  const owners = new Int32Array(lines.length).fill(-1);
  const open: { readonly indent: number; last: number; lastKey: number }[] = [];
  for (const [index, line] of lines.entries()) {
    const indent = line.search(/\S/);
    if (indent < 0) continue;
    while ((open.at(-1)?.indent ?? -1) > indent) open.pop();
    let level = open.at(-1);
    if (level?.indent !== indent) {
      level = { indent, last: -1, lastKey: -1 };
      open.push(level);
    }
    const isItem = line[indent] === "-";
    owners[index] = isItem && level.lastKey >= 0 ? level.lastKey : (open.at(-2)?.last ?? -1);
    level.last = index;
    if (!isItem) level.lastKey = index;
  }
  return owners;
}
