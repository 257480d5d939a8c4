/**
 * Keeps secrets out of what is shown of a configuration: by the names of the keys they stand under, read off the text,
 * so that it works on files that do not parse. In doubt it hides too much.
 */
const SENSITIVE = /^(?:headers|hash|.*(?:api[-_]?key|secret|password|passwd|token|authorization|cookie))$/i;
const KEY = /(["']?)([A-Za-z0-9_.-]+)\1[ \t]*:(?=[ \t"'{[]|$)[ \t]*/g;
const FIRST_KEY = new RegExp(`^${KEY.source}`);
const WHOLLY_REFERENCED = /^["']?\$\{(?:env|file):[\w./-]+\}["']?[ \t]*(?:$|[,}\]])/;
const USER_OF_URL = /(\/\/)[^\s/@]+@/g;

/** A longer line, as machines write them, is hidden whole: looking for its keys takes 40 ms a megabyte. */
const LINE_CHARACTERS_MAX = 1_000_000;

/** True for keys whose value, or whose children's values, are never shown. */
export function isSensitiveKey(key: string): boolean {
  return SENSITIVE.test(key);
}

/** One line of a file with every secret in it as `***` of the secret's length, so that columns stay. */
export function maskedLine(lines: readonly string[], index: number): string {
  const written = lines[index] ?? "";
  if (written.length > LINE_CHARACTERS_MAX) return hidden(written, 0, written.length);
  const line = maskedUser(written);
  const owner = sensitiveOwner(lines, index);
  if (owner !== undefined) {
    const content = Math.max(0, line.search(/[^\s-]/));
    // Names of headers are no secrets.
    const name = owner === "headers" ? (FIRST_KEY.exec(line.slice(content))?.[0].length ?? 0) : 0;
    return hidden(line, content + name, line.length);
  }
  let masked = line;
  for (const match of line.matchAll(KEY)) {
    if (!isSensitiveKey(match[2] ?? "")) continue;
    const start = match.index + match[0].length;
    const length = valueLength(line, start);
    masked = hidden(masked, start, start + length);
  }
  return masked;
}

/** The same text with what stands before the `@` of a URL hidden. */
export function maskedUser(text: string): string {
  return text.replace(USER_OF_URL, (user) => `//${"*".repeat(user.length - 3)}@`);
}

/** How much of the line is the value that starts at `start`; 0 when it is a reference, which may be shown. */
function valueLength(line: string, start: number): number {
  const value = line.slice(start);
  if (WHOLLY_REFERENCED.test(value)) return 0;
  const quoted = /^(["'])(?:(?!\1)[^\\]|\\.)*\1/.exec(value);
  if (quoted !== null) return quoted[0].length;
  const isFlow = /[{[]/.test(line.slice(0, start)) && !/^["'{[|>]/.test(value);
  const end = isFlow ? value.search(/[,}\]]/) : -1;
  return end < 0 ? value.length : end;
}

function hidden(line: string, start: number, end: number): string {
  return line.slice(0, start) + "*".repeat(end - start) + line.slice(end);
}

/** The sensitive key that a line above, with less indentation (or the same, above a list), ends in. */
function sensitiveOwner(lines: readonly string[], index: number): string | undefined {
  let indent = indentOf(lines[index] ?? "");
  let isItem = isListItem(lines[index] ?? "");
  for (let above = index - 1; above >= 0 && (indent > 0 || isItem); above--) {
    const line = lines[above] ?? "";
    if (line.trim() === "") continue;
    const lineIndent = indentOf(line);
    const isOwner = lineIndent < indent || (lineIndent === indent && isItem && !isListItem(line));
    if (!isOwner) continue;
    const key = [...line.matchAll(KEY)].at(-1)?.[2] ?? "";
    if (isSensitiveKey(key)) return key.toLowerCase();
    indent = lineIndent;
    isItem = isListItem(line);
  }
  return undefined;
}

function isListItem(line: string): boolean {
  return /^\s*-/.test(line);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
