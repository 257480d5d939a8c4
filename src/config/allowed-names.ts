/**
 * What the files of an include may refer to: `secrets: { allow: ["SUPPORT_*"] }`. A file that several such includes
 * bring in, one inside the other, may refer to what all of them allow.
 */
import { dirname, relative, resolve } from "node:path";
import { matchesName } from "./read/glob.ts";
import type { ConfigRoot } from "./read/root.ts";
import type { Source } from "./read/source.ts";
import type { Spot } from "./read/tree.ts";
import { isSecretField } from "./secret-fields.ts";

/** Patterns of one `allow`; `*` stands for any characters. */
export type AllowedNames = readonly string[];

export class AllowedReferences {
  readonly #byFile = new Map<string, readonly AllowedNames[]>();

  /** From now on the file may refer to nothing else. */
  restrict(path: string, allowed: readonly AllowedNames[]): void {
    if (allowed.length === 0) return;
    this.#byFile.set(path, [...(this.#byFile.get(path) ?? []), ...allowed]);
  }

  isRestricted({ path }: Source): boolean {
    return this.#byFile.has(path);
  }

  allowsVariable({ path }: Source, name: string): boolean {
    return this.#allows(path, [name]);
  }

  /** A file in the folder of the referring one is its own, but for fields that hold secrets. */
  allowsFile(source: Source, written: string, spot: Spot, root: ConfigRoot): boolean {
    if (!this.isRestricted(source)) return true;
    const folder = dirname(source.path);
    const path = resolve(folder, written);
    if (!isSecretField(spot) && root.isBelow(folder, path)) return true;
    return this.#allows(source.path, [path, relative(root.folder, path)]);
  }

  /** The patterns, for a message. */
  describe({ path }: Source): string {
    const lists = this.#byFile.get(path) ?? [];
    return lists.map((list) => (list.length === 0 ? "nothing" : list.join(", "))).join(" and ");
  }

  #allows(path: string, names: readonly string[]): boolean {
    const lists = this.#byFile.get(path) ?? [];
    return lists.every((list) => list.some((pattern) => names.some((name) => matchesName(pattern, name))));
  }
}
