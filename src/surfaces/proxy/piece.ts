/**
 * Pieces of bodies that pass through. Each is given back as soon as it is written instead of when the collector comes by:
 * bodies fill no heap, but V8 counts their bytes, and marks ours again for every 16 MB that have passed.
 */
import type { Writable } from "node:stream";
import { MessageChannel } from "node:worker_threads";

/** Smaller ones are given back for less by the collector. */
const GIVEN_BACK_BYTES_MIN = 4_096;

/** A port whose other end is closed: what is moved there is freed. Newer Nodes have `ArrayBuffer.transfer` for it. */
const nowhere = portToNowhere();

/** Writes a piece that nobody else needs: afterwards it is empty. False: the reader wants no more until 'drain'. */
export function handOver(part: Buffer, to: Writable): boolean {
  const { buffer } = part;
  const isShared = !(buffer instanceof ArrayBuffer) || buffer.byteLength !== part.byteLength;
  if (isShared || part.byteLength < GIVEN_BACK_BYTES_MIN) return to.write(part);
  return to.write(part, (error) => {
    // After a failure the system may still be reading from it.
    if (!error) nowhere.postMessage(null, [buffer]);
  });
}

function portToNowhere(): MessageChannel["port1"] {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}
