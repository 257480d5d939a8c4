/** Writes a snapshot beside those that are there, whole or not at all, without holding up the event loop for long. */
import { join } from "node:path";
import type { Change } from "../change.ts";
import { kindsOf } from "../change.ts";
import { CHAIN_START, type LinePosition, nextLine } from "./checked-lines.ts";
import type { Files } from "./files.ts";
import { fileName, footer, HEADER_KIND, header, UNFINISHED } from "./state-folder.ts";

/** Characters serialized before yielding to the event loop: about a millisecond of work. */
const CHUNK_CHARACTERS = 256 << 10;

export interface SnapshotPlace {
  readonly files: Files;
  readonly folder: string;
  readonly number: number;
  /** The last line of the journal before the one of this number. */
  readonly after: LinePosition;
  /** What the times of the monotonic clock count from. Default: this boot of this machine. */
  readonly boot?: string;
  /** Called periodically: true when the snapshot is no longer needed. */
  readonly isCancelled: () => boolean;
}

/** Returns its bytes; undefined when it was cancelled. Rejects with the system's error, and leaves nothing behind. */
export async function writeSnapshot(
  place: SnapshotPlace,
  changes: Iterable<Change>,
): Promise<number | undefined> {
  const { files, folder, number } = place;
  const path = join(folder, fileName("snapshot", number));
  const unfinished = `${path}${UNFINISHED}`;
  try {
    const bytes = await writeLines(place, unfinished, changes);
    if (bytes === undefined) {
      await files.remove(unfinished);
      return undefined;
    }
    await files.rename(unfinished, path);
    await files.syncFolder(folder);
    return bytes;
  } catch (error) {
    // Where nothing can be written, it may be that nothing can be removed; the next start does.
    await files.remove(unfinished).catch(() => {});
    throw error;
  }
}

async function writeLines(
  { files, number, after, boot = files.boot, isCancelled }: SnapshotPlace,
  path: string,
  changes: Iterable<Change>,
): Promise<number | undefined> {
  const file = await files.create(path);
  let bytes = 0;
  let lines = 1;
  let text = "";
  let last = CHAIN_START;
  /** False: too long; logged when the journal was written. */
  const add = (value: unknown, kinds: string): boolean => {
    const line = nextLine(last, value, kinds);
    text += line?.text ?? "";
    last = line?.position ?? last;
    return line !== undefined;
  };
  add(header("snapshot", number, { boot, after }), HEADER_KIND);
  const write = async (): Promise<void> => {
    const chunk = Buffer.from(text);
    text = "";
    await file.write(chunk);
    bytes += chunk.length;
  };
  try {
    for (const change of changes) {
      if (add([change], kindsOf([change]))) lines += 1;
      if (text.length < CHUNK_CHARACTERS) continue;
      await write();
      if (isCancelled()) return undefined;
    }
    // However short it is: what was captured while the store closed is not all that it kept.
    if (isCancelled()) return undefined;
    add(footer(lines), HEADER_KIND);
    await write();
    await file.sync();
    return bytes;
  } finally {
    await file.close();
  }
}
