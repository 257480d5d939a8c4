/**
 * A linear model of what prompt injections read like: weights of hashed character n-grams, words and word pairs, added
 * up over a sliding window. Training (scripts/train-injection.ts) and judging read a text through this one file.
 */
import { plainText } from "./plain-text.ts";

/** Buckets that features are hashed into, as a power of two. */
export const BUCKET_BITS = 17;
/** Symbols in one block; a window is two neighboring blocks, so that no phrase is cut at every border. */
const BLOCK_SYMBOLS = 160;
/** One n-gram for each symbol, and for each word one bucket for itself and one for its pair. */
const BLOCK_FEATURES_MAX = 3 * BLOCK_SYMBOLS;

/** Symbols: 0 a blank, 1 to 26 letters, then classes of other characters, from 32 on letters of other scripts, hashed. */
const DIGIT = 27;
const APOSTROPHE = 28;
const SENTENCE_END = 29;
const MARKUP = 30;
const OTHER = 31;
const OTHER_SCRIPTS = 32;
const UNKNOWN = 255;

/** Digits and signs that stand for letters ("1gn0r3 pr3v10us") are read as those letters, in every text alike. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
};

/** Symbol of each UTF-16 code unit; those beyond ASCII are filled in when they are first met. */
const symbols = new Uint8Array(65_536).fill(UNKNOWN);
for (let code = 0; code < 128; code++) symbols[code] = asciiSymbol(code);

/** Reused by every call: a text is read to its end before another begins. */
const buckets = new Uint32Array(BLOCK_FEATURES_MAX);

/** Called for each block with its features: the first `count` entries of `block`, which is only valid during the call. */
export type BlockVisitor = (block: Uint32Array, count: number) => void;

/** Characters that are copied out of the text at a time: reading them from there is faster than from the string. */
const CHUNK_CHARACTERS = 16_384;
const chunk = Buffer.alloc(2 * CHUNK_CHARACTERS);
const codes = new Uint16Array(chunk.buffer, chunk.byteOffset, CHUNK_CHARACTERS);

/** Splits a text into blocks and hashes the features of each. Linear in the length of the text. */
export function readBlocks(text: string, visit: BlockVisitor): void {
  const plain = plainText(text);
  let count = 0;
  let blockSymbols = 0;
  let last = 0;
  /** The last four symbols, a byte each. */
  let gram = 0;
  let word = 0;
  let wordBefore = 0;
  for (let from = 0; from <= plain.length; from += CHUNK_CHARACTERS) {
    const isLast = plain.length - from < CHUNK_CHARACTERS;
    const length = isLast ? plain.length - from : CHUNK_CHARACTERS;
    chunk.write(length === plain.length ? plain : plain.slice(from, from + length), "utf16le");
    // A blank after the end closes the last word.
    if (isLast) codes[length] = 32;
    const end = isLast ? length + 1 : length;
    for (let i = 0; i < end; i++) {
      const symbol = symbolOf(codes[i] ?? 0);
      if (symbol === 0 && last === 0) continue;
      last = symbol;
      gram = (gram << 8) | symbol;
      buckets[count++] = bucketOf(gram);
      if ((symbol > 0 && symbol <= APOSTROPHE) || symbol >= OTHER_SCRIPTS) {
        word = (Math.imul(word ^ symbol, 0x01000193) + symbol) | 0;
      } else if (word !== 0) {
        const hash = mixed(word);
        buckets[count++] = bucketOf(hash ^ 0x7777);
        buckets[count++] = bucketOf(Math.imul(wordBefore, 31) ^ hash ^ 0x8888);
        wordBefore = hash;
        word = 0;
      }
      if (++blockSymbols === BLOCK_SYMBOLS) {
        visit(buckets, count);
        count = 0;
        blockSymbols = 0;
      }
    }
  }
  // An empty text has one empty block.
  if (count > 0 || plain === "") visit(buckets, count);
}

/** What a window of so many features scores: a sum that does not grow with the length of the text alone. */
export function windowScore(bias: number, sum: number, count: number): number {
  return bias + sum / Math.sqrt(Math.max(1, count));
}

export interface InjectionModel {
  /** One quantized weight for each bucket. */
  readonly weights: Int8Array;
  /** What a quantized weight of 1 is worth. */
  readonly scale: number;
  readonly bias: number;
}

/** Log-odds that the most suspicious window of the text is an injection. */
export function injectionLogit({ weights, scale, bias }: InjectionModel, text: string): number {
  let best = Number.NEGATIVE_INFINITY;
  let sumBefore = 0;
  let countBefore = 0;
  readBlocks(text, (block, count) => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += weights[block[i] ?? 0] ?? 0;
    best = Math.max(best, windowScore(bias, (sumBefore + sum) * scale, countBefore + count));
    sumBefore = sum;
    countBefore = count;
  });
  return best;
}

function symbolOf(code: number): number {
  const known = symbols[code] ?? OTHER;
  return known === UNKNOWN ? (symbols[code] = otherSymbol(code)) : known;
}

function asciiSymbol(code: number): number {
  const char = String.fromCharCode(code).toLowerCase();
  const read = LOOKALIKES[char] ?? char;
  if (/[a-z]/.test(read)) return read.charCodeAt(0) - 96;
  if (code <= 32) return 0;
  if (/[0-9]/.test(read)) return DIGIT;
  if (read === "'") return APOSTROPHE;
  if (".!?".includes(read)) return SENTENCE_END;
  return "<>[]{}#|*_`/\\=".includes(read) ? MARKUP : OTHER;
}

/** Letters with accents are read as their plain letter, those of other scripts are hashed. */
function otherSymbol(code: number): number {
  if (code === 0x2019) return APOSTROPHE;
  const char = String.fromCharCode(code);
  if (/\s/.test(char)) return 0;
  const plain = char.normalize("NFKD").toLowerCase().charCodeAt(0);
  if (plain >= 97 && plain <= 122) return plain - 96;
  // 0 to 127 above OTHER_SCRIPTS: never UNKNOWN.
  return OTHER_SCRIPTS + (Math.imul(code, 0x9e3779b1) >>> 25);
}

function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return once ^ (once >>> 13);
}

function bucketOf(hash: number): number {
  return Math.imul(hash, 0x9e3779b1) >>> (32 - BUCKET_BITS);
}
