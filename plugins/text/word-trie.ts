/**
 * Merges many words into one regular expression source, as a trie: common beginnings are written once, so that the
 * cost of a match hardly grows with the number of words. Knows nothing of what the words are for.
 */

/** Source of a group that matches any of `words`, the longest first. A blank matches any row of blanks and line breaks. */
export function trieSource(words: Iterable<string>): string {
  const rests = new Map<string, string[]>();
  let ends = false;
  for (const word of words) {
    // By code points: a class or a quantifier may not split one.
    const code = word.codePointAt(0);
    if (code === undefined) {
      ends = true;
      continue;
    }
    const first = String.fromCodePoint(code);
    const rest = word.slice(first.length);
    const others = rests.get(first);
    if (others === undefined) rests.set(first, [rest]);
    else others.push(rest);
  }
  const ways = [...rests].map(([first, tails]) => {
    const [only] = tails;
    return source(first) + (tails.length === 1 && only !== undefined ? source(only) : trieSource(tails));
  });
  if (ends) ways.push("");
  return ways.length === 1 ? `${ways[0]}` : `(?:${ways.join("|")})`;
}

/** What has a meaning in a pattern is escaped; everything else stands for itself, whatever the flags. */
function source(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, hexEscape).replaceAll(" ", "\\s+");
}

function hexEscape(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
