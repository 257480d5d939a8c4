/**
 * Guardrail `keyword_blocklist`: blocks text that contains a listed word or phrase. All keywords are in one tree, built
 * at setup; a call costs about the same with ten of them as with thousands.
 */
import { block, defineGuardrail, reject, type TextContext } from "sluice/plugin";
import {
  CASE_SENSITIVE_OPTION,
  PATTERN_CHARACTERS,
  patternErrors,
  patternFinder,
  patternsOption,
} from "../text/named-patterns.ts";
import { comparableText, foldedComparableText, isAscii, plainText } from "../text/plain-text.ts";
import { WordGate } from "../text/word-gate.ts";
import { WordTree } from "../text/word-tree.ts";
import { placeOf } from "./where.ts";

/** Letters of scripts without blanks between words: a keyword may begin and end anywhere in them. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const WORD = `[[\\p{L}\\p{N}\\p{M}]--[${UNSPACED}]]`;
const WORD_CHAR = new RegExp(`^${WORD}$`, "v");

/** Korean attaches particles to words: 비밀 is also found in 비밀을 and 비밀은. */
const HANGUL_END = /\p{Script=Hangul}$/u;
const PARTICLES =
  "은|는|이|가|을|를|의|에|와|과|도|만|로|으로|들|들이|들은|들을|들의|에서|에게|에는|에도|께|께서|한테|까지|부터|처럼|보다|나|이나|" +
  "라도|이라도|조차|마저|밖에|랑|이랑|하고|이고|이며|라는|이라는|입니다|이다|예요|이에요";
const PARTICLE_CHARACTERS_MAX = 3;
/** What may follow a Korean keyword: a particle or nothing, then no letter or digit. */
const KOREAN_EDGE = new RegExp(`(?:${PARTICLES})?(?!${WORD})`, "vy");

/**
 * Judged in at most 5 ms: ASCII takes 0.02 us a character, a character that NFKC expands to 18 takes 0.5 us, and 1 us
 * with patterns.
 */
const ASCII_SLICE_CHARACTERS = 49_152;
const SLICE_CHARACTERS = 8192;
const SLICE_CHARACTERS_WITH_PATTERNS = 4096;

export default defineGuardrail({
  name: "keyword_blocklist",
  description: "Blocks text that holds a listed word or phrase, whatever its Unicode form.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      keywords: {
        type: "array",
        default: [],
        maxItems: 20_000,
        items: { type: "string", maxLength: 200, pattern: "\\S" },
        description: "Words and phrases. A blank stands for any row of blanks and line breaks.",
      },
      patterns: { ...patternsOption("On a stream a match of up to 1,024 characters is found."), default: {} },
      whole_word: {
        type: "boolean",
        default: true,
        description: "Match only where the keyword is not next to a letter or digit.",
      },
      case_sensitive: CASE_SENSITIVE_OPTION,
    },
  },
  examples: [
    { keywords: ["foo", "bar baz"], whole_word: true, case_sensitive: false },
    { patterns: { "ticket number": "\\bTICKET-\\d{4,8}\\b" } },
  ],
  validateOptions({ keywords, patterns }) {
    return keywords.length === 0 && Object.keys(patterns).length === 0
      ? [{ option: undefined, message: "it looks for nothing: give `keywords` or `patterns`" }]
      : patternErrors(patterns);
  },
  strength: { keywords: "more", patterns: "more", whole_word: "less", case_sensitive: "less" },
  setup({ keywords, patterns, whole_word, case_sensitive }) {
    const compared = case_sensitive ? comparableText : foldedComparableText;
    const finder = new KeywordFinder(keywords, whole_word, compared);
    const { words } = finder;
    const hasPatterns = Object.keys(patterns).length > 0;
    const patternIn = hasPatterns ? patternFinder(patterns, !case_sensitive) : () => undefined;
    const particles = whole_word && words.some((word) => HANGUL_END.test(word)) ? PARTICLE_CHARACTERS_MAX : 0;
    const longest = words.reduce((most, word) => Math.max(most, longestMatch(word)), 0);

    return {
      window: Math.min(8192, Math.max(longest, hasPatterns ? PATTERN_CHARACTERS : 0) + 1 + particles),
      slice: (text) =>
        isAscii(text)
          ? ASCII_SLICE_CHARACTERS
          : hasPatterns
            ? SLICE_CHARACTERS_WITH_PATTERNS
            : SLICE_CHARACTERS,
      joinsTexts: true,
      judge(text, about) {
        const keyword =
          finder.find(compared(text), whole_word && about.partial) ??
          patternIn({
            text: plainText(text),
            begins: (about.offset ?? precedingCharacters(text, about)) === 0,
            ends: !about.partial,
          });
        if (keyword === undefined) return undefined;
        const code = about.side === "input" ? "keyword_blocked" : "answer_keyword_blocked";
        const place = placeOf(text, keyword, { wholeWord: whole_word, caseSensitive: case_sensitive });
        return block(reject(code, { keyword }), `keyword '${keyword}'`, place && [place]);
      },
    };
  },
});

/** A text of the request is judged alone; a piece of an answer follows the pieces before it. */
function precedingCharacters(text: string, { side, totalCharacters }: TextContext): number {
  return side === "input" ? 0 : totalCharacters - text.length;
}

/** A keyword as it is searched for. */
interface SearchedWord {
  readonly keyword: string;
  /** Words with equal edges have the same rank. Of two that match, the lower rank wins, then the longer word. */
  readonly rank: number;
  readonly edges: Edges;
}

/** Where a letter or digit may not be adjacent. "c++" has an edge before its letter but none after its sign. */
interface Edges {
  readonly before: boolean;
  readonly after: boolean;
  readonly isKorean: boolean;
}

class KeywordFinder {
  /** The keywords as they are compared. */
  readonly words: readonly string[];
  readonly #gate: WordGate;
  readonly #tree: WordTree<SearchedWord>;
  #text = "";
  #start = 0;
  #found: SearchedWord | undefined;
  #end = 0;

  constructor(keywords: readonly string[], wholeWord: boolean, compared: (text: string) => string) {
    const byWord = new Map<string, SearchedWord>();
    const ranks = new Map<string, number>();
    for (const keyword of keywords) {
      const word = singleBlanks(compared(keyword));
      if (word === "" || byWord.has(word)) continue;
      const edges = edgesOf(word, wholeWord);
      const name = JSON.stringify(edges);
      const rank = ranks.get(name) ?? ranks.size;
      ranks.set(name, rank);
      byWord.set(word, { keyword, rank, edges });
    }
    this.words = [...byWord.keys()];
    const isAnywhere = !wholeWord || this.words.some((word) => !isWordChar(firstChar(word)));
    this.#gate = new WordGate(this.words, isAnywhere);
    this.#tree = new WordTree(byWord);
  }

  /** `open`: more text follows, so that a match at the very end may yet turn out to be part of a longer word. */
  find(text: string, open: boolean): string | undefined {
    this.#text = text;
    this.#found = undefined;
    this.#gate.scan(text, (at) => this.#isAt(at, open));
    this.#text = "";
    return this.#keyword();
  }

  #keyword(): string | undefined {
    return this.#found?.keyword;
  }

  #isAt(at: number, open: boolean): boolean {
    this.#start = at;
    this.#tree.visit(this.#text, at, this.#take);
    if (this.#found === undefined) return false;
    const particle = this.#found.edges.isKorean ? PARTICLE_CHARACTERS_MAX : 0;
    if (!open || this.#end + particle < this.#text.length) return true;
    this.#found = undefined;
    return false;
  }

  /** A field, so that a scan creates no closure for each place. */
  readonly #take = (word: SearchedWord, end: number): void => {
    if (this.#found !== undefined && word.rank > this.#found.rank) return;
    if (!hasEdges(this.#text, this.#start, end, word.edges)) return;
    this.#found = word;
    this.#end = end;
  };
}

function edgesOf(word: string, wholeWord: boolean): Edges {
  const after = wholeWord && isWordChar(lastChar(word));
  return {
    before: wholeWord && isWordChar(firstChar(word)),
    after,
    isKorean: after && HANGUL_END.test(word),
  };
}

function hasEdges(text: string, start: number, end: number, { before, after, isKorean }: Edges): boolean {
  if (before && isWordBefore(text, start)) return false;
  if (!isKorean) return !after || !isWordAt(text, end);
  KOREAN_EDGE.lastIndex = end;
  return KOREAN_EDGE.test(text);
}

function isWordAt(text: string, at: number): boolean {
  const code = text.codePointAt(at);
  return code !== undefined && isWordCode(code);
}

function isWordBefore(text: string, at: number): boolean {
  if (at === 0) return false;
  const isPair = at > 1 && text.codePointAt(at - 2) !== text.charCodeAt(at - 2);
  const code = isPair ? text.codePointAt(at - 2) : text.charCodeAt(at - 1);
  return code !== undefined && isWordCode(code);
}

function isWordCode(code: number): boolean {
  if (code >= 128) return isWordChar(String.fromCodePoint(code));
  return (code >= 48 && code <= 57) || ((code | 32) >= 97 && (code | 32) <= 122);
}

function singleBlanks(word: string): string {
  return word.trim().replace(/\s+/g, " ");
}

/** Longest run of blanks in which a phrase is still found on a stream. */
const BLANKS_MAX = 8;

/** NFKC shortens text threefold at most, in any script in use (decomposed letters). */
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
