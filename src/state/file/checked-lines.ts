/**
 * Lines that know their own length and checksum: `<CRC-32, 8 hex digits> <bytes> <JSON>`. How every file of the file
 * driver is written and read. Knows no change; what a line means is for whoever reads.
 */
import { crc32 } from "node:zlib";
import type { Files } from "./files.ts";

/** Of one line. Far above what a call can bring; below what a string can hold. */
export const LINE_BYTES_MAX = 64 << 20;

/** undefined: longer than LINE_BYTES_MAX. */
export function checkedLine(value: unknown): string | undefined {
  let json: string;
  try {
    json = JSON.stringify(value);
  } catch {
    // Longer than any string may be.
    return undefined;
  }
  const bytes = Buffer.byteLength(json);
  return bytes > LINE_BYTES_MAX ? undefined : `${hex(crc32(json))} ${bytes} ${json}\n`;
}

/** Where a file ceases to be readable. */
export interface Fault {
  readonly file: string;
  /** Its first byte that is not good. */
  readonly offset: number;
  /**
   * torn: its last line is not whole, as a crash leaves it. damaged: what was written there has changed since. missing:
   * there are files before and after it.
   */
  readonly kind: "torn" | "damaged" | "missing";
  readonly reason: string;
}

export interface Reading {
  /** Good lines, its first one included. */
  readonly lines: number;
  readonly bytes: number;
  readonly fault: Omit<Fault, "file"> | undefined;
}

/** Hands each line's value on, in order, up to the first that is not good or that `take` finds a fault in. */
export async function readCheckedLines(
  files: Files,
  path: string,
  take: (value: unknown) => string | undefined,
): Promise<Reading> {
  let lines = 0;
  let bytes = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of files.read(path)) {
    const block = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    let start = 0;
    for (let end = block.indexOf(10); end >= 0; end = block.indexOf(10, start)) {
      const line = parsed(block.subarray(start, end));
      const reason = line.reason ?? take(line.value);
      if (reason !== undefined) return { lines, bytes, fault: { offset: bytes, kind: "damaged", reason } };
      lines += 1;
      bytes += end + 1 - start;
      start = end + 1;
    }
    rest = block.subarray(start);
    if (rest.length > LINE_BYTES_MAX + 64) {
      return { lines, bytes, fault: { offset: bytes, kind: "damaged", reason: "a line without end" } };
    }
  }
  const torn = { offset: bytes, kind: "torn", reason: "the last line is not whole" } as const;
  return { lines, bytes, fault: rest.length === 0 ? undefined : torn };
}

type Line =
  | { readonly reason: string; readonly value?: undefined }
  | { readonly reason?: undefined; readonly value: unknown };

function parsed(line: Buffer): Line {
  const space = line.indexOf(32, 9);
  const json = line.subarray(space + 1);
  if (space < 0 || line.toString("latin1", 0, space) !== `${hex(crc32(json))} ${json.length}`)
    return { reason: "length or checksum do not fit" };
  try {
    return { value: JSON.parse(json.toString("utf8")) };
  } catch {
    return { reason: "it is not JSON" };
  }
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, "0");
}
