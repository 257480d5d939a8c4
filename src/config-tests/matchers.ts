/** Compares what a case expects with what happened. Maps match by the keys named, lists by length and position. */
import { type LinearPattern, linearPattern } from "../base/linear-pattern.ts";
import { isPlainMap, type PlainMap } from "../config/read/tree.ts";
import { MATCHERS } from "./schema/forms.ts";

/** One value that is not as expected. Texts are JSON, or words such as `nothing`. */
export interface Mismatch {
  /** Keys from what was compared to the value. */
  readonly path: readonly (string | number)[];
  readonly expected: string;
  readonly actual: string;
}

type Path = Mismatch["path"];

/** A map all of whose keys are matchers is one; any other map is matched key by key. */
export function isMatcher(value: unknown): value is PlainMap {
  if (!isPlainMap(value)) return false;
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => MATCHERS.has(key));
}

/** `actual` undefined: there is no such value. */
export function mismatches(expected: unknown, actual: unknown, path: Path = []): readonly Mismatch[] {
  if (isMatcher(expected)) {
    const failed = Object.entries(expected).filter(([name, wanted]) => !holds(name, wanted, actual));
    const wanted = failed.map(([name, value]) => phraseOf(name, value)).join(" and ");
    return failed.length === 0 ? [] : [{ path, expected: wanted, actual: shownValue(actual) }];
  }
  if (Array.isArray(expected)) return listMismatches(expected, actual, path);
  if (isPlainMap(expected)) return mapMismatches(expected, actual, path);
  if (isSame(expected, actual)) return [];
  return [{ path, expected: shownValue(expected), actual: shownValue(actual) }];
}

function mapMismatches(expected: PlainMap, actual: unknown, path: Path): readonly Mismatch[] {
  if (!isPlainMap(actual)) return [{ path, expected: shownValue(expected), actual: shownValue(actual) }];
  return Object.entries(expected).flatMap(([key, wanted]) =>
    mismatches(wanted, Object.hasOwn(actual, key) ? actual[key] : undefined, [...path, key]),
  );
}

function listMismatches(expected: readonly unknown[], actual: unknown, path: Path): readonly Mismatch[] {
  if (!Array.isArray(actual)) return [{ path, expected: shownValue(expected), actual: shownValue(actual) }];
  const found: Mismatch[] = [];
  if (expected.length !== actual.length) {
    const counted = (list: readonly unknown[]) => `${count(list.length)}: ${shownValue(list)}`;
    found.push({ path, expected: counted(expected), actual: counted(actual) });
    return found;
  }
  for (const [index, wanted] of expected.entries())
    found.push(...mismatches(wanted, actual[index], [...path, index]));
  return found;
}

function count(items: number): string {
  return items === 1 ? "1 item" : `${items} items`;
}

function holds(name: string, wanted: unknown, actual: unknown): boolean {
  switch (name) {
    case "any":
      return actual !== undefined;
    case "none":
      return actual === undefined;
    case "contains":
      return contains(actual, wanted);
    case "excludes":
      return !(Array.isArray(wanted) ? wanted : [wanted]).some((one) => contains(actual, one));
    case "matches":
      return typeof actual === "string" && patternOf(String(wanted)).test(actual);
    case "one_of":
      return Array.isArray(wanted) && wanted.some((one) => mismatches(one, actual).length === 0);
    case "min":
      return isNumber(actual) && actual >= Number(wanted);
    case "max":
      return isNumber(actual) && actual <= Number(wanted);
    default:
      return lengthOf(actual) === Number(wanted);
  }
}

function contains(actual: unknown, wanted: unknown): boolean {
  if (typeof actual === "string") return actual.includes(String(wanted));
  return Array.isArray(actual) && actual.some((item) => mismatches(wanted, item).length === 0);
}

function lengthOf(value: unknown): number | undefined {
  if (typeof value === "string") return [...value].length;
  return Array.isArray(value) ? value.length : undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

/** Amounts are sums of fractions: the last bits may differ. */
const TOLERANCE = 1e-12;

function isSame(expected: unknown, actual: unknown): boolean {
  if (isNumber(expected) && isNumber(actual))
    return Math.abs(expected - actual) <= TOLERANCE * Math.max(Math.abs(expected), Math.abs(actual));
  return expected === actual;
}

const patterns = new Map<string, LinearPattern>();
const PATTERNS_MAX = 1000;

function patternOf(source: string): LinearPattern {
  let pattern = patterns.get(source);
  if (pattern === undefined) {
    pattern = linearPattern(source);
    if (patterns.size < PATTERNS_MAX) patterns.set(source, pattern);
  }
  return pattern;
}

const PHRASES: Readonly<Record<string, (wanted: unknown) => string>> = {
  any: () => "any value",
  none: () => "no value",
  contains: (wanted) => `contains ${shownValue(wanted)}`,
  excludes: (wanted) => `excludes ${shownValue(wanted)}`,
  matches: (wanted) => `matches ${String(wanted)}`,
  one_of: (wanted) => `one of ${(Array.isArray(wanted) ? wanted : []).map(shownValue).join(", ")}`,
  min: (wanted) => `at least ${String(wanted)}`,
  max: (wanted) => `at most ${String(wanted)}`,
  length: (wanted) => `length ${String(wanted)}`,
};

function phraseOf(name: string, wanted: unknown): string {
  return PHRASES[name]?.(wanted) ?? name;
}

/** A value on one line. */
export function shownValue(value: unknown): string {
  if (value === undefined) return "nothing";
  return isMatcher(value)
    ? Object.entries(value)
        .map(([name, wanted]) => phraseOf(name, wanted))
        .join(" and ")
    : (JSON.stringify(value) ?? "nothing");
}

/** `messages[0].content`. */
export function pathText(path: Path): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return /^[\w$/-]+$/.test(key)
      ? `${text}${text === "" ? "" : "."}${key}`
      : `${text}[${JSON.stringify(key)}]`;
  }, "");
}
