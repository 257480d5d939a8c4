/**
 * Finds the places of a text where one of many words may begin, at about a nanosecond a character: a table says for
 * the first three letters whether any word begins so. A gate lets false ones through and no true one out; whoever
 * asks must look closer, with a sticky expression say.
 */

/** Five bits a letter, three letters. Capital and small letters of ASCII have the same bits. */
const TABLE_SIZE = 1 << 15;

/** Code units looked at in one go. Reading them from an array is four times faster than from the string. */
const CHUNK_UNITS = 16_384;

/** Shared by all gates: a scan runs to its end before another begins. */
const bytes = Buffer.alloc(2 * (CHUNK_UNITS + 2));
const units = new Uint16Array(bytes.buffer, bytes.byteOffset, CHUNK_UNITS + 2);

/** 1 for the letters and digits of ASCII: no word begins right after one. */
const ASCII_WORD = Uint8Array.from({ length: 128 }, (_, code) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(code)) ? 1 : 0,
);

export class WordGate {
  readonly #table = new Uint8Array(TABLE_SIZE);
  readonly #anywhere: boolean;

  /** `anywhere`: words may begin in the midst of others. Words are taken as equal in any case. */
  constructor(words: readonly string[], anywhere: boolean) {
    this.#anywhere = anywhere;
    for (const word of words) this.#add(word);
  }

  /** Calls `visit` for each place where a word may begin, ascending, until it says true. It may not scan itself. */
  scan(text: string, visit: (at: number) => boolean): void {
    const table = this.#table;
    const inWord = this.#anywhere ? NOWHERE : ASCII_WORD;
    let inside = 0;
    for (let base = 0; base < text.length; base += CHUNK_UNITS) {
      // Two units more, which belong to the next chunk: a key is three long.
      const part = base === 0 && text.length <= units.length ? text : text.slice(base, base + units.length);
      units.fill(0, part.length);
      bytes.write(part, "utf16le");
      const end = Math.min(part.length, CHUNK_UNITS);
      for (let i = 0; i < end; i++) {
        // Reads within `units` by construction: the fallbacks never apply.
        const unit = units[i] ?? 0;
        if (inside === 0) {
          const key = ((unit & 31) << 10) | (((units[i + 1] ?? 0) & 31) << 5) | ((units[i + 2] ?? 0) & 31);
          if (table[key] === 1 && visit(base + i)) return;
        }
        inside = unit < 128 ? (inWord[unit] ?? 0) : 0;
      }
    }
  }

  #add(word: string): void {
    const [first, second, third] = [bitsOf(word, 0), bitsOf(word, 1), bitsOf(word, 2)];
    for (const a of first) {
      for (const b of second) for (const c of third) this.#table[(a << 10) | (b << 5) | c] = 1;
    }
  }
}

const NOWHERE = new Uint8Array(128);

/** The bits that the i-th code unit of a word may have in a text; any bits past its end and at a blank. */
function bitsOf(word: string, i: number): readonly number[] {
  const unit = word[i];
  if (unit === undefined || /\s/.test(unit)) return Array.from({ length: 32 }, (_, bits) => bits);
  const forms = [unit, unit.toLowerCase(), unit.toUpperCase(), unit.toUpperCase().toLowerCase()];
  return [...new Set(forms.map((form) => form.charCodeAt(0) & 31))];
}
