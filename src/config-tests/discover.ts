/** Finds test files below a folder, and the configuration that a test file is for. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isInside } from "../config/read/root.ts";

const TEST_FILE = /\.test\.ya?ml$/;
const CONFIG_NAMES = ["gateway.config.yaml", "gateway.config.yml", "gateway.config.json"];
/** Folders that hold no sources of the operator's own. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules"]);
const FILES_MAX = 10_000;
const DEPTH_MAX = 32;

export function isTestFile(name: string): boolean {
  return TEST_FILE.test(name);
}

/** Absolute paths, in the order of their names; hidden folders and node_modules are left out. */
export function testFilesBelow(folder: string): readonly string[] {
  const found: string[] = [];
  const search = (path: string, depth: number): void => {
    if (depth > DEPTH_MAX || found.length >= FILES_MAX) return;
    const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const child = join(path, entry.name);
      if (entry.isFile() && isTestFile(entry.name)) found.push(child);
      else if (entry.isDirectory() && !entry.name.startsWith(".") && !SKIPPED.has(entry.name))
        search(child, depth + 1);
    }
  };
  if (isFolder(folder)) search(resolve(folder), 0);
  return found.slice(0, FILES_MAX);
}

/** The nearest configuration in the folder of a test file or above it. */
export function nearestConfig(testFile: string): string | undefined {
  for (let folder = dirname(testFile); ; folder = dirname(folder)) {
    const found = CONFIG_NAMES.map((name) => join(folder, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The folder of a configuration, which may be a folder itself. */
export function folderOfConfig(path: string): string {
  return isFolder(path) ? path : dirname(path);
}

/** The innermost folder that both are in; each is a file or a folder. */
export function sharedFolder(one: string, other: string): string {
  let folder = folderOfConfig(resolve(one));
  while (!isInside(folder, resolve(other)) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
