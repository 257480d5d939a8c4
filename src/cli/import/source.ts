/**
 * Reads the file of another product as a tree of nodes that know their line and path, and its comments with theirs. YAML's
 * own messages are never passed on: they quote the text, and the text may hold secrets.
 */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
} from "yaml";

const NODES_MAX = 200_000;
const DEPTH_MAX = 64;
export const SOURCE_BYTES_MAX = 8 * 1024 * 1024;

/** The file cannot be read as what it should be. The message quotes nothing of it. */
export class SourceError extends Error {}

export type ScalarValue = string | number | boolean | null;

/** One value of the source: a map, a list or a scalar. */
export class SourceNode {
  readonly file: string;
  /** As a person would write it: `model_list[0].litellm_params.api_key`. */
  readonly path: string;
  /** The path with the places of list entries left out: `model_list[].litellm_params.api_key`. */
  readonly pattern: string;
  /** From the line of its key to the last line of its value, from 1. */
  readonly line: number;
  readonly endLine: number;
  readonly column: number;
  /** Other places of the file refer to it. */
  readonly isAnchor: boolean;
  /** undefined for maps and lists. */
  readonly scalar: ScalarValue | undefined;
  readonly #children: ReadonlyMap<string, SourceNode> | undefined;
  readonly #items: readonly SourceNode[] | undefined;

  constructor(place: Place, value: ScalarValue | ReadonlyMap<string, SourceNode> | readonly SourceNode[]) {
    ({
      file: this.file,
      path: this.path,
      pattern: this.pattern,
      line: this.line,
      endLine: this.endLine,
      column: this.column,
      isAnchor: this.isAnchor,
    } = place);
    if (value instanceof Map) this.#children = value;
    else if (Array.isArray(value)) this.#items = value;
    // Neither a map nor a list: a scalar.
    else this.scalar = value as ScalarValue;
  }

  get isMap(): boolean {
    return this.#children !== undefined;
  }

  get isList(): boolean {
    return this.#items !== undefined;
  }

  /** The entries of a map; of anything else none. */
  get entries(): readonly (readonly [key: string, node: SourceNode])[] {
    return [...(this.#children ?? [])];
  }

  /** The entries of a list. What is not a list counts as a list of itself, as most of these products read it. */
  get items(): readonly SourceNode[] {
    if (this.#items !== undefined) return this.#items;
    return this.scalar === undefined || this.scalar === null ? [] : [this];
  }

  get children(): readonly SourceNode[] {
    return this.#items ?? [...(this.#children?.values() ?? [])];
  }

  /** The first of these keys that the map has. */
  get(...keys: readonly string[]): SourceNode | undefined {
    for (const key of keys) {
      const child = this.#children?.get(key);
      if (child !== undefined) return child;
    }
    return undefined;
  }

  /**
   * undefined when it is not text, or empty. What Sluice would read as a reference is escaped as Sluice wants it: in the
   * source it was plain text.
   */
  get text(): string | undefined {
    if (typeof this.scalar !== "string" || this.scalar.trim() === "") return undefined;
    return this.scalar.trim().replace(/\$(?=\{(?:env|file):)/g, "$$$$");
  }

  /** Numbers, and texts that are one. */
  get number(): number | undefined {
    const { scalar } = this;
    const value = typeof scalar === "string" && scalar.trim() !== "" ? Number(scalar) : scalar;
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  }

  /** False, nothing, zero or empty: what switches a setting off. */
  get isOff(): boolean {
    const { scalar } = this;
    if (scalar === undefined) return this.children.length === 0;
    return scalar === false || scalar === null || scalar === 0 || scalar === "" || scalar === "false";
  }
}

interface Place {
  readonly file: string;
  readonly path: string;
  readonly pattern: string;
  readonly line: number;
  readonly endLine: number;
  readonly column: number;
  readonly isAnchor: boolean;
}

export interface SourceComment {
  readonly line: number;
  /** Without `#` and the space after it. */
  readonly text: string;
  /** The key on the same line, for comments at the end of a line. */
  readonly key: string | undefined;
  /** Where the code is that it speaks of: its own line, else the next one with code, else the last one. */
  readonly attachedTo: number;
}

export interface Source {
  readonly root: SourceNode;
  readonly comments: readonly SourceComment[];
  /** Keys that are defined twice in one map: only the last counts. */
  readonly repeated: readonly SourceNode[];
}

/** YAML, and JSON as a part of it. */
export function readSource(file: string, text: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    strict: false,
    logLevel: "silent",
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new SourceError(`${file}:${line}:${col} is not valid YAML or JSON (${error.code})`);
  }
  const reader = new TreeReader(file, document, lines);
  const root = reader.read(document.contents, { key: { path: "", pattern: "" }, depth: 0, start: 0 });
  if (!root.isMap && !root.isList) throw new SourceError(`${file} does not hold a map or a list at its top`);
  return { root, comments: commentsOf(text, lines), repeated: reader.repeated };
}

interface Step {
  readonly key: { readonly path: string; readonly pattern: string };
  readonly depth: number;
  /** Offset of the key. */
  readonly start: number;
}

class TreeReader {
  readonly repeated: SourceNode[] = [];
  readonly #file: string;
  readonly #document: Document;
  readonly #lines: LineCounter;
  #count = 0;

  constructor(file: string, document: Document, lines: LineCounter) {
    this.#file = file;
    this.#document = document;
    this.#lines = lines;
  }

  read(node: unknown, step: Step): SourceNode {
    if ((this.#count += 1) > NODES_MAX || step.depth > DEPTH_MAX)
      throw new SourceError(`${this.#file} is too large or nested too deep`);
    if (isAlias(node)) return this.read(this.#resolved(node), { ...step, depth: step.depth + 1 });
    const place = this.#place(node, step);
    if (isMap(node)) return new SourceNode(place, this.#map(node.items, step));
    if (isSeq(node)) {
      const items = node.items.map((item, index) => {
        const { path, pattern } = step.key;
        const key = { path: `${path}[${index}]`, pattern: `${pattern}[]` };
        return this.read(item, { key, depth: step.depth + 1, start: startOf(item) ?? step.start });
      });
      return new SourceNode(place, items);
    }
    return new SourceNode(place, scalarOf(node));
  }

  #map(items: readonly unknown[], step: Step): Map<string, SourceNode> {
    const found = new Map<string, SourceNode>();
    const merged: SourceNode[] = [];
    for (const item of items) {
      if (!isPair(item)) continue;
      const key = String(scalarOf(item.key) ?? "");
      const start = startOf(item.key) ?? step.start;
      if (key === "<<") {
        merged.push(...this.#merged(item.value, { ...step, depth: step.depth + 1, start }));
        continue;
      }
      const child = this.read(item.value, { key: below(step.key, key), depth: step.depth + 1, start });
      const before = found.get(key);
      if (before !== undefined) this.repeated.push(before);
      // Set anew, so that the order is that of the last ones.
      found.delete(key);
      found.set(key, child);
    }
    // As YAML's merge key has it: the map's own keys win, and the first of several merged maps.
    for (const map of merged)
      for (const [key, child] of map.entries) if (!found.has(key)) found.set(key, child);
    return found;
  }

  /** One map or several, read as if their keys stood in the map that merges them. */
  #merged(value: unknown, step: Step): readonly SourceNode[] {
    const target = isAlias(value) ? this.#resolved(value) : value;
    return isSeq(target) ? target.items.map((item) => this.read(item, step)) : [this.read(target, step)];
  }

  #resolved(alias: Alias): unknown {
    return alias.resolve(this.#document) ?? null;
  }

  #place(node: unknown, { key, start }: Step): Place {
    const { line, col } = this.#lines.linePos(start);
    const end = endOf(node) ?? start;
    const endLine = Math.max(line, this.#lines.linePos(Math.max(start, end - 1)).line);
    const isAnchor =
      typeof node === "object" && node !== null && "anchor" in node && node.anchor !== undefined;
    return { file: this.#file, ...key, line, endLine, column: col, isAnchor };
  }
}

const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$-]*$/;

function below(parent: Step["key"], key: string): Step["key"] {
  const written = PLAIN_KEY.test(key) ? key : JSON.stringify(key);
  const joined = (before: string) => (before === "" ? written : `${before}.${written}`);
  return { path: joined(parent.path), pattern: joined(parent.pattern) };
}

function scalarOf(node: unknown): ScalarValue {
  const value: unknown = isScalar(node) ? node.value : node;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return typeof value === "bigint" ? Number(value) : null;
}

function rangeOf(node: unknown): readonly number[] | undefined {
  if (typeof node !== "object" || node === null || !("range" in node)) return undefined;
  return Array.isArray(node.range) ? node.range : undefined;
}

function startOf(node: unknown): number | undefined {
  return rangeOf(node)?.[0];
}

function endOf(node: unknown): number | undefined {
  return rangeOf(node)?.[1];
}

/** The lexer says that a scalar follows. */
const SCALAR_FOLLOWS = "\x1f";
const MARKS: ReadonlySet<string> = new Set(["\x02", "\x18", SCALAR_FOLLOWS]);

function commentsOf(text: string, lines: LineCounter): readonly SourceComment[] {
  const found: { readonly line: number; readonly text: string; readonly isAlone: boolean }[] = [];
  const written = text.split("\n");
  let offset = 0;
  let isScalarNext = false;
  for (const lexeme of new Lexer().lex(text)) {
    if (MARKS.has(lexeme)) {
      isScalarNext = lexeme === SCALAR_FOLLOWS;
      continue;
    }
    if (lexeme.startsWith("#") && !isScalarNext) {
      const { line, col } = lines.linePos(offset);
      const isAlone = (written[line - 1] ?? "").slice(0, col - 1).trim() === "";
      found.push({ line, text: readable(lexeme.replace(/^#+ ?/, "")), isAlone });
    }
    isScalarNext = false;
    offset += lexeme.length;
  }
  const alone = new Set(found.filter(({ isAlone }) => isAlone).map(({ line }) => line));
  const code = written.flatMap((line, index) =>
    line.trim() === "" || alone.has(index + 1) ? [] : [index + 1],
  );
  return found.map(({ line, text: comment, isAlone }) => {
    if (!isAlone) return { line, text: comment, key: keyOn(written[line - 1] ?? ""), attachedTo: line };
    const attachedTo = code.find((one) => one > line) ?? code.at(-1) ?? line;
    return { line, text: comment, key: undefined, attachedTo };
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they would end the comment, or the file.
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029\ufeff]/g;

function readable(comment: string): string {
  return comment.replace(CONTROL, " ").trimEnd();
}

function keyOn(line: string): string | undefined {
  const code = line.replace(/^[\s-]+/, "");
  return /^["']?([\w.$/-]+)["']?\s*:/.exec(code)?.[1];
}
