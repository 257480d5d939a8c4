/** Overrides in memory, bounded, with listeners for changes. */
import type { Override, OverrideStore } from "../plugin/store.ts";
import { OVERRIDE_KEYS_MAX, OVERRIDES_MAX } from "../plugin/store.ts";

export class OverrideTable implements OverrideStore {
  readonly #byKey = new Map<string, Override>();
  readonly #watchers = new Set<() => void>();
  readonly #presentKey: (key: string) => string;

  /** `presentKey`: what a key is called now. Default: as given. */
  constructor(presentKey: (key: string) => string = (key) => key) {
    this.#presentKey = presentKey;
  }

  list(): readonly Override[] {
    return [...this.#byKey.values()];
  }

  has(key: string): boolean {
    return this.#byKey.has(this.#presentKey(key));
  }

  hasRoomFor(key: string): boolean {
    return this.has(key) || this.#byKey.size < OVERRIDES_MAX;
  }

  set(override: Override): boolean {
    const { key } = override;
    if (!this.hasRoomFor(key)) return false;
    const renamed = renamedOverride(override, this.#presentKey(key));
    this.#byKey.set(renamed.key, withFormer(renamed, this.#byKey.get(renamed.key)));
    this.#tell();
    return true;
  }

  delete(key: string): boolean {
    const known = this.#byKey.delete(this.#presentKey(key));
    if (known) this.#tell();
    return known;
  }

  /** Of two, the one set later holds. */
  rename(from: string, to: string): void {
    const moved = this.#byKey.get(from);
    if (moved === undefined) return;
    this.#byKey.delete(from);
    const known = this.#byKey.get(to);
    if (known === undefined || known.setAtMs <= moved.setAtMs)
      this.#byKey.set(to, renamedOverride(moved, to));
    this.#tell();
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #tell(): void {
    for (const changed of [...this.#watchers]) changed();
  }
}

/** An override under another key, with the one that it had. */
function renamedOverride(override: Override, key: string): Override {
  if (key === override.key) return override;
  const before = override.formerly?.filter((one) => one !== key && one !== override.key) ?? [];
  return { ...override, key, formerly: [...before, override.key].slice(-OVERRIDE_KEYS_MAX) };
}

/** With the former keys of the override whose place it takes. */
function withFormer(override: Override, before: Override | undefined): Override {
  if (before?.formerly === undefined) return override;
  const formerly = new Set([...before.formerly, ...(override.formerly ?? [])]);
  return { ...override, formerly: [...formerly].slice(-OVERRIDE_KEYS_MAX) };
}
