/**
 * The lines that every file of the file driver is made of. Each knows its length, its checksum, its place in the sequence,
 * and the checksum and contents of the line before it, so that a reader can continue after a damaged line and tell how many
 * lines are missing and what kinds of changes the last of them held:
 * `<CRC-32> <bytes of JSON> <sequence number> <CRC-32 of the line before><kinds of the line before> <JSON>`.
 * Version 0.1 wrote `<CRC-32> <bytes> <JSON>`. The reader interprets the values.
 */
import { crc32 } from "node:zlib";
import type { Files } from "./files.ts";

/** Of one line. Far above what a call can bring; below what a string can hold. */
const LINE_BYTES_MAX = 64 << 20;
const PREFIX_BYTES_MAX = 64;

/** The last line that was written, or read. */
export interface LinePosition {
  readonly sequence: number;
  /** 8 hex digits. */
  readonly checksum: string;
  /** One letter for each kind of what the line holds; see `kindsOf`. */
  readonly kinds: string;
}

/** Before the first line. */
export const CHAIN_START: LinePosition = { sequence: 0, checksum: "00000000", kinds: "" };

/** The line after `previous`, and the position it ends at. undefined: longer than LINE_BYTES_MAX. */
export function nextLine(
  previous: LinePosition,
  value: unknown,
  kinds: string,
): { readonly text: string; readonly position: LinePosition } | undefined {
  let json: string;
  try {
    json = JSON.stringify(value);
  } catch {
    // Longer than any string may be.
    return undefined;
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > LINE_BYTES_MAX) return undefined;
  const sequence = previous.sequence + 1;
  const covered = `${sequence} ${previous.checksum}${previous.kinds} ${json}`;
  const checksum = hex(crc32(covered));
  return { text: `${checksum} ${bytes} ${covered}\n`, position: { sequence, checksum, kinds } };
}

/** A line that is good by itself. */
export interface GoodLine {
  readonly value: unknown;
  /** undefined: version 0.1 wrote it. */
  readonly chain:
    | {
        readonly sequence: number;
        readonly checksum: string;
        readonly previousChecksum: string;
        readonly previousKinds: string;
      }
    | undefined;
}

/** One line of a file, as far as it can be read. */
export interface RawLine {
  readonly offset: number;
  /** Its line end included. */
  readonly bytes: number;
  /** undefined: it is not good, for `reason`. */
  readonly good: GoodLine | undefined;
  readonly reason: string;
  /** It is the end of the file, without a line end, as a crash in the middle of a write leaves it. */
  readonly isTorn: boolean;
}

/** Every line of a file, good or not. */
export async function* readLines(files: Files, path: string): AsyncGenerator<RawLine> {
  let offset = 0;
  let rest: Buffer = Buffer.alloc(0);
  /** Bytes of a line that is longer than any may be, already passed over. */
  let skipped = 0;
  for await (const piece of files.read(path)) {
    const block = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    let start = 0;
    for (let end = block.indexOf(10); end >= 0; end = block.indexOf(10, start)) {
      const bytes = skipped + end + 1 - start;
      yield {
        offset,
        bytes,
        ...(skipped > 0 ? TOO_LONG : parsed(block.subarray(start, end))),
        isTorn: false,
      };
      offset += bytes;
      skipped = 0;
      start = end + 1;
    }
    rest = block.subarray(start);
    if (rest.length <= LINE_BYTES_MAX + PREFIX_BYTES_MAX) continue;
    skipped += rest.length;
    rest = Buffer.alloc(0);
  }
  if (skipped + rest.length === 0) return;
  // Where only the line end is damaged, or missing, the line itself is whole.
  const whole = [rest, rest.subarray(0, -1)].map(parsed).find(({ good }) => good !== undefined);
  const bytes = skipped + rest.length;
  if (skipped === 0 && whole !== undefined) yield { offset, bytes, ...whole, isTorn: false };
  else yield { offset, bytes, good: undefined, reason: "the last line is not whole", isTorn: true };
}

const TOO_LONG = { good: undefined, reason: "a line without end" };
/** Of both formats; the last two groups are missing in lines of version 0.1. */
const PREFIX = /^([0-9a-f]{8}) (\d{1,8}) (?:(\d{1,15}) ([0-9a-f]{8})([a-z]{0,8}) )?/;

function parsed(line: Buffer): Pick<RawLine, "good" | "reason"> {
  const [prefix = "", checksum = "", bytes, sequence, previousChecksum = "", previousKinds = ""] =
    PREFIX.exec(line.toString("latin1", 0, PREFIX_BYTES_MAX)) ?? [];
  const json = line.subarray(prefix.length);
  const covered = line.subarray(checksum.length + 2 + (bytes?.length ?? 0));
  if (prefix === "" || Number(bytes) !== json.length || hex(crc32(covered)) !== checksum)
    return { good: undefined, reason: "length or checksum do not match" };
  try {
    const value: unknown = JSON.parse(json.toString("utf8"));
    if (sequence === undefined) return { good: { value, chain: undefined }, reason: "" };
    const chain = { sequence: Number(sequence), checksum, previousChecksum, previousKinds };
    return { good: { value, chain }, reason: "" };
  } catch {
    return { good: undefined, reason: "it is not JSON" };
  }
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, "0");
}
