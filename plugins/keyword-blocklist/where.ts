/**
 * Where a keyword that was found stands in the text as it was written: for explanations only. What was found in another
 * spelling (other letters of the same look, signs in between) is not located.
 */

const WORD = /[\p{L}\p{M}\p{N}]/u;

/** The first place of the keyword; undefined: it is not written there as it is searched for. */
export function placeOf(
  text: string,
  keyword: string,
  { wholeWord, caseSensitive }: { readonly wholeWord: boolean; readonly caseSensitive: boolean },
): { readonly start: number; readonly end: number } | undefined {
  const searched = caseSensitive ? text : text.toLowerCase();
  const word = caseSensitive ? keyword : keyword.toLowerCase();
  // Lower case of another length has other positions.
  if (word === "" || searched.length !== text.length) return undefined;
  for (let start = searched.indexOf(word); start >= 0; start = searched.indexOf(word, start + 1)) {
    const end = start + word.length;
    const isInside = WORD.test(searched[start - 1] ?? "") || WORD.test(searched[end] ?? "");
    if (!wholeWord || !isInside) return { start, end };
  }
  return undefined;
}
