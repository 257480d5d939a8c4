/** Applies edits to a text: all at once, or as far as a piece of the text settles them. */
import type { Edit } from "../plugin/index.ts";

/** The text with its spans replaced. `edits`: ascending, not overlapping. */
export function edited(text: string, edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return out + text.slice(at);
}

/** A judged piece of a longer text. */
export interface Piece {
  readonly text: string;
  /** Everything before it is already settled. */
  readonly from: number;
  /** Everything after it may still become part of a match. */
  readonly to: number;
  /** More text follows the piece. */
  readonly partial: boolean;
}

/** The edits that no further text can change, and the offset up to which the piece is settled. */
export function settledEdits(
  edits: readonly Edit[],
  { text, from, to, partial }: Piece,
): { readonly edits: readonly Edit[]; readonly to: number } {
  let settled = Math.max(from, to);
  const inside: Edit[] = [];
  for (const edit of edits) {
    const isInsertion = edit.start === edit.end;
    if (edit.end < from || (edit.end === from && !isInsertion)) continue;
    // A match that the cut would split may still grow: it is held back whole.
    if (edit.end > settled && edit.start < settled) settled = Math.max(from, edit.start);
    if (edit.start >= settled && (partial || !isInsertion)) break;
    inside.push({ ...edit, start: Math.max(edit.start, from) });
  }
  if (partial && isHighSurrogate(text.charCodeAt(settled - 1)) && settled > from) settled--;
  return { edits: inside, to: settled };
}

const WORD_UNIT = /[\p{L}\p{M}\p{N}\p{Cs}_]/u;

/**
 * Settled text is judged again as left context. It must not begin inside a word, since the rest of a word could read as
 * another word. Returns the first offset from `start` on that is not inside a word.
 */
export function wholeWordsFrom(text: string, start: number, end: number): number {
  const isWord = (at: number): boolean => WORD_UNIT.test(text[at] ?? "");
  if (start === 0 || !isWord(start - 1)) return start;
  let at = start;
  while (at < end && isWord(at)) at++;
  // A word longer than any match: no match ends exactly at its end.
  return at === end ? start : at;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
