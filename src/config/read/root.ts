/**
 * The root of a configuration: the folder that its files must stay inside, symbolic links resolved. Says which paths
 * are inside, and whose files they are; reads none.
 */
import { dirname, isAbsolute, relative, sep } from "node:path";
import { DISK, type FileKind, type Files, type Unreadable } from "./files.ts";
import { PinnedLinks } from "./pinned-links.ts";

/** Where a file may lie. "own-folder": also in the folder that its path names, for files named on the command line. */
export type ReadScope = "root" | "own-folder" | "anywhere";

/** What a path leads to. */
export type Place = { readonly real: string } | Unreadable;

/** What to do about a file outside the root. */
export const OUTSIDE_HELP = "keep the file below the root, or name a wider root with `--root DIR`";

export class ConfigRoot {
  /** Absolute, as given. */
  readonly folder: string;
  readonly files: Files;
  /** Of one load: links are read once. */
  readonly #links: PinnedLinks;
  readonly #real: string;

  constructor(folder: string, files: Files = DISK) {
    this.folder = folder;
    this.files = files;
    this.#links = new PinnedLinks(files);
    this.#real = this.#links.realPath(folder) ?? folder;
  }

  /** The real path of what `path` names when it is in scope, else why it is not to be opened. */
  resolve(path: string, scope: ReadScope): Place {
    const real = this.#links.realPath(path);
    if (scope === "anywhere") return real === undefined ? MISSING : { real };
    if (real === undefined) {
      // The message does not reveal what exists outside the root.
      const folder = this.#links.realPath(dirname(path));
      const isNear = folder === undefined ? isInside(this.folder, path) : this.#holds(folder, path, scope);
      return isNear ? MISSING : this.#outside();
    }
    return this.#holds(real, path, scope) ? { real } : this.#outside();
  }

  /** The real path of a file or folder, whatever its place; undefined when it does not exist. */
  realPath(path: string): string | undefined {
    return this.#links.realPath(path);
  }

  isFile(path: string): boolean {
    return this.#kind(path) === "file";
  }

  isFolder(path: string): boolean {
    return this.#kind(path) === "folder";
  }

  /** True when `path` exists and really is below `folder`. */
  isBelow(folder: string, path: string): boolean {
    const [real, realFolder] = [this.#links.realPath(path), this.#links.realPath(folder)];
    return real !== undefined && realFolder !== undefined && isInside(realFolder, real);
  }

  /** Links followed, since a mounted ConfigMap consists of them. */
  #kind(path: string): FileKind | undefined {
    const real = this.#links.realPath(path);
    return real === undefined ? undefined : this.files.kind(real);
  }

  #holds(real: string, path: string, scope: ReadScope): boolean {
    if (isInside(this.#real, real)) return true;
    const own = scope === "own-folder" ? this.#links.realPath(dirname(path)) : undefined;
    return own !== undefined && isInside(own, real);
  }

  #outside(): Unreadable {
    return { unreadable: `is outside the configuration's root folder ${this.folder}`, isOutside: true };
  }
}

const MISSING: Unreadable = { unreadable: "does not exist" };

/** True for the folder itself and everything below it; both paths are absolute and normalized. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
