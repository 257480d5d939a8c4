/**
 * Renames that stand: which names are other names of which. Knows nothing of what is kept under them; moving that is the
 * business of each table.
 */
import type { Rename } from "../plugin/store.ts";

/** Renames kept; the oldest go first. Four for each of 10,000 objects, and as many from before. */
export const RENAMES_MAX = 100_000;

/** A conversation's owner: plugin, project and endpoint, the rest. */
const OWNER = /^([^/]*\/)([^/]*\/[^/]*)(\/.*)$/s;

export class RenameTable {
  readonly #byName = new Map<string, Rename>();

  get size(): number {
    return this.#byName.size;
  }

  list(): Rename[] {
    return [...this.#byName.values()];
  }

  has({ kind, windowMs, from, to }: Rename): boolean {
    return this.#byName.get(nameOf({ kind, windowMs }, from))?.to === to;
  }

  /** False: it stands already, and there is nothing to move. */
  begin(rename: Rename): boolean {
    const { from, to } = rename;
    const name = nameOf(rename, from);
    if (from === to || this.#byName.get(name)?.to === to) return false;
    // What it leads to is a name of its own from now on, so that no circle can come about.
    this.#byName.delete(nameOf(rename, to));
    this.#byName.delete(name);
    if (this.#byName.size >= RENAMES_MAX) this.#forgetOldest();
    this.#byName.set(name, rename);
    return true;
  }

  end(rename: Rename): void {
    const name = nameOf(rename, rename.from);
    if (this.#byName.get(name)?.to === rename.to) this.#byName.delete(name);
  }

  rateKey(key: string, windowMs: number): string {
    return this.#present({ kind: "rate", windowMs }, key);
  }

  spendKey(key: string): string {
    return this.#present({ kind: "spend" }, key);
  }

  overrideKey(key: string): string {
    return this.#present({ kind: "override" }, key);
  }

  owner(owner: string): string {
    if (this.size === 0) return owner;
    const [, plugin, name, rest] = OWNER.exec(owner) ?? [];
    return name === undefined ? owner : `${plugin}${this.#present({ kind: "sessions" }, name)}${rest}`;
  }

  /** Where a name leads to, over all renames one after the other. */
  #present(kind: Named, name: string): string {
    let present = name;
    if (this.#byName.size === 0) return present;
    for (;;) {
      const rename = this.#byName.get(nameOf(kind, present));
      if (rename === undefined) return present;
      present = rename.to;
    }
  }

  #forgetOldest(): void {
    for (const name of this.#byName.keys()) {
      this.#byName.delete(name);
      return;
    }
  }
}

/** Kind of a name, and the length of the windows where it is a rate's. */
type Named = Pick<Rename, "kind" | "windowMs">;

function nameOf({ kind, windowMs }: Named, name: string): string {
  return windowMs === undefined ? `${kind} ${name}` : `${kind} ${windowMs} ${name}`;
}
