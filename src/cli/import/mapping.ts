/**
 * The mapping of one product's keys as data: what each key becomes and how well. Findings take their words from it where
 * nothing depends on a value, docs/importing.md is generated from it, and a key that it lacks is one that the product does
 * not know.
 */
import { meantKey, nearestName } from "../../config/report/suggest.ts";

/** How well a key was carried over, in the order of reports: what never worked first. */
export const LEVELS = ["no effect", "manual", "unsupported", "approximate", "exact"] as const;

export type Level = (typeof LEVELS)[number];

export const LEVEL_MEANING: Readonly<Record<Level, string>> = {
  "no effect": "The source product does not read this key, so nothing changes without it.",
  manual: "A person has to do or decide something.",
  unsupported: "Sluice has nothing like it; calls work without it.",
  approximate: "Carried over, with a difference that the message names.",
  exact: "Means the same in Sluice, or needs no setting there.",
};

export interface MappingRow {
  /** Patterns: `[]` is any entry of a list, `*` any name. Several keys that share the rest. */
  readonly keys: readonly string[];
  /** What is reported where nothing else is known. */
  readonly level: Level;
  /** What the values of a key may lead to instead. */
  readonly or?: readonly Level[];
  /** Where it goes in Sluice's configuration; null: nowhere. */
  readonly target: string | null;
  readonly message: string;
}

export class Mapping {
  readonly product: string;
  readonly rows: readonly MappingRow[];
  readonly #rows = new Map<string, MappingRow>();
  /** Patterns that have known keys below them. */
  readonly #parents = new Set<string>();
  /** Keys from public files that no version of the product reads, in any section. */
  readonly dead: readonly string[];

  constructor(product: string, rows: readonly MappingRow[], dead: readonly string[] = []) {
    this.product = product;
    this.rows = rows;
    this.dead = dead;
    for (const row of rows) {
      for (const key of row.keys) {
        this.#rows.set(key, row);
        for (const parent of parentsOf(key)) this.#parents.add(parent);
      }
    }
  }

  /** The row of a pattern as sources have them: exact names first, then `*`. */
  find(pattern: string): MappingRow | undefined {
    if (this.isDead(pattern)) return undefined;
    const own = this.#rows.get(pattern);
    if (own !== undefined) return own;
    return this.#rows.get(this.#generalized(pattern));
  }

  isDead(pattern: string): boolean {
    return this.dead.includes(lastKey(pattern));
  }

  hasKeysBelow(pattern: string): boolean {
    if (pattern === "") return true;
    return this.#parents.has(pattern) || this.#parents.has(this.#generalized(pattern));
  }

  /** What helps with a key that the product does not read: another place for it, or what was probably meant. */
  advice(pattern: string): string {
    if (this.isDead(pattern)) return "";
    const key = lastKey(pattern);
    const depth = (known: string) => segmentsOf(known).length;
    const [elsewhere] = [...this.#rows.keys()]
      .filter((known) => lastKey(known) === key)
      .toSorted((a, b) => depth(a) - depth(b));
    if (elsewhere !== undefined) return `; it is read as \`${elsewhere}\``;
    const parent = parentOf(pattern);
    const known = [...this.#rows.keys(), ...this.#parents].filter((one) => lastKey(one) !== "*");
    const siblings = known.filter((one) => parentOf(one) === parent).map(lastKey);
    const sibling = meantKey(key, siblings);
    if (sibling !== undefined) return `; \`${sibling}\` was probably meant`;
    const other = key.length < TYPO_CHARACTERS_MIN ? undefined : nearestName(key, known.map(lastKey));
    const place = known.filter((one) => lastKey(one) === other).toSorted((a, b) => depth(a) - depth(b))[0];
    return place === undefined ? "" : `; \`${place}\` was probably meant`;
  }

  /** The same pattern with `*` for each name that has no row of its own, from the left. */
  #generalized(pattern: string): string {
    let known = "";
    for (const segment of segmentsOf(pattern)) {
      const exact = `${known}${segment.joint}${segment.name}`;
      if (this.#rows.has(exact) || this.#parents.has(exact)) known = exact;
      else if (segment.name === "[]") known = exact;
      else known = `${known}${segment.joint}*`;
    }
    return known;
  }
}

/** Shorter words are near to too many others. */
const TYPO_CHARACTERS_MIN = 6;

interface Segment {
  /** `.`, or nothing at the start and before `[]`. */
  readonly joint: string;
  readonly name: string;
}

const SEGMENT = /(\.?)("(?:[^"\\]|\\.)*"|\[\]|[^.[]+)/g;

function segmentsOf(pattern: string): readonly Segment[] {
  return [...pattern.matchAll(SEGMENT)].map(([, joint = "", name = ""]) => ({ joint, name }));
}

function parentsOf(pattern: string): readonly string[] {
  const parents: string[] = [];
  let parent = "";
  for (const { joint, name } of segmentsOf(pattern)) {
    if (parent !== "") parents.push(parent);
    parent += `${joint}${name}`;
  }
  return parents;
}

function parentOf(pattern: string): string {
  return parentsOf(pattern).at(-1) ?? "";
}

function lastKey(pattern: string): string {
  return (segmentsOf(pattern).findLast(({ name }) => name !== "[]")?.name ?? "").replace(/^"|"$/g, "");
}
