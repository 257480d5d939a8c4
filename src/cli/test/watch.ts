/** Waits until one of some files changes, appears or goes. */
import { statSync } from "node:fs";

const PERIOD_MS = 300;

/** `testFiles`: found again each time, since a new test file is a change. */
export async function untilChanged(
  files: readonly string[],
  testFiles: () => readonly string[],
): Promise<void> {
  const stamp = (): string => JSON.stringify([testFiles(), files.map(stampOf)]);
  const before = stamp();
  while (stamp() === before) await new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
}

function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}
