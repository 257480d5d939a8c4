/**
 * How far the journal was synced: a small file that is written over after each sync. A journal that is shorter at the next
 * start was cut since. It is never ahead of the disk, so a crash at any moment leaves it right, or behind.
 */

import { join } from "node:path";
import { isJsonObject } from "../../base/json.ts";
import { CHAIN_START, nextLine, readLines } from "./checked-lines.ts";
import type { Files } from "./files.ts";

const NAME = "synced";
/** Always as long, so that a shorter text leaves nothing of a longer one behind it. */
const BYTES = 160;

export interface Synced {
  /** Its number. */
  readonly journal: number;
  readonly bytes: number;
  /** The sequence number of its last line. */
  readonly sequence: number;
}

/** Rejects with the system's error. */
export async function writeSynced(files: Files, folder: string, synced: Synced): Promise<void> {
  const line = nextLine(CHAIN_START, synced, "")?.text ?? "";
  await files.overwrite(join(folder, NAME), Buffer.from(line.padEnd(BYTES, "\n")));
}

/** undefined: there is none, or it cannot be read; then only what the journals themselves show is known. */
export async function readSynced(files: Files, folder: string): Promise<Synced | undefined> {
  const names: readonly string[] = await files.list(folder).catch(() => []);
  if (!names.includes(NAME)) return undefined;
  for await (const { good } of readLines(files, join(folder, NAME))) {
    const value = good?.value;
    if (!isJsonObject(value)) return undefined;
    const { journal, bytes, sequence } = value;
    const isWhole = [journal, bytes, sequence].every(Number.isSafeInteger);
    return isWhole
      ? { journal: Number(journal), bytes: Number(bytes), sequence: Number(sequence) }
      : undefined;
  }
  return undefined;
}
