/**
 * From files to one tree: a file or a directory, what it includes, what its projects include. Lists of the parts join;
 * any other key may be in one part only. Reads files and reports only how they fail to fit together.
 */
import { dirname, resolve } from "node:path";
import type { AllowedNames } from "../allowed-names.ts";
import { kindOf } from "../report/diagnostic.ts";
import { isPattern, isTestFile, matchFiles } from "./glob.ts";
import { type ParsedFile, parseFile } from "./parse.ts";
import { type ReferenceReader, resolveString } from "./references.ts";
import { OUTSIDE_HELP, type ReadScope } from "./root.ts";
import { Source, type Unreadable } from "./source.ts";
import { isPlainMap, type Key, type PlainMap, type Spot } from "./tree.ts";

export interface PartReader extends ReferenceReader {
  /** Files parsed so far, by absolute path. */
  readonly parsed: Map<string, ParsedFile | undefined>;
  /** Set when a file could not be used: values that it would have declared are not reported as missing. */
  readonly state: { isWhole: boolean };
}

const JOINED: Readonly<Record<"root" | "project", ReadonlySet<string>>> = {
  root: new Set(["projects", "plugins", "prices"]),
  project: new Set([
    "credentials",
    "provider_templates",
    "tokens",
    "stages",
    "endpoints",
    "aliases",
    "proxy_endpoints",
    "oauth_connections",
    "mcp_servers",
    "webhooks",
  ]),
};

/** Reads the configuration at `path`, a file or a directory. undefined when nothing could be read. */
export function readParts(path: string, reader: PartReader): PlainMap | undefined {
  const seen = new Set<string>();
  const parts: PlainMap[] = [];
  for (const file of entryFiles(path, reader))
    collect({ path: file, allowed: [] }, { seen, parts, chain: [] }, reader);
  const root = join(parts, "root", reader);
  if (root === undefined || !Array.isArray(root["projects"])) return root;
  const { projects } = root;
  for (const [index, project] of projects.entries()) {
    if (!isPlainMap(project) || project["include"] === undefined) continue;
    const included: PlainMap[] = [project];
    const spot = { container: projects, key: index, parent: undefined };
    const owner = reader.tree.valueRange(spot)?.source.path;
    const chain = owner === undefined ? [] : [owner];
    for (const file of includedFiles(project, spot, reader))
      collect(file, { seen: new Set(), parts: included, chain }, reader);
    const whole = join(included, "project", reader);
    if (whole !== project) projects[index] = whole;
  }
  return root;
}

/** Reads one file as a map of its own: an overlay, named on the command line and so allowed outside the root. */
export function readMap(path: string, reader: PartReader): PlainMap | undefined {
  const file = load(path, reader, "own-folder");
  const map = file === undefined ? undefined : topMap(file, reader);
  if (map?.["include"] === undefined) return map;
  const spot: Spot = { container: map, key: "include", parent: undefined };
  const help = "name each file with its own `--overlay`";
  reader.reporter.report("E0008", spot, "an overlay cannot include files", { at: "key", help });
  delete map["include"];
  return map;
}

/** Parses a file once. Reports and returns undefined when it cannot be read or is not valid YAML. */
export function load(path: string, reader: PartReader, scope: ReadScope = "root"): ParsedFile | undefined {
  if (reader.parsed.has(path)) return reader.parsed.get(path);
  const source = reader.sources.read(path, scope);
  let file: ParsedFile | undefined;
  if (source instanceof Source) file = parseFile(source, reader.tree, reader.reporter);
  else if (source.isOutside)
    reader.reporter.reportFile("E0011", path, `${path} ${source.unreadable}`, { help: OUTSIDE_HELP });
  else
    reader.reporter.reportFile("E0001", path, `${path} ${source.unreadable}`, {
      help: unreadableHelp(source),
    });
  if (file?.isSound !== true) {
    file = undefined;
    reader.state.isWhole = false;
  }
  reader.parsed.set(path, file);
  return file;
}

function unreadableHelp({ unreadable }: Unreadable): string | undefined {
  if (unreadable === "does not exist") return "name another file with `--config FILE`, or run `sluice init`";
  return unreadable === "is not UTF-8 text" ? "save the file as UTF-8" : undefined;
}

function entryFiles(path: string, { sources, reporter, state }: PartReader): readonly string[] {
  if (isTestFile(path)) {
    state.isWhole = false;
    const message = `${path} is a file of test cases, which is never part of a configuration`;
    reporter.reportFile("E0001", path, message, { help: "run it with `sluice test`" });
    return [];
  }
  if (!sources.root.isFolder(path)) return [path];
  sources.watchDirectory(path, []); // Also when its entries cannot be read.
  const { files } = matchFiles("*.{yaml,yml}", path, sources.root, sources.watchDirectory);
  if (files.length > 0) return files;
  state.isWhole = false;
  reporter.reportFile("E0001", path, `${path} holds no .yaml or .yml file`);
  return [];
}

interface Collection {
  readonly seen: Set<string>;
  readonly parts: PlainMap[];
  /** The files that include each other, down to the one that names the next. */
  readonly chain: readonly string[];
}

/** Adds a file's map and those of the files it includes, each file once, in order of their naming. */
function collect({ path, allowed, spot, isMatch }: IncludedFile, to: Collection, reader: PartReader): void {
  const { seen, parts, chain } = to;
  reader.allowed.restrict(path, allowed);
  if (chain.includes(path)) {
    // A pattern that matches its own file, as `*.yaml` does, means the others.
    if (spot !== undefined && !(isMatch && chain.at(-1) === path))
      reportCycle([...chain, path], spot, reader);
    return;
  }
  if (seen.has(path)) return;
  seen.add(path);
  const file = load(path, reader);
  const part = file === undefined ? undefined : topMap(file, reader);
  if (part === undefined) return;
  parts.push(part);
  for (const included of includedFiles(part, undefined, reader)) {
    const both = [...allowed, ...included.allowed];
    collect({ ...included, allowed: both }, { seen, parts, chain: [...chain, path] }, reader);
  }
}

function reportCycle(chain: readonly string[], spot: Spot, { reporter }: PartReader): void {
  const cycle = chain.slice(chain.indexOf(chain.at(-1) ?? ""));
  const what = cycle.length === 2 ? "a file includes itself" : "files include each other in a circle";
  reporter.report("E0013", spot, `${what}: ${cycle.join(" -> ")}`, { help: "remove this entry" });
}

function topMap({ source, plain }: ParsedFile, { reporter, state }: PartReader): PlainMap | undefined {
  const value = plain();
  if (isPlainMap(value)) return value;
  const found = value === null ? "the file is empty" : "the file must contain a mapping";
  reporter.reportRange(
    "E0007",
    { source, start: 0, end: 1 },
    `${found}: a configuration begins with \`version: 1\``,
  );
  state.isWhole = false;
  return undefined;
}

interface IncludedFile {
  readonly path: string;
  /** Names that it may refer to; empty: anything. */
  readonly allowed: readonly AllowedNames[];
  /** The entry that names it; absent: the command line does. */
  readonly spot?: Spot;
  /** True: the entry is a pattern. */
  readonly isMatch?: boolean;
}

function includedFiles(
  part: PlainMap,
  parent: Spot | undefined,
  reader: PartReader,
): readonly IncludedFile[] {
  const include = part["include"];
  if (include === undefined || include === null) return [];
  const spot: Spot = { container: part, key: "include", parent };
  if (!Array.isArray(include)) {
    const help = typeof include === "string" ? "write it as a list: `include: [FILE]`" : undefined;
    reader.reporter.report("E0103", spot, `include is ${kindOf(include)}: must be a list of files`, { help });
    delete part["include"];
    return [];
  }
  return [...include.keys()].flatMap((key) => includedBy(include, key, spot, reader));
}

/** Files of one entry: a path or pattern, alone or as `path` with `secrets`. */
function includedBy(
  include: unknown[],
  key: number,
  parent: Spot,
  reader: PartReader,
): readonly IncludedFile[] {
  const entry: unknown = include[key];
  const entrySpot: Spot = { container: include, key, parent };
  const spot: Spot = isPlainMap(entry) ? { container: entry, key: "path", parent: entrySpot } : entrySpot;
  const written: unknown = Reflect.get(spot.container, spot.key);
  if (typeof written !== "string") return [];
  resolveString(written, spot, reader);
  const pattern: unknown = Reflect.get(spot.container, spot.key);
  const source = reader.tree.valueRange(spot)?.source;
  if (typeof pattern !== "string" || pattern === "" || source === undefined) return [];
  const allowed = isPlainMap(entry) && entry["secrets"] !== undefined ? [allowedNames(entry["secrets"])] : [];
  const isMatch = isPattern(pattern);
  return matching(pattern, dirname(source.path), spot, reader).map((path) => ({
    path,
    allowed,
    spot,
    isMatch,
  }));
}

/** Anything but a list of texts is reported with the schema; until then nothing is allowed. */
function allowedNames(secrets: unknown): AllowedNames {
  const allow = isPlainMap(secrets) ? secrets["allow"] : undefined;
  return Array.isArray(allow) ? allow.filter((name) => typeof name === "string") : [];
}

function matching(pattern: string, folder: string, spot: Spot, reader: PartReader): readonly string[] {
  const { reporter, sources, state } = reader;
  if (isPattern(pattern)) return matchingPattern(pattern, folder, spot, reader);
  const path = resolve(folder, pattern);
  if (isTestFile(path)) {
    const message = `\`${pattern}\` is a file of test cases, which is never part of a configuration`;
    reporter.report("E0008", spot, message, { help: "run it with `sluice test`" });
    return [];
  }
  const source = sources.read(path);
  if (source instanceof Source) return [path];
  state.isWhole = false;
  const code = source.isOutside ? "E0011" : "E0008";
  const help = source.isOutside ? OUTSIDE_HELP : "paths are relative to this file";
  reporter.report(code, spot, `included file \`${pattern}\` ${source.unreadable}`, { help });
  return [];
}

function matchingPattern(pattern: string, folder: string, spot: Spot, reader: PartReader): readonly string[] {
  const { reporter, sources, state } = reader;
  const { files, refusal, isOutside } = matchFiles(pattern, folder, sources.root, sources.watchDirectory);
  if (refusal !== undefined || isOutside === true) state.isWhole = false;
  if (refusal !== undefined) {
    reporter.report("E0008", spot, `\`${pattern}\` ${refusal}`, { help: "name fewer files" });
  } else if (isOutside === true) {
    const message = `\`${pattern}\` is outside the configuration's root folder ${sources.root.folder}`;
    reporter.report("E0011", spot, message, { help: OUTSIDE_HELP });
  } else if (files.length === 0) {
    reporter.report("W0107", spot, `\`${pattern}\` matches no file`);
  }
  return files;
}

interface JoinedList {
  readonly items: unknown[];
  readonly moved: Map<Key, Spot>;
}

/** One map of several: lists are joined, and any other key may be in one part only. */
function join(
  parts: readonly PlainMap[],
  kind: "root" | "project",
  reader: PartReader,
): PlainMap | undefined {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first;
  const whole: PlainMap = {};
  const moved = new Map<Key, Spot>();
  const lists = new Map<string, JoinedList>();
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      const spot = { container: part, key, parent: undefined };
      const before = moved.get(key);
      if (JOINED[kind].has(key) && (Array.isArray(value) || value === null)) {
        const list = lists.get(key) ?? { items: [], moved: new Map<Key, Spot>() };
        lists.set(key, list);
        append(list, value ?? []);
        if (before === undefined) moved.set(key, spot);
        whole[key] ??= list.items;
      } else if (before !== undefined && key !== "include") {
        const message = `\`${key}\` is defined in two files; first at ${reader.reporter.place(before)}`;
        const help = "define it in one file only: lists of parts join, other keys do not";
        reader.reporter.report("E0009", spot, message, { at: "key", help });
      } else {
        moved.set(key, spot);
        whole[key] = value;
      }
    }
  }
  for (const { items, moved: origins } of lists.values()) reader.tree.derived(items, {}, origins);
  reader.tree.derived(whole, first, moved);
  return whole;
}

function append(list: JoinedList, items: readonly unknown[]): void {
  for (const [key, item] of items.entries()) {
    list.moved.set(list.items.length, { container: items, key, parent: undefined });
    list.items.push(item);
  }
}
