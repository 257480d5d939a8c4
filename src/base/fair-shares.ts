/**
 * Usage of a bounded resource by tenant. When it is full, the tenant that uses most loses an entry, so that no tenant pushes
 * out what another keeps within its equal share. Counts only; the caller keeps the items and chooses which one is removed.
 */

/** One tenant's part. `items` is whatever the user keeps by tenant. */
export interface Share<T> {
  readonly name: string;
  readonly items: T;
  count: number;
  bytes: number;
}

export type Measure = "count" | "bytes";

/** A share counts as the largest while it is within this part of the largest seen, so that few calls compare all. */
const CLOSE_ENOUGH = 0.9;

export class FairShares<T> {
  readonly #shares = new Map<string, Share<T>>();
  readonly #itemsOf: () => T;
  readonly #largest: Record<Measure, { share: Share<T>; floor: number } | undefined>;
  #count = 0;
  #bytes = 0;

  /** `itemsOf` makes the `items` of a new share. */
  constructor(itemsOf: () => T) {
    this.#itemsOf = itemsOf;
    this.#largest = { count: undefined, bytes: undefined };
  }

  /** Of all shares. */
  get count(): number {
    return this.#count;
  }

  /** Of all shares. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds one item. Returns the share it belongs to. */
  add(name: string, bytes: number): Share<T> {
    let share = this.#shares.get(name);
    if (share === undefined) {
      share = { name, items: this.#itemsOf(), count: 0, bytes: 0 };
      this.#shares.set(name, share);
    }
    share.count += 1;
    this.#count += 1;
    this.resize(share, bytes);
    return share;
  }

  /** Records that an item of the share has grown, or shrunk when negative. */
  resize(share: Share<T>, bytes: number): void {
    share.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Removes one item. */
  remove(share: Share<T>, bytes: number): void {
    share.count -= 1;
    this.#count -= 1;
    this.resize(share, -bytes);
    if (share.count === 0) this.#shares.delete(share.name);
  }

  /** The share that uses most, of those that have something to give up. */
  largest(measure: Measure, canGive: (share: Share<T>) => boolean): Share<T> | undefined {
    const known = this.#largest[measure];
    if (known !== undefined && known.share[measure] >= known.floor && canGive(known.share))
      return known.share;
    let most: Share<T> | undefined;
    let second = 0;
    for (const share of this.#shares.values()) {
      if (!canGive(share)) continue;
      if (most === undefined || share[measure] > most[measure]) {
        second = most?.[measure] ?? 0;
        most = share;
      } else second = Math.max(second, share[measure]);
    }
    this.#largest[measure] =
      most === undefined ? undefined : { share: most, floor: Math.max(1, second * CLOSE_ENOUGH) };
    return most;
  }
}
