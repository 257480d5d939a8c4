/**
 * How much is read from providers in one turn of the event loop. A provider that sends faster than the gateway works
 * would otherwise be read until nothing is left, some 2 MB a turn for each of its connections, and all other calls wait
 * for that. Connections with much to read take turns, a read each; answers in small pieces are never held back.
 */
import { batchNumber, finishInBatch } from "../../base/batching.ts";
import { READ_BUFFER } from "./connect.ts";

/** Working on so much takes a few milliseconds. */
const TURN_BYTES = 128 * 1024;
/** Readers that go on in one turn, for a read each. */
const READERS_MAX = TURN_BYTES / READ_BUFFER.length;
/** A read of so much has probably left more to read: beyond the share it waits. */
const LARGE_BYTES = 16 * 1024;

export interface ShareReader {
  /** It may read now. */
  readOn(): void;
}

let turn = -1;
let bytes = 0;
/** In the order of their turns. No more than there are connections. */
const waiting = new Set<ShareReader>();

/** Counts a read. True: its reader must stop, and take its turn by `waitForShare`. */
export function exceedsShare(length: number): boolean {
  const now = batchNumber();
  if (now !== turn) {
    turn = now;
    bytes = 0;
  }
  bytes += length;
  // What one connection reads in a turn is written at the turn's end: only then is it seen that its client is behind.
  return length === READ_BUFFER.length || (bytes > TURN_BYTES && length >= LARGE_BYTES);
}

export function waitForShare(reader: ShareReader): void {
  if (waiting.size === 0) finishInBatch(readOn);
  waiting.add(reader);
}

function readOn(): void {
  let left = READERS_MAX;
  for (const reader of waiting) {
    waiting.delete(reader);
    reader.readOn();
    left -= 1;
    if (left === 0) break;
  }
  if (waiting.size > 0) finishInBatch(readOn);
}
