/** How the files of a state folder are called, what their first lines say, and how they are read and mended. */
import { join } from "node:path";
import { isRecord } from "../change.ts";
import { type Fault, type Reading, readCheckedLines } from "./checked-lines.ts";
import type { Files } from "./files.ts";

/** journal-n holds what happened after snapshot-n was taken, up to snapshot n+1. */
export type FileKind = "journal" | "snapshot";

/** A folder of a later version is not touched. */
export const FORMAT_VERSION = 1;

export function fileName(kind: FileKind, number: number): string {
  return `${kind}-${String(number).padStart(8, "0")}.jsonl`;
}

/** Said of a line that is whole and means nothing here. */
export const UNKNOWN_CHANGE = "it is no change of this version";

/** What stands in the first line. */
export function header(kind: FileKind, number: number): Readonly<Record<string, unknown>> {
  return { sluice: kind, version: FORMAT_VERSION, number };
}

/** What stands in the last line of a snapshot: one without it was never finished. `lines`: those before it. */
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
export class LaterVersionError extends Error {}

export interface FileReading extends Reading {
  /** undefined: all of it is good. */
  readonly fault: Fault | undefined;
}

/** Hands on each value after the first line's. Throws LaterVersionError, and what the system throws. */
export async function readStateFile(
  files: Files,
  place: { readonly folder: string; readonly kind: FileKind; readonly number: number },
  take: (value: unknown) => string | undefined,
): Promise<FileReading> {
  const file = fileName(place.kind, place.number);
  let lines = 0;
  let ended = false;
  const reading = await readCheckedLines(files, join(place.folder, file), (value) => {
    lines += 1;
    if (lines === 1) return headerFault(value, place.kind, place.number);
    if (ended) return "it goes on after its end";
    if (place.kind === "snapshot" && isRecord(value) && value["end"] === "snapshot") {
      ended = true;
      return value["lines"] === lines - 1 ? undefined : "lines are missing";
    }
    return take(value);
  });
  if (reading.fault !== undefined) return { ...reading, fault: { file, ...reading.fault } };
  if (place.kind === "journal" || ended) return { ...reading, fault: undefined };
  return {
    ...reading,
    fault: { file, offset: reading.bytes, kind: "damaged", reason: "its end is missing" },
  };
}

function headerFault(value: unknown, kind: FileKind, number: number): string | undefined {
  if (!isRecord(value) || value["sluice"] !== kind) return `it is no ${kind}`;
  const version = value["version"];
  if (typeof version === "number" && version > FORMAT_VERSION) {
    throw new LaterVersionError(
      `the state folder is of version ${version}, this Sluice reads ${FORMAT_VERSION}`,
    );
  }
  if (version !== FORMAT_VERSION) return "its version is not known";
  return value["number"] === number ? undefined : "it was another file once";
}

/** The first of each gap between two that are there. */
export function missingJournals(journals: readonly number[]): Fault[] {
  const gaps = journals.flatMap((number, index) => {
    const expected = (journals[index - 1] ?? number - 1) + 1;
    return number === expected ? [] : [expected];
  });
  const reason = "it is not there";
  return gaps.map((number) => ({ file: fileName("journal", number), offset: 0, kind: "missing", reason }));
}

/**
 * Makes a file good again: what is damaged is kept beside it under another name; what is torn is cut off, and kept only
 * by "keep all". Returns the name of what was kept.
 */
export async function mend(
  files: Files,
  folder: string,
  fault: Fault,
  keep: "keep damaged" | "keep all" = "keep damaged",
): Promise<string | undefined> {
  const path = join(folder, fault.file);
  if (fault.kind === "missing") return undefined;
  const isJournal = fault.file.startsWith("journal");
  if (fault.kind === "torn" && isJournal && keep === "keep damaged") {
    await files.truncate(path, fault.offset);
    return undefined;
  }
  const aside = `${fault.file}.${fault.kind}-${fault.offset}`;
  if (!isJournal) {
    await files.rename(path, join(folder, aside));
    return aside;
  }
  const copy = await files.create(join(folder, aside));
  try {
    for await (const piece of files.read(path, fault.offset)) await copy.write(piece);
    await copy.sync();
  } finally {
    await copy.close();
  }
  await files.truncate(path, fault.offset);
  return aside;
}
