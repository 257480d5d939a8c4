/**
 * Reads a file that is plain JSON, as generated configurations are, in a tenth of the time of YAML's parser. Reports
 * nothing: a file that is not strict JSON, or has a key twice, is left to that parser, which reports the error.
 */
import type { Source } from "./source.ts";
import type { Extent, Key, KeyExtents, Layout, PlainMap, Tree } from "./tree.ts";

const DEPTH_MAX = 100;
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

const BLANKS = /[ \t\r\n]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in a string.
const STRING = /"[^"\\\u0000-\u001f]*(?:\\.[^"\\\u0000-\u001f]*)*"/y;
const WORD = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** The file's value, or undefined when it is not plain JSON. */
export function readJson(source: Source, tree: Tree): PlainMap | undefined {
  if (!/^\s*\{/.test(source.text)) return undefined;
  const reader = new JsonReader(source, tree);
  const value = reader.value(0);
  // The text begins with a brace, so that a whole value is a map.
  return reader.isAtEnd() ? (value as PlainMap) : undefined;
}

/** Replaces a value that could not be read. Everything around it fails as well. */
const UNREAD = Symbol("unread");

class JsonReader {
  readonly #source: Source;
  readonly #text: string;
  readonly #tree: Tree;
  #at = 0;
  #failed = false;

  constructor(source: Source, tree: Tree) {
    this.#source = source;
    this.#text = source.text;
    this.#tree = tree;
  }

  isAtEnd(): boolean {
    this.#skip(BLANKS);
    return !this.#failed && this.#at === this.#text.length;
  }

  value(depth: number): unknown {
    this.#skip(BLANKS);
    const first = this.#text[this.#at];
    if (depth > DEPTH_MAX) return this.#fail();
    if (first === "{") return this.#map(depth);
    if (first === "[") return this.#list(depth);
    return first === '"' ? this.#string() : this.#word();
  }

  #map(depth: number): unknown {
    const map: PlainMap = {};
    this.#tree.parsed(map, new JsonMapLayout(this.#source, this.#at));
    for (let next = this.#open("}"); next; next = this.#more("}")) {
      this.#skip(BLANKS);
      const key = this.#string();
      if (typeof key !== "string" || FORBIDDEN_KEYS.has(key) || Object.hasOwn(map, key)) return this.#fail();
      this.#skip(BLANKS);
      if (this.#text[this.#at] !== ":") return this.#fail();
      this.#at++;
      map[key] = this.value(depth + 1);
    }
    return this.#failed ? UNREAD : map;
  }

  #list(depth: number): unknown {
    const list: unknown[] = [];
    const starts: number[] = [];
    this.#tree.parsed(list, new JsonListLayout(this.#source, this.#at, starts));
    for (let next = this.#open("]"); next; next = this.#more("]")) {
      this.#skip(BLANKS);
      starts.push(this.#at);
      list.push(this.value(depth + 1));
    }
    return this.#failed ? UNREAD : list;
  }

  /** After the opening bracket: whether it has any content. */
  #open(close: string): boolean {
    this.#at++;
    this.#skip(BLANKS);
    if (this.#text[this.#at] !== close) return true;
    this.#at++;
    return false;
  }

  /** Past what follows an item: whether another one does. */
  #more(close: string): boolean {
    this.#skip(BLANKS);
    const mark = this.#text[this.#at++];
    if (mark !== close && mark !== ",") this.#fail();
    return mark === "," && !this.#failed;
  }

  #string(): unknown {
    const from = this.#at;
    if (!this.#skip(STRING)) return this.#fail();
    const plain = this.#text.slice(from + 1, this.#at - 1);
    return plain.includes("\\") ? this.#parsed(from) : plain;
  }

  #word(): unknown {
    const from = this.#at;
    return this.#skip(WORD) ? this.#parsed(from) : this.#fail();
  }

  #parsed(from: number): unknown {
    try {
      return JSON.parse(this.#text.slice(from, this.#at));
    } catch {
      return this.#fail(); // An unknown escape.
    }
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #fail(): typeof UNREAD {
    this.#failed = true;
    return UNREAD;
  }
}

/** A map of a JSON file. Places of its keys are found on demand, which is rare. */
class JsonMapLayout implements Layout {
  readonly source: Source;
  readonly #start: number;
  #whole: Extent | undefined;
  #entries: ReadonlyMap<string, KeyExtents> | undefined;

  constructor(source: Source, start: number) {
    this.source = source;
    this.#start = start;
  }

  whole(): Extent {
    this.#whole ??= extentAt(this.source.text, this.#start);
    return this.#whole;
  }

  at(key: Key): KeyExtents | undefined {
    this.#entries ??= entriesFrom(this.source.text, this.#start);
    return this.#entries.get(String(key));
  }
}

function entriesFrom(text: string, start: number): ReadonlyMap<string, KeyExtents> {
  const entries = new Map<string, KeyExtents>();
  let from = start;
  do {
    const key = extentAt(text, pastBlanks(text, from + 1));
    if (text[key[0]] !== '"') break; // An empty map.
    const colon = pastBlanks(text, key[1]);
    const value = extentAt(text, pastBlanks(text, colon + 1));
    entries.set(String(JSON.parse(text.slice(...key))), { key, value });
    from = pastBlanks(text, value[1]);
  } while (text[from] === ",");
  return entries;
}

class JsonListLayout implements Layout {
  readonly source: Source;
  readonly #start: number;
  readonly #starts: readonly number[];
  readonly #items = new Map<number, KeyExtents>();
  #whole: Extent | undefined;

  constructor(source: Source, start: number, starts: readonly number[]) {
    this.source = source;
    this.#start = start;
    this.#starts = starts;
  }

  whole(): Extent {
    this.#whole ??= extentAt(this.source.text, this.#start);
    return this.#whole;
  }

  at(key: Key): KeyExtents | undefined {
    const start = typeof key === "number" ? this.#starts[key] : undefined;
    if (typeof key !== "number" || start === undefined) return undefined;
    let item = this.#items.get(key);
    if (item === undefined) {
      item = { key: undefined, value: extentAt(this.source.text, start) };
      this.#items.set(key, item);
    }
    return item;
  }
}

function pastBlanks(text: string, from: number): number {
  BLANKS.lastIndex = from;
  BLANKS.test(text);
  return BLANKS.lastIndex;
}

const MARK = /["{}[\]]/g;

/** From where a value begins to where it ends. The text was read before: it is well formed. */
function extentAt(text: string, start: number): Extent {
  const pattern = text[start] === '"' ? STRING : WORD;
  pattern.lastIndex = start;
  if (pattern.test(text)) return [start, pattern.lastIndex];
  let depth = 0;
  let at = start;
  do {
    MARK.lastIndex = at;
    const mark = MARK.exec(text);
    if (mark === null) return [start, text.length];
    at = MARK.lastIndex;
    if (mark[0] === '"') {
      STRING.lastIndex = mark.index;
      STRING.test(text);
      at = STRING.lastIndex;
    } else depth += mark[0] === "{" || mark[0] === "[" ? 1 : -1;
  } while (depth > 0);
  return [start, at];
}
