/** Word diffs: both texts can be read off them, and they show no more than what differs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { textChange } from "../../src/plan/report/text-changes.ts";
import { type DiffPiece, wordDiff } from "../../src/plan/report/word-diff.ts";

const side = (pieces: readonly DiffPiece[], kind: "removed" | "added"): string =>
  pieces
    .filter((piece) => piece.kind === "same" || piece.kind === kind)
    .map(({ text }) => text)
    .join("");

const marked = (pieces: readonly DiffPiece[]): string =>
  pieces
    .map(({ kind, text }) => (kind === "same" ? text : kind === "removed" ? `[-${text}-]` : `{+${text}+}`))
    .join("");

test("both texts can be read off any diff", () => {
  const word = fc.constantFrom("a", "b", "c", " ", "  ", "\n", ".", "über", "工", "🙂");
  const text = fc.array(word, { maxLength: 40 }).map((words) => words.join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const pieces = wordDiff(before, after);
      assert.equal(side(pieces, "removed"), before);
      assert.equal(side(pieces, "added"), after);
      if (before === after) assert.ok(pieces.every(({ kind }) => kind === "same"));
    }),
    { numRuns: 2_000 },
  );
});

test("words that stay are not shown as changed, and phrases stay whole", () => {
  assert.equal(
    marked(wordDiff("Answer briefly, in one sentence.", "Answer at length, in one sentence.")),
    "Answer [-briefly-]{+at length+}, in one sentence.",
  );
  assert.equal(marked(wordDiff("one two three", "uno due three")), "[-one two-]{+uno due+} three");
});

test("texts that have nothing in common are compared in bounded time", () => {
  const before = Array.from({ length: 50_000 }, (_, n) => `a${n}`).join(" ");
  const after = Array.from({ length: 50_000 }, (_, n) => `b${n}`).join(" ");
  const pieces = wordDiff(`same ${before} end`, `same ${after} end`);
  assert.deepEqual(
    pieces.map(({ kind }) => kind),
    ["same", "removed", "added", "same"],
  );
  assert.equal(side(pieces, "added"), `same ${after} end`);
});

test("only lines that differ are shown, long ones around what differs, and the rest is counted", () => {
  const lines = Array.from(
    { length: 30 },
    (_, n) => `Line ${n} of a prompt that has many lines and a few words in each.`,
  );
  const after = lines.map((line, n) => (n % 10 === 3 ? line.replace("few", "couple of") : line));
  const change = textChange({ before: lines.join("\n"), after: after.join("\n") }, 2);
  assert.deepEqual(
    change?.lines.map(({ pieces }) => marked(pieces)),
    [
      "Line 3 of a prompt that has many lines and a [-few-]{+couple of+} words in each.",
      "Line 13 of a prompt that has many lines and a [-few-]{+couple of+} words in each.",
    ],
  );
  assert.equal(change?.omitted, 1);
  const long = "words that both have, over and over again, ".repeat(3);
  const [cut] = textChange({ before: `${long}one ${long}`, after: `${long}two ${long}` }, 1)?.lines ?? [];
  assert.match(marked(cut?.pieces ?? []), /^… ?(?:\S+ )+\[-one-\]\{\+two\+\} (?:\S+ )+…$/);
  assert.equal(textChange({ before: "short", after: "other" }, 2), undefined, "the message says it");
});
