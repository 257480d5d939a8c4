/**
 * Reads a test file: YAML of several documents -> cases, rows filled in. Reports every mistake that can be seen without
 * the configuration: those of shape through the configuration's own checks, and steps that contradict themselves.
 */
import { spotAt, validateTree } from "../config/check/validate.ts";
import { parseDocuments } from "../config/read/parse.ts";
import { Source, type Sources } from "../config/read/source.ts";
import { child, isPlainMap, type PlainMap, type Spot, Tree } from "../config/read/tree.ts";
import { createReporter, type Reporter } from "../config/report/diagnostic.ts";
import { rulesOf } from "../config/schema/rules.ts";
import { checkStep } from "./check-step.ts";
import { type Defaults, placeOf, type TestCase, type TestDocument, type TestStep } from "./model.ts";
import { type Binding, filled, hasPlaceholders, placeholdersIn, textsIn } from "./placeholders.ts";
import { caseSchema, testFileSchema } from "./schema/file.ts";

export interface TestFile {
  readonly path: string;
  readonly documents: readonly TestDocument[];
  readonly reporter: Reporter;
}

/** `path`: absolute. */
export function readTestFile(path: string, sources: Sources): TestFile {
  const tree = new Tree();
  const reporter = createReporter(tree, new Set());
  const source = sources.read(path, "anywhere");
  if (!(source instanceof Source)) {
    reporter.reportFile("E0001", path, `${path} ${source.unreadable}`);
    return { path, documents: [], reporter };
  }
  const documents: TestDocument[] = [];
  const names = new Map<string, Spot>();
  for (const parsed of parseDocuments(source, tree, reporter)) {
    if (!parsed.isSound) continue;
    const root = parsed.plain();
    if (!isPlainMap(root)) {
      reporter.reportRange("E0007", { source, start: 0, end: 1 }, "a test file must contain a mapping", {
        help: "write `tests:` with a list of cases",
      });
      continue;
    }
    validateTree(root, testFileSchema, undefined, { tree, reporter, isWhole: true });
    documents.push(documentOf(path, root, { tree, reporter, names }));
  }
  if (documents.length === 0 && reporter.errors.length === 0)
    reporter.reportFile("E0501", path, "the file holds no test cases", {
      help: "write `tests:` with a list of cases",
    });
  return { path, documents, reporter };
}

export interface Reading {
  readonly tree: Tree;
  readonly reporter: Reporter;
  /** Of all cases of the file, with their places. */
  readonly names: Map<string, Spot>;
}

function documentOf(file: string, root: PlainMap, reading: Reading): TestDocument {
  const { tree, reporter } = reading;
  const tests = listIn(root, "tests");
  const testsSpot = child(root, "tests", undefined);
  const clock = root["clock"];
  return {
    ...{ file, root, tree, reporter },
    config: textIn(root, "config"),
    overlays: listIn(root, "overlays").filter((one) => typeof one === "string"),
    clockMs: clockMsOf(clock, root, reporter),
    env: Object.fromEntries(Object.entries(mapIn(root, "env")).map(([key, value]) => [key, String(value)])),
    defaults: mapIn(root, "defaults") as Defaults, // Its schema is this type.
    cases: tests.flatMap((test, index) =>
      isPlainMap(test) ? casesOf(test, child(tests, index, testsSpot), reading) : [],
    ),
  };
}

function clockMsOf(clock: unknown, root: PlainMap, reporter: Reporter): number | undefined {
  if (typeof clock !== "string") return undefined;
  const ms = Date.parse(clock);
  if (!Number.isNaN(ms)) return ms;
  reporter.report(
    "E0105",
    child(root, "clock", undefined),
    `clock is ${JSON.stringify(clock)}: not a valid date`,
  );
  return undefined;
}

/** A case, or one for each of its rows. */
function casesOf(test: PlainMap, spot: Spot, reading: Reading): readonly TestCase[] {
  const { reporter } = reading;
  const rows = test["each"];
  const name = textIn(test, "name") ?? "";
  const known = reading.names.get(name);
  if (known === undefined) reading.names.set(name, spot);
  else if (name !== "")
    reporter.report(
      "E0307",
      child(test, "name", spot),
      `case ${JSON.stringify(name)} exists already at ${reporter.place(known)}`,
      { help: "give each case of a file a name of its own" },
    );
  checkPlaceholders(test, spot, reading);
  if (!Array.isArray(rows)) return [caseOf(test, name, { spot, test }, reading)];
  const rowsSpot = child(test, "each", spot);
  return rows.flatMap((row: unknown, index) =>
    isPlainMap(row) ? [rowCase(test, { row, index, spot: child(rows, index, rowsSpot) }, spot, reading)] : [],
  );
}

interface Row {
  readonly row: PlainMap;
  readonly index: number;
  readonly spot: Spot;
}

/** Values of the row may have the wrong type for their place, which is found only now. */
function rowCase(
  template: PlainMap,
  { row, index, spot: rowSpot }: Row,
  spot: Spot,
  reading: Reading,
): TestCase {
  const { tree, reporter } = reading;
  const { each: _, ...rest } = template;
  tree.derived(rest, template);
  const bindings = (name: string): Binding | undefined =>
    Object.hasOwn(row, name) ? { value: row[name], at: child(row, name, rowSpot) } : undefined;
  // A map has a map for its copy.
  const test = filled(rest, { bindings, tree, isPartial: true }) as PlainMap;
  if (test !== rest) writeTexts(test);
  if (test !== rest) validateTree(test, caseSchema, spot, { tree, reporter, isWhole: true });
  const name = `${textIn(test, "name") ?? ""} [${index + 1}]`;
  return caseOf(test, name, { spot, test: template }, reading);
}

/** A number of a row is a text where a text is expected: `message: "{{n}}"`. */
function writeTexts(test: PlainMap): void {
  const rules = rulesOf(caseSchema);
  for (const { keyword, params, path } of rules.ok ? rules.faultsOf(test) : []) {
    const place =
      keyword === "type" && params["type"] === "string" ? spotAt(test, path, undefined) : undefined;
    if (place === undefined || typeof place.value === "object") continue;
    // The copy was made for this row alone.
    Reflect.set(place.spot.container, place.spot.key, String(place.value));
  }
}

/** `origin`: the case as the file has it, which has a place. */
function caseOf(
  test: PlainMap,
  name: string,
  origin: { readonly spot: Spot; readonly test: PlainMap },
  reading: Reading,
): TestCase {
  const { tree } = reading;
  const { spot } = origin;
  const steps = test["steps"];
  const stepsSpot = child(test, "steps", spot);
  const listed: readonly TestStep[] = Array.isArray(steps)
    ? steps.flatMap((step: unknown, index) =>
        isPlainMap(step) ? [{ index, value: step, spot: child(steps, index, stepsSpot) }] : [],
      )
    : [{ index: undefined, value: test, spot }];
  checkStepsOrCall(test, spot, reading);
  for (const step of listed) checkStep(step, reading);
  return {
    name,
    place: placeOf(tree, spot),
    given: mapIn(test, "given"),
    givenSpot: child(test, "given", spot),
    steps: listed,
  };
}

const STEP_KEYS = ["call", "http", "provider", "upstream", "expect"];

function checkStepsOrCall(test: PlainMap, spot: Spot, { reporter, tree }: Reading): void {
  if (tree.isFaulty(test, "steps") || tree.isFaulty(test, "call") || tree.isFaulty(test, "http")) return;
  if (!Object.hasOwn(test, "steps")) return;
  const beside = STEP_KEYS.filter((key) => Object.hasOwn(test, key));
  for (const key of beside)
    reporter.report("E0501", child(test, key, spot), `\`${key}\` and \`steps\` exclude each other`, {
      at: "key",
      help: `move \`${key}\` into one of the steps`,
    });
}

/** Facts of the project that every step may name. */
export const FACTS = ["project.uuid", "project.id", "project.name", "token"] as const;

/** Each placeholder must be a key of every row, saved by an earlier step, or a fact. */
function checkPlaceholders(test: PlainMap, spot: Spot, { reporter, tree }: Reading): void {
  if (!hasPlaceholders(test)) return;
  const rows = Array.isArray(test["each"]) ? test["each"].filter(isPlainMap) : [];
  const { each: _, steps, ...own } = test;
  const ofRows = new Set(
    Object.keys(rows[0] ?? {}).filter((key) => rows.every((row) => Object.hasOwn(row, key))),
  );
  const known = new Set<string>([...FACTS, ...ofRows]);
  if (Object.hasOwn(mapIn(test, "given"), "session")) known.add("session");
  const check = (container: object, parent: Spot | undefined, names: ReadonlySet<string>): void => {
    for (const { text, spot: at } of textsIn(container, parent))
      for (const name of placeholdersIn(text))
        if (!names.has(name)) reportUnknown(name, at, [...names], reporter);
  };
  const { given = {}, name = "", ...calls } = own;
  // What is given comes before there is anything but rows.
  const early = { given, name };
  tree.derived(early, test);
  check(early, spot, ofRows);
  check(calls, spot, known);
  if (!Array.isArray(steps)) return;
  for (const [index, step] of steps.entries()) {
    if (!isPlainMap(step)) continue;
    check(step, child(steps, index, child(test, "steps", spot)), known);
    for (const saved of Object.keys(mapIn(step, "save"))) known.add(saved);
  }
}

function reportUnknown(name: string, spot: Spot, known: readonly string[], reporter: Reporter): void {
  reporter.report("E0503", spot, `unknown placeholder \`{{${name}}}\``, {
    help: `${known.length === 0 ? "none is known here" : `known here: ${known.join(", ")}`}; \`\\{{${name}}}\` stands for the text itself`,
  });
}

export function textIn(map: PlainMap, key: string): string | undefined {
  const value = map[key];
  return typeof value === "string" ? value : undefined;
}

export function mapIn(map: PlainMap, key: string): PlainMap {
  const value = map[key];
  return isPlainMap(value) ? value : {};
}

export function listIn(map: PlainMap, key: string): readonly unknown[] {
  const value = map[key];
  return Array.isArray(value) ? value : [];
}

/** The maps of a list, with their indexes. */
export function mapsIn(
  map: PlainMap,
  key: string,
): readonly { readonly entry: PlainMap; readonly index: number }[] {
  return listIn(map, key).flatMap((entry, index) => (isPlainMap(entry) ? [{ entry, index }] : []));
}

/** A map, or the maps of a list. */
export function asListOf(value: unknown): readonly PlainMap[] {
  if (isPlainMap(value)) return [value];
  return Array.isArray(value) ? value.filter(isPlainMap) : [];
}
