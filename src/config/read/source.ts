/**
 * The files a configuration is read from: each read once, hashed, remembered for the watcher. Knows nothing of YAML.
 */
import { createHash } from "node:crypto";
import { LineMask } from "../report/mask.ts";
import type { Unreadable } from "./files.ts";
import type { ConfigRoot, Place, ReadScope } from "./root.ts";

export type { Unreadable } from "./files.ts";

const FILE_BYTES_MAX = 32 * 1024 * 1024;
/** All files together. */
const READ_BYTES_MAX = 256 * 1024 * 1024;
const FILES_MAX = 20_000;

/** Of a longer line only the part around the column is shown. */
const LINE_CHARACTERS_MAX = 400;
const CHARACTERS_BEFORE = 120;

/** A piece of a line, secrets hidden. */
export interface ShownLine {
  readonly text: string;
  /** Characters of the line before `text`. */
  readonly offset: number;
}

/** One file's text. */
export class Source {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  #mask: LineMask | undefined;
  #starts: readonly number[] | undefined;

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
  }

  /** Line and column of an offset, both from 1; columns count UTF-16 code units. Indexed on the first question. */
  position(offset: number): { readonly line: number; readonly column: number } {
    this.#starts ??= lineStarts(this.text);
    const starts = this.#starts;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  }

  /** The offset of a line and column, both from 1; the end of the text when there is no such line. */
  offset(line: number, column: number): number {
    this.#starts ??= lineStarts(this.text);
    return Math.min((this.#starts[line - 1] ?? this.text.length) + column - 1, this.text.length);
  }

  /** A line as it may be shown, cut around `column` when it is long. Both count from 1. */
  shownLine(line: number, column: number): ShownLine {
    this.#mask ??= new LineMask(this.text.split(/\r?\n/));
    const masked = this.#mask.line(line - 1);
    if (masked.length <= LINE_CHARACTERS_MAX) return { text: masked, offset: 0 };
    const offset = Math.max(0, column - 1 - CHARACTERS_BEFORE);
    return { text: masked.slice(offset, offset + LINE_CHARACTERS_MAX), offset };
  }
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/**
 * What a set of files and directories was at one moment, as one text: equal as long as no content and no list of names
 * has changed. `digests`: path and `contentDigest`, or undefined for what cannot be read; `entries`: path and names.
 */
export function fingerprintOf(
  digests: Iterable<readonly [string, string | undefined]>,
  entries: Iterable<readonly [string, readonly string[]]>,
): string {
  const hash = createHash("sha256");
  for (const [path, digest] of digests) hash.update(`\0${path}\0${digest ?? "absent"}`);
  for (const [path, names] of entries) {
    const told = names.filter((name) => /\.(?:ya?ml|json)$/.test(name)).sort();
    hash.update(`\0${path}\0${told.join("\0")}`);
  }
  return hash.digest("hex");
}

export function contentDigest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export interface Sources {
  /** The folder that everything read must stay inside. */
  readonly root: ConfigRoot;
  /**
   * Reads a regular file by its absolute path; a second time answers from memory. A file not found is watched as well,
   * one out of scope is neither opened nor watched. Default scope: "root".
   */
  read(path: string, scope?: ReadScope): Source | Unreadable;
  /** Notes a directory whose entries matter, not its files' text alone, and the names of those it has. */
  watchDirectory(path: string, names: readonly string[]): void;
  files(): readonly string[];
  directories(): readonly string[];
  /** With the names that they had. */
  directoryNames(): readonly (readonly [string, readonly string[]])[];
  /** The file is read for a secret-bearing field. */
  markSecret(path: string): void;
  /** Files that were read for secret-bearing fields. */
  secretFiles(): readonly string[];
  /** `fingerprintOf` all of them, as they were read. */
  fingerprint(): string;
  /** The file may hold a secret, as every one that is referred to outside texts: it is not part of the hash. */
  leaveOut(path: string): void;
  /** Hex SHA-256 over all text read, in the order read, without what was left out. */
  hash(): string;
  /** The same over all text read. */
  digest(): string;
}

export function openSources(root: ConfigRoot): Sources {
  const read = new Map<string, Source | Unreadable>();
  const places = new Map<string, Place>();
  const digests = new Map<string, string>();
  const secrets = new Set<string>();
  const directories = new Map<string, readonly string[]>();
  const leftOut = new Set<string>();
  let bytesLeft = READ_BYTES_MAX;

  function placeOf(path: string, scope: ReadScope): Place {
    const key = `${scope}\0${path}`;
    const known = places.get(key);
    if (known !== undefined) return known;
    const place = root.resolve(path, scope);
    places.set(key, place);
    return place;
  }

  function readPlace(path: string, real: string): Source | Unreadable {
    if (read.size >= FILES_MAX) return { unreadable: `is one of more than ${FILES_MAX} files` };
    const bytes = root.files.read(real, FILE_BYTES_MAX);
    if ("unreadable" in bytes) return bytes;
    bytesLeft -= bytes.length;
    if (bytesLeft < 0) return { unreadable: `exceeds the ${READ_BYTES_MAX} bytes of all files together` };
    digests.set(path, contentDigest(bytes));
    return sourceOf(path, bytes);
  }

  const watched = () => [...read].filter(([, outcome]) => !("isUnwatched" in outcome)).map(([path]) => path);
  return {
    root,
    read(path, scope = "root") {
      const place = placeOf(path, scope);
      if ("isOutside" in place) return place;
      const known = read.get(path);
      if (known !== undefined) return known;
      const outcome = "unreadable" in place ? place : readPlace(path, place.real);
      read.set(path, outcome);
      return outcome;
    },
    watchDirectory(path, names) {
      directories.set(path, names);
    },
    files: watched,
    directories: () => [...directories.keys()],
    directoryNames: () => [...directories],
    markSecret(path) {
      secrets.add(path);
    },
    secretFiles: () => [...secrets],
    fingerprint: () =>
      fingerprintOf(
        watched().map((path) => [path, digests.get(path)]),
        directories,
      ),
    leaveOut(path) {
      leftOut.add(path);
    },
    hash: () => hashOf(read, leftOut),
    digest: () => hashOf(read, new Set()),
  };
}

function hashOf(read: ReadonlyMap<string, Source | Unreadable>, without: ReadonlySet<string>): string {
  const hash = createHash("sha256");
  for (const [path, source] of read) {
    if (!(source instanceof Source) || without.has(path)) continue;
    hash.update(`${Buffer.byteLength(source.text)}:`).update(source.text);
  }
  return hash.digest("hex");
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function sourceOf(path: string, bytes: Uint8Array): Source | Unreadable {
  try {
    return new Source(path, utf8.decode(bytes)); // Drops a byte order mark.
  } catch {
    return { unreadable: "is not UTF-8 text" };
  }
}
