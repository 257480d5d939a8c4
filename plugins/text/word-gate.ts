/**
 * Finds the places of a text where one of many words may begin, at about a nanosecond a character: tables say for the
 * first letters whether any word begins so. A gate may report a word that is not there, and never misses one; the caller must
 * look closer, with a sticky expression say.
 */
import { isAscii } from "./plain-text.ts";

/** Letters looked at, five bits each: capital and small letters of ASCII have the same. */
const KEY_LETTERS = 6;
/** The first ones are looked at first. They are all that is known of words below LONG_LETTERS. */
const FIRST_LETTERS = 3;
const LONG_LETTERS = 5;
const TABLE_BITS = 16;
/** What first letters may be the beginning of. */
const SHORT_WORD = 1;
const LONG_WORD = 2;

/** Characters looked at in one go. Reading them from memory is four times faster than from the string. */
export const CHUNK_CHARACTERS = 32_768;
/** Read in one go: some characters of the next chunk too, so that a key is whole. */
const READ_CHARACTERS = CHUNK_CHARACTERS + KEY_LETTERS;

/** Shared by all gates: a scan runs to its end before another begins. */
const letters = Buffer.alloc(READ_CHARACTERS + KEY_LETTERS);
const wide = Buffer.alloc(2 * letters.length);
const letterView = new DataView(letters.buffer, letters.byteOffset, letters.length);
const wideView = new DataView(wide.buffer, wide.byteOffset, wide.length);

/** Places in the chunk where words begin, and how many they are. */
const starts = new Uint16Array(CHUNK_CHARACTERS + 1);
let startCount = 0;
/** What `letters` and `starts` are of: one guardrail after another looks at the same text. */
let readChunk = "";

/** 0 for the letters and digits of ASCII: no word begins right after one. */
const STARTS_AFTER = Uint8Array.from({ length: 256 }, (_, code) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(code)) ? 0 : 1,
);
const EVERYWHERE = Uint16Array.from({ length: CHUNK_CHARACTERS }, (_, at) => at);

export class WordGate {
  readonly #first = new Uint8Array(1 << (5 * FIRST_LETTERS));
  readonly #long = new Uint8Array(1 << TABLE_BITS);
  readonly #anywhere: boolean;

  /** `anywhere`: words may begin in the midst of others. Words are taken as equal in any case. */
  constructor(words: readonly string[], anywhere: boolean) {
    this.#anywhere = anywhere;
    for (const word of words) this.#add(word);
  }

  /** Calls `visit` for each place where a word may begin, ascending, until it says true. It may not scan itself. */
  scan(text: string, visit: (at: number) => boolean): void {
    const first = this.#first;
    const long = this.#long;
    for (let base = 0; base < text.length; base += CHUNK_CHARACTERS) {
      read(text, base);
      const places = this.#anywhere ? EVERYWHERE : starts;
      const count = this.#anywhere ? Math.min(text.length - base, CHUNK_CHARACTERS) : startCount;
      // One branch that depends on the text: a branch guessed wrong takes longer than both look-ups.
      for (let n = 0; n < count; n++) {
        const at = places[n] ?? 0;
        const four = letterView.getUint32(at, true) & 0x1f1f1f1f;
        const two = letterView.getUint16(at + 4, true) & 0x1f1f;
        const begun = first[firstKey(four)] ?? 0;
        const hit = (begun & SHORT_WORD) | (begun & (long[longKey(four, two)] ?? 0));
        if (hit !== 0 && visit(base + at)) return;
      }
    }
  }

  /** Marks what a text may have where the word begins, once `place` letters of it are in `key` and `at` are read. */
  #add(word: string, at = 0, place = 0): void {
    const isLong = word.length >= LONG_LETTERS;
    if (place === (isLong ? KEY_LETTERS : FIRST_LETTERS)) return this.#mark(isLong);
    for (const bits of bitsOf(word[at])) {
      key.setUint8(place, bits);
      this.#add(word, at + 1, place + 1);
    }
    // A blank may be a row of them.
    if (bitsOf(word[at - 1]) !== BLANK_BITS) return;
    key.setUint8(place, BLANK);
    this.#add(word, at, place + 1);
  }

  #mark(isLong: boolean): void {
    const four = key.getUint32(0, true);
    const first = firstKey(four);
    this.#first[first] = (this.#first[first] ?? 0) | (isLong ? LONG_WORD : SHORT_WORD);
    if (isLong) this.#long[longKey(four, key.getUint16(4, true))] = LONG_WORD;
  }
}

/** Where the words of the part of a text that was read last begin, counted from its base. */
export const wordStarts: Uint16Array = starts;

/** Reads the part of a text from `base` on, a multiple of CHUNK_CHARACTERS; the number of its words. */
export function readWordStarts(text: string, base: number): number {
  read(text, base);
  return startCount;
}

/** Hash of the six letters from `at` on, in any case. A word that mixes digits and letters is hashed as nothing but that. */
export function firstLettersHash(at: number): number {
  const four = letterView.getUint32(at, true);
  const two = letterView.getUint16(at + 4, true) & 0x1f1f;
  const digits = ~(four >> 6) & (four >> 5) & (four >> 4) & 0x010101;
  if ((digits & (four >> 14)) !== 0) return MIXED_WORD;
  return Math.imul((four & 0x1f1f1f1f) ^ Math.imul(two, 0x85ebca6b), 0x9e3779b1);
}

const MIXED_WORD = 0x5bd1e995;

/** Reads the chunk of a text that begins at `base`, unless it was read last. */
function read(text: string, base: number): void {
  const chunk = text.length <= READ_CHARACTERS ? text : text.slice(base, base + READ_CHARACTERS);
  if (base === 0 && chunk === readChunk) return;
  // Of a later chunk, what stands before it counts too.
  const isStart = base === 0 ? 1 : (STARTS_AFTER[letters[CHUNK_CHARACTERS - 1] ?? 0] ?? 0);
  readChunk = base === 0 ? chunk : "";
  readLetters(chunk);
  startCount = findStarts(Math.min(chunk.length, CHUNK_CHARACTERS), isStart);
}

/** Fills `starts` from the letters before `end`, without a branch on any; how many there are. */
function findStarts(end: number, isStart: number): number {
  let count = 0;
  let next = isStart;
  for (let at = 0; at < end; at++) {
    starts[count] = at;
    count += next;
    next = STARTS_AFTER[letterView.getUint8(at)] ?? 0;
  }
  return count;
}

/** Blanks that are not read as one by their last five bits. NFKC makes plain ones of the others. */
const BLANKS = ["\t", "\n", "\v", "\f", "\r", "\u1680", "\u2028", "\u2029"];

/**
 * Puts a text into `letters`, zeros behind it for its last key: ASCII as it is but for its blanks, of other characters
 * the last five bits above 127.
 */
function readLetters(text: string): void {
  if (isAscii(text)) letters.write(text, "latin1");
  else {
    wide.write(text, "utf16le");
    for (let i = 0; i < text.length; i++) {
      const unit = wideView.getUint16(2 * i, true);
      letterView.setUint8(i, unit < 128 ? unit : 128 | (unit & 31));
    }
  }
  for (const blank of BLANKS) {
    for (let at = text.indexOf(blank); at >= 0; at = text.indexOf(blank, at + 1)) letters[at] = 0;
  }
  letters.fill(0, text.length, text.length + KEY_LETTERS);
}

/** Place in the table of the first three of four letters, the lowest byte first. */
function firstKey(four: number): number {
  return (four & 0x1f) | ((four >> 3) & 0x3e0) | ((four >> 6) & 0x7c00);
}

/** Place in the table of four letters and two. */
function longKey(four: number, two: number): number {
  return Math.imul(four ^ Math.imul(two, 0x85ebca6b), 0x9e3779b1) >>> (32 - TABLE_BITS);
}

/** Letters that a text may have where a word begins, while a gate is built. */
const key = new DataView(new ArrayBuffer(KEY_LETTERS));

const ANY_BITS = Array.from({ length: 32 }, (_, bits) => bits);
const BLANK = 0;
/** A blank is known by this very list. */
const BLANK_BITS = [BLANK];

/** Upper and lower case cost more than all else here, and words share their letters. */
const knownBits = new Map<string, readonly number[]>();

/** The five bits that a letter of a word may have in a text: any past the word's end. */
function bitsOf(unit: string | undefined): readonly number[] {
  if (unit === undefined) return ANY_BITS;
  const known = knownBits.get(unit);
  if (known !== undefined) return known;
  const forms = [unit, unit.toLowerCase(), unit.toUpperCase(), unit.toUpperCase().toLowerCase()];
  const bits = /\s/.test(unit) ? BLANK_BITS : [...new Set(forms.map((form) => form.charCodeAt(0) & 31))];
  knownBits.set(unit, bits);
  return bits;
}
