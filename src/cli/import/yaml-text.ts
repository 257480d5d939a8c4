/**
 * Writes YAML as a person would: short maps and lists on one line, comments above what they speak of, quotes only where
 * they are needed. Order is the caller's.
 */
import { isUuid } from "../../base/ids.ts";

type Scalar = string | number | boolean | null;

/** Arrays and plain objects are written on one line where they fit. */
export type Value = Scalar | readonly Value[] | { readonly [key: string]: Value } | Block | List;

export interface Pair {
  readonly key: string;
  readonly value: Value;
  /** Comment lines above it. */
  readonly notes?: readonly string[];
  /** An empty line above it. */
  readonly isApart?: boolean;
}

/** A map that is always written over several lines. */
export class Block {
  readonly pairs: readonly Pair[];

  constructor(pairs: readonly Pair[]) {
    this.pairs = pairs;
  }
}

export interface Item {
  readonly value: Value;
  readonly notes?: readonly string[];
}

/** A list with one entry or more on each line. */
export class List {
  readonly items: readonly Item[];

  constructor(items: readonly Item[]) {
    this.items = items;
  }
}

const WIDTH = 110;
/** Comments are wrapped here. */
export const COMMENT_WIDTH = 110;

export function yamlText(value: Block): string {
  return `${blockLines(value, 0).join("\n")}\n`;
}

export function commentLines(notes: readonly string[], indent = 0): readonly string[] {
  return notes
    .flatMap((note) => wrapped(note, COMMENT_WIDTH - indent - 2))
    .map((line) => `${" ".repeat(indent)}#${line === "" ? "" : ` ${line}`}`);
}

/** Indented text keeps its indentation, since it may be code. */
function wrapped(note: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const line of note.split("\n")) {
    if (line.length <= width || /^\s/.test(line)) {
      lines.push(line.trimEnd());
      continue;
    }
    let current = "";
    for (const word of line.split(" ")) {
      if (current !== "" && current.length + 1 + word.length > width) {
        lines.push(current);
        current = word;
      } else current = current === "" ? word : `${current} ${word}`;
    }
    lines.push(current.trimEnd());
  }
  return lines;
}

function blockLines({ pairs }: Block, indent: number): readonly string[] {
  return pairs.flatMap(({ key, value, notes = [], isApart = false }) => [
    ...(isApart ? [""] : []),
    ...commentLines(notes, indent),
    ...pairLines(keyText(key), value, indent),
  ]);
}

function pairLines(key: string, value: Value, indent: number): readonly string[] {
  const margin = " ".repeat(indent);
  const line = inline(value);
  if (line !== undefined && indent + key.length + 2 + line.length <= WIDTH)
    return [`${margin}${key}: ${line}`];
  if (typeof value === "string" || line === undefined || isNested(value)) {
    const below = nestedLines(value, indent + 2);
    return below === undefined ? [`${margin}${key}: ${line ?? ""}`] : [`${margin}${key}:`, ...below];
  }
  return [`${margin}${key}: ${line}`];
}

function isNested(value: Value): boolean {
  return typeof value === "object" && value !== null;
}

/** undefined: a scalar, which has no lines of its own. */
function nestedLines(value: Value, indent: number): readonly string[] | undefined {
  if (value instanceof Block) return blockLines(value, indent);
  if (value instanceof List) return value.items.flatMap((item) => itemLines(item, indent));
  if (isList(value)) return value.flatMap((one) => itemLines({ value: one }, indent));
  if (typeof value === "object" && value !== null) {
    return blockLines(new Block(Object.entries(value).map(([key, one]) => ({ key, value: one }))), indent);
  }
  return undefined;
}

function itemLines({ value, notes = [] }: Item, indent: number): readonly string[] {
  const margin = " ".repeat(indent);
  const comments = commentLines(notes, indent);
  const line = inline(value);
  if (line !== undefined && indent + 2 + line.length <= WIDTH) return [...comments, `${margin}- ${line}`];
  const [first = "", ...others] = nestedLines(value, indent + 2) ?? [`${margin}  ${line ?? ""}`];
  return [...comments, `${margin}- ${first.slice(indent + 2)}`, ...others];
}

/** On one line; undefined where the value asks for several. */
function inline(value: Value): string | undefined {
  if (value instanceof Block || value instanceof List) return undefined;
  if (isList(value)) {
    const items = value.map(inline);
    return items.includes(undefined) ? undefined : `[${items.join(", ")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const pairs = Object.entries(value).map(([key, one]) => [keyText(key), inline(one)] as const);
    if (pairs.some(([, one]) => one === undefined)) return undefined;
    return pairs.length === 0 ? "{}" : `{ ${pairs.map(([key, one]) => `${key}: ${one}`).join(", ")} }`;
  }
  return scalarText(value);
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function scalarText(value: Scalar): string {
  if (typeof value === "string") return quoted(value);
  return typeof value === "number" ? decimal(value) : String(value);
}

/** Without an exponent, as amounts of money must be. */
export function decimal(value: number): string {
  const text = String(value);
  if (!/e/i.test(text)) return text;
  const [whole = "0", fraction = ""] = value.toFixed(15).split(".");
  let end = fraction.length;
  while (fraction[end - 1] === "0") end -= 1;
  return end === 0 ? whole : `${whole}.${fraction.slice(0, end)}`;
}

const LETTERS = /^[A-Za-z0-9_./@+ :-]+$/;
const WORDS = /^(?:true|false|null|yes|no|on|off|y|n|nan|inf)$/i;

/** What is text in every reader of YAML, in maps on one line too. */
function isPlain(text: string): boolean {
  if (isUuid(text)) return true;
  const begins = /^[A-Za-z_]/.test(text) || text.startsWith("./");
  return begins && LETTERS.test(text) && !/[ :][ :]|[ :]$/.test(text) && !WORDS.test(text);
}

/** Keys of Sluice need no quotes: in YAML 1.2 `on` is text. */
function keyText(key: string): string {
  return key === "on" ? key : quoted(key);
}

function quoted(text: string): string {
  return isPlain(text) ? text : JSON.stringify(text);
}
