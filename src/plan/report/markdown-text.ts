/**
 * Texts of configurations inside markdown: what a stranger wrote cannot end a table, a fence or a fold, add a link or
 * an image, or notify anybody.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const TEXT_CHARACTERS_MAX = 1_000;
/** Invisible: a name behind it notifies nobody, and an address is no link. */
const JOINER = "\u2060";

/** One line of text. What stands in backticks and is no more than a key stays code. */
export function inline(text: string): string {
  const line = text.replace(CONTROL, "").replace(/\s+/g, " ").trim();
  const short = line.length > TEXT_CHARACTERS_MAX ? `${line.slice(0, TEXT_CHARACTERS_MAX)} …` : line;
  const parts = short.split("`");
  let shown = "";
  for (let at = 0; at < parts.length; at++) {
    const [part = "", code] = [parts[at], parts[at + 1]];
    const isCode = code !== undefined && KEY.test(code) && at + 2 < parts.length;
    shown += escaped(part) + (isCode ? `\`${code}\`` : at + 1 < parts.length ? "\\`" : "");
    if (isCode) at += 1;
  }
  return shown;
}

const KEY = /^[\w.[\]-]+$/;

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll("|", "&#124;")
    .replace(/[\\`*_{}[\]()~$!]/g, "\\$&")
    .replace(/[@#]/g, `$&${JOINER}`)
    .replace(/\b(https?|ftp|mailto):/gi, `$1${JOINER}:`)
    .replace(/\bwww\./gi, `www${JOINER}.`);
}

/** A name, path or key. In a cell of a table too. */
export function codeSpan(text: string): string {
  const line = text.replace(CONTROL, "").replace(/\s+/g, " ").trim().slice(0, TEXT_CHARACTERS_MAX);
  if (line === "") return "``";
  // Tables end a cell at a bar even in code, unless it is escaped there.
  const safe = line.replaceAll("|", "\\|");
  const ticks = "`".repeat(longestRun(safe) + 1);
  const pad = /^`|`$/.test(safe) ? " " : "";
  return `${ticks}${pad}${safe}${pad}${ticks}`;
}

/** A block of code that nothing in it can end. */
export function fenced(text: string, language: string, indent: string): string {
  const clean = text.replace(CONTROL, "");
  const fence = "`".repeat(Math.max(3, longestRun(clean) + 1));
  return [`${fence}${language}`, ...clean.split("\n"), fence].map((line) => indent + line).join("\n");
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}
