/** Files that test cases name: bodies, recordings, snapshots. Relative to the test file, and inside its root. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isInside } from "../config/read/root.ts";
import { Source, type Sources } from "../config/read/source.ts";

/** Why a file cannot be used, in words that follow its name. */
export interface UnusableFile {
  readonly unusable: string;
  /** It does not exist. */
  readonly isMissing: boolean;
}

export class Fixtures {
  readonly #folder: string;
  readonly #sources: Sources;
  /** Texts by path: a source is read once, and would be the one before. */
  readonly #written = new Map<string, string>();

  /** `testFile`: absolute. */
  constructor(testFile: string, sources: Sources) {
    this.#folder = dirname(testFile);
    this.#sources = sources;
  }

  /** Absolute paths of all files that were read or looked for. */
  get files(): readonly string[] {
    return this.#sources.files();
  }

  /** Files that `write` wrote. */
  get written(): readonly string[] {
    return [...this.#written.keys()];
  }

  path(name: string): string {
    return resolve(this.#folder, name);
  }

  read(name: string): string | UnusableFile {
    const own = this.#written.get(this.path(name));
    if (own !== undefined) return own;
    const source = this.#sources.read(this.path(name));
    if (source instanceof Source) return source.text;
    return { unusable: source.unreadable, isMissing: source.unreadable === "does not exist" };
  }

  /** For snapshots. */
  write(name: string, text: string): UnusableFile | undefined {
    const path = this.path(name);
    const { root } = this.#sources;
    const real = root.realPath(dirname(path));
    const isOutside =
      !isInside(root.folder, path) || (real !== undefined && !root.isBelow(root.folder, dirname(path)));
    if (isOutside) return { unusable: `is outside the root folder ${root.folder}`, isMissing: false };
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    } catch (thrown) {
      return {
        unusable: `cannot be written: ${thrown instanceof Error ? thrown.message : "unknown reason"}`,
        isMissing: false,
      };
    }
    this.#written.set(path, text);
    return undefined;
  }
}

/** A body that is the path of a file rather than a text. */
export function isFileName(body: unknown): body is string {
  return typeof body === "string" && /^\.\.?\/\S+$/.test(body);
}
