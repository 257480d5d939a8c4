/** The word gate: false places may come through it, no true one may be missed, whatever stands around it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { foldedText } from "../../plugins/text/plain-text.ts";
import { WordGate } from "../../plugins/text/word-gate.ts";

const WORDS = [
  "so",
  "not a",
  "i am x",
  "stop it",
  "reading lamp",
  "lampe",
  "ß",
  "über uns",
  "été",
  "c++",
  "#tag",
  "夏 服",
];

/** Texts in which words, parts of words and rows of blanks stand in any order. */
const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom(...WORDS, ...WORDS.flatMap((word) => word.split(" "))),
      fc.stringMatching(/^[\s]{1,3}$/),
      fc.constantFrom(" ", "\n\n", "\r\n", " \t ", "\u2028", "\u3000", "-", "x", "7", "é", "LAMP", "😀"),
    ),
    { maxLength: 40 },
  )
  .map((pieces) => foldedText(pieces.join("")));

function visited(gate: WordGate, text: string): ReadonlySet<number> {
  const places = new Set<number>();
  gate.scan(text, (at) => {
    places.add(at);
    return false;
  });
  return places;
}

/** Where a word stands by a plain expression; `edge`: what may not stand before it. */
function places(text: string, edge: string): readonly number[] {
  const words = WORDS.map((word) => word.replaceAll("+", "\\+").replaceAll(" ", "\\s+"));
  const sticky = new RegExp(`${edge}(?:${words.join("|")})`, "y");
  return Array.from({ length: text.length }, (_, at) => at).filter((at) => {
    sticky.lastIndex = at;
    return sticky.test(text);
  });
}

for (const [anywhere, edge] of [
  [false, "(?<![0-9A-Za-z])"],
  [true, ""],
] as const) {
  test(`no place of a word is missed, ${anywhere ? "anywhere" : "at the beginning of words"}`, () => {
    const gate = new WordGate(WORDS, anywhere);
    fc.assert(
      fc.property(texts, (text) => {
        const seen = visited(gate, text);
        for (const at of places(text, edge))
          assert.ok(seen.has(at), `place ${at} of ${JSON.stringify(text)}`);
      }),
      { numRuns: 500 },
    );
  });
}

test("a blank of a word may be any row of blanks in a text", () => {
  for (const word of ["i am x", "do not", "act as one", "stop it", "reading lamp", "夏 服"]) {
    const gate = new WordGate([word], false);
    for (const row of ["  ", "\n\n", " \t\r\n ", "\u2028\u2029", "      "]) {
      assert.ok(visited(gate, word.replaceAll(" ", row)).has(0), JSON.stringify([word, row]));
    }
  }
});

test("a word is found anywhere in a text that is read in several pieces", () => {
  const gate = new WordGate(WORDS, false);
  for (const filling of ["x ", "é "]) {
    for (let shift = 0; shift < 14; shift++) {
      const before = filling.repeat(16_380) + " ".repeat(shift);
      assert.ok(visited(gate, `${before}reading  lamp`).has(before.length), `${filling} ${shift}`);
      assert.ok(!visited(gate, `${before}areading lamp`).has(before.length + 1), `${filling} ${shift}`);
    }
  }
});

test("a text that was just looked at by another gate is looked at again", () => {
  const one = new WordGate(["stop it"], false);
  const other = new WordGate(["lampe"], true);
  const text = "stop it, alampe";
  assert.deepEqual([...visited(one, text)], [0]);
  assert.deepEqual([...visited(other, text)], [10]);
  assert.deepEqual([...visited(one, text)], [0]);
  assert.deepEqual([...visited(one, "lampe, stop it")], [7]);
});
