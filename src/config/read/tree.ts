/**
 * A configuration as plain values, with facts about each value: its place, whether a reference
 * made it, whether it is faulty. Merged and filled copies keep pointing at their originals.
 */
import { slugOf } from "../slug.ts";
import type { Source } from "./source.ts";

export type Key = string | number;
export type PlainMap = { [key: string]: unknown };

/** A piece of a file. */
export interface Range {
  readonly source: Source;
  readonly start: number;
  readonly end: number;
}

/** One value's place in the configuration. `parent` undefined: in the root. */
export interface Spot {
  readonly container: object;
  readonly key: Key;
  readonly parent: Spot | undefined;
}

/** Facts about a value from `${…}`. */
export interface ReferenceMark {
  /** `${env:NAME}`, as written; of several the last. */
  readonly text: string;
  /** The whole value as it may be shown: texts of the configuration's own files filled in, other references as written. */
  readonly shown: string;
  /** True when it represents one that could not be resolved and need not be. */
  readonly isPlaceholder: boolean;
}

/** Start and end of a piece of text. */
export type Extent = readonly [start: number, end: number];

/** Place of one entry. A list's have no key; an empty value has no extent, or one of no length. */
export interface KeyExtents {
  readonly key: Extent | undefined;
  readonly value: Extent | undefined;
}

/** Place of a map or list and of its entries in a file. */
export interface Layout {
  readonly source: Source;
  whole(): Extent | undefined;
  at(key: Key): KeyExtents | undefined;
}

interface Derived {
  readonly base: object;
  readonly moved: ReadonlyMap<Key, Spot>;
}

/** Shorter texts are not secrets, and occur in too many words. */
const SECRET_CHARACTERS_MIN = 4;

/** Longer ones than any message. */
const SECRET_CHARACTERS_MAX = 10_000;

const NOTHING_MOVED: ReadonlyMap<Key, Spot> = new Map();

/** Lives as long as one load. */
export class Tree {
  readonly #parsed = new Map<object, Layout>();
  readonly #derived = new Map<object, Derived>();
  readonly #faults = new Map<object, Set<Key>>();
  readonly #broughtIn = new Map<string, string>();
  #longestFirst: readonly (readonly [string, string])[] | undefined;
  readonly #references = new Map<object, Map<Key, ReferenceMark>>();

  /** Notes the file and place of a map or list. */
  parsed(container: object, layout: Layout): void {
    this.#parsed.set(container, layout);
  }

  /** Notes that `copy` replaces `base`, except for the keys in `moved`, which are from elsewhere. */
  derived(copy: object, base: object, moved: ReadonlyMap<Key, Spot> = NOTHING_MOVED): void {
    this.#derived.set(copy, { base, moved });
  }

  /** Place of the key; of the value where there is none, as in a list; the map where the key is missing. */
  keyRange(spot: Spot | undefined): Range | undefined {
    return this.#range(spot, ({ key, value }) => key ?? value);
  }

  /** Where the value stands; the key where the value is empty; the map where the key is missing. */
  valueRange(spot: Spot | undefined): Range | undefined {
    return this.#range(spot, ({ key, value }) =>
      value !== undefined && value[1] > value[0] ? value : (key ?? value),
    );
  }

  /** True when the value stands in a file, under its own key or where it was taken over from; false for a default. */
  isWritten(spot: Spot): boolean {
    const origin = this.#origin(spot.container, spot.key);
    return this.#parsed.get(origin.container)?.at(origin.key) !== undefined;
  }

  /** The value's text in the file, quotes and all. */
  sourceText(spot: Spot): string {
    const range = this.valueRange(spot);
    return range === undefined ? "" : range.source.text.slice(range.start, range.end).trim();
  }

  /** `projects[0].endpoints[2].temperature`; a value taken over from elsewhere has the path it has there. */
  path(spot: Spot | undefined): string {
    if (spot === undefined || spot.key === "") return "";
    const moved = this.#moved(spot.container, spot.key);
    if (moved?.parent !== undefined) return this.path(moved);
    const before = this.path(spot.parent);
    if (typeof spot.key === "number") return `${before}[${spot.key}]`;
    if (!/^[\w$-]+$/.test(spot.key)) return `${before}[${JSON.stringify(spot.key)}]`;
    return before === "" ? spot.key : `${before}.${spot.key}`;
  }

  markFault(container: object, key: Key): void {
    const origin = this.#origin(container, key);
    const faults = this.#faults.get(origin.container) ?? new Set();
    this.#faults.set(origin.container, faults.add(origin.key));
  }

  /** True when the value was reported and taken out: its absence is no second error. */
  isFaulty(container: object, key: Key): boolean {
    const origin = this.#origin(container, key);
    return this.#faults.get(origin.container)?.has(origin.key) === true;
  }

  markReference(container: object, key: Key, mark: ReferenceMark): void {
    const origin = this.#origin(container, key);
    const marks = this.#references.get(origin.container) ?? new Map();
    this.#references.set(origin.container, marks.set(origin.key, mark));
  }

  reference(container: object, key: Key): ReferenceMark | undefined {
    const origin = this.#origin(container, key);
    return this.#references.get(origin.container)?.get(origin.key);
  }

  /** Notes a text that came from outside the files: it may be a secret, in whatever form it turns up. */
  broughtIn(text: string, reference: string): void {
    if (text.length > SECRET_CHARACTERS_MAX || this.#broughtIn.has(text)) return;
    const forms = [text, text.trim(), text.toLowerCase(), slugOf(text), JSON.stringify(text).slice(1, -1)];
    for (const form of forms) {
      if (form.length >= SECRET_CHARACTERS_MIN) this.#broughtIn.set(form, reference);
    }
    this.#longestFirst = undefined;
  }

  /** The same text with everything from outside the files replaced by the reference that brought it in. */
  scrubbed(text: string): string {
    // Longest first: one secret may be the beginning of another.
    this.#longestFirst ??= [...this.#broughtIn].sort(([a], [b]) => b.length - a.length);
    let clean = text;
    for (const [secret, reference] of this.#longestFirst) {
      if (clean.includes(secret)) clean = clean.replaceAll(secret, () => reference);
    }
    return clean;
  }

  #origin(container: object, key: Key): { readonly container: object; readonly key: Key } {
    const derived = this.#derived.get(container);
    if (derived === undefined) return { container, key };
    const from = derived.moved.get(key);
    return from === undefined ? this.#origin(derived.base, key) : this.#origin(from.container, from.key);
  }

  /** Where a key was taken over from, if it was. */
  #moved(container: object, key: Key): Spot | undefined {
    const derived = this.#derived.get(container);
    return derived === undefined ? undefined : (derived.moved.get(key) ?? this.#moved(derived.base, key));
  }

  #range(spot: Spot | undefined, choose: (extents: KeyExtents) => Extent | undefined): Range | undefined {
    if (spot === undefined) return undefined;
    const origin = this.#origin(spot.container, spot.key);
    const layout = this.#parsed.get(origin.container);
    if (layout === undefined) return this.valueRange(spot.parent);
    const entry = layout.at(origin.key);
    const extent = entry === undefined ? layout.whole() : choose(entry);
    if (extent === undefined) return undefined;
    const [start, end] = extent;
    return { source: layout.source, start, end: entry === undefined ? start + 1 : end };
  }
}

export function isPlainMap(value: unknown): value is PlainMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Spots of the children of one value. */
export function child(container: object, key: Key, parent: Spot | undefined): Spot {
  return { container, key, parent };
}
