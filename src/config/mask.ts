/**
 * Keeps secrets out of what is shown of a configuration: by the names of the keys they stand under, read off the text,
 * so that it works on files that do not parse. In doubt it hides too much.
 */
const SENSITIVE = /^(?:headers|hash|.*(?:api[-_]?key|secret|password|passwd|token|authorization|cookie))$/i;
const KEY = /(["']?)([A-Za-z0-9_.-]+)\1[ \t]*:(?=[ \t"'{[]|$)[ \t]*/g;
const WHOLLY_REFERENCED = /^["']?\$\{(?:env|file):[\w./-]+\}["']?[ \t]*(?:$|[,}\]])/;
const USER_OF_URL = /(\/\/)[^\s/@]+@/g;

/** True for keys whose value, or whose children's values, are never shown. */
export function isSensitiveKey(key: string): boolean {
  return SENSITIVE.test(key);
}

/** One line of a file with every secret in it as `***` of the secret's length, so that columns stay. */
export function maskedLine(lines: readonly string[], index: number): string {
  const line = (lines[index] ?? "").replace(USER_OF_URL, (user) => `//${"*".repeat(user.length - 3)}@`);
  if (isInsideSensitive(lines, index)) {
    const content = line.search(/[^\s-]/);
    const value = content < 0 ? line.length : content + afterKey(line.slice(content));
    return line.slice(0, value) + "*".repeat(line.length - value);
  }
  let masked = line;
  for (const match of line.matchAll(KEY)) {
    if (!isSensitiveKey(match[2] ?? "")) continue;
    const start = match.index + match[0].length;
    const length = valueLength(line, start);
    masked = masked.slice(0, start) + "*".repeat(length) + masked.slice(start + length);
  }
  return masked;
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

function afterKey(content: string): number {
  KEY.lastIndex = 0;
  const match = KEY.exec(content);
  return match?.index === 0 ? match[0].length : 0;
}

/** True when a line above with less indentation (or the same, above a list) ends in a sensitive key. */
function isInsideSensitive(lines: readonly string[], index: number): boolean {
  let indent = indentOf(lines[index] ?? "");
  let isItem = /^\s*-/.test(lines[index] ?? "");
  for (let above = index - 1; above >= 0 && (indent > 0 || isItem); above--) {
    const line = lines[above] ?? "";
    if (line.trim() === "") continue;
    const lineIndent = indentOf(line);
    const lineIsItem = /^\s*-/.test(line);
    if (lineIndent > indent || (lineIndent === indent && !(isItem && !lineIsItem))) continue;
    const keys = [...line.matchAll(KEY)];
    if (isSensitiveKey(keys.at(-1)?.[2] ?? "")) return true;
    indent = lineIndent;
    isItem = lineIsItem;
  }
  return false;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
