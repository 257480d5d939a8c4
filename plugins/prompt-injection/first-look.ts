/**
 * The first look at a text of guardrail `prompt_injection`: weights of how its words begin, added up over a sliding
 * window. It is quick, and tells where the model has to look; of harmless texts that is nearly nowhere.
 */
import { CHUNK_CHARACTERS, firstLettersHash, readWordStarts, wordStarts } from "../text/word-gate.ts";

/** Buckets that words are hashed into, as a power of two: few enough to stay in the processor's cache. */
export const FIRST_LOOK_BITS = 13;
/** Characters of one block; a window is two neighboring blocks. */
const BLOCK_CHARACTERS = 160;
/** The model is shown so much more on either side of a window. */
const MARGIN_CHARACTERS = 160;

export interface FirstLook {
  /** One quantized weight for each bucket. */
  readonly weights: Int8Array;
  /** What a quantized weight of 1 is worth. */
  readonly scale: number;
  readonly bias: number;
}

/** Part of a text, from the first character to the one behind its last. */
export interface Range {
  readonly from: number;
  to: number;
}

/** Never changed: withWindow makes a new list for the first range. */
const NONE: Range[] = [];

/** Parts of a folded text whose windows score at least `scoreMin`; neighboring ones are merged. */
export function suspiciousRanges(look: FirstLook, text: string, scoreMin: number): readonly Range[] {
  const { weights } = look;
  const starts = wordStarts;
  const sumMin = (scoreMin - look.bias) / look.scale;
  let ranges: Range[] = NONE;
  let blockEnd = BLOCK_CHARACTERS;
  let sum = 0;
  let words = 0;
  let sumBefore = 0;
  let wordsBefore = 0;
  for (let base = 0; base < text.length; base += CHUNK_CHARACTERS) {
    const count = readWordStarts(text, base);
    for (let n = 0; n < count; n++) {
      const at = starts[n] ?? 0;
      for (; base + at >= blockEnd; blockEnd += BLOCK_CHARACTERS) {
        if (sum + sumBefore >= sumMin * Math.sqrt(words + wordsBefore))
          ranges = withWindow(ranges, blockEnd, text.length);
        sumBefore = sum;
        wordsBefore = words;
        sum = 0;
        words = 0;
      }
      sum = (sum + (weights[bucketAt(at)] ?? 0)) | 0;
      words++;
    }
  }
  const isSuspicious = sum + sumBefore >= sumMin * Math.sqrt(words + wordsBefore);
  return isSuspicious ? withWindow(ranges, blockEnd, text.length) : ranges;
}

/** The ranges and the window whose last block ends there. */
function withWindow(ranges: Range[], blockEnd: number, length: number): Range[] {
  const from = Math.max(0, blockEnd - 2 * BLOCK_CHARACTERS - MARGIN_CHARACTERS);
  const to = Math.min(length, blockEnd + MARGIN_CHARACTERS);
  const last = ranges.at(-1);
  if (last === undefined || last.to < from) return [...ranges, { from, to }];
  last.to = to;
  return ranges;
}

function bucketAt(at: number): number {
  return firstLettersHash(at) >>> (32 - FIRST_LOOK_BITS);
}

/** Buckets of each window of a folded text, for training. */
export function firstLookWindows(text: string): Uint32Array[] {
  const blocks: number[][] = Array.from({ length: Math.ceil(text.length / BLOCK_CHARACTERS) }, () => []);
  for (let base = 0; base < text.length; base += CHUNK_CHARACTERS) {
    const count = readWordStarts(text, base);
    for (const at of wordStarts.subarray(0, count))
      blocks[Math.floor((base + at) / BLOCK_CHARACTERS)]?.push(bucketAt(at));
  }
  return blocks.map((block, n) => Uint32Array.from([...(blocks[n - 1] ?? []), ...block]));
}
