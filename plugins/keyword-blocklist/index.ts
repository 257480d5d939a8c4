/**
 * Guardrail `keyword_blocklist`: refuses text that holds a listed word or phrase. All keywords are one expression,
 * built at setup; a call costs about the same with ten of them as with thousands.
 */
import { block, defineGuardrail, reject, type TextAbout } from "sluice/plugin";
import { PATTERN_CHARACTERS, patternFault, patternFinder } from "../text/keyword-patterns.ts";
import { comparableText, foldedComparableText, isAscii, plainText } from "../text/plain-text.ts";
import { WordGate } from "../text/word-gate.ts";
import { trieSource } from "../text/word-trie.ts";

interface Options {
  readonly keywords?: readonly string[];
  readonly patterns?: Readonly<Record<string, string>>;
  readonly whole_word?: boolean;
  readonly case_sensitive?: boolean;
}

/** Letters of scripts that write no blanks between words: there is no word's edge to ask for. */
const UNSPACED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}";
const WORD = `[[\\p{L}\\p{N}\\p{M}]--[${UNSPACED}]]`;
const WORD_CHAR = new RegExp(`^${WORD}$`, "v");
const ASCII_WORD = "[0-9A-Za-z]";

/** Korean writes particles onto the word that they follow: 비밀 is in 비밀을 and 비밀은. */
const HANGUL_END = /\p{Script=Hangul}$/u;
const PARTICLES =
  "은|는|이|가|을|를|의|에|와|과|도|만|로|으로|들|들이|들은|들을|들의|에서|에게|에는|에도|께|께서|한테|까지|부터|처럼|보다|나|이나|" +
  "라도|이라도|조차|마저|밖에|랑|이랑|하고|이고|이며|라는|이라는|입니다|이다|예요|이에요";
const PARTICLE_CHARACTERS_MAX = 3;

const LOOK_AROUND = /\(\?<?[=!]/;
const LOOK_AROUND_HELP = "look-around: RE2 has none";

/** Judged in at most 5 ms: characters that NFKC expands to 18 take 0.5 us each, with patterns 1 us. */
/** ASCII takes 0.02 us. */
const ASCII_SLICE_CHARACTERS = 49_152;
const SLICE_CHARACTERS = 8192;
const SLICE_CHARACTERS_WITH_PATTERNS = 4096;

export default defineGuardrail<Options>({
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
      patterns: {
        type: "object",
        default: {},
        maxProperties: 100,
        propertyNames: { minLength: 1, maxLength: 100 },
        additionalProperties: { type: "string", minLength: 1, maxLength: 500 },
        description:
          "Regular expressions by the name that messages show, in RE2's syntax: no look-around, no back-references. On a stream a match of up to 1,024 characters is found.",
      },
      whole_word: {
        type: "boolean",
        default: true,
        description: "Match only where no letter or digit stands beside the keyword.",
      },
      case_sensitive: {
        type: "boolean",
        default: false,
        description: "Tell capital letters from small ones.",
      },
    },
  },
  examples: [
    { keywords: ["foo", "bar baz"], whole_word: true, case_sensitive: false },
    { patterns: { "ticket number": "\\bTICKET-\\d{4,8}\\b" } },
  ],
  faults({ keywords = [], patterns = {} }) {
    const entries = Object.entries(patterns);
    if (keywords.length === 0 && entries.length === 0) {
      return [{ option: undefined, message: "it looks for nothing: give `keywords` or `patterns`" }];
    }
    return entries.flatMap(([name, source]) => {
      const fault = patternFault(source);
      if (fault === undefined) return [];
      const message = `pattern \`${name}\`: ${fault}`;
      return [{ option: "patterns", message, ...(LOOK_AROUND.test(source) && { help: LOOK_AROUND_HELP }) }];
    });
  },
  setup({ keywords = [], patterns = {}, whole_word = true, case_sensitive = false }) {
    const compared = case_sensitive ? comparableText : foldedComparableText;
    const spelling = new Map<string, string>();
    for (const keyword of keywords) {
      const word = singleBlanks(compared(keyword));
      if (word !== "" && !spelling.has(word)) spelling.set(word, keyword);
    }
    const words = [...spelling.keys()];
    const gate = new WordGate(words, !whole_word || words.some((word) => !isWordChar(firstChar(word))));
    const inAscii = pattern(words.filter(isAscii), whole_word ? ASCII_WORD : undefined, "y");
    const inAnyText = pattern(words, whole_word ? WORD : undefined, "vy");

    const hasPatterns = Object.keys(patterns).length > 0;
    const patternIn = hasPatterns ? patternFinder(patterns, !case_sensitive) : () => undefined;
    const keywordIn = (judged: string, open: boolean): string | undefined => {
      const found = firstMatch(gate, isAscii(judged) ? inAscii : inAnyText, judged, open);
      return found === undefined ? undefined : (spelling.get(singleBlanks(found)) ?? found);
    };
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
          keywordIn(compared(text), whole_word && about.partial) ??
          patternIn({
            text: plainText(text),
            begins: (about.offset ?? precedingCharacters(text, about)) === 0,
            ends: !about.partial,
          });
        if (keyword === undefined) return undefined;
        const code = about.side === "input" ? "keyword_blocked" : "answer_keyword_blocked";
        return block(reject(code, { keyword }), `keyword '${keyword}'`);
      },
    };
  },
});

/** A text of the input stands alone; an answer's piece follows those before it. */
function precedingCharacters(text: string, { side, totalCharacters }: TextAbout): number {
  return side === "input" ? 0 : totalCharacters - text.length;
}

/** `open`: more text is to come, so that a match at the very end may yet turn out to be part of a longer word. */
function firstMatch(gate: WordGate, sticky: RegExp, text: string, open: boolean): string | undefined {
  let found: string | undefined;
  gate.scan(text, (at) => {
    sticky.lastIndex = at;
    const match = sticky.exec(text);
    if (match === null) return false;
    const particle = HANGUL_END.test(match[0]) ? PARTICLE_CHARACTERS_MAX : 0;
    if (open && sticky.lastIndex + particle >= text.length) return false;
    found = match[0];
    return true;
  });
  return found;
}

/**
 * One expression for all words. `edge`: class of characters that may not stand beside a word; undefined: any may.
 * "c++" asks for an edge before its letter but not after its sign, "#tag" the other way round.
 */
function pattern(words: readonly string[], edge: string | undefined, flags: string): RegExp {
  const ways = new Map<string, string[]>();
  for (const word of words) {
    const before = edge !== undefined && isWordChar(firstChar(word)) ? `(?<!${edge})` : "";
    const end = edge !== undefined && isWordChar(lastChar(word)) ? `(?!${edge})` : "";
    const after = end !== "" && HANGUL_END.test(word) ? `(?=(?:${PARTICLES})?${end})` : end;
    const frame = `${before} ${after}`;
    ways.set(frame, [...(ways.get(frame) ?? []), word]);
  }
  const sources = [...ways].map(([frame, framed]) => frame.replace(" ", () => trieSource(framed)));
  return new RegExp(sources.length === 0 ? "(?!)" : sources.join("|"), flags);
}

function singleBlanks(word: string): string {
  return word.trim().replace(/\s+/g, " ");
}

/** Blanks that a row of them may have so that a keyword is found on a stream, too. */
const BLANKS_MAX = 8;

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
