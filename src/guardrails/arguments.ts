/**
 * The arguments of a tool call as a guardrail reads them: what the JSON text says, without its quotes and escapes, so
 * that nothing hides in `\u0061`; and edits of that text put back where they belong in the JSON.
 */
import type { Edit } from "../plugin/index.ts";
import { edited } from "./edits.ts";

/** A text or number of the JSON: where it stands there, and where in what is judged. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

export interface SpokenArguments {
  /** Keys and values in their order: `key: value`, each on a line of its own. */
  readonly text: string;
  /** The JSON with these spans of `text` replaced. A number that loses a part becomes a text. */
  edited(edits: readonly Edit[]): string;
}

/** Of text that is not JSON, the text itself. */
export function spokenArguments(json: string): SpokenArguments {
  if (!isJson(json)) return { text: json, edited: (edits) => edited(json, edits) };
  const pieces: Piece[] = [];
  let text = "";
  for (let from = nextPiece(json, 0); from < json.length; from = nextPiece(json, pieces.at(-1)?.to ?? 0)) {
    const to = json[from] === '"' ? endOfString(json, from) : endOfNumber(json, from);
    const said = json[from] === '"' ? String(JSON.parse(json.slice(from, to))) : json.slice(from, to);
    pieces.push({ from, to, start: text.length, end: text.length + said.length });
    text += said + (isKey(json, to) ? ": " : "\n");
  }
  return { text, edited: (edits) => rebuilt(json, text, pieces, edits) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const PIECE = /["\d-]/g;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const COLON = /\s*:/y;

function nextPiece(json: string, at: number): number {
  PIECE.lastIndex = at;
  return PIECE.exec(json)?.index ?? json.length;
}

/** By quotes rather than by an expression, whose stack would not hold a text of megabytes. */
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

/** An edit over several pieces puts its text into the first and takes out what it covers of the others. */
function rebuilt(json: string, text: string, pieces: readonly Piece[], edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  let next = 0;
  for (const piece of pieces) {
    while ((edits[next]?.end ?? Number.POSITIVE_INFINITY) <= piece.start) next++;
    const own: Edit[] = [];
    for (let n = next; (edits[n]?.start ?? Number.POSITIVE_INFINITY) < piece.end; n++) {
      const edit = edits[n];
      if (edit !== undefined) own.push(clipped(edit, piece));
    }
    if (own.length === 0) continue;
    out += json.slice(at, piece.from) + JSON.stringify(edited(text.slice(piece.start, piece.end), own));
    at = piece.to;
  }
  return out + json.slice(at);
}

function clipped(edit: Edit, { start, end }: Piece): Edit {
  return {
    start: Math.max(edit.start, start) - start,
    end: Math.min(edit.end, end) - start,
    text: edit.start >= start ? edit.text : "",
  };
}
