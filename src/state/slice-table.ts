/**
 * What plugins keep between calls, in memory: one bounded map a namespace, each entry with its end. Knows nothing of
 * what the values mean.
 */

import type { JsonValue } from "../plugin/chat.ts";
import type { StoreSlice } from "../plugin/host.ts";
import { SLICE_ENTRIES_MAX, SLICE_KEY_MAX, SLICE_VALUE_BYTES_MAX } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";

/** Plugins that keep something; further ones keep nothing. */
const SLICES_MAX = 1000;

interface Entry {
  /** As JSON, so that no value is shared. */
  readonly json: string;
  readonly endsMonotonicMs: number;
}

export class SliceTable {
  readonly #clock: Clock;
  readonly #slices = new Map<string, MemorySlice>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The slice of this name, the same each time; beyond SLICES_MAX one that keeps nothing. */
  slice(namespace: string): StoreSlice {
    let slice = this.#slices.get(namespace);
    if (slice === undefined) {
      if (this.#slices.size >= SLICES_MAX) return NO_SLICE;
      slice = new MemorySlice(this.#clock);
      this.#slices.set(namespace, slice);
    }
    return slice;
  }
}

/** Finds nothing, keeps nothing. */
export const NO_SLICE: StoreSlice = Object.freeze({
  get: () => undefined,
  set: () => false,
  delete: () => false,
  increment: () => undefined,
});

class MemorySlice implements StoreSlice {
  readonly #clock: Clock;
  /** In the order they were set: the first is the oldest. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): JsonValue | undefined {
    const entry = this.#live(key);
    return entry === undefined ? undefined : JSON.parse(entry.json);
  }

  set(key: string, value: JsonValue, ttlSeconds: number): boolean {
    return ttlSeconds > 0 && this.#put(key, value, this.#clock.monotonicMs() + ttlSeconds * 1000);
  }

  delete(key: string): boolean {
    const was = this.#live(key) !== undefined;
    this.#entries.delete(key);
    return was;
  }

  increment(key: string, by: number, ttlSeconds: number): number | undefined {
    const entry = this.#live(key);
    const before: unknown = entry === undefined ? undefined : JSON.parse(entry.json);
    const sum = (typeof before === "number" ? before : 0) + by;
    if (!Number.isFinite(sum)) return undefined;
    const endsMonotonicMs = typeof before === "number" ? entry?.endsMonotonicMs : undefined;
    if (endsMonotonicMs === undefined && !(ttlSeconds > 0)) return undefined;
    return this.#put(key, sum, endsMonotonicMs ?? this.#clock.monotonicMs() + ttlSeconds * 1000)
      ? sum
      : undefined;
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#clock.monotonicMs() < entry.endsMonotonicMs) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  #put(key: string, value: JsonValue, endsMonotonicMs: number): boolean {
    // A plugin in JavaScript may hand in what JSON cannot say.
    const json: string | undefined = JSON.stringify(value);
    if (json === undefined || key.length > SLICE_KEY_MAX || Buffer.byteLength(json) > SLICE_VALUE_BYTES_MAX) {
      return false;
    }
    this.#entries.delete(key);
    this.#entries.set(key, { json, endsMonotonicMs });
    if (this.#entries.size > SLICE_ENTRIES_MAX) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    return true;
  }
}
