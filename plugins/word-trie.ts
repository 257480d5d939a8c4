/**
 * Merges many words into one regular expression source, as a trie: common beginnings are written once, so that the
 * cost of a match hardly grows with the number of words. Knows nothing of what the words are for.
 */

interface Node {
  readonly next: Map<string, Node>;
  /** What must follow when a word ends here; undefined when none does. */
  end: string | undefined;
}

/** A word to match, and the regular expression source that must hold where it ends ("" for none). */
export interface TrieWord {
  readonly word: string;
  readonly end: string;
}

/** How many blanks in a row a blank in a word may stand for: bounds the longest match. */
export const BLANKS_MAX = 4;

/**
 * Source of a group that matches any of `words`, the longest first. A blank in a word matches one to BLANKS_MAX
 * blanks or line breaks. Works with and without the flags `i` and `u`.
 */
export function trieSource(words: readonly TrieWord[]): string {
  const root: Node = { next: new Map(), end: undefined };
  for (const { word, end } of words) {
    let node = root;
    for (const char of word) {
      let child = node.next.get(char);
      if (child === undefined) {
        child = { next: new Map(), end: undefined };
        node.next.set(char, child);
      }
      node = child;
    }
    node.end = end;
  }
  return `(?:${branches(root)})`;
}

/** All ways down from a node, longest first, then its own end. */
function branches(node: Node): string {
  const leaves: string[] = [];
  const ways: string[] = [];
  for (const [char, child] of node.next) {
    if (child.next.size === 0 && child.end === "") leaves.push(char);
    else ways.push(charSource(char) + after(child));
  }
  if (leaves.length === 1) ways.push(leaves.map(charSource).join(""));
  else if (leaves.length > 1) ways.push(`[${leaves.map((char) => escapeChar(char)).join("")}]`);
  if (node.end !== undefined) ways.push(node.end);
  return ways.join("|");
}

function after(node: Node): string {
  const single = node.next.size === 0 || (node.next.size === 1 && node.end === undefined);
  if (node.next.size === 0) return node.end ?? "";
  return single ? branches(node) : `(?:${branches(node)})`;
}

function charSource(char: string): string {
  return char === " " ? `\\s{1,${BLANKS_MAX}}` : escapeChar(char);
}

/** Escapes what has a meaning in a pattern or a class; everything else stands for itself, with and without `u`. */
function escapeChar(char: string): string {
  return /[\\^$.*+?()[\]{}|/-]/.test(char) ? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}` : char;
}
