/**
 * A linear model of what prompt injections read like: weights of hashed character n-grams, words and word pairs, added
 * up over a sliding window. Training (scripts/train-injection.ts) and judging read a text through this one file.
 */
import { isAscii } from "../text/plain-text.ts";

/** Buckets that features are hashed into, as a power of two. */
export const BUCKET_BITS = 17;
/** Symbols in one block; a window is two neighboring blocks, so that no phrase is cut at every border. */
const BLOCK_SYMBOLS = 160;
/** Symbols before a block that its first n-grams reach back to. */
const HISTORY = 3;

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
const symbolTable = new Uint8Array(65_536).fill(UNKNOWN);
for (let code = 0; code < 128; code++) symbolTable[code] = asciiSymbol(code);

/** Characters read in one go; the next go begins a window earlier, so that nothing is cut in two. */
const SEGMENT_CHARACTERS = 32_768;
const OVERLAP_CHARACTERS = 2 * BLOCK_SYMBOLS;
const BLOCKS_MAX = Math.ceil((SEGMENT_CHARACTERS + 1) / BLOCK_SYMBOLS);

/** A segment of a text: its symbols, and where in `wordBuckets` the words of each block end. Reused by every call. */
const symbols = new Uint8Array(HISTORY + SEGMENT_CHARACTERS + 1);
/** A word ends at most at every second symbol, and fills a bucket for itself and one for its pair. */
const wordBuckets = new Uint32Array(SEGMENT_CHARACTERS + 2);
const wordEnds = new Uint32Array(BLOCKS_MAX);
/** Hash of each word, and where in `symbols` the symbol that ends it is. */
const wordHashes = new Int32Array(SEGMENT_CHARACTERS / 2 + 2);
const wordPlaces = new Uint32Array(SEGMENT_CHARACTERS / 2 + 2);
/** A symbol with its highest bit set when it is one of words: a letter, a digit or an apostrophe. */
function marked(symbol: number): number {
  const isOfWord = (symbol > 0 && symbol <= APOSTROPHE) || symbol >= OTHER_SCRIPTS;
  return isOfWord ? symbol | -0x8000 : symbol;
}

/** Characters are copied out of the text first: reading them from there is faster than from the string. */
const copy = Buffer.alloc(2 * (SEGMENT_CHARACTERS + 1));
const codes = new Uint16Array(copy.buffer, copy.byteOffset, SEGMENT_CHARACTERS + 1);
/** The segment, a byte for each character: ASCII as it is, of another segment the symbols. */
const byteCopy = Buffer.alloc(SEGMENT_CHARACTERS + 1);
const bytes = new Uint8Array(byteCopy.buffer, byteCopy.byteOffset, byteCopy.length);
const asciiSymbols = Int16Array.from(symbolTable.subarray(0, 256), marked);
const sameSymbols = Int16Array.from({ length: 256 }, (_, symbol) => marked(symbol));

/** A block of the segment that is being read: ranges of `symbols` (from HISTORY on) and `wordBuckets`. */
export interface Block {
  readonly from: number;
  readonly to: number;
  readonly wordsFrom: number;
  readonly wordsTo: number;
}

/** Calls `visit` for each block of each segment of a folded text; `isFirst`: no block of its segment comes before it. */
export function readBlocks(text: string, visit: (block: Block, isFirst: boolean) => void): void {
  readSegments(text, (count) => {
    for (let block = 0; block * BLOCK_SYMBOLS < count; block++) {
      const from = block * BLOCK_SYMBOLS;
      const to = Math.min(count, from + BLOCK_SYMBOLS);
      const wordsFrom = block === 0 ? 0 : (wordEnds[block - 1] ?? 0);
      visit({ from, to, wordsFrom, wordsTo: wordEnds[block] ?? 0 }, block === 0);
    }
  });
}

/** Fills the buffers from one segment after another; `visit` gets the number of symbols, at least 1. */
function readSegments(text: string, visit: (count: number) => void): void {
  if (text.length <= SEGMENT_CHARACTERS) return visit(readSegment(text));
  const step = SEGMENT_CHARACTERS - OVERLAP_CHARACTERS;
  for (let from = 0; from === 0 || from + OVERLAP_CHARACTERS < text.length; from += step) {
    visit(readSegment(text.slice(from, from + SEGMENT_CHARACTERS)));
  }
}

function readSegment(text: string): number {
  const { length } = text;
  if (isAscii(text)) {
    byteCopy.write(text, "latin1");
    // A blank after the end closes the last word.
    bytes[length] = 32;
    return readSymbols(length, asciiSymbols);
  }
  copy.write(text, "utf16le");
  for (let i = 0; i < length; i++) bytes[i] = symbolOf(codes[i] ?? 0);
  bytes[length] = 0;
  return readSymbols(length, sameSymbols);
}

/**
 * Fills the buffers from `bytes`, whose symbols `table` has; the number of symbols. Runs for every character of every
 * call, so without a branch: where a word ends cannot be predicted. What may not count is written and overwritten.
 */
function readSymbols(length: number, table: Int16Array): number {
  // V8 does not read constants of the function again for each character.
  const from = bytes;
  const to = symbols;
  const hashes = wordHashes;
  const ends = wordPlaces;
  let at = HISTORY;
  let last = 1;
  let word = 0;
  let words = 0;
  /** -1 inside a word. */
  let inWord = 0;
  for (let i = 0; i <= length; i++) {
    const read = table[from[i] ?? 0] ?? 0;
    const symbol = read & 0xff;
    const mask = read >> 15;
    to[at] = symbol;
    hashes[words] = word;
    ends[words] = at;
    // 1 more where a word ends: the symbol before is of a word and this one is of none.
    words -= inWord & ~mask;
    inWord = mask;
    word = ((Math.imul(word ^ symbol, 0x01000193) + symbol) | 0) & mask;
    // Of blanks in a row the first counts.
    at += ((symbol | last) + 255) >> 8;
    last = symbol;
  }
  readWords(words, at);
  return at - HISTORY;
}

/** Fills `wordBuckets` and `wordEnds`. `end`: where the symbols end. */
function readWords(words: number, end: number): void {
  let count = 0;
  let before = 0;
  let block = 0;
  let blockEnd = HISTORY + BLOCK_SYMBOLS;
  for (let n = 0; n < words; n++) {
    // A word belongs to the block of the symbol that ends it.
    for (const at = wordPlaces[n] ?? 0; at >= blockEnd; blockEnd += BLOCK_SYMBOLS) wordEnds[block++] = count;
    const hash = mixed(wordHashes[n] ?? 0);
    wordBuckets[count++] = bucketOf(hash ^ 0x7777);
    wordBuckets[count++] = bucketOf(Math.imul(before, 31) ^ hash ^ 0x8888);
    before = hash;
  }
  for (; end > blockEnd; blockEnd += BLOCK_SYMBOLS) wordEnds[block++] = count;
  wordEnds[block] = count;
}

/** Buckets of a block's words and of the n-grams that end with its symbols. */
export function featuresOf({ from, to, wordsFrom, wordsTo }: Block): Uint32Array {
  const grams = Uint32Array.from({ length: to - from }, (_, index) => gramBucket(from + index));
  return Uint32Array.from([...wordBuckets.subarray(wordsFrom, wordsTo), ...grams]);
}

function gramBucket(at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = symbols.subarray(at, at + HISTORY + 1);
  return bucketOf((a << 24) | (b << 16) | (c << 8) | d);
}

/** The score of a window with `count` features, normalized so that longer windows do not score higher by length alone. */
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

/** Log-odds that the most suspicious window of a folded text, a block and the one before it, is an injection. */
export function injectionLogit(model: InjectionModel, text: string): number {
  let best = Number.NEGATIVE_INFINITY;
  readSegments(text, (count) => {
    best = Math.max(best, segmentLogit(model, count));
  });
  return best;
}

/** The same of the segment in the buffers, which has `count` symbols. */
function segmentLogit({ weights, scale, bias }: InjectionModel, count: number): number {
  let best = Number.NEGATIVE_INFINITY;
  let wordsFrom = 0;
  /** Sum of the weights and number of the features of the block before. */
  let sumBefore = 0;
  let featuresBefore = 0;
  for (let from = 0; from < count; from += BLOCK_SYMBOLS) {
    const to = Math.min(count, from + BLOCK_SYMBOLS);
    const wordsTo = wordEnds[from / BLOCK_SYMBOLS] ?? 0;
    const sum = wordSum(wordsFrom, wordsTo, weights) + gramSum(from, to, weights);
    const features = to - from + wordsTo - wordsFrom;
    best = Math.max(best, windowScore(bias, (sum + sumBefore) * scale, features + featuresBefore));
    wordsFrom = wordsTo;
    sumBefore = sum;
    featuresBefore = features;
  }
  return best;
}

function wordSum(from: number, to: number, weights: Int8Array): number {
  const buckets = wordBuckets;
  let sum = 0;
  for (let i = from; i < to; i++) sum = (sum + (weights[buckets[i] ?? 0] ?? 0)) | 0;
  return sum;
}

function gramSum(from: number, to: number, weights: Int8Array): number {
  const read = symbols;
  let sum = 0;
  let gram = ((read[from] ?? 0) << 16) | ((read[from + 1] ?? 0) << 8) | (read[from + 2] ?? 0);
  for (let i = from + HISTORY; i < to + HISTORY; i++) {
    gram = (gram << 8) | (read[i] ?? 0);
    sum = (sum + (weights[bucketOf(gram)] ?? 0)) | 0;
  }
  return sum;
}

function symbolOf(code: number): number {
  const known = symbolTable[code] ?? OTHER;
  return known === UNKNOWN ? (symbolTable[code] = otherSymbol(code)) : known;
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
