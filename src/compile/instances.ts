/**
 * Plugin instances: `setup` runs once per plugin and options, however many endpoints use it, and an instance lives on
 * across reloads while its plugin and options stay equal, so that a changed prompt does not drop a warm pool.
 */
import type { MaybePromise } from "../plugin/index.ts";

/** What an instance is known by: the plugin object itself (a reloaded module makes a new one) and its options. */
interface Held {
  readonly plugin: object;
  readonly key: string;
  readonly made: Promise<unknown>;
  users: number;
  readonly close: (made: unknown) => MaybePromise<void>;
}

/** All instances of the process. Bounded by what the generations alive use. */
export class InstancePool {
  readonly #held = new Map<object, Map<string, Held>>();

  get size(): number {
    let size = 0;
    for (const byOptions of this.#held.values()) size += byOptions.size;
    return size;
  }

  /** A view for one generation: takes instances, and lets go of all of them at once. */
  lease(): InstanceLease {
    return new InstanceLease(this);
  }

  take<T>(
    plugin: object,
    key: string,
    make: () => MaybePromise<T>,
    close: (made: T) => MaybePromise<void>,
  ): Held {
    let byOptions = this.#held.get(plugin);
    if (byOptions === undefined) this.#held.set(plugin, (byOptions = new Map()));
    let held = byOptions.get(key);
    if (held === undefined) {
      const made = Promise.resolve().then(make);
      // A plugin and key always make one type, so what `made` gives is what `close` takes.
      held = { plugin, key, made, users: 0, close: (value) => close(value as T) };
      byOptions.set(key, held);
    }
    held.users++;
    return held;
  }

  async drop(held: Held): Promise<void> {
    held.users--;
    if (held.users > 0) return;
    const byOptions = this.#held.get(held.plugin);
    byOptions?.delete(held.key);
    if (byOptions?.size === 0) this.#held.delete(held.plugin);
    await held.made.then(held.close, () => undefined);
  }
}

export class InstanceLease {
  readonly #pool: InstancePool;
  readonly #taken = new Map<string, Held>();
  #names = new Map<object, number>();

  constructor(pool: InstancePool) {
    this.#pool = pool;
  }

  /** The instance for these options, made if nobody has one. Rejects when `make` throws. */
  async take<T>(
    plugin: object,
    options: unknown,
    make: () => MaybePromise<T>,
    close: (made: T) => MaybePromise<void>,
  ): Promise<T> {
    const key = JSON.stringify(options) ?? "";
    let number = this.#names.get(plugin);
    if (number === undefined) this.#names.set(plugin, (number = this.#names.size));
    const ours = `${number}:${key}`;
    let held = this.#taken.get(ours);
    if (held === undefined) {
      held = this.#pool.take(plugin, key, make, close);
      this.#taken.set(ours, held);
    }
    // See `take` of the pool: one plugin and key make one type.
    return (await held.made) as T;
  }

  async release(): Promise<void> {
    const taken = [...this.#taken.values()];
    this.#taken.clear();
    this.#names = new Map();
    await Promise.all(taken.map((held) => this.#pool.drop(held)));
  }
}
