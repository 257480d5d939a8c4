/**
 * The files a configuration is read from: each read once, hashed, remembered for the watcher. Knows nothing of YAML.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { maskedLine } from "./mask.ts";

const FILE_BYTES_MAX = 32 * 1024 * 1024;
const FILES_MAX = 20_000;

/** One file's text. */
export class Source {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  #lines: readonly string[] | undefined;
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

  /** A line as it may be shown: secrets hidden. `line` counts from 1. */
  shownLine(line: number): string {
    this.#lines ??= this.text.split(/\r?\n/);
    return maskedLine(this.#lines, line - 1);
  }
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Why a file could not be read, in words that follow its name. */
export interface Unreadable {
  readonly unreadable: string;
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
  /** Reads a file by its absolute path; a second time answers from memory. A file not found is watched as well. */
  read(path: string): Source | Unreadable;
  /** Notes a directory whose entries matter, not its files' text alone, and the names of those it has. */
  watchDirectory(path: string, names: readonly string[]): void;
  files(): readonly string[];
  directories(): readonly string[];
  /** `fingerprintOf` all of them, as they were read. */
  fingerprint(): string;
  /** Hex SHA-256 over all text read, in the order read. */
  hash(): string;
}

export function openSources(): Sources {
  const read = new Map<string, Source | Unreadable>();
  const digests = new Map<string, string>();
  const directories = new Map<string, readonly string[]>();
  const hash = createHash("sha256");
  return {
    read(path) {
      const known = read.get(path);
      if (known !== undefined) return known;
      const outcome =
        read.size < FILES_MAX
          ? readText(path, digests)
          : { unreadable: `is one of more than ${FILES_MAX} files` };
      const source = typeof outcome === "string" ? new Source(path, outcome) : outcome;
      if (source instanceof Source) hash.update(`${Buffer.byteLength(source.text)}:`).update(source.text);
      read.set(path, source);
      return source;
    },
    watchDirectory(path, names) {
      directories.set(path, names);
    },
    files: () => [...read.keys()],
    directories: () => [...directories.keys()],
    fingerprint: () =>
      fingerprintOf(
        [...read.keys()].map((path) => [path, digests.get(path)]),
        directories,
      ),
    hash: () => hash.copy().digest("hex"),
  };
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function readText(path: string, digests: Map<string, string>): string | Unreadable {
  try {
    const { size } = statSync(path);
    if (size > FILE_BYTES_MAX) return { unreadable: `is larger than ${FILE_BYTES_MAX} bytes` };
    const bytes = readFileSync(path);
    digests.set(path, contentDigest(bytes));
    return utf8.decode(bytes); // Drops a byte order mark.
  } catch (error) {
    return { unreadable: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return "does not exist";
  if (code === "EACCES" || code === "EPERM") return "may not be read";
  if (code === "EISDIR") return "is a directory";
  return code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "is not UTF-8 text" : "cannot be read";
}
