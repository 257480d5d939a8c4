/** Holds what a call did against the `expect` of its step. */
import { isPlainMap, type PlainMap } from "../config/read/tree.ts";
import type { OfflineResult } from "../offline/result.ts";
import type { Fixtures } from "./fixtures.ts";
import { isMatcher, type Mismatch, mismatches, shownValue } from "./matchers.ts";
import { attemptWord, bytesSent, type Observed } from "./observed.ts";
import { firstDifference, snapshotText } from "./snapshots.ts";

/** A mismatch, or a sentence where there is nothing to compare. */
export type Unmet = Mismatch | { readonly path: Mismatch["path"]; readonly message: string };

export interface Comparing {
  readonly result: OfflineResult;
  readonly observed: Observed;
  readonly fixtures: Fixtures;
  /** Write snapshots rather than compare them. */
  readonly update: boolean;
}

export function unmetBy(expected: PlainMap, comparing: Comparing): readonly Unmet[] {
  return Object.entries(expected).flatMap(([key, wanted]) => unmetKey(key, wanted, comparing));
}

function unmetKey(key: string, wanted: unknown, comparing: Comparing): readonly Unmet[] {
  const { observed, result } = comparing;
  switch (key) {
    case "attempts":
      return attemptMismatches(wanted, result);
    case "events":
      return eventMismatches(wanted, result);
    case "headers":
      return headerMismatches(wanted, result);
    case "sent":
      return isMatcher(wanted)
        ? mismatches(wanted, observed["sent"], ["sent"])
        : sentMismatches(wanted, comparing);
    case "snapshot":
      return snapshotMismatches(String(wanted), comparing);
    default:
      return mismatches(wanted, observed[key], [key]);
  }
}

/** Outcomes are compared in the form in which they are expected: a number is a status. */
function attemptMismatches(wanted: unknown, { attempts }: OfflineResult): readonly Unmet[] {
  const list = Array.isArray(wanted) ? wanted : [];
  const actual = attempts.map((attempt, index) => {
    const expected: unknown = isPlainMap(list[index]) ? Object.values(list[index])[0] : undefined;
    const isNumeric = typeof expected === "number" || (isMatcher(expected) && isAboutNumbers(expected));
    const word = attemptWord(attempt);
    const shown = expected === undefined && /^\d+$/.test(word) ? Number(word) : word;
    return { [attempt.target]: isNumeric ? (attempt.status ?? word) : shown };
  });
  return mismatches(wanted, actual, ["attempts"]);
}

function isAboutNumbers(matcher: PlainMap): boolean {
  return Object.keys(matcher).some((key) => key === "min" || key === "max" || key === "one_of");
}

/** A text is the key of an event. */
function eventMismatches(wanted: unknown, { audit }: OfflineResult): readonly Unmet[] {
  const list = Array.isArray(wanted) ? wanted : [];
  const actual = audit.map((record, index) => {
    const { event, severity, actor, target, metadata } = record;
    return isPlainMap(list[index]) ? { event, severity, actor, target, metadata } : event;
  });
  return mismatches(wanted, actual, ["events"]);
}

/** Names in any case; numbers are compared as numbers. */
function headerMismatches(wanted: unknown, { headers }: OfflineResult): readonly Unmet[] {
  if (!isPlainMap(wanted) || isMatcher(wanted)) return mismatches(wanted, headers, ["headers"]);
  return Object.entries(wanted).flatMap(([name, value]) => {
    const actual = headers[name.toLowerCase()];
    const isNumber = actual !== undefined && actual !== "" && Number.isFinite(Number(actual));
    const isNumeric = typeof value === "number" || (isMatcher(value) && ("min" in value || "max" in value));
    return mismatches(value, isNumber && isNumeric ? Number(actual) : actual, ["headers", name]);
  });
}

function sentMismatches(wanted: unknown, { observed, result }: Comparing): readonly Unmet[] {
  if (!isPlainMap(wanted)) return [];
  const { excludes, ...others } = wanted;
  const texts = excludes === undefined ? [] : Array.isArray(excludes) ? excludes : [excludes];
  const sent = bytesSent(result);
  const leaked = texts.flatMap((text: unknown, index): readonly Unmet[] => {
    const at = sent.findIndex((bytes) => holds(bytes, String(text)));
    if (at < 0) return [];
    const path = Array.isArray(excludes) ? ["sent", "excludes", index] : ["sent", "excludes"];
    const target = result.sent[at]?.target ?? "the upstream";
    return [{ path, expected: `excludes ${shownValue(text)}`, actual: `sent to ${target}` }];
  });
  if (Object.keys(others).length === 0) return leaked;
  if (observed["sent"] === undefined)
    return [...leaked, { path: ["sent"], expected: "a request to a provider", actual: "nothing" }];
  return [...mismatches(others, observed["sent"], ["sent"]), ...leaked];
}

/** As it is, and as JSON writes it. */
function holds(bytes: string, text: string): boolean {
  return bytes.includes(text) || bytes.includes(JSON.stringify(text).slice(1, -1));
}

function snapshotMismatches(name: string, { observed, fixtures, update }: Comparing): readonly Unmet[] {
  const path = ["snapshot"];
  const actual = snapshotText(observed["body"]);
  const expected = fixtures.read(name);
  if (expected === actual) return [];
  if (update) {
    const problem = fixtures.write(name, actual);
    return problem === undefined ? [] : [{ path, message: `${name} ${problem.unusable}` }];
  }
  if (typeof expected !== "string") {
    const help = expected.isMissing ? "; `sluice test --update` writes it" : "";
    return [{ path, message: `${name} ${expected.unusable}${help}` }];
  }
  const difference = firstDifference(expected, actual);
  if (difference === undefined) return [];
  const { line } = difference;
  return [
    { path, expected: `line ${line}: ${difference.expected}`, actual: `line ${line}: ${difference.actual}` },
  ];
}
