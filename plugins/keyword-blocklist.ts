/**
 * Guardrail `keyword_blocklist`: refuses text that holds a listed word or phrase. All keywords are one expression,
 * built at setup; a call costs about the same with ten of them as with thousands.
 */
import { block, defineGuardrail, reject } from "sluice/plugin";
import { isAscii, plainText } from "./plain-text.ts";
import { WordGate } from "./word-gate.ts";
import { BLANKS_MAX, trieSource } from "./word-trie.ts";

interface Options {
  readonly keywords: readonly string[];
  readonly whole_word?: boolean;
  readonly case_sensitive?: boolean;
}

/** Letters of scripts that write no blanks between words: there is no word's edge to ask for. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const WORD = `[[\\p{L}\\p{N}\\p{M}]--[${UNSPACED}]]`;
const WORD_CHAR = new RegExp(`^${WORD}$`, "v");
const ASCII_WORD = "[0-9A-Za-z]";

export default defineGuardrail<Options>({
  name: "keyword_blocklist",
  description: "Blocks text that holds a listed word or phrase, whatever its Unicode form.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["keywords"],
    properties: {
      keywords: {
        type: "array",
        minItems: 1,
        maxItems: 20_000,
        items: { type: "string", maxLength: 200, pattern: "\\S" },
        description: "Words and phrases. A blank stands for up to four blanks or line breaks.",
      },
      whole_word: {
        type: "boolean",
        default: true,
        description: "Match only where no letter or digit stands beside the keyword.",
      },
      case_sensitive: { type: "boolean", default: false, description: "Tell capital letters from small ones." },
    },
  },
  examples: [{ keywords: ["foo", "bar baz"], whole_word: true, case_sensitive: false }],
  setup({ keywords, whole_word = true, case_sensitive = false }) {
    const spelling = new Map<string, string>();
    for (const keyword of keywords) {
      const key = foldKey(plainText(keyword), case_sensitive);
      if (key !== "" && !spelling.has(key)) spelling.set(key, keyword);
    }
    const words = [...new Set(keywords.map((k) => foldWord(plainText(k), case_sensitive)))].filter((w) => w !== "");
    const gate = new WordGate(words, !whole_word || words.some((word) => !isWordChar(firstChar(word))));
    const asciiText = pattern(words.filter(isAscii), whole_word ? ASCII_WORD : undefined, case_sensitive ? "y" : "iy");
    const anyText = pattern(words, whole_word ? WORD : undefined, case_sensitive ? "vy" : "ivy");

    return {
      window: Math.min(8192, words.reduce((most, word) => Math.max(most, longestMatch(word)), 0) + 1),
      judge(text, about) {
        const judged = plainText(text);
        const sticky = isAscii(judged) ? asciiText : anyText;
        const found = firstMatch(gate, sticky, judged, whole_word && about.partial);
        if (found === undefined) return undefined;
        const keyword = spelling.get(foldKey(found, case_sensitive)) ?? found;
        const code = about.side === "input" ? "keyword_blocked" : "answer_keyword_blocked";
        return block(reject(code, { keyword }), `keyword '${keyword}'`);
      },
    };
  },
});

/** `open`: more text is to come, so that a match at the very end may yet turn out to be part of a longer word. */
function firstMatch(gate: WordGate, sticky: RegExp, text: string, open: boolean): string | undefined {
  let found: string | undefined;
  gate.scan(text, (at) => {
    sticky.lastIndex = at;
    const match = sticky.exec(text);
    if (match === null || (open && sticky.lastIndex === text.length)) return false;
    found = match[0];
    return true;
  });
  return found;
}

/** One expression for all words. `edge`: class of characters that may not stand beside a word; undefined: any may. */
function pattern(words: readonly string[], edge: string | undefined, flags: string): RegExp {
  if (words.length === 0) return /(?!)/;
  if (edge === undefined) return new RegExp(trieSource(words.map((word) => ({ word, end: "" }))), flags);
  const ended = words.map((word) => ({ word, end: isWordChar(lastChar(word)) ? `(?!${edge})` : "" }));
  // "c++" asks for an edge before its letter but not after its sign, "#tag" the other way round.
  const inside = ended.filter(({ word }) => isWordChar(firstChar(word)));
  const outside = ended.filter(({ word }) => !isWordChar(firstChar(word)));
  const ways: string[] = [];
  if (inside.length > 0) ways.push(`(?<!${edge})${trieSource(inside)}`);
  if (outside.length > 0) ways.push(trieSource(outside));
  return new RegExp(ways.join("|"), flags);
}

/** Lower case, letter by letter, so that no letter becomes two: what goes into the expression. */
function foldWord(word: string, caseSensitive: boolean): string {
  const spaced = word.trim().replace(/\s+/g, " ");
  if (caseSensitive) return spaced;
  let folded = "";
  for (const char of spaced) {
    const lower = char.toLowerCase();
    folded += lower.length === char.length ? lower : char;
  }
  return folded;
}

/** One spelling for all that the expression takes as equal: from a match back to the keyword. */
function foldKey(word: string, caseSensitive: boolean): string {
  return foldWord(caseSensitive ? word : word.toUpperCase(), caseSensitive);
}

/** NFKC shortens at most threefold in any script that people write (decomposed letters). */
function longestMatch(word: string): number {
  const blanks = word.split(" ").length - 1;
  return (word.length - blanks) * (isAscii(word) ? 1 : 3) + blanks * BLANKS_MAX;
}

function isWordChar(char: string): boolean {
  return WORD_CHAR.test(char);
}

function firstChar(word: string): string {
  return String.fromCodePoint(word.codePointAt(0) ?? 0);
}

function lastChar(word: string): string {
  return [...word].at(-1) ?? "";
}
