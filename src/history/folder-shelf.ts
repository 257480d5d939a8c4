/** Hours in a folder, a file each: for the file store, whose lock keeps a second process out. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type HourRows, type HourShelf, rowsOf } from "./kept-hours.ts";
import { HOURS_KEPT } from "./series.ts";

const FILE = /^(\d{1,9})\.json$/;

export function folderShelf(folder: string): HourShelf {
  const pathOf = (hour: number): string => join(folder, `${hour}.json`);

  async function hoursThere(): Promise<readonly number[]> {
    const names = await readdir(folder);
    return names.flatMap((name) => FILE.exec(name)?.[1] ?? []).map(Number);
  }

  /** Whole or not at all: a process may end at any moment. */
  async function replace(hour: number, rows: HourRows): Promise<void> {
    const path = pathOf(hour);
    await writeFile(`${path}.new`, JSON.stringify(rows), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  return {
    async takeOver() {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const kept: [number, HourRows][] = [];
      for (const hour of await hoursThere()) kept.push([hour, rowsOf(await readFile(pathOf(hour), "utf8"))]);
      return kept;
    },
    async write(hours) {
      if (hours.size === 0) return;
      for (const [hour, rows] of hours) await replace(hour, rows);
      const newest = Math.max(...hours.keys());
      for (const hour of await hoursThere())
        if (hour < newest - HOURS_KEPT) await rm(pathOf(hour), { force: true });
    },
  };
}
