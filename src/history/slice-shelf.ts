/**
 * Hours in a slice of the state store, for stores that outlive the process. Each process writes under a number of its own
 * and says every minute that it runs; one that starts takes over what a process that is gone has written.
 */
import { SLICE_VALUE_BYTES_MAX, type StoreSlice } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { type HourRows, type HourShelf, rowsOf } from "./kept-hours.ts";
import { MINUTE_MS } from "./series.ts";

/** As long as hours are kept, and a day. */
const TTL_SECONDS = 33 * 86_400;
/** A process that has not said for so long that it runs is gone. */
const GONE_MS = 5 * MINUTE_MS;
/** Processes looked for at a start, the latest first. */
const PROCESSES_MAX = 50;
/** Values of one hour. More series than fit are not kept. */
const PARTS_MAX = 64;

/** What a process says of itself: when it wrote last (0: it has ended), and how many values each of its hours has. */
interface Header {
  readonly atMs: number;
  readonly parts: Readonly<Record<string, number>>;
}

export function sliceShelf(slice: StoreSlice, clock: Pick<Clock, "nowMs">): HourShelf {
  const parts: Record<string, number> = {};
  /** 0: the store could not give it a number, and keeps nothing. */
  let process = 0;

  /** Deleting its header makes a process's hours ours: of several that start together only one succeeds. */
  async function hoursOf(gone: number): Promise<readonly (readonly [number, HourRows])[]> {
    const header = headerOf(await slice.get(headerKey(gone)));
    const runs = header === undefined || clock.nowMs() - header.atMs < GONE_MS;
    if (runs || !(await slice.delete(headerKey(gone)))) return [];
    const kept: [number, HourRows][] = [];
    for (const [hour, count] of Object.entries(header.parts)) {
      for (let part = 0; part < Math.min(count, PARTS_MAX); part++) {
        kept.push([Number(hour), rowsOf(await slice.get(partKey(gone, hour, part)))]);
        await slice.delete(partKey(gone, hour, part));
      }
    }
    return kept;
  }

  return {
    async takeOver() {
      process = (await slice.increment("processes", 1, TTL_SECONDS)) ?? 0;
      const kept: (readonly [number, HourRows])[] = [];
      for (let gone = process - 1; gone > 0 && gone >= process - PROCESSES_MAX; gone--)
        kept.push(...(await hoursOf(gone)));
      return kept;
    },
    async write(hours, isLast) {
      if (process === 0) return;
      for (const [hour, rows] of hours) {
        const texts = partsOf(rows);
        for (const [part, text] of texts.entries())
          await slice.set(partKey(process, String(hour), part), text, TTL_SECONDS);
        parts[hour] = texts.length;
      }
      // A clean end says so: the next process need not wait to be sure.
      const header = { atMs: isLast ? 0 : clock.nowMs(), parts: { ...parts } };
      await slice.set(headerKey(process), header, TTL_SECONDS);
    },
  };
}

const headerKey = (process: number): string => `process/${process}`;
const partKey = (process: number, hour: string, part: number): string => `${process}/${hour}/${part}`;

/** Rows as texts, each short enough for one value of a slice. */
function partsOf(rows: HourRows): readonly string[] {
  const parts: string[] = [];
  let part: string[] = [];
  let bytes = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    // Within a JSON string each quote takes two bytes.
    const size = Buffer.byteLength(JSON.stringify(text)) + 1;
    if (bytes + size > SLICE_VALUE_BYTES_MAX - 100 && part.length > 0) {
      parts.push(`[${part.join()}]`);
      part = [];
      bytes = 0;
    }
    part.push(text);
    bytes += size;
  }
  if (part.length > 0) parts.push(`[${part.join()}]`);
  return parts.slice(0, PARTS_MAX);
}

function headerOf(value: unknown): Header | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { atMs, parts } = value as Partial<Header>; // Checked in the next line.
  return typeof atMs === "number" && typeof parts === "object" && parts !== null
    ? { atMs, parts }
    : undefined;
}
