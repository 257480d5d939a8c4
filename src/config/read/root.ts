/**
 * The root of a configuration: the folder that its files must stay inside, symbolic links resolved. Opens regular files
 * only and reads a bounded number of bytes, so that no path in a configuration can block or fill the process.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { dirname, isAbsolute, relative, sep } from "node:path";
import { PinnedLinks } from "./pinned-links.ts";

/** Where a file may lie. "own-folder": also in the folder that its path names, for files named on the command line. */
export type ReadScope = "root" | "own-folder" | "anywhere";

/** Why a file could not be read, in words that follow its name. */
export interface Unreadable {
  readonly unreadable: string;
  /** True when the file was not opened because it is outside the root. */
  readonly isOutside?: true;
  /** True when looking at its content again could block, or never end. */
  readonly isUnwatched?: true;
}

/** What a path leads to. */
export type Place = { readonly real: string } | Unreadable;

/** What to do about a file outside the root. */
export const OUTSIDE_HELP = "keep the file below the root, or name a wider root with `--root DIR`";

export class ConfigRoot {
  /** Absolute, as given. */
  readonly folder: string;
  /** Of one load: links are read once. */
  readonly #links = new PinnedLinks();
  readonly #real: string;

  constructor(folder: string) {
    this.folder = folder;
    this.#real = this.#links.realPath(folder) ?? folder;
  }

  /** The real path of what `path` names when it is in scope, else why it is not to be opened. */
  resolve(path: string, scope: ReadScope): Place {
    const real = this.#links.realPath(path);
    if (scope === "anywhere") return real === undefined ? MISSING : { real };
    if (real === undefined) {
      // Nothing is said about what exists outside the root.
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

  /** True when `path` exists and really is below `folder`. */
  isBelow(folder: string, path: string): boolean {
    const [real, realFolder] = [this.#links.realPath(path), this.#links.realPath(folder)];
    return real !== undefined && realFolder !== undefined && isInside(realFolder, real);
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

/** What a process or its machine may run out of for a while. */
const SHORTAGES: Readonly<Record<string, string>> = {
  EMFILE: "too many open files in this process",
  ENFILE: "too many open files on this machine",
  ENOMEM: "not enough memory",
};

/**
 * A file could not be opened for a reason that says nothing of it. Taken for a missing file, a configuration could be
 * rejected for good, or lose the files of a pattern: the whole load fails instead, and is retried.
 */
export class ReadShortage extends Error {
  readonly path: string;

  constructor(path: string, reason: string, cause: unknown) {
    super(`${path} could not be read: ${reason}`, { cause });
    this.path = path;
  }
}

/** Throws a ReadShortage if that is why `path` could not be read; else the file itself is to blame. */
export function throwShortage(error: unknown, path: string): void {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
  const reason = SHORTAGES[code];
  if (reason !== undefined) throw new ReadShortage(path, `${reason} (${code})`, error);
}

/** Opening a FIFO without this waits for a writer. Windows has neither. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const PIECE_BYTES = 64 * 1024;

/** The bytes of a regular file. Files such as those of /proc report no size: what is read is counted. */
export function readRegularFile(path: string, bytesMax: number): Uint8Array | Unreadable {
  const file = openSync(path, OPEN_FLAGS);
  try {
    const stat = fstatSync(file);
    if (stat.isDirectory()) return { unreadable: "is a directory" };
    if (!stat.isFile()) return { unreadable: "is not a regular file", isUnwatched: true };
    if (stat.size > bytesMax) return tooLarge(bytesMax);
    let buffer = Buffer.allocUnsafe(Math.min(stat.size === 0 ? PIECE_BYTES : stat.size + 1, bytesMax + 1));
    let length = 0;
    for (;;) {
      const count = readSync(file, buffer, length, buffer.length - length, null);
      length += count;
      if (length > bytesMax) return tooLarge(bytesMax);
      if (count === 0) return buffer.subarray(0, length);
      if (length < buffer.length) continue;
      const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2, bytesMax + 1));
      buffer.copy(larger, 0, 0, length);
      buffer = larger;
    }
  } finally {
    closeSync(file);
  }
}

function tooLarge(bytesMax: number): Unreadable {
  return { unreadable: `is larger than ${bytesMax} bytes`, isUnwatched: true };
}
