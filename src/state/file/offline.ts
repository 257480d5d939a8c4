/**
 * A state folder worked on while no gateway has it: inspected, checked, repaired, written as plain JSON lines and read
 * back. Takes the folder's lock for as long, so that nothing changes under its hands.
 */

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { isJsonObject } from "../../base/json.ts";
import { type Change, changeOf, changesOf } from "../change.ts";
import { Tables } from "../tables.ts";
import { CHAIN_START } from "./checked-lines.ts";
import { diskFiles } from "./files.ts";
import { Journal } from "./journal.ts";
import type { Fault } from "./line-chain.ts";
import { LineChain } from "./line-chain.ts";
import { setAside } from "./loss.ts";
import { type Recovered, Restoration, recover } from "./recovery.ts";
import { type SnapshotPlace, writeSnapshot } from "./snapshot.ts";
import { FORMAT_VERSION, fileName, listFolder, readJournal, readSnapshot } from "./state-folder.ts";

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

/** What a start would find, and whether it would refuse or not. Changes nothing. */
export function readState(folder: string): Promise<Recovered> {
  const clock = systemClock();
  const random = { uuid: randomUUID, fraction: () => 0 };
  const unlimited = Number.MAX_SAFE_INTEGER;
  const options = { clock, random, maxSessions: unlimited, sessionBytesMax: unlimited };
  return recover(diskFiles, folder, () => {
    const now = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), boot: diskFiles.boot };
    return new Restoration(new Tables(options), now);
  });
}

export interface CheckedFile {
  readonly name: string;
  readonly bytes: number;
  /** Good ones. */
  readonly lines: number;
  /** In the order of their places. */
  readonly faults: readonly Fault[];
}

/** Every byte of every file, those too that a start would have no need of. */
export async function checkFiles(folder: string): Promise<readonly CheckedFile[]> {
  const listing = await listFolder(diskFiles, folder);
  const { faults } = await readState(folder);
  const checked: CheckedFile[] = [];
  const add = async (name: string, lines: number, own: readonly Fault[]): Promise<void> => {
    const known = faults.filter(({ file }) => file === name);
    const bytes = await diskFiles.bytes(join(folder, name));
    checked.push({ name, bytes, lines, faults: known.length > 0 ? known : own });
  };
  for (const number of listing.snapshots) {
    const { lines, fault } = await readSnapshot(diskFiles, { folder, number }, CHECKING);
    await add(fileName("snapshot", number), lines, fault === undefined ? [] : [fault]);
  }
  for (const number of listing.journals) {
    const chain = new LineChain(() => "", undefined);
    const { lines } = await readJournal(diskFiles, { folder, number }, chain, CHECKING);
    chain.end(undefined);
    await add(fileName("journal", number), lines, chain.faults);
  }
  const missing = faults.filter(({ file }) => !checked.some(({ name }) => name === file));
  return [...checked, ...missing.map((fault) => ({ name: fault.file, bytes: 0, lines: 0, faults: [fault] }))];
}

const CHECKING = {
  header: (): void => {},
  take: (value: unknown) =>
    changesOf(value) === undefined ? "it is not a change of this version" : undefined,
};

export interface Repaired {
  readonly faults: readonly Fault[];
  /** The snapshot that holds everything that could be read. */
  readonly snapshot: string;
  /** Where the damaged files are kept. */
  readonly aside: readonly string[];
}

/**
 * Makes a snapshot of everything that can be read, past what is damaged, and keeps the damaged files under other names.
 * undefined: nothing was wrong, and nothing was changed.
 */
export async function repairFolder(folder: string): Promise<Repaired | undefined> {
  const checked = await checkFiles(folder);
  const faults = checked.flatMap((file) => file.faults);
  if (faults.length === 0) return undefined;
  const state = await readState(folder);
  const number = state.lastFile + 1;
  const changes = state.tables.capture(state.holds);
  const { boot } = diskFiles;
  await beginFolder(folder, { number, after: state.lastLine ?? CHAIN_START, boot, changes });
  const aside: string[] = [];
  for (const { faults: own } of checked) {
    const [first] = own;
    if (first !== undefined && first.kind !== "missing") aside.push(await setAside(diskFiles, folder, first));
  }
  return { faults, snapshot: fileName("snapshot", number), aside };
}

/** A snapshot of these changes, and the empty journal that continues it. Rejects with the system's error. */
async function beginFolder(
  folder: string,
  { changes, ...about }: Pick<SnapshotPlace, "number" | "after" | "boot"> & { changes: Iterable<Change> },
): Promise<void> {
  const { number, after } = about;
  const place = { files: diskFiles, folder, number };
  let failure: unknown;
  const failed = (error: unknown): void => void (failure = error);
  await writeSnapshot({ ...place, ...about, isCancelled: () => false }, changes);
  const journal = await Journal.begin({ ...place, failed, tooLong: () => {} });
  journal.start(after, true);
  await journal.sync();
  await journal.close();
  if (failure !== undefined) throw failure;
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
  // The lines may be from another machine, so their dates are used.
  await beginFolder(folder, { number: 1, after: CHAIN_START, boot: "", changes });
  return changes.length;
}

/** Version 0.1 wrote 1. */
const EXPORT_VERSIONS: ReadonlySet<unknown> = new Set([1, FORMAT_VERSION]);

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
  if (!isJsonObject(first) || first["sluice"] !== "export" || !EXPORT_VERSIONS.has(first["version"])) {
    throw new OfflineError(`line 1 does not begin an export of version 1 or ${FORMAT_VERSION}`);
  }
  if (!isJsonObject(last) || last["end"] !== "export" || last["lines"] !== values.length + 1) {
    throw new OfflineError("its last line is missing, or lines before it are");
  }
  return values.map((value, index) => {
    const change = changeOf(value);
    if (change === undefined)
      throw new OfflineError(`line ${index + 2} is no change that this version knows`);
    return change;
  });
}
