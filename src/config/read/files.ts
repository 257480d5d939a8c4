/**
 * Where a configuration's files come from: the disk, or another tree of files such as a git revision. What is on a path,
 * links not followed; which names are in a folder; the bytes of a file. Only regular files are opened, and a bounded number of bytes is read, so that no path can
 * block or fill the process.
 */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from "node:fs";

/** Why a file could not be read, in words that follow its name. */
export interface Unreadable {
  readonly unreadable: string;
  /** True when the file was not opened because it is outside the root. */
  readonly isOutside?: true;
  /** True when looking at its content again could block, or never end. */
  readonly isUnwatched?: true;
}

/** What is on a path: a link is named by its target, relative to its folder or absolute. */
export type FileKind = "file" | "folder" | "other" | { readonly link: string };

export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** All paths are absolute. Nothing is cached here: see `PinnedLinks` and `Sources`. */
export interface Files {
  /** undefined: nothing is there, or it may not be looked at. */
  kind(path: string): FileKind | undefined;
  /** undefined: no folder, or it may not be read. */
  entries(path: string): readonly FolderEntry[] | undefined;
  /** The bytes of a regular file; of a real path, with no link on the way. */
  read(path: string, bytesMax: number): Uint8Array | Unreadable;
}

/** The files of this machine. */
export const DISK: Files = {
  kind(path) {
    try {
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return undefined;
      if (stat.isSymbolicLink()) return { link: readlinkSync(path) };
      if (stat.isFile()) return "file";
      return stat.isDirectory() ? "folder" : "other";
    } catch {
      return undefined;
    }
  },
  entries(path) {
    try {
      return readdirSync(path, { withFileTypes: true }).map(entryOf);
    } catch (error) {
      throwShortage(error, path);
      return undefined;
    }
  },
  read(path, bytesMax) {
    try {
      return readRegularFile(path, bytesMax);
    } catch (error) {
      throwShortage(error, path);
      return { unreadable: reasonOf(error) };
    }
  },
};

const entryOf = (entry: Dirent): FolderEntry => ({ name: entry.name, isFolder: entry.isDirectory() });

function reasonOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return "does not exist";
  if (code === "EACCES" || code === "EPERM") return "may not be read";
  if (code === "ENXIO") return "is not a regular file";
  return "cannot be read";
}

/** What a process or its machine may run out of for a while. */
const SHORTAGES: Readonly<Record<string, string>> = {
  EMFILE: "too many open files in this process",
  ENFILE: "too many open files on this machine",
  ENOMEM: "not enough memory",
};

/**
 * A file could not be opened for a reason unrelated to it. Taken for a missing file, a configuration could be
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
function throwShortage(error: unknown, path: string): void {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
  const reason = SHORTAGES[code];
  if (reason !== undefined) throw new ReadShortage(path, `${reason} (${code})`, error);
}

/** Opening a FIFO without this waits for a writer. Windows has neither. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
const PIECE_BYTES = 64 * 1024;

/** The bytes of a regular file. Files such as those of /proc report no size: the bytes read are counted. */
function readRegularFile(path: string, bytesMax: number): Uint8Array | Unreadable {
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
