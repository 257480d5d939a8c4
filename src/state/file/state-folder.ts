/** The names of the files of a state folder, what their first lines say, and how they are read. */

import { join } from "node:path";
import { isJsonObject } from "../../base/json.ts";
import { changesOf, kindsOf } from "../change.ts";
import { CHAIN_START, type LinePosition, readLines } from "./checked-lines.ts";
import type { Files } from "./files.ts";
import { type Fault, LineChain, unknownLoss } from "./line-chain.ts";

/** journal-n holds what happened after snapshot-n was taken, up to snapshot n+1. */
export type FileKind = "journal" | "snapshot";

/** A folder of a later version is not touched; version 0.1 wrote 1. */
export const FORMAT_VERSION = 2;
const FORMAT_VERSION_MIN = 1;

export function fileName(kind: FileKind, number: number): string {
  return `${kind}-${String(number).padStart(8, "0")}.jsonl`;
}

/** Other fields of the first line. */
export interface HeaderFields {
  /** The boot of the machine that `upMs` and the like count from. */
  readonly boot: string;
  /** Of a snapshot: the last line of the journal before that of its number. */
  readonly after?: LinePosition;
  /** The journal continues the snapshot of its number only: changes between it and the journal before were not written. */
  readonly needsSnapshot?: true;
}

/** The value of the first line. */
export function header(
  kind: FileKind,
  number: number,
  fields: HeaderFields,
): Readonly<Record<string, unknown>> {
  return { sluice: kind, version: FORMAT_VERSION, number, ...fields };
}

/** The kind of a first line: nothing is lost with it. */
export const HEADER_KIND = "h";

/** The last line of a snapshot: one without it is incomplete. `lines`: those before it. */
export function footer(lines: number): Readonly<Record<string, unknown>> {
  return { end: "snapshot", lines };
}

export interface FolderListing {
  /** Ascending. */
  readonly journals: readonly number[];
  readonly snapshots: readonly number[];
  /** Snapshots that were begun. */
  readonly unfinished: readonly string[];
}

export const UNFINISHED = ".unfinished";

/** A folder that is not there is an empty one. */
export async function listFolder(files: Files, folder: string): Promise<FolderListing> {
  const names = await files.list(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const numbers = (kind: FileKind): number[] =>
    names
      .flatMap((name) => (name === fileName(kind, numberOf(name)) ? [numberOf(name)] : []))
      .sort((a, b) => a - b);
  return {
    journals: numbers("journal"),
    snapshots: numbers("snapshot"),
    unfinished: names.filter((name) => name.endsWith(UNFINISHED)),
  };
}

function numberOf(name: string): number {
  return Number(/^[a-z]+-(\d{1,15})\.jsonl$/.exec(name)?.[1] ?? -1);
}

/** The folder was written by a version of Sluice that this one knows nothing of. */
class LaterVersionError extends Error {}

/** A parsed first line. */
export interface Header extends HeaderFields {
  readonly version: number;
}

export interface FileReading {
  /** undefined: it cannot be read. */
  readonly header: Header | undefined;
  /** Good ones, the first included. */
  readonly lines: number;
  readonly bytes: number;
}

/** Receives the usable lines of a file, in order. */
export interface FileUser {
  header(header: Header): void;
  /** undefined: it can be used; else why not. */
  take(value: unknown): string | undefined;
}

/**
 * Reads a journal to its end, past what is damaged; `chain` has the faults. `until`: the sequence number that the next
 * journal begins with; a writer that was replaced may have left lines from there on, which were never acknowledged.
 * Throws LaterVersionError, and what the system throws.
 */
export async function readJournal(
  files: Files,
  place: { readonly folder: string; readonly number: number; readonly until?: number | undefined },
  chain: LineChain,
  user: FileUser,
): Promise<FileReading> {
  const file = fileName("journal", place.number);
  let found: Header | undefined;
  let lines = 0;
  let bytes = 0;
  for await (const line of readLines(files, join(place.folder, file))) {
    const isFirst = bytes === 0;
    bytes += line.bytes;
    const sequence = line.good?.chain?.sequence;
    if (sequence !== undefined && place.until !== undefined && sequence >= place.until) continue;
    if (isFirst && !line.isTorn) {
      const read = line.good === undefined ? line.reason : headerOf(line.good.value, "journal", place.number);
      if (typeof read === "string") chain.damaged(file, line.offset, read);
      else if (chain.take(file, line) !== undefined) {
        lines += 1;
        found = read;
        user.header(read);
      }
      continue;
    }
    const good = chain.take(file, line);
    if (good === undefined) continue;
    const reason = user.take(good.value);
    if (reason === undefined) lines += 1;
    else chain.unusable(file, line.offset, reason);
  }
  return { header: found, lines, bytes };
}

/** Reads a snapshot; one with any fault is unusable. Throws LaterVersionError, and what the system throws. */
export async function readSnapshot(
  files: Files,
  place: { readonly folder: string; readonly number: number },
  user: FileUser,
): Promise<FileReading & { readonly fault: Fault | undefined }> {
  const file = fileName("snapshot", place.number);
  const chain = new LineChain(kindsOfValue, CHAIN_START);
  let found: Header | undefined;
  let lines = 0;
  let bytes = 0;
  let ended = false;
  const faulty = (offset: number, reason: string) => {
    return { header: found, lines, bytes, fault: unknownLoss(file, offset, "damaged", reason) };
  };
  for await (const line of readLines(files, join(place.folder, file))) {
    const good = chain.take(file, line);
    if (good === undefined || chain.faults.length > 0)
      return faulty(line.offset, line.reason || "lines are missing");
    if (ended) return faulty(line.offset, "it continues after its end");
    if (lines === 0) {
      const read = headerOf(good.value, "snapshot", place.number);
      if (typeof read === "string") return faulty(line.offset, read);
      found = read;
      user.header(read);
    } else if (isJsonObject(good.value) && good.value["end"] === "snapshot") {
      ended = true;
      if (good.value["lines"] !== lines) return faulty(line.offset, "lines are missing");
    } else {
      const reason = user.take(good.value);
      if (reason !== undefined) return faulty(line.offset, reason);
    }
    lines += 1;
    bytes += line.bytes;
  }
  return ended ? { header: found, lines, bytes, fault: undefined } : faulty(bytes, "its end is missing");
}

/** The sequence number that a journal begins with; undefined: it cannot be told, or there is no chain in it. */
export async function firstSequence(
  files: Files,
  folder: string,
  number: number,
): Promise<number | undefined> {
  for await (const { good } of readLines(files, join(folder, fileName("journal", number))))
    return good?.chain?.sequence;
  return undefined;
}

function headerOf(value: unknown, kind: FileKind, number: number): Header | string {
  if (!isJsonObject(value) || value["sluice"] !== kind) return `it is not a ${kind}`;
  const { version, boot } = value;
  if (typeof version === "number" && version > FORMAT_VERSION) {
    throw new LaterVersionError(
      `the state folder is of version ${version}, this Sluice reads ${FORMAT_VERSION}`,
    );
  }
  if (typeof version !== "number" || version < FORMAT_VERSION_MIN) return "its version is not known";
  if (value["number"] !== number) return "it is another file under this name";
  return {
    version,
    boot: typeof boot === "string" ? boot : "",
    ...(isPosition(value["after"]) ? { after: value["after"] } : {}),
    ...(value["needsSnapshot"] === true ? { needsSnapshot: true } : {}),
  };
}

function isPosition(value: unknown): value is LinePosition {
  if (!isJsonObject(value)) return false;
  const { sequence, checksum, kinds } = value;
  return Number.isSafeInteger(sequence) && typeof checksum === "string" && typeof kinds === "string";
}

/** Of what a line holds, whatever that is. */
export function kindsOfValue(value: unknown): string {
  const changes = changesOf(value);
  return changes === undefined ? HEADER_KIND : kindsOf(changes);
}

/** The first of each gap between two that are there. */
export function missingJournals(journals: readonly number[]): Fault[] {
  const gaps = journals.flatMap((number, index) => {
    const expected = (journals[index - 1] ?? number - 1) + 1;
    return number === expected ? [] : [expected];
  });
  return gaps.map((number) => unknownLoss(fileName("journal", number), 0, "missing", "the file is missing"));
}
