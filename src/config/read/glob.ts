/**
 * Patterns of files: `*` and `?` within a name, `**` for any number of folders, `{a,b}` for choices. Names that begin
 * with a dot are matched only by a pattern that does, test files (`*.test.yaml`) by none. Matching takes time in
 * proportion to pattern and name, and the number of folders walked is bounded.
 */
import { join, resolve } from "node:path";
import type { FolderEntry } from "./files.ts";
import type { ConfigRoot } from "./root.ts";

const MATCHES_MAX = 10_000;
const DEPTH_MAX = 16;
const FOLDERS_MAX = 10_000;
const CHOICES_MAX = 256;
const PATTERN_CHARACTERS_MAX = 1_000;

/** True when the pattern is more than a plain path. */
export function isPattern(text: string): boolean {
  return /[*?{]/.test(text);
}

/** Files of cases for `sluice test`: never parts of a configuration. */
export function isTestFile(path: string): boolean {
  return /\.test\.ya?ml$/i.test(path);
}

export interface Matches {
  /** Absolute paths, sorted. */
  readonly files: readonly string[];
  /** Why the pattern is refused, in words that follow it. */
  readonly refusal?: string;
  /** True when the pattern leads out of the root. */
  readonly isOutside?: true;
}

/** The files that match, inside `root` only. `onDirectory` is called with each folder read and the names in it. */
export function matchFiles(
  pattern: string,
  folder: string,
  root: ConfigRoot,
  onDirectory: (path: string, names: readonly string[]) => void,
): Matches {
  const segments = pattern.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (pattern.length > PATTERN_CHARACTERS_MAX)
    return { files: [], refusal: `has more than ${PATTERN_CHARACTERS_MAX} characters` };
  const matchers: (NameMatcher | undefined)[] = [];
  for (const segment of segments) {
    const matcher = isPattern(segment) ? nameMatcher(segment) : undefined;
    if (matcher === "too many")
      return { files: [], refusal: `has more than ${CHOICES_MAX} combinations of choices` };
    matchers.push(matcher);
  }
  const walk = new Walk(segments, matchers, root, onDirectory);
  walk.from(pattern.startsWith("/") ? "/" : resolve(folder), 0, 0);
  return walk.matches();
}

/** One search. Folders outside the root are not read. */
class Walk {
  readonly #segments: readonly string[];
  readonly #matchers: readonly (NameMatcher | undefined)[];
  readonly #root: ConfigRoot;
  readonly #onDirectory: (path: string, names: readonly string[]) => void;
  readonly #found = new Set<string>();
  /** Folder and segment: two `**` would lead to the same ones again and again. */
  readonly #visited = new Set<string>();
  readonly #entries = new Map<string, readonly FolderEntry[] | undefined>();
  #isOutside = false;
  #refusal: string | undefined;

  constructor(
    segments: readonly string[],
    matchers: readonly (NameMatcher | undefined)[],
    root: ConfigRoot,
    onDirectory: (path: string, names: readonly string[]) => void,
  ) {
    this.#segments = segments;
    this.#matchers = matchers;
    this.#root = root;
    this.#onDirectory = onDirectory;
  }

  matches(): Matches {
    const files = [...this.#found].sort();
    if (this.#refusal !== undefined) return { files: [], refusal: this.#refusal };
    return this.#isOutside && files.length === 0 ? { files, isOutside: true } : { files };
  }

  /** `next`: the index of the segment that the entries of `path` are matched with. */
  from(path: string, next: number, depth: number): void {
    const segment = this.#segments[next];
    if (this.#refusal !== undefined || depth > DEPTH_MAX) return;
    if (segment === undefined) {
      if (this.#root.isFile(path) && !isTestFile(path)) this.#add(path);
      return;
    }
    const matches = this.#matchers[next];
    if (matches === undefined) {
      this.from(join(path, segment), next + 1, depth + 1);
      return;
    }
    const visit = `${next}\0${path}`;
    if (this.#visited.has(visit)) return;
    this.#visited.add(visit);
    const isDeep = segment === "**";
    if (isDeep) this.from(path, next + 1, depth + 1);
    for (const entry of this.#read(path) ?? []) {
      if (!matches(entry.name)) continue;
      if (!isDeep) this.from(join(path, entry.name), next + 1, depth + 1);
      else if (entry.isFolder) this.from(join(path, entry.name), next, depth + 1); // Links could go in circles.
    }
  }

  #add(path: string): void {
    this.#found.add(path);
    if (this.#found.size > MATCHES_MAX) this.#refusal = `matches more than ${MATCHES_MAX} files`;
  }

  #read(path: string): readonly FolderEntry[] | undefined {
    if (this.#entries.has(path)) return this.#entries.get(path);
    if (this.#entries.size >= FOLDERS_MAX) {
      this.#refusal = `searches more than ${FOLDERS_MAX} folders`;
      return undefined;
    }
    let entries: readonly FolderEntry[] | undefined;
    const place = this.#root.resolve(path, "root");
    if ("real" in place) entries = this.#root.files.entries(place.real);
    else if (place.isOutside === true) this.#isOutside = true;
    this.#entries.set(path, entries);
    if (entries !== undefined)
      this.#onDirectory(
        path,
        entries.map((entry) => entry.name),
      );
    return entries;
  }
}

type NameMatcher = (name: string) => boolean;

/** A matcher of names against one segment of a pattern. */
function nameMatcher(segment: string): NameMatcher | "too many" {
  const choices = choicesOf(segment);
  if (choices === undefined) return "too many";
  return (name) =>
    (segment.startsWith(".") || !name.startsWith(".")) && choices.some((choice) => matchesName(choice, name));
}

/** `a{b,c}` -> `ab`, `ac`; undefined when there are too many. */
function choicesOf(segment: string): readonly string[] | undefined {
  let whole: readonly string[] = [""];
  let at = 0;
  for (const group of segment.matchAll(/\{([^{}]*)\}/g)) {
    const before = segment.slice(at, group.index);
    const choices = (group[1] ?? "").split(",");
    if (whole.length * choices.length > CHOICES_MAX) return undefined;
    whole = whole.flatMap((start) => choices.map((choice) => `${start}${before}${choice}`));
    at = group.index + group[0].length;
  }
  return whole.map((start) => start + segment.slice(at));
}

/** `*` and `?` against a name: on a mismatch only the last `*` takes one character more, so nothing is tried twice. */
export function matchesName(pattern: string, name: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const wanted = pattern[next];
    if (wanted === "*") {
      star = next;
      starAt = at;
      next += 1;
    } else if (wanted !== undefined && (wanted === "?" || wanted === name[at])) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      next = star + 1;
      starAt += 1;
      at = starAt;
    } else {
      return false;
    }
  }
  while (pattern[next] === "*") next += 1;
  return next === pattern.length;
}
