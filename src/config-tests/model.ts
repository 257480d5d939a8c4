/** A test file as read: its documents, each with the cases that run against one configuration. */
import type { SourcePlace } from "../config/model.ts";
import type { PlainMap, Spot, Tree } from "../config/read/tree.ts";
import type { Reporter } from "../config/report/diagnostic.ts";

export interface TestDocument {
  /** Absolute path of the test file. */
  readonly file: string;
  /** As written; undefined: the nearest above. */
  readonly config: string | undefined;
  /** As written. */
  readonly overlays: readonly string[];
  /** Where the two above stand. */
  readonly root: PlainMap;
  /** Unix milliseconds; undefined: not given. */
  readonly clockMs: number | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly defaults: Defaults;
  readonly cases: readonly TestCase[];
  readonly tree: Tree;
  readonly reporter: Reporter;
}

export interface Defaults {
  readonly project?: string | undefined;
  readonly token?: string | undefined;
}

/** One case, or one row of one. */
export interface TestCase {
  /** `card numbers [1]` for a row. */
  readonly name: string;
  readonly place: SourcePlace;
  readonly given: PlainMap;
  readonly givenSpot: Spot;
  readonly steps: readonly TestStep[];
}

/** A call, or time that passes. A case without `steps` is one step. */
export interface TestStep {
  /** Of the case's `steps`; undefined for a case that is one step. */
  readonly index: number | undefined;
  /** Rows are filled in; saved values and facts of the project are not. */
  readonly value: PlainMap;
  readonly spot: Spot;
}

/** A place of a test file. */
export function placeOf(tree: Tree, spot: Spot): SourcePlace {
  const range = tree.keyRange(spot);
  if (range === undefined) return { file: "", line: 1, column: 1 };
  return { file: range.source.path, ...range.source.position(range.start) };
}
