/**
 * Numbers of calls by time slot: a pool of cells in a few typed arrays, so that a hundred thousand of them are no objects
 * for the garbage collector. Counts are 32-bit, money and tokens doubles.
 */
import type { Usage } from "../plugin/chat.ts";
import type { GatewayError } from "../plugin/index.ts";

/** What a refusal or failure was about. A call is counted under one. */
export const REASONS = [
  "auth",
  "not_found",
  "rate_limit",
  "budget",
  "guardrail",
  "schema",
  "invalid",
  "overload",
  "provider",
  "internal",
] as const;
export type Reason = (typeof REASONS)[number];

/** Counts of one cell, in their order: calls, their ends, the reasons of those that were refused or failed. */
const CALLS = 0;
const DONE = 1;
const REFUSED = 2;
const FAILED = 3;
const GONE = 4;
const FIRST_REASON = 5;
/** Buckets of a duration: the first ends at 1 ms, each next one is half a binary order of magnitude wider. */
export const BUCKETS = 40;
const DURATION = FIRST_REASON + REASONS.length;
const FIRST_BYTE = DURATION + BUCKETS;
const COUNTS = FIRST_BYTE + BUCKETS;

/** Sums of one cell. */
const PROMPT = 0;
const COMPLETION = 1;
const CACHED = 2;
const COST = 3;
const SUMS = 4;

const CELLS_PER_BLOCK = 256;

/** Bytes of one cell. */
export const CELL_BYTES = COUNTS * 4 + SUMS * 8;

/** One call, as far as series count it. */
export interface CountedCall {
  readonly outcome: "done" | "refused" | "failed" | "client_gone";
  readonly error: GatewayError | undefined;
  readonly usage: Usage | undefined;
  readonly costNanoUsd: number;
  readonly durationMs: number;
  readonly firstByteMs: number | undefined;
}

/** Where a call is counted: indexes into REASONS and of buckets; -1: nowhere. */
export interface CountedIn {
  readonly reason: number;
  readonly duration: number;
  readonly firstByte: number;
}

/** Measures of one or more cells added up. */
export interface Totals {
  calls: number;
  done: number;
  refused: number;
  failed: number;
  client_gone: number;
  readonly reasons: Record<Reason, number>;
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens: number;
  cost_nano_usd: number;
  readonly duration: number[];
  readonly first_byte: number[];
}

/** Upper end of a bucket in milliseconds. */
export const bucketEndMs = (bucket: number): number => 2 ** (bucket / 2);

export function bucketOf(ms: number): number {
  if (!(ms > 1)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms) * 2));
}

const REASON_OF_STATUS: Readonly<Record<number, Reason>> = {
  401: "auth",
  402: "budget",
  403: "auth",
  404: "not_found",
  405: "not_found",
  429: "rate_limit",
  500: "internal",
  503: "overload",
};

const REASON_OF_CODE: Readonly<Record<string, Reason>> = {
  input_schema: "schema",
  output_schema: "schema",
  token_limit: "rate_limit",
  internal: "internal",
};

/** By its code where that says more than the status; `isJudged`: a guardrail has refused it. */
export function reasonOf({ code, status }: GatewayError, isJudged: boolean): Reason {
  if (isJudged) return "guardrail";
  const known = REASON_OF_CODE[code] ?? REASON_OF_STATUS[status];
  return known ?? (status >= 500 ? "provider" : "invalid");
}

export class Cells {
  readonly #counts: Uint32Array[] = [];
  readonly #sums: Float64Array[] = [];
  readonly #free: number[] = [];
  #used = 0;

  /** Cells in use. */
  get size(): number {
    return this.#used - this.#free.length;
  }

  /** A cell of zeros. */
  take(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const cell = this.#used++;
    if (cell % CELLS_PER_BLOCK === 0) {
      this.#counts.push(new Uint32Array(CELLS_PER_BLOCK * COUNTS));
      this.#sums.push(new Float64Array(CELLS_PER_BLOCK * SUMS));
    }
    return cell;
  }

  drop(cell: number): void {
    const [counts, at] = this.#countsOf(cell);
    counts.fill(0, at, at + COUNTS);
    const [sums, from] = this.#sumsOf(cell);
    sums.fill(0, from, from + SUMS);
    this.#free.push(cell);
  }

  count(cell: number, call: CountedCall, { reason, duration, firstByte }: CountedIn): void {
    const counts = this.#counts[(cell / CELLS_PER_BLOCK) | 0];
    const sums = this.#sums[(cell / CELLS_PER_BLOCK) | 0];
    if (counts === undefined || sums === undefined) return;
    const at = (cell % CELLS_PER_BLOCK) * COUNTS;
    const { outcome, usage } = call;
    bump(counts, at + CALLS);
    bump(
      counts,
      at +
        (outcome === "done" ? DONE : outcome === "refused" ? REFUSED : outcome === "failed" ? FAILED : GONE),
    );
    if (reason >= 0) bump(counts, at + FIRST_REASON + reason);
    bump(counts, at + DURATION + duration);
    if (firstByte >= 0) bump(counts, at + FIRST_BYTE + firstByte);
    const from = (cell % CELLS_PER_BLOCK) * SUMS;
    add(sums, from + COST, call.costNanoUsd);
    if (usage === undefined) return;
    add(sums, from + PROMPT, usage.promptTokens);
    add(sums, from + COMPLETION, usage.completionTokens);
    if (usage.cachedPromptTokens !== undefined) add(sums, from + CACHED, usage.cachedPromptTokens);
  }

  /** Adds one cell to another. */
  merge(from: number, into: number): void {
    const [counts, at] = this.#countsOf(from);
    const [target, to] = this.#countsOf(into);
    for (let i = 0; i < COUNTS; i++) target[to + i] = (target[to + i] ?? 0) + (counts[at + i] ?? 0);
    const [sums, sumAt] = this.#sumsOf(from);
    const [sumTarget, sumTo] = this.#sumsOf(into);
    for (let i = 0; i < SUMS; i++) add(sumTarget, sumTo + i, sums[sumAt + i] ?? 0);
  }

  addTo(totals: Totals, cell: number): void {
    const [counts, at] = this.#countsOf(cell);
    const count = (offset: number): number => counts[at + offset] ?? 0;
    totals.calls += count(CALLS);
    totals.done += count(DONE);
    totals.refused += count(REFUSED);
    totals.failed += count(FAILED);
    totals.client_gone += count(GONE);
    for (const [i, reason] of REASONS.entries()) totals.reasons[reason] += count(FIRST_REASON + i);
    for (let i = 0; i < BUCKETS; i++) {
      totals.duration[i] = (totals.duration[i] ?? 0) + count(DURATION + i);
      totals.first_byte[i] = (totals.first_byte[i] ?? 0) + count(FIRST_BYTE + i);
    }
    const [sums, from] = this.#sumsOf(cell);
    totals.prompt_tokens += sums[from + PROMPT] ?? 0;
    totals.completion_tokens += sums[from + COMPLETION] ?? 0;
    totals.cached_tokens += sums[from + CACHED] ?? 0;
    totals.cost_nano_usd += sums[from + COST] ?? 0;
  }

  /** The cell's numbers that are not zero, position and value in turn: what is kept of an hour. */
  packed(cell: number): number[] {
    const [counts, at] = this.#countsOf(cell);
    const [sums, from] = this.#sumsOf(cell);
    const packed: number[] = [];
    for (let i = 0; i < COUNTS; i++) if (counts[at + i] !== 0) packed.push(i, counts[at + i] ?? 0);
    for (let i = 0; i < SUMS; i++) if (sums[from + i] !== 0) packed.push(COUNTS + i, sums[from + i] ?? 0);
    return packed;
  }

  /** Adds what `packed` has written. What cannot be is left out: it comes from outside the process. */
  unpack(cell: number, packed: readonly number[]): void {
    const [counts, at] = this.#countsOf(cell);
    const [sums, from] = this.#sumsOf(cell);
    for (let i = 0; i + 1 < packed.length; i += 2) {
      const position = packed[i] ?? -1;
      const value = packed[i + 1] ?? 0;
      if (!Number.isInteger(position) || position < 0 || !(value >= 0)) continue;
      if (position < COUNTS) counts[at + position] = (counts[at + position] ?? 0) + value;
      else if (position < COUNTS + SUMS) add(sums, from + position - COUNTS, value);
    }
  }

  #countsOf(cell: number): readonly [Uint32Array, number] {
    return [
      this.#counts[(cell / CELLS_PER_BLOCK) | 0] ?? new Uint32Array(COUNTS),
      (cell % CELLS_PER_BLOCK) * COUNTS,
    ];
  }

  #sumsOf(cell: number): readonly [Float64Array, number] {
    return [
      this.#sums[(cell / CELLS_PER_BLOCK) | 0] ?? new Float64Array(SUMS),
      (cell % CELLS_PER_BLOCK) * SUMS,
    ];
  }
}

function bump(counts: Uint32Array, at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}

function add(sums: Float64Array, at: number, by: number): void {
  sums[at] = (sums[at] ?? 0) + by;
}

export function noTotals(): Totals {
  return {
    ...{ calls: 0, done: 0, refused: 0, failed: 0, client_gone: 0 },
    // Filled from the list of its keys.
    reasons: Object.fromEntries(REASONS.map((reason) => [reason, 0])) as Record<Reason, number>,
    ...{ prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0, cost_nano_usd: 0 },
    duration: new Array<number>(BUCKETS).fill(0),
    first_byte: new Array<number>(BUCKETS).fill(0),
  };
}

/** The value below which this share of durations lies, in milliseconds, interpolated in its bucket; undefined: none. */
export function quantileMs(buckets: readonly number[], share: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let left = share * total;
  for (let i = 0; i < buckets.length; i++) {
    const count = buckets[i] ?? 0;
    if (count > 0 && left <= count) {
      const start = i === 0 ? 0 : bucketEndMs(i - 1);
      return start + (bucketEndMs(i) - start) * Math.max(0, left / count);
    }
    left -= count;
  }
  return bucketEndMs(buckets.length - 1);
}
