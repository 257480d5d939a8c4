/** What changes in long texts such as prompts, line by line: lines without a change are left out, long ones cut. */
import type { DocumentChange } from "../document.ts";
import { type DiffPiece, wordDiff } from "./word-diff.ts";

export interface ChangedLine {
  readonly pieces: readonly DiffPiece[];
  /** Lines before it are left out. */
  readonly isAfterGap: boolean;
}

export interface TextChange {
  readonly lines: readonly ChangedLine[];
  /** Changed lines beyond the maximum. */
  readonly omitted: number;
}

/** Shorter ones without a line break fit the message. */
const SHORT_CHARACTERS = 60;
/** Unchanged text that is kept before and after a change in its line. */
const CONTEXT_CHARACTERS = 30;

/** undefined: its message says it all. */
export function textChange(
  { before, after }: Pick<DocumentChange, "before" | "after">,
  linesMax: number,
): TextChange | undefined {
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  if (Math.max(before.length, after.length) <= SHORT_CHARACTERS && !/\n/.test(before + after))
    return undefined;
  const lines = linesOf(wordDiff(before, after));
  const changed: ChangedLine[] = [];
  let last = -1;
  for (const [index, pieces] of lines.entries()) {
    if (pieces.every(({ kind }) => kind === "same")) continue;
    changed.push({ pieces: shortened(pieces), isAfterGap: index > last + 1 });
    last = index;
  }
  return { lines: changed.slice(0, linesMax), omitted: Math.max(0, changed.length - linesMax) };
}

/** A removed or added line break ends the line, and stays visible as `⏎`. */
function linesOf(pieces: readonly DiffPiece[]): readonly (readonly DiffPiece[])[] {
  const lines: DiffPiece[][] = [[]];
  for (const { kind, text } of pieces) {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) {
        if (kind !== "same") lines.at(-1)?.push({ kind, text: "⏎" });
        lines.push([]);
      }
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    }
  }
  return lines;
}

function shortened(pieces: readonly DiffPiece[]): readonly DiffPiece[] {
  return pieces.map((piece, index) => {
    const { kind, text } = piece;
    const [isFirst, isLast] = [index === 0, index === pieces.length - 1];
    if (kind !== "same" || text.length <= 2 * CONTEXT_CHARACTERS) return piece;
    // Whole words, where there are any.
    const [start, end] = [text.slice(0, CONTEXT_CHARACTERS), text.slice(-CONTEXT_CHARACTERS)];
    const head = start.slice(0, start.lastIndexOf(" ") + 1 || start.length);
    const tail = end.slice(Math.max(0, end.indexOf(" ")));
    if (isFirst) return { kind, text: `…${tail}` };
    return { kind, text: isLast ? `${head}…` : `${head.trimEnd()} … ${tail.trimStart()}` };
  });
}
