/** Colors, widths, tables and wrapped text of commands. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import type { CliIo } from "../../src/cli/command.ts";
import { columnsOf, cut, printable, styleOf, table, visibleWidth, wrap } from "../../src/cli/terminal.ts";
import { verifies } from "../spec/verifies.ts";

function io(about: Partial<CliIo>): CliIo {
  return {
    ...{ stdout: () => undefined, stderr: () => undefined, stdin: async () => "" },
    ...{ env: {}, cwd: "/", isTerminal: true },
    ...about,
  };
}

const colored = styleOf(io({}), "stdout");

verifies(
  "cli.colors",
  "styles change nothing in a pipe, with NO_COLOR, and on a standard error that is not a terminal",
  () => {
    for (const [given, stream] of [
      [io({ isTerminal: false }), "stdout"],
      [io({ env: { NO_COLOR: "1" } }), "stdout"],
      [io({}), "stderr"],
    ] as const) {
      const style = styleOf(given, stream);
      for (const paint of Object.values(style)) assert.equal(paint("text"), "text");
    }
    assert.equal(colored.red("text"), "\x1b[31mtext\x1b[39m");
    assert.equal(colored.red(""), "");
  },
);

test("a style inside another one of the same kind is followed by the outer one", () => {
  assert.equal(colored.red(`a${colored.green("b")}c`), "\x1b[31ma\x1b[32mb\x1b[39m\x1b[31mc\x1b[39m");
  assert.equal(colored.bold(`a${colored.dim("b")}c`), "\x1b[1ma\x1b[2mb\x1b[22m\x1b[1mc\x1b[22m");
});

test("the width of a terminal is its columns, 80 when they are not known, and at least 40", () => {
  assert.equal(columnsOf(io({ columns: 132 })), 132);
  for (const columns of [undefined, 0]) assert.equal(columnsOf(io({ columns })), 80);
  assert.equal(columnsOf(io({ columns: 12 })), 40);
});

test("the visible width counts columns: no escapes, no combining marks, two for wide characters", () => {
  const cases: readonly (readonly [string, number])[] = [
    ["", 0],
    ["plain text", 10],
    [colored.bold(colored.red("four")), 4],
    ["e\u0301tude", 5],
    ["日本語", 6],
    ["ｶﾀｶﾅ", 4],
    ["한국어", 6],
    ["（全角）", 8],
    ["👩‍👩‍👧 ok", 5],
    ["⚠️", 2],
    ["✓ é ß …", 7],
    ["zero\u200bwidth", 9],
    ["\x1b]8;;https://example.org\x07link\x1b]8;;\x07", 4],
  ];
  for (const [text, width] of cases) assert.equal(visibleWidth(text), width, JSON.stringify(text));
});

verifies(
  "cli.hostile-text",
  "control characters and directional overrides of others' texts are shown as escapes",
  () => {
    assert.equal(printable("a\x1b[31mb\r\nc\td\u202ee"), "a\\u001b[31mb\\u000d\\nc\\td\\u202ee");
    assert.equal(printable("naïve 日本 👩‍👩‍👧"), "naïve 日本 👩‍👩‍👧");
  },
);

verifies(
  "cli.columns",
  "wrapped text keeps its words, its own line breaks and the width, indentation included",
  () => {
    assert.equal(wrap("one two three four", 9), "one two\nthree\nfour");
    assert.equal(wrap("one two three four", 11, 2), "  one two\n  three\n  four");
    assert.equal(wrap("one\n\ntwo three", 5), "one\n\ntwo\nthree");
    assert.equal(wrap("see /a/very/long/path.yaml now", 10), "see\n/a/very/long/path.yaml\nnow");
    assert.equal(wrap("日本語日本語", 5), "日本\n語日\n本語");
  },
);

test("a style that spans a line break ends with the line and begins again on the next", () => {
  assert.equal(wrap(colored.red("one two"), 4), "\x1b[31mone\x1b[0m\n\x1b[31mtwo\x1b[39m");
});

test("wrapping loses no word and no line is wider than asked, unless it is a single word", () => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "é", "0"), minLength: 1, maxLength: 12 });
  const check = (words: readonly string[], width: number, isRed: boolean) => {
    const text = words.join(" ");
    const wrapped = wrap(isRed ? colored.red(text) : text, width);
    assert.equal(stripVTControlCharacters(wrapped).replaceAll("\n", " "), text);
    for (const line of wrapped.split("\n"))
      assert.ok(visibleWidth(line) <= width || !stripVTControlCharacters(line).includes(" "), line);
  };
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), fc.integer({ min: 1, max: 40 }), fc.boolean(), check),
  );
});

verifies("cli.columns", "columns of a table are aligned by visible width, and no line ends in spaces", () => {
  const rows = [
    ["name", "state", ""],
    [colored.green("日本"), "ok", "fine"],
    ["x", "failed"],
  ];
  const plain = stripVTControlCharacters(table(rows, { indent: 2 }));
  assert.deepEqual(plain.split("\n"), ["  name  state", "  日本  ok      fine", "  x     failed"]);
});

test("numbers of a table may be aligned at their right", () => {
  const lines = table(
    [
      ["a", "1", "x"],
      ["bb", "100", "y"],
    ],
    { right: [1], gap: 1 },
  );
  assert.equal(lines, "a    1 x\nbb 100 y");
});

test("the last column of a table that is too wide is wrapped under itself", () => {
  const text = "a sentence that is longer than the columns that are left";
  assert.deepEqual(table([["key", text]], { indent: 1, max: 36 }).split("\n"), [
    " key  a sentence that is longer than",
    "      the columns that are left",
  ]);
});

test("a line is cut to its visible width, with an ellipsis and without losing its colors' ends", () => {
  assert.equal(cut("as it is", 8), "as it is");
  assert.equal(cut("longer than that", 8), "longer …");
  assert.equal(cut("日本語日本語", 6), "日本…");
  const colored8 = cut(`${colored.red("red text")} and more`, 6);
  assert.equal(colored8, "\x1b[31mred t…\x1b[39m");
  assert.ok(visibleWidth(colored8) <= 6);
});
