/**
 * Which way a value changes: a comparison says whether the new one allows less, more, both or neither. Null and absence
 * are "none", which is no limit. Values that are references cannot be compared: both ways are possible.
 */
import { isDeepStrictEqual } from "node:util";
import type { JsonValue } from "../../plugin/chat.ts";

/** Both: one does not contain the other, or nobody can tell. Neither: the same in other words. */
export interface Direction {
  readonly stricter: boolean;
  readonly weaker: boolean;
}

export const SAME: Direction = Object.freeze({ stricter: false, weaker: false });
export const STRICTER: Direction = Object.freeze({ stricter: true, weaker: false });
export const WEAKER: Direction = Object.freeze({ stricter: false, weaker: true });
export const BOTH: Direction = Object.freeze({ stricter: true, weaker: true });

type Value = JsonValue | undefined;
export type Compare = (before: Value, after: Value) => Direction;

export function directionOf(stricter: boolean, weaker: boolean): Direction {
  if (stricter) return weaker ? BOTH : STRICTER;
  return weaker ? WEAKER : SAME;
}

export function joined(...all: readonly Direction[]): Direction {
  return directionOf(
    all.some(({ stricter }) => stricter),
    all.some(({ weaker }) => weaker),
  );
}

export function opposite({ stricter, weaker }: Direction): Direction {
  return directionOf(weaker, stricter);
}

/** The same comparison, read the other way round. */
export function reversed(compare: Compare): Compare {
  return (before, after) => opposite(compare(before, after));
}

const REFERENCE = /\$\{(?:env|file):[^}\n]*\}?/;

/** Whether a value, or anything in it, is known only where the gateway runs. */
export function holdsReference(value: Value): boolean {
  if (typeof value === "string") return REFERENCE.test(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsReference);
}

/** A comparison of values that are known. */
export function known(compare: Compare): Compare {
  return (before, after) => {
    if (isDeepStrictEqual(before, after)) return SAME;
    return holdsReference(before) || holdsReference(after) ? BOTH : compare(before, after);
  };
}

/** By number: the smaller the stricter, and none is no limit. */
export const byNumber: Compare = known((before, after) => {
  const [was, is] = [numberOf(before), numberOf(after)];
  return was === undefined || is === undefined ? BOTH : directionOf(is < was, is > was);
});

function numberOf(value: Value): number | undefined {
  if (value === null || value === undefined) return Number.POSITIVE_INFINITY;
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && !Number.isNaN(number) ? number : undefined;
}

/** By moment: the nearer the stricter, and none is never. */
export const byMoment: Compare = known((before, after) => {
  const [was, is] = [momentOf(before), momentOf(after)];
  return Number.isNaN(was) || Number.isNaN(is) ? BOTH : directionOf(is < was, is > was);
});

export function momentOf(value: Value): number {
  if (value === null || value === undefined) return Number.POSITIVE_INFINITY;
  return typeof value === "string" ? Date.parse(value) : Number.NaN;
}

/** By place in a list of values, the strictest first. */
export function byRank(...strictestFirst: readonly JsonValue[]): Compare {
  return known((before, after) => {
    const [was, is] = [before, after].map((value) => strictestFirst.indexOf(value ?? null));
    if (was === undefined || is === undefined || was < 0 || is < 0) return BOTH;
    return directionOf(is < was, is > was);
  });
}

/**
 * Lists as sets: the fewer the stricter. Order does not count. `contains`: whether an item covers another one; equal
 * ones do.
 */
export function bySet(contains: (outer: JsonValue, inner: JsonValue) => boolean = () => false): Compare {
  const covers = (outer: readonly JsonValue[], inner: readonly JsonValue[]): boolean => {
    const texts = new Set(outer.map((item) => JSON.stringify(item)));
    return inner.every(
      (item) => texts.has(JSON.stringify(item)) || outer.some((other) => contains(other, item)),
    );
  };
  return (before, after) => {
    if (!Array.isArray(before) || !Array.isArray(after)) return BOTH;
    return directionOf(!covers(after, before), !covers(before, after));
  };
}

/** As `bySet`, where null stands for everything. */
export function bySetOrAll(...more: Parameters<typeof bySet>): Compare {
  const compare = bySet(...more);
  return (before, after) => {
    const [hadAll, hasAll] = [before, after].map((value) => value === null || value === undefined);
    if (hadAll || hasAll) return directionOf(!hasAll, !hadAll);
    return compare(before, after);
  };
}

/** Nobody can tell. */
export const unknownDirection: Compare = (before, after) => (isDeepStrictEqual(before, after) ? SAME : BOTH);
