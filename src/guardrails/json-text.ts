/**
 * JSON (arguments of a tool call, members of a request) as text for a guardrail: keys and values without quotes and
 * escapes, so that nothing hides in `\u0061`. Edits of that text are mapped back into the JSON.
 */
import type { Edit } from "../plugin/index.ts";
import { edited } from "./edits.ts";

/** A string or number: its span in the JSON (`from`, `to`) and in the text (`start`, `end`). */
interface Scalar {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

export interface JsonText {
  /** Keys and values in order: `key: value`, one per line. */
  readonly text: string;
  /** The JSON with these spans of `text` replaced. A number that is edited becomes a string. */
  withEdits(edits: readonly Edit[]): string;
}

/** Text that is not JSON is judged verbatim. */
export function readJsonText(json: string): JsonText {
  if (!isJson(json)) return { text: json, withEdits: (edits) => edited(json, edits) };
  const scalars: Scalar[] = [];
  let text = "";
  for (let from = nextScalar(json, 0); from < json.length; from = nextScalar(json, scalars.at(-1)?.to ?? 0)) {
    const to = json[from] === '"' ? endOfString(json, from) : endOfNumber(json, from);
    const value = json[from] === '"' ? String(JSON.parse(json.slice(from, to))) : json.slice(from, to);
    scalars.push({ from, to, start: text.length, end: text.length + value.length });
    text += value + (isKey(json, to) ? ": " : "\n");
  }
  return { text, withEdits: (edits) => rebuilt(json, text, scalars, edits) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const SCALAR_START = /["\d-]/g;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const COLON = /\s*:/y;

function nextScalar(json: string, at: number): number {
  SCALAR_START.lastIndex = at;
  return SCALAR_START.exec(json)?.index ?? json.length;
}

/** Searches for quotes: a regular expression would overflow its stack on megabytes. */
function endOfString(json: string, from: number): number {
  let quote = json.indexOf('"', from + 1);
  for (; quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return json.length;
}

function endOfNumber(json: string, from: number): number {
  NUMBER.lastIndex = from;
  return NUMBER.test(json) ? NUMBER.lastIndex : from + 1;
}

function isKey(json: string, at: number): boolean {
  COLON.lastIndex = at;
  return COLON.test(json);
}

/** An edit over several scalars puts its text into the first and removes what it covers of the others. */
function rebuilt(json: string, text: string, scalars: readonly Scalar[], edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  let next = 0;
  for (const scalar of scalars) {
    while ((edits[next]?.end ?? Number.POSITIVE_INFINITY) <= scalar.start) next++;
    const own: Edit[] = [];
    for (let n = next; (edits[n]?.start ?? Number.POSITIVE_INFINITY) < scalar.end; n++) {
      const edit = edits[n];
      if (edit !== undefined) own.push(clipped(edit, scalar));
    }
    if (own.length === 0) continue;
    out += json.slice(at, scalar.from) + JSON.stringify(edited(text.slice(scalar.start, scalar.end), own));
    at = scalar.to;
  }
  return out + json.slice(at);
}

function clipped(edit: Edit, { start, end }: Scalar): Edit {
  return {
    start: Math.max(edit.start, start) - start,
    end: Math.min(edit.end, end) - start,
    text: edit.start >= start ? edit.text : "",
  };
}
