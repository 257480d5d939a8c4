/** Overrides in memory, bounded, with listeners for changes. */
import type { Override, OverrideStore } from "../plugin/store.ts";
import { OVERRIDES_MAX } from "../plugin/store.ts";

export class OverrideTable implements OverrideStore {
  readonly #byKey = new Map<string, Override>();
  readonly #watchers = new Set<() => void>();

  list(): readonly Override[] {
    return [...this.#byKey.values()];
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  hasRoomFor(key: string): boolean {
    return this.#byKey.has(key) || this.#byKey.size < OVERRIDES_MAX;
  }

  set(override: Override): boolean {
    if (!this.hasRoomFor(override.key)) return false;
    this.#byKey.set(override.key, override);
    this.#tell();
    return true;
  }

  delete(key: string): boolean {
    const known = this.#byKey.delete(key);
    if (known) this.#tell();
    return known;
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #tell(): void {
    for (const changed of [...this.#watchers]) changed();
  }
}
