/**
 * What every fuzzer of this folder is: a name, and a way to run one seeded case. A case builds its input from `random`
 * alone, so that a seed reproduces it, and throws when an invariant does not hold.
 */

/** Seeded pseudo-random numbers (mulberry32). */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** One of the items. `items` must not be empty. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }
}

/** A fuzzer that has been started: servers listen, fixtures are loaded. */
export interface FuzzSession {
  /** Runs one case. Rejects when an invariant is broken; the error says which. */
  run(random: SeededRandom): Promise<void>;
  /** What must hold after all cases (no reservation left, no open call), then closes everything. */
  close(): Promise<void>;
}

export interface FuzzTarget {
  /** Used on the command line: `npm run fuzz -- NAME`. */
  readonly name: string;
  /** One line for `--help`. */
  readonly description: string;
  start(): Promise<FuzzSession>;
}
