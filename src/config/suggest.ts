/** The nearest of some known names to one that is not known: what a typing mistake meant. */

/** Longer words are not typed by hand. */
const WORD_CHARACTERS_MAX = 200;

/**
 * Returns the candidate that is fewest edits away (insert, delete, replace, swap of neighbours), or undefined when
 * none is within a third of the word's length.
 */
export function nearestName(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > WORD_CHARACTERS_MAX) return undefined;
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

const LISTED_MAX = 20;

/** The names for a message, the first of them when there are many. */
export function listed(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return more > 0 ? `${names.slice(0, LISTED_MAX).join(", ")} and ${more} more` : names.join(", ");
}

/** Damerau-Levenshtein distance in its restricted form: no substring is edited twice. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const replaced = at(last, column - 1) + (same ? 0 : 1);
      let distance = Math.min(replaced, at(last, column) + 1, at(current, column - 1) + 1);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
