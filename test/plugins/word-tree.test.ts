/** The word tree: all words that stand at a place and no others, as a plain expression for each would find them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { WordTree } from "../../plugins/text/word-tree.ts";

const WORDS = ["a", "act", "act as", "act as if", "actor", "as", "été", "夏 服", "c++"];
const tree = new WordTree(WORDS.map((word) => [word, word]));

function foundAt(text: string, at: number): [word: string, end: number][] {
  const found: [string, number][] = [];
  tree.visit(text, at, (word, end) => found.push([word, end]));
  return found;
}

/** Every word tried by itself, the shortest first. */
function expectedAt(text: string, at: number): [word: string, end: number][] {
  return WORDS.flatMap((word): [string, number][] => {
    const sticky = new RegExp(word.replaceAll("+", "\\+").replaceAll(" ", "\\s+"), "y");
    sticky.lastIndex = at;
    return sticky.test(text) ? [[word, sticky.lastIndex]] : [];
  });
}

test("words are found where they stand, the shortest first, each with its end", () => {
  assert.deepEqual(foundAt("so act  as\tif", 3), [
    ["a", 4],
    ["act", 6],
    ["act as", 10],
    ["act as if", 13],
  ]);
  assert.deepEqual(foundAt("so act", 4), []);
  assert.deepEqual(foundAt("", 0), []);
});

test("it finds what an expression for each word finds, whatever the text", () => {
  const pieces = fc.constantFrom(
    ...WORDS,
    ...WORDS.flatMap((word) => [...word]),
    "\n",
    " \u00a0",
    "\u2028",
    "😀",
  );
  const texts = fc.array(pieces, { maxLength: 20 }).map((all) => all.join(""));
  fc.assert(
    fc.property(texts, (text) => {
      for (let at = 0; at <= text.length; at++) {
        assert.deepEqual(foundAt(text, at), expectedAt(text, at), JSON.stringify([text, at]));
      }
    }),
    { numRuns: 300 },
  );
});
