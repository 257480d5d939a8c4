/**
 * Finds the places of a text where one of many words may begin, at about a nanosecond a character: tables say for the
 * first letters whether any word begins so. A gate lets false ones through and no true one out; whoever asks must
 * look closer, with a sticky expression say.
 */
import { isAscii } from "./plain-text.ts";

/** Letters looked at, five bits each; capital and small letters of ASCII have the same bits. */
const KEY_LETTERS = 6;
/** Words below LONG_LETTERS are known by so many letters, in a table of their own. */
const SHORT_KEY_LETTERS = 3;
const LONG_LETTERS = 5;
const TABLE_BITS = 16;

/** Characters looked at in one go. Reading them from an array is four times faster than from the string. */
const CHUNK_CHARACTERS = 32_768;

/** Shared by all gates: a scan runs to its end before another begins. */
const letters = Buffer.alloc(CHUNK_CHARACTERS + KEY_LETTERS);
const wide = Buffer.alloc(2 * letters.length);
const units = new Uint16Array(wide.buffer, wide.byteOffset, letters.length);

/** 1 for the letters and digits of ASCII: no word begins right after one. */
const ASCII_WORD = Uint8Array.from({ length: 256 }, (_, code) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(code)) ? 1 : 0,
);
const NOWHERE = new Uint8Array(256);

export class WordGate {
  readonly #long = new Uint8Array(1 << TABLE_BITS);
  readonly #short = new Uint8Array(1 << (5 * SHORT_KEY_LETTERS));
  readonly #inWord: Uint8Array;

  /** `anywhere`: words may begin in the midst of others. Words are taken as equal in any case. */
  constructor(words: readonly string[], anywhere: boolean) {
    this.#inWord = anywhere ? NOWHERE : ASCII_WORD;
    for (const word of words) this.#add(word);
  }

  /** Calls `visit` for each place where a word may begin, ascending, until it says true. It may not scan itself. */
  scan(text: string, visit: (at: number) => boolean): void {
    const long = this.#long;
    const short = this.#short;
    const inWord = this.#inWord;
    const view = letters;
    let inside = 0;
    for (let base = 0; base < text.length; base += CHUNK_CHARACTERS) {
      // Some characters more, which belong to the next chunk, so that a key is whole.
      const read = readLetters(
        text.length <= letters.length ? text : text.slice(base, base + letters.length),
      );
      const end = Math.min(read, CHUNK_CHARACTERS);
      for (let i = 0; i < end; i++) {
        // All reads lie within the arrays, here and in the keys, so that `as` hides no undefined.
        if (inside === 0) {
          const key = shortKeyAt(view, i);
          if ((short[key] === 1 || long[longKeyAt(view, i, key)] === 1) && visit(base + i)) return;
        }
        inside = inWord[view[i] as number] as number;
      }
    }
  }

  #add(word: string): void {
    const isLong = word.length >= LONG_LETTERS;
    let keys = [0];
    for (let i = 0; i < (isLong ? KEY_LETTERS : SHORT_KEY_LETTERS); i++) {
      const bits = bitsOf(word[i]);
      keys = keys.flatMap((key) => bits.map((five) => (key << 5) | five));
    }
    for (const key of keys) {
      if (isLong) this.#long[hash(key)] = 1;
      else this.#short[key] = 1;
    }
  }
}

/** Puts a text into `letters`, zeros behind it: ASCII as it is, of others the last five bits above 127. */
function readLetters(text: string): number {
  if (isAscii(text)) letters.write(text, "latin1");
  else {
    wide.write(text, "utf16le");
    for (let i = 0; i < text.length; i++) {
      const unit = units[i] as number;
      letters[i] = unit < 128 ? unit : 128 | (unit & 31);
    }
  }
  letters.fill(0, text.length);
  return text.length;
}

function shortKeyAt(view: Uint8Array, i: number): number {
  return (
    (((view[i] as number) & 31) << 10) |
    (((view[i + 1] as number) & 31) << 5) |
    ((view[i + 2] as number) & 31)
  );
}

function longKeyAt(view: Uint8Array, i: number, shortKey: number): number {
  return hash(
    (shortKey << 15) |
      (((view[i + 3] as number) & 31) << 10) |
      (((view[i + 4] as number) & 31) << 5) |
      ((view[i + 5] as number) & 31),
  );
}

function hash(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> (32 - TABLE_BITS);
}

const ANY_BITS = Array.from({ length: 32 }, (_, bits) => bits);
/** Blanks, tabs, line breaks, and the no-break space. */
const BLANK_BITS = [0, 9, 10, 11, 12, 13];

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
