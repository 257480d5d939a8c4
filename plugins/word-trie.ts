/**
 * Merges many words into one regular expression source, as a trie: common beginnings are written once, so that the
 * cost of a match hardly grows with the number of words. Knows nothing of what the words are for.
 */

interface Node {
  readonly next: Map<string, Node>;
  /** A word ends here. */
  end: boolean;
}

/** Source of a group that matches any of `words`, the longest first. A blank matches any row of blanks and line breaks. */
export function trieSource(words: readonly string[]): string {
  const root: Node = { next: new Map(), end: false };
  for (const word of words) {
    let node = root;
    for (const char of word) {
      let child = node.next.get(char);
      if (child === undefined) {
        child = { next: new Map(), end: false };
        node.next.set(char, child);
      }
      node = child;
    }
    node.end = true;
  }
  return `(?:${branches(root)})`;
}

/** All ways down from a node, longest first, then its own end. */
function branches(node: Node): string {
  const ways = [...node.next].map(([char, child]) => charSource(char) + after(child));
  if (node.end) ways.push("");
  return ways.join("|");
}

function after(node: Node): string {
  if (node.next.size === 0) return "";
  return node.next.size === 1 && !node.end ? branches(node) : `(?:${branches(node)})`;
}

/** What has a meaning in a pattern is escaped; everything else stands for itself, whatever the flags. */
function charSource(char: string): string {
  if (char === " ") return "\\s+";
  return /[\\^$.*+?()[\]{}|/-]/.test(char) ? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}` : char;
}
