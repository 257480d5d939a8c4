/**
 * The working tree of a sparse checkout: files that it leaves out would look as if they had been removed. What a load
 * asks for is compared with them.
 */
import { dirname } from "node:path";
import {
  DISK,
  type FileKind,
  type Files,
  type FolderEntry,
  type Unreadable,
} from "../../config/read/files.ts";
import type { Repository } from "./repository.ts";
import { pathIn } from "./revision-files.ts";

/** undefined: everything is checked out. */
export function sparseFiles(repository: Repository): SparseFiles | undefined {
  const { git, top, isBare } = repository;
  if (isBare) return undefined;
  const setting = git.run(["config", "--bool", "core.sparseCheckout"]).stdout.toString("utf8");
  if (setting.trim() !== "true") return undefined;
  const { stdout } = git.run(["-C", top, "ls-files", "-t", "-z"]);
  const lines = stdout.toString("utf8").split("\0");
  const left = lines.filter((line) => line.startsWith("S ")).map((line) => pathIn(repository, line.slice(2)));
  return left.length === 0 ? undefined : new SparseFiles(top, left);
}

export class SparseFiles implements Files {
  readonly #left: ReadonlySet<string>;
  /** Those that `#left` are in, up to the top. */
  readonly #folders = new Map<string, string>();
  #missed: string | undefined;

  constructor(top: string, left: readonly string[]) {
    this.#left = new Set(left);
    for (const path of left) {
      // Only what a pattern of a configuration can match makes its folders matter.
      if (!/\.(?:ya?ml|json)$/.test(path)) continue;
      for (let at = dirname(path); at !== top && !this.#folders.has(at); at = dirname(at))
        this.#folders.set(at, path);
    }
  }

  /** A file that the configuration needs, or may need, and that is not there. */
  get missed(): string | undefined {
    return this.#missed;
  }

  kind(path: string): FileKind | undefined {
    const kind = DISK.kind(path);
    if (kind === undefined) this.#missed ??= this.#left.has(path) ? path : this.#folders.get(path);
    return kind;
  }

  entries(path: string): readonly FolderEntry[] | undefined {
    const entries = DISK.entries(path);
    for (const left of this.#left)
      if (dirname(left) === path && /\.(?:ya?ml|json)$/.test(left)) this.#missed ??= left;
    return entries;
  }

  read(path: string, bytesMax: number): Uint8Array | Unreadable {
    return DISK.read(path, bytesMax);
  }
}
