/**
 * A state folder worked on while no gateway has it: looked at, checked, mended, written out as plain JSON lines and read
 * back. Takes the folder's lock for as long, so that nothing changes under its hands.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { type Change, changeOf, changesOf, isRecord } from "../change.ts";
import { Tables } from "../tables.ts";
import type { Fault } from "./checked-lines.ts";
import { diskFiles } from "./files.ts";
import { Journal } from "./journal.ts";
import { type Recovered, Restoration, recover } from "./recovery.ts";
import { writeSnapshot } from "./snapshot.ts";
import {
  type FileKind,
  FORMAT_VERSION,
  fileName,
  listFolder,
  mend,
  missingJournals,
  readStateFile,
  UNKNOWN_CHANGE,
} from "./state-folder.ts";

/** What is wrong, for people. */
export class OfflineError extends Error {}

/** Runs `work` with the folder locked. Rejects with an OfflineError when it is held, or is not what was expected. */
export async function withFolder<T>(
  folder: string,
  work: () => Promise<T>,
  expected: "state" | "nothing" = "state",
): Promise<T> {
  const { journals, snapshots } = await listFolder(diskFiles, folder);
  const isEmpty = journals.length + snapshots.length === 0;
  if (isEmpty && expected === "state") throw new OfflineError(`there is no state in ${folder}`);
  if (!isEmpty && expected === "nothing") {
    throw new OfflineError(`${folder} holds state already; move it away first`);
  }
  const lock = await diskFiles.lock(folder);
  if (lock.heldBy !== undefined) {
    throw new OfflineError(`process ${lock.heldBy} has ${folder}; stop it first`);
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/** What a start would find. Changes nothing. */
export function readState(folder: string): Promise<Recovered> {
  const clock = systemClock();
  const random = { uuid: randomUUID, fraction: () => 0 };
  const options = { clock, random, maxSessions: Number.MAX_SAFE_INTEGER };
  return recover(diskFiles, folder, () => {
    const now = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), boot: "" };
    return new Restoration(new Tables(options), now);
  });
}

export interface CheckedFile {
  readonly name: string;
  readonly bytes: number;
  /** Good ones. */
  readonly lines: number;
  readonly fault: Fault | undefined;
}

/** Every file, those too that a start would have no need of. */
export async function checkFiles(folder: string): Promise<readonly CheckedFile[]> {
  const listing = await listFolder(diskFiles, folder);
  const checked: CheckedFile[] = [];
  const check = async (kind: FileKind, number: number): Promise<void> => {
    const { lines, fault } = await readStateFile(diskFiles, { folder, kind, number }, (value) =>
      changesOf(value) === undefined ? UNKNOWN_CHANGE : undefined,
    );
    const name = fileName(kind, number);
    checked.push({ name, bytes: await diskFiles.bytes(join(folder, name)), lines, fault });
  };
  for (const number of listing.snapshots) await check("snapshot", number);
  for (const number of listing.journals) await check("journal", number);
  for (const fault of missingJournals(listing.journals)) {
    checked.push({ name: fault.file, bytes: 0, lines: 0, fault });
  }
  return checked;
}

export interface Mended {
  readonly fault: Fault;
  /** Where what was cut is kept; undefined: there was nothing to keep. */
  readonly aside: string | undefined;
}

/** Makes every file good up to its fault, and keeps what it cuts off. */
export async function mendFiles(folder: string): Promise<readonly Mended[]> {
  const mended: Mended[] = [];
  for (const { fault } of await checkFiles(folder)) {
    if (fault === undefined) continue;
    mended.push({ fault, aside: await mend(diskFiles, folder, fault, "keep all") });
  }
  return mended;
}

/** Everything as JSON lines, the first and the last of which say what they are. */
export function* exportLines({ tables, holds }: Pick<Recovered, "tables" | "holds">): Generator<string> {
  let lines = 1;
  yield `${JSON.stringify({ sluice: "export", version: FORMAT_VERSION })}\n`;
  for (const change of tables.capture(holds)) {
    lines += 1;
    yield `${JSON.stringify(change)}\n`;
  }
  yield `${JSON.stringify({ end: "export", lines })}\n`;
}

/** Makes the folder hold what was exported. Returns how many changes. Rejects with an OfflineError that names a line. */
export async function importLines(folder: string, text: string): Promise<number> {
  const changes = changesIn(text);
  const place = { files: diskFiles, folder, number: 1 };
  let failure: unknown;
  const failed = (error: unknown): void => void (failure = error);
  const journal = await Journal.begin({ ...place, failed, tooLong: () => {} });
  await journal.close();
  if (failure !== undefined) throw failure;
  await writeSnapshot({ ...place, givenUp: () => false }, changes);
  return changes.length;
}

function changesIn(text: string): Change[] {
  const values = text
    .trimEnd()
    .split("\n")
    .map((line, index) => {
      try {
        const value: unknown = JSON.parse(line);
        return value;
      } catch {
        throw new OfflineError(`line ${index + 1} is not JSON`);
      }
    });
  const [first, last] = [values.shift(), values.pop()];
  if (!isRecord(first) || first["sluice"] !== "export" || first["version"] !== FORMAT_VERSION) {
    throw new OfflineError(`line 1 does not begin an export of version ${FORMAT_VERSION}`);
  }
  if (!isRecord(last) || last["end"] !== "export" || last["lines"] !== values.length + 1) {
    throw new OfflineError("its last line is missing, or lines before it are");
  }
  return values.map((value, index) => {
    const change = changeOf(value);
    if (change === undefined)
      throw new OfflineError(`line ${index + 2} is no change that this version knows`);
    return change;
  });
}
