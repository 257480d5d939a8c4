/**
 * What an import says of each key of its source. Converters report what depends on values; what they leave is completed
 * from the mapping, so that no key goes unmentioned.
 */
import type { Level, Mapping } from "./mapping.ts";
import type { SourceNode } from "./source.ts";

export interface Finding {
  readonly level: Level;
  readonly source: { readonly file: string; readonly line: number; readonly key: string };
  /** Where it went in Sluice's configuration; null: nowhere. */
  readonly target: string | null;
  readonly message: string;
  /** Equal for the same key of other entries; for grouping. */
  readonly pattern: string;
  readonly column: number;
}

export interface Verdict {
  readonly level: Level;
  readonly target?: string | null;
  readonly message: string;
}

/** A person must act on these. */
export function needsPerson({ level }: Pick<Finding, "level">): boolean {
  return level === "manual" || level === "unsupported";
}

export class Findings {
  readonly #mapping: Mapping;
  readonly #scrub: (text: string) => string;
  readonly #patternOf: (node: SourceNode) => string;
  /** By node and not by path: a key may be defined twice. */
  readonly #found = new Map<SourceNode, Finding>();
  /** Paths above a finding. */
  readonly #touched = new Set<string>();

  /** `scrub` takes secrets out of what is said; `patternOf` spells keys as the mapping does. */
  constructor(
    mapping: Mapping,
    scrub: (text: string) => string,
    patternOf: (node: SourceNode) => string = ({ pattern }) => pattern,
  ) {
    this.#mapping = mapping;
    this.#scrub = scrub;
    this.#patternOf = patternOf;
  }

  /** The last verdict on a key counts. Covers what is below the node as well, unless that has findings of its own. */
  add(node: SourceNode | undefined, { level, target, message }: Verdict): void {
    if (node === undefined) return;
    const { file, line, path, column } = node;
    const row = this.#mapping.find(this.#patternOf(node));
    this.#found.set(node, {
      level,
      source: { file, line, key: this.#scrub(path) },
      target: target === undefined ? (row?.target ?? null) : target,
      message: this.#scrub(message),
      pattern: this.#scrub(this.#patternOf(node)),
      column,
    });
    for (const parent of parentPaths(path)) this.#touched.add(parent);
  }

  /** Reports what the mapping says of the key. */
  note(node: SourceNode | undefined, level?: Level): void {
    if (node === undefined) return;
    const row = this.#mapping.find(this.#patternOf(node));
    if (row === undefined) return this.#unknown(node);
    this.add(node, { level: level ?? row.level, target: row.target, message: row.message });
  }

  has(node: SourceNode): boolean {
    return this.#found.has(node);
  }

  /** Reports what no converter spoke of, and returns everything in the order of the source. */
  complete(root: SourceNode): readonly Finding[] {
    this.#complete(root);
    return [...this.#found.values()].sort(
      (a, b) =>
        a.source.file.localeCompare(b.source.file) || a.source.line - b.source.line || a.column - b.column,
    );
  }

  #complete(node: SourceNode): void {
    const { path } = node;
    if (this.#found.has(node)) {
      for (const child of node.children) if (this.#touched.has(child.path)) this.#complete(child);
      return;
    }
    const pattern = this.#patternOf(node);
    const row = path === "" ? undefined : this.#mapping.find(pattern);
    const isOpen = path === "" || this.#touched.has(path) || this.#mapping.hasKeysBelow(pattern);
    if (node.children.length > 0 && isOpen) {
      for (const child of node.children) this.#complete(child);
      return;
    }
    if (row === undefined) return this.#unknown(node);
    const isOff = node.isOff && (row.level === "manual" || row.level === "unsupported");
    if (isOff) this.add(node, { level: "exact", target: null, message: "Switched off or empty." });
    else this.add(node, row);
  }

  #unknown(node: SourceNode): void {
    const { product } = this.#mapping;
    if (node.path === "") return;
    if (hasAnchor(node)) {
      const message = "Holds YAML anchors that other keys use.";
      return this.add(node, { level: "exact", target: null, message });
    }
    const isEmpty = node.scalar === null || node.scalar === undefined;
    if (node.isOff && isEmpty && this.#mapping.hasKeysBelow(this.#patternOf(node))) {
      return this.add(node, { level: "exact", target: null, message: "Switched off or empty." });
    }
    const advice = this.#mapping.advice(this.#patternOf(node));
    this.add(node, {
      level: "no effect",
      target: null,
      message: `${product} does not read this key${advice}.`,
    });
  }
}

function hasAnchor(node: SourceNode): boolean {
  return node.isAnchor || node.children.some(hasAnchor);
}

/** `a.b[0].c`: `a.b[0]`, `a.b` and `a`. */
function parentPaths(path: string): readonly string[] {
  const parents = [""];
  let isQuoted = false;
  for (let index = 0; index < path.length; index++) {
    const character = path[index];
    if (character === '"' && path[index - 1] !== "\\") isQuoted = !isQuoted;
    else if (!isQuoted && (character === "." || character === "[") && index > 0)
      parents.push(path.slice(0, index));
  }
  return parents;
}
