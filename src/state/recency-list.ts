/**
 * A doubly linked list of things by last use, so that using one and finding the oldest cost the same however many
 * there are. The links are in the items: an item is in at most one list, and the list allocates nothing.
 */
/** What an item must have to be in a list. */
export interface Linked<T> {
  /** Owned by the list. */
  older: T | undefined;
  /** Owned by the list. */
  newer: T | undefined;
}

/** Every operation takes the same short time. */
export class RecencyList<T extends Linked<T>> {
  #oldest: T | undefined;
  #newest: T | undefined;

  get oldest(): T | undefined {
    return this.#oldest;
  }

  /** `item` must be in no list. */
  add(item: T): void {
    item.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = item;
    else this.#newest.newer = item;
    this.#newest = item;
  }

  /** `item` must be in this list. */
  remove(item: T): void {
    if (item.older === undefined) this.#oldest = item.newer;
    else item.older.newer = item.newer;
    if (item.newer === undefined) this.#newest = item.older;
    else item.newer.older = item.older;
    item.older = undefined;
    item.newer = undefined;
  }

  /** `item` must be in this list. */
  use(item: T): void {
    if (item === this.#newest) return;
    this.remove(item);
    this.add(item);
  }
}
