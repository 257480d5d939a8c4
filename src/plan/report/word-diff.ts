/** What differs between two texts, word by word. Bounded: of very different long texts the common ends are found only. */

/** A piece of text that both have, or that only one has. */
export interface DiffPiece {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Words of the part that differs; more are not compared with each other. */
const WORDS_MAX = 4_000;
/** Edits that are searched for: the time taken grows with their square. */
const EDITS_MAX = 600;

/** Removed pieces come before the added ones that replace them. */
export function wordDiff(before: string, after: string): readonly DiffPiece[] {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  const room = Math.min(old.length, now.length) - start;
  while (end < room && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const middle = compared(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const same = (words: readonly string[]): DiffPiece => ({ kind: "same", text: words.join("") });
  return merged([same(now.slice(0, start)), ...middle, same(now.slice(now.length - end))]);
}

/** Words, spaces and single signs. */
function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+|\n|[^\S\n]+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function compared(old: readonly string[], now: readonly string[]): readonly DiffPiece[] {
  const whole: readonly DiffPiece[] = [
    { kind: "removed", text: old.join("") },
    { kind: "added", text: now.join("") },
  ];
  if (old.length === 0 || now.length === 0 || old.length + now.length > WORDS_MAX) return whole;
  const trace = shortestEdit(old, now);
  return trace === undefined ? whole : piecesOf(old, now, trace);
}

/** The furthest points for each number of edits (E. W. Myers, 1986); undefined when there are too many. */
function shortestEdit(old: readonly string[], now: readonly string[]): readonly Int32Array[] | undefined {
  const [n, m] = [old.length, now.length];
  const max = Math.min(n + m, EDITS_MAX);
  const furthest = new Int32Array(2 * max + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= max; edits++) {
    trace.push(furthest.slice());
    for (let k = -edits; k <= edits; k += 2) {
      const at = max + 1 + k;
      const [left = 0, right = 0] = [furthest[at - 1], furthest[at + 1]];
      let x = k === -edits || (k !== edits && left < right) ? right : left + 1;
      while (x < n && x - k < m && old[x] === now[x - k]) x += 1;
      furthest[at] = x;
      if (x >= n && x - k >= m) return trace;
    }
  }
  return undefined;
}

function piecesOf(
  old: readonly string[],
  now: readonly string[],
  trace: readonly Int32Array[],
): readonly DiffPiece[] {
  const pieces: DiffPiece[] = [];
  const middle = ((trace[0]?.length ?? 3) - 1) / 2;
  let [x, y] = [old.length, now.length];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const furthest = trace[edits] ?? new Int32Array(0);
    const k = x - y;
    const at = middle + k;
    const [left = 0, right = 0] = [furthest[at - 1], furthest[at + 1]];
    const isDown = k === -edits || (k !== edits && left < right);
    const fromX = edits === 0 ? 0 : isDown ? right : left;
    const fromY = edits === 0 ? 0 : fromX - (isDown ? k + 1 : k - 1);
    while (x > fromX && y > fromY && old[x - 1] === now[y - 1]) {
      pieces.push({ kind: "same", text: old[x - 1] ?? "" });
      [x, y] = [x - 1, y - 1];
    }
    if (edits === 0) break;
    if (isDown) pieces.push({ kind: "added", text: now[y - 1] ?? "" });
    else pieces.push({ kind: "removed", text: old[x - 1] ?? "" });
    [x, y] = [fromX, fromY];
  }
  return pieces.reverse();
}

/** Neighbors of one kind as one piece; a single space between two edits belongs to both, so that phrases stay whole. */
function merged(pieces: readonly DiffPiece[]): readonly DiffPiece[] {
  const result: DiffPiece[] = [];
  let [removed, added] = ["", ""];
  const flush = (): void => {
    // A space that both end in has not changed.
    const isShared = removed.length > 1 && added.length > 1 && removed.endsWith(" ") && added.endsWith(" ");
    if (isShared) [removed, added] = [removed.slice(0, -1), added.slice(0, -1)];
    if (removed !== "") result.push({ kind: "removed", text: removed });
    if (added !== "") result.push({ kind: "added", text: added });
    if (isShared) result.push({ kind: "same", text: " " });
    [removed, added] = ["", ""];
  };
  for (const [index, { kind, text }] of pieces.entries()) {
    if (text === "") continue;
    if (kind === "removed") removed += text;
    else if (kind === "added") added += text;
    else if (removed !== "" && added !== "" && /^ +$/.test(text) && isEdit(pieces[index + 1])) {
      removed += text;
      added += text;
    } else {
      flush();
      const last = result.at(-1);
      if (last?.kind === "same") result[result.length - 1] = { kind, text: last.text + text };
      else result.push({ kind, text });
    }
  }
  flush();
  return result;
}

const isEdit = (piece: DiffPiece | undefined): boolean => piece !== undefined && piece.kind !== "same";
