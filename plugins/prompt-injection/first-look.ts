/**
 * The first look at a text of guardrail `prompt_injection`: weights of how its words begin, added up over a sliding
 * window. It is quick, and tells where the model has to look; of harmless texts that is nearly nowhere.
 */
import { firstLettersHash, readWordStarts } from "../text/word-gate.ts";

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

const NONE: readonly Range[] = [];

/** Parts of a folded text whose windows score at least `scoreMin`; neighboring ones are merged. */
export function suspiciousRanges(look: FirstLook, text: string, scoreMin: number): readonly Range[] {
  const { weights, scale } = look;
  const sumMin = (scoreMin - look.bias) / scale;
  let ranges: Range[] | undefined;
  let blockEnd = BLOCK_CHARACTERS;
  let sum = 0;
  let words = 0;
  let sumBefore = 0;
  let wordsBefore = 0;
  const closeBlock = (): void => {
    if (sum + sumBefore >= sumMin * Math.sqrt(words + wordsBefore)) {
      const from = Math.max(0, blockEnd - 2 * BLOCK_CHARACTERS - MARGIN_CHARACTERS);
      const to = Math.min(text.length, blockEnd + MARGIN_CHARACTERS);
      const last = ranges?.at(-1);
      if (last !== undefined && last.to >= from) last.to = to;
      else (ranges ??= []).push({ from, to });
    }
    sumBefore = sum;
    wordsBefore = words;
    sum = 0;
    words = 0;
    blockEnd += BLOCK_CHARACTERS;
  };
  readWordStarts(text, ({ base, starts, count }) => {
    for (let n = 0; n < count; n++) {
      const at = starts[n] ?? 0;
      while (base + at >= blockEnd) closeBlock();
      sum = (sum + (weights[firstLettersHash(at) >>> (32 - FIRST_LOOK_BITS)] ?? 0)) | 0;
      words++;
    }
  });
  closeBlock();
  return ranges ?? NONE;
}

/** Buckets of each window of a folded text, for training. */
export function firstLookWindows(text: string): Uint32Array[] {
  const blocks: number[][] = Array.from({ length: Math.ceil(text.length / BLOCK_CHARACTERS) }, () => []);
  readWordStarts(text, ({ base, starts, count }) => {
    for (const at of starts.subarray(0, count))
      blocks[Math.floor((base + at) / BLOCK_CHARACTERS)]?.push(
        firstLettersHash(at) >>> (32 - FIRST_LOOK_BITS),
      );
  });
  return blocks.map((block, n) => Uint32Array.from([...(blocks[n - 1] ?? []), ...block]));
}
