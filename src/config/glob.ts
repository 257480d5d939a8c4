/**
 * Patterns of files: `*` and `?` within a name, `**` for any number of folders, `{a,b}` for choices. Names that begin
 * with a dot are matched only by a pattern that does.
 */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const MATCHES_MAX = 10_000;
const DEPTH_MAX = 16;

/** True when the pattern is more than a plain path. */
export function isPattern(text: string): boolean {
  return /[*?{]/.test(text);
}

/** Absolute paths of the files that match, sorted. `onDirectory` is told of each folder read, and the names in it. */
export function matchFiles(
  pattern: string,
  folder: string,
  onDirectory: (path: string, names: readonly string[]) => void,
): readonly string[] {
  const segments = pattern.split("/").filter((segment) => segment !== "" && segment !== ".");
  const found = new Set<string>();
  walk(pattern.startsWith("/") ? "/" : resolve(folder), segments, 0);
  return [...found].sort();

  function walk(path: string, rest: readonly string[], depth: number): void {
    const [segment, ...after] = rest;
    if (found.size >= MATCHES_MAX || depth > DEPTH_MAX) return;
    if (segment === undefined) {
      if (isFile(path)) found.add(path);
      return;
    }
    if (!isPattern(segment)) {
      walk(join(path, segment), after, depth + 1);
      return;
    }
    const entries = entriesOf(path);
    if (entries === undefined) return;
    const names = entries.map((entry) => entry.name);
    onDirectory(path, names);
    if (segment === "**") walk(path, after, depth + 1);
    const matches = namePattern(segment);
    for (const entry of entries) {
      if (!matches.test(entry.name)) continue;
      if (segment !== "**") walk(join(path, entry.name), after, depth + 1);
      else if (entry.isDirectory()) walk(join(path, entry.name), rest, depth + 1); // Links could go in circles.
    }
  }
}

function namePattern(segment: string): RegExp {
  const source = segment
    .replace(/[.+^$()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  const choices = source.replace(/\{([^{}]*)\}/g, (_, inner: string) => `(?:${inner.replaceAll(",", "|")})`);
  return new RegExp(`^${segment.startsWith(".") ? "" : "(?!\\.)"}${choices}$`);
}

function entriesOf(path: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return undefined; // No folder: nothing there matches.
  }
}

/** Follows links, since a mounted ConfigMap is made of them. */
function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}
