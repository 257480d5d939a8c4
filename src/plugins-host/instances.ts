/**
 * Plugin instances: `setup` runs once per plugin and options, however many endpoints use it, and an instance lives on
 * across reloads while its plugin and options stay equal, so that a changed prompt does not drop a warm pool.
 */

import { textKey } from "../base/ids.ts";
import { Slices } from "../base/slices.ts";
import type { Logger } from "../plugin/host.ts";
import type { Clock, MaybePromise } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import { guarded, type PluginSite, pluginFault } from "../plugin-guard/guard.ts";

/** What an instance is known by: the plugin object itself (a reloaded module makes a new one) and its options. */
interface Held {
  readonly plugin: object;
  readonly key: string;
  /** A promise until it is there. */
  made: MaybePromise<unknown>;
  users: number;
  readonly isComposite: boolean;
  readonly close: (made: unknown) => MaybePromise<void>;
}

/** `close` of a plugin may take this long; after that it is not awaited. */
const CLOSE_TIMEOUT_MS = 10_000;

/** How an instance comes to be, and how it goes. */
export interface Making<T> {
  make(): MaybePromise<T>;
  close(made: T): MaybePromise<void>;
  /** It is made of others that have a deadline each, and needs none of its own. */
  readonly isComposite?: boolean;
}

/** All instances of the process. Bounded by what the generations alive use. */
export class InstancePool {
  readonly #held = new Map<object, Map<string, Held>>();
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  get size(): number {
    let size = 0;
    for (const byOptions of this.#held.values()) size += byOptions.size;
    return size;
  }

  /** A view for one generation: takes instances, and releases all of them at once. */
  lease(): InstanceLease {
    return new InstanceLease(this);
  }

  /** The instance for this key, made if there is none. Throws what `make` throws. */
  hold<T>(plugin: object, key: string, { make, close, isComposite = false }: Making<T>): Held {
    let byOptions = this.#held.get(plugin);
    let held = byOptions?.get(key);
    if (held !== undefined) return held;
    const made = isComposite ? make() : withSetupDeadline(this.#clock, make(), close);
    // A plugin and key always make one type, so what `made` gives is what `close` takes.
    held = { plugin, key, made, users: 0, isComposite, close: (value) => close(value as T) };
    if (isPromise(made)) settle(held, made);
    if (byOptions === undefined) this.#held.set(plugin, (byOptions = new Map()));
    byOptions.set(key, held);
    return held;
  }

  /** Synchronous while others use it: a generation of ten thousand endpoints drops them all at once. */
  drop(held: Held): MaybePromise<void> {
    held.users--;
    if (held.users > 0) return undefined;
    const byOptions = this.#held.get(held.plugin);
    byOptions?.delete(held.key);
    if (byOptions?.size === 0) this.#held.delete(held.plugin);
    if (held.isComposite) return Promise.resolve(held.made).then(held.close, () => undefined);
    return this.#close(held);
  }

  /** Never rejects: an instance that cannot be closed must not keep the others open. */
  async #close({ plugin, made, close }: Held): Promise<void> {
    const site: PluginSite = { kind: kindOf(plugin), plugin: nameOf(plugin), hook: "close" };
    const guard = { site, log: this.#log, recover: () => undefined };
    try {
      await made;
    } catch {
      // Its setup has failed, and was reported then: there is nothing to close.
      return;
    }
    const closed = guarded(guard, close)(await made);
    if (!isPromise(closed)) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.after(CLOSE_TIMEOUT_MS, () => {
        pluginFault(guard, new Error(`close did not finish within ${CLOSE_TIMEOUT_MS / 1000} s`));
        resolve();
      });
      void closed.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}

const KINDS: ReadonlySet<unknown> = new Set(["stage", "guardrail", "provider", "store"]);

function kindOf(plugin: object): PluginSite["kind"] {
  const kind = "kind" in plugin && KINDS.has(plugin.kind) ? plugin.kind : "stage";
  // One of KINDS.
  return kind as PluginSite["kind"];
}

function nameOf(plugin: object): string {
  return "name" in plugin ? String(plugin.name) : "";
}

/** Replaces the promise with the instance. A failure rejects for all that await it. */
function settle(held: Held, made: Promise<unknown>): void {
  made.then(
    (value) => {
      held.made = value;
    },
    () => undefined,
  );
}

const CLOSINGS_PER_SLICE = 32;

export class InstanceLease {
  readonly #pool: InstancePool;
  readonly #taken = new Set<Held>();

  constructor(pool: InstancePool) {
    this.#pool = pool;
  }

  /** For one of several parts that are released apart from each other. */
  another(): InstanceLease {
    return this.#pool.lease();
  }

  /** The instance for these options, at once where it is there. Throws or rejects with what `make` fails with. */
  take<T>(plugin: object, options: unknown, making: Making<T>): MaybePromise<T> {
    return this.takeByKey(plugin, textKey(JSON.stringify(options) ?? ""), making);
  }

  /** As `take`, for what has a key already. */
  takeByKey<T>(plugin: object, key: string, making: Making<T>): MaybePromise<T> {
    const held = this.#pool.hold(plugin, key, making);
    if (!this.#taken.has(held)) {
      this.#taken.add(held);
      held.users++;
    }
    // See `hold`: one plugin and key make one type.
    return held.made as MaybePromise<T>;
  }

  /** In slices, since there may be many. Rejects with the first failure, after all of them were dropped. */
  async release(): Promise<void> {
    const taken = [...this.#taken];
    this.#taken.clear();
    const slices = new Slices();
    const closing: Promise<unknown>[] = [];
    const failures: unknown[] = [];
    for (const held of taken) {
      const closed = this.#pool.drop(held);
      if (isPromise(closed)) closing.push(closed.catch((thrown: unknown) => failures.push(thrown)));
      // What a close does next runs only when this loop waits, so few of them may gather.
      const isMuch = isPromise(closed) && closing.length % CLOSINGS_PER_SLICE === 0;
      if (isMuch || slices.isUsedUp) await slices.yielded();
    }
    await Promise.all(closing);
    if (failures.length > 0) throw failures[0];
  }
}

/** All of them, in a promise only when one of them is in one. */
export function allOf<T>(items: readonly MaybePromise<T>[]): MaybePromise<readonly T[]> {
  // `some` has found no promise, which its type cannot say.
  return items.some(isPromise) ? Promise.all(items) : (items as readonly T[]);
}

/** Longest `setup` of a plugin, its HTTP requests included. */
export const SETUP_TIMEOUT_MS = 10_000;

/** `made`, or a rejection once the deadline has passed. A synchronous result is returned as it is. */
export function withSetupDeadline<T>(
  clock: Clock,
  made: MaybePromise<T>,
  close: (late: T) => MaybePromise<void>,
): MaybePromise<T> {
  if (!isPromise(made)) return made;
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = clock.after(SETUP_TIMEOUT_MS, () => {
      isLate = true;
      reject(new Error(`setup did not finish within ${SETUP_TIMEOUT_MS / 1000} s`));
    });
    made.then(
      (value) => {
        timer.cancel();
        if (!isLate) resolve(value);
        else closeLate(value, close);
      },
      (thrown: unknown) => {
        timer.cancel();
        reject(thrown);
      },
    );
  });
}

/** The instance is unused and its end is not awaited: a failing `close` is only logged. */
function closeLate<T>(value: T, close: (late: T) => MaybePromise<void>): void {
  try {
    const closing = close(value);
    if (isPromise(closing)) closing.catch(() => undefined);
  } catch {
    // As above.
  }
}
