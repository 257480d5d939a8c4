/**
 * Finds the places of a text where one of many words may begin, at about a nanosecond a character: tables say for the
 * first letters whether any word begins so. A gate lets false ones through and no true one out; whoever asks must
 * look closer, with a sticky expression say.
 */
import { isAscii } from "./plain-text.ts";

/** Letters looked at, five bits each: capital and small letters of ASCII have the same. */
const KEY_LETTERS = 6;
/** Words below LONG_LETTERS are known by so many letters, in a table of their own. */
const SHORT_KEY_LETTERS = 3;
const LONG_LETTERS = 5;
const TABLE_BITS = 16;

/** Characters looked at in one go. Reading them from memory is four times faster than from the string. */
const CHUNK_CHARACTERS = 32_768;

/** Shared by all gates: a scan runs to its end before another begins. */
const letters = Buffer.alloc(CHUNK_CHARACTERS + KEY_LETTERS);
const wide = Buffer.alloc(2 * letters.length);
const letterView = new DataView(letters.buffer, letters.byteOffset, letters.length);
const wideView = new DataView(wide.buffer, wide.byteOffset, wide.length);

/** 1 for the letters and digits of ASCII: no word begins right after one. */
const ASCII_WORD = Uint8Array.from({ length: 256 }, (_, code) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(code)) ? 1 : 0,
);
const NOWHERE = new Uint8Array(256);

export class WordGate {
  readonly #long = new Uint8Array(1 << TABLE_BITS);
  readonly #short = new Uint8Array(1 << TABLE_BITS);
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
    const view = letterView;
    let inside = 0;
    for (let base = 0; base < text.length; base += CHUNK_CHARACTERS) {
      // Some characters more, which belong to the next chunk, so that a key is whole.
      const read = readLetters(
        text.length <= letters.length ? text : text.slice(base, base + letters.length),
      );
      const end = Math.min(read, CHUNK_CHARACTERS);
      for (let i = 0; i < end; i++) {
        if (inside === 0) {
          const first = view.getUint32(i, true) & 0x1f1f1f1f;
          const rest = view.getUint16(i + 4, true) & 0x1f1f;
          if ((short[shortKey(first)] === 1 || long[longKey(first, rest)] === 1) && visit(base + i)) return;
        }
        inside = inWord[view.getUint8(i)] ?? 0;
      }
    }
  }

  #add(word: string): void {
    const isLong = word.length >= LONG_LETTERS;
    let spellings: number[][] = [[]];
    for (let i = 0; i < (isLong ? KEY_LETTERS : SHORT_KEY_LETTERS); i++) {
      const bits = bitsOf(word[i]);
      spellings = spellings.flatMap((spelling) => bits.map((five) => [...spelling, five]));
    }
    for (const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] of spellings) {
      const first = a | (b << 8) | (c << 16) | (d << 24);
      if (isLong) this.#long[longKey(first, e | (f << 8))] = 1;
      else this.#short[shortKey(first)] = 1;
    }
  }
}

/** Puts a text into `letters`, zeros behind it: ASCII as it is, of others the last five bits above 127. */
function readLetters(text: string): number {
  if (isAscii(text)) letters.write(text, "latin1");
  else {
    wide.write(text, "utf16le");
    for (let i = 0; i < text.length; i++) {
      const unit = wideView.getUint16(2 * i, true);
      letterView.setUint8(i, unit < 128 ? unit : 128 | (unit & 31));
    }
  }
  letters.fill(0, text.length);
  return text.length;
}

/** Place in the table of the first three letters, the lowest byte first. */
function shortKey(first: number): number {
  return hash(first & 0xffffff);
}

/** Place in the table of four letters and two. */
function longKey(first: number, rest: number): number {
  return hash(first ^ Math.imul(rest, 0x85ebca6b));
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
