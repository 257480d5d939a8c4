/**
 * YAML text -> plain values, with the place of each map and list noted in the tree. YAML 1.2's core schema and nothing
 * else: no custom tags, no duplicate keys, aliases bounded. Knows no key of the configuration.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  parseDocument,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import type { Reporter } from "../report/diagnostic.ts";
import { readJson } from "./json-file.ts";
import type { Source } from "./source.ts";
import type { Extent, Key, KeyExtents, Layout, PlainMap, Tree } from "./tree.ts";
import { syntaxCause } from "./yaml-syntax.ts";

/** One file's YAML, and a way to make plain values of it. */
export interface ParsedFile {
  readonly source: Source;
  /** False when it is not valid YAML: the value must not be used. */
  readonly isSound: boolean;
  /** Plain values, made anew on each call so that no two users share them. */
  plain(): unknown;
}

const ERRORS_MAX = 10;
const DEPTH_MAX = 100;
const ALIASED_NODES_MAX = 100_000;
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export function parseFile(source: Source, tree: Tree, reporter: Reporter): ParsedFile {
  let json = readJson(source, tree);
  if (json !== undefined) {
    return {
      source,
      isSound: true,
      plain() {
        const value = json ?? readJson(source, tree);
        json = undefined;
        return value;
      },
    };
  }
  const document = withoutOverflow(() => parseDocument(source.text, OPTIONS));
  if (document === undefined) return tooDeep(source, reporter);
  return parsedDocument(source, document, tree, reporter);
}

/** A file of several documents, separated by `---`. Empty ones are left out. */
export function parseDocuments(source: Source, tree: Tree, reporter: Reporter): readonly ParsedFile[] {
  const documents = withoutOverflow(() => {
    const all = parseAllDocuments(source.text, OPTIONS);
    return "empty" in all ? [] : all;
  });
  if (documents === undefined) return [tooDeep(source, reporter)];
  return documents
    .filter(({ contents, errors }) => contents !== null || errors.length > 0)
    .map((document) => parsedDocument(source, document, tree, reporter));
}

function tooDeep(source: Source, reporter: Reporter): ParsedFile {
  reporter.reportRange("E0002", { source, start: 0, end: 1 }, "the file nests too deeply");
  return { source, isSound: false, plain: () => undefined };
}

function parsedDocument(
  source: Source,
  document: Document.Parsed,
  tree: Tree,
  reporter: Reporter,
): ParsedFile {
  reportSyntax(source, document.errors, reporter);
  for (const { pos } of document.warnings.slice(0, ERRORS_MAX)) {
    reporter.reportRange("E0006", { source, start: pos[0], end: pos[1] }, TAG_MESSAGE);
  }
  return {
    source,
    isSound: document.errors.length === 0,
    plain() {
      const value = new Plainer(source, tree, reporter).value(document.contents, 0);
      return value === REFUSED ? null : value;
    },
  };
}

/** What follows a mistake in the layout is a consequence of it: one cause a file is reported, but for tags. */
function reportSyntax(source: Source, errors: readonly YAMLError[], reporter: Reporter): void {
  const tags = errors.filter(({ code }) => code === "TAG_RESOLVE_FAILED");
  for (const { pos } of tags.slice(0, ERRORS_MAX))
    reporter.reportRange("E0006", { source, start: pos[0], end: pos[1] }, TAG_MESSAGE);
  const [first] = errors.filter((error) => !tags.includes(error)).sort((a, b) => a.pos[0] - b.pos[0]);
  if (first === undefined) return;
  const [start, end] = first.pos;
  const cause = syntaxCause(source, { code: first.code, start, end });
  // A value that may be a secret is neither shown nor suggested.
  const line = source.position(cause.start).line;
  const { text } = source.shownLine(line, source.position(cause.start).column);
  const { suggestion } = cause;
  const isPublic = suggestion === undefined || text.includes(source.text.slice(cause.start, cause.end));
  const { help } = cause;
  reporter.reportRange("E0002", { source, start: cause.start, end: cause.end }, cause.message, {
    help: isPublic ? help : "put it in quotes",
    suggestion: isPublic ? suggestion : undefined,
  });
}

const TAG_MESSAGE = "tags are not supported: write the value without it";

const OPTIONS = {
  schema: "core",
  customTags: [],
  merge: false,
  resolveKnownTags: false,
  uniqueKeys: false, // Found below, with both places.
  prettyErrors: false,
  logLevel: "error",
} as const satisfies Parameters<typeof parseDocument>[1];

/** undefined: the text nests deeper than the parser's stack. */
function withoutOverflow<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A map or list of a YAML file. */
class YamlLayout implements Layout {
  readonly source: Source;
  readonly #node: YAMLMap | YAMLSeq;
  #pairs: ReadonlyMap<string, Pair> | undefined;

  constructor(source: Source, node: YAMLMap | YAMLSeq) {
    this.source = source;
    this.#node = node;
  }

  whole(): Extent | undefined {
    return extentOf(this.#node);
  }

  at(key: Key): KeyExtents | undefined {
    if (isMap(this.#node)) {
      const { items } = this.#node;
      const name = String(key);
      if (items.length > SMALL_MAP_KEYS) this.#pairs ??= pairsByKey(items);
      const pair =
        this.#pairs === undefined ? items.find((item) => keyText(item.key) === name) : this.#pairs.get(name);
      return pair && { key: extentOf(pair.key), value: extentOf(pair.value) };
    }
    const item = typeof key === "number" ? this.#node.items[key] : undefined;
    return item === undefined ? undefined : { key: undefined, value: extentOf(item) };
  }
}

/** Maps with more keys are indexed when one is looked up. */
const SMALL_MAP_KEYS = 64;

/** Of a key that occurs twice, the first. */
function pairsByKey(items: readonly Pair[]): ReadonlyMap<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const pair of items) {
    const name = keyText(pair.key);
    if (name !== undefined && !pairs.has(name)) pairs.set(name, pair);
  }
  return pairs;
}

/** A key as the text it is in the plain map; undefined when it is not a scalar. */
function keyText(key: unknown): string | undefined {
  return isScalar(key) && key.value !== null ? String(key.value) : undefined;
}

function extentOf(node: unknown): Extent | undefined {
  // yaml's composer puts nodes or nothing into pairs and lists: plain values are only in documents built by code.
  const range = typeof node === "object" && node !== null ? (node as Node).range : undefined;
  return range == null ? undefined : [range[0], range[1]];
}

/** Replaces a value that was reported: no further error is reported for it. */
const REFUSED = Symbol("refused");

class Plainer {
  readonly #source: Source;
  readonly #tree: Tree;
  readonly #reporter: Reporter;
  readonly #anchors = new Map<string, unknown>();
  /** Anchors whose value is being made: an alias to one of them would never end. */
  readonly #open = new Set<unknown>();
  #aliasedNodes = 0;
  #aliasDepth = 0;

  constructor(source: Source, tree: Tree, reporter: Reporter) {
    this.#source = source;
    this.#tree = tree;
    this.#reporter = reporter;
  }

  value(node: unknown, depth: number): unknown {
    if (isAlias(node)) return this.#alias(node.source, node.range, depth);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null;
    if (this.#aliasDepth > 0) this.#aliasedNodes++;
    else if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return node.value;
    if (depth > DEPTH_MAX) return this.#refuse("E0002", node.range, `nested deeper than ${DEPTH_MAX} levels`);
    this.#open.add(node);
    const plain = isMap(node) ? this.#map(node, depth) : this.#list(node, depth);
    this.#open.delete(node);
    return plain;
  }

  #list(node: YAMLSeq, depth: number): readonly unknown[] {
    const list: unknown[] = [];
    this.#tree.parsed(list, new YamlLayout(this.#source, node));
    for (const item of node.items) {
      const value = this.value(item, depth + 1);
      if (value === REFUSED) this.#tree.markFault(list, list.length);
      list.push(value === REFUSED ? null : value);
    }
    return list;
  }

  #map(node: YAMLMap, depth: number): PlainMap {
    const map: PlainMap = {};
    this.#tree.parsed(map, new YamlLayout(this.#source, node));
    for (const { key, value } of node.items) {
      const name = keyText(key);
      const range = isScalar(key) ? key.range : node.range;
      if (name === undefined) {
        this.#refuse("E0002", range, "a key must be a plain name");
      } else if (FORBIDDEN_KEYS.has(name)) {
        this.#refuse("E0004", range, `\`${name}\` cannot be a key`);
      } else if (Object.hasOwn(map, name)) {
        const first = this.#reporter.place({ container: map, key: name, parent: undefined });
        this.#refuse("E0003", range, `duplicate key \`${name}\`; first at ${first}`, "remove one of the two");
      } else {
        const plain = this.value(value, depth + 1);
        if (plain === REFUSED) this.#tree.markFault(map, name);
        else map[name] = plain;
      }
    }
    return map;
  }

  #alias(name: string, range: NodeRange, depth: number): unknown {
    const node = this.#anchors.get(name);
    if (node === undefined)
      return this.#refuse("E0005", range, `there is no anchor \`&${name}\` before this alias`);
    if (this.#open.has(node)) return this.#refuse("E0005", range, `alias \`*${name}\` contains itself`);
    if (this.#aliasedNodes > ALIASED_NODES_MAX) {
      return this.#refuse("E0005", range, `aliases expand to more than ${ALIASED_NODES_MAX} values`);
    }
    this.#aliasDepth++;
    const plain = this.value(node, depth);
    this.#aliasDepth--;
    return plain;
  }

  #refuse(
    code: "E0002" | "E0003" | "E0004" | "E0005",
    range: NodeRange,
    message: string,
    help?: string,
  ): typeof REFUSED {
    const [start, end] = range ?? [0, 1, 1];
    this.#reporter.reportRange(code, { source: this.#source, start, end }, message, { help });
    return REFUSED;
  }
}

type NodeRange = readonly [number, number, number] | null | undefined;
