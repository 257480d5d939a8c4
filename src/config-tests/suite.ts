/**
 * A run of test files: read, checked against their configurations, every case run, and on request what the cases show of
 * the protections that they are for. Prints nothing.
 */

import { ConfigRoot } from "../config/read/root.ts";
import { openSources, type Sources } from "../config/read/source.ts";
import { type Diagnostic, inOrder, type Omitted } from "../config/report/diagnostic.ts";
import type { Way } from "../offline/protections.ts";
import type { OfflineResult } from "../offline/result.ts";
import { checkNames } from "./check-names.ts";
import { coverageOf } from "./coverage.ts";
import { folderOfConfig, sharedFolder } from "./discover.ts";
import { Fixtures } from "./fixtures.ts";
import type { TestCase, TestDocument } from "./model.ts";
import { type Mutant, survivorsOf } from "./mutations.ts";
import { Names } from "./names.ts";
import { readTestFile, type TestFile } from "./read.ts";
import type { CaseResult, Failure, RunResults } from "./results.ts";
import { type CaseContext, type CaseOutcome, runCase } from "./run-case.ts";
import { secretsOf } from "./secret-values.ts";
import { type World, type WorldOptions, Worlds } from "./world.ts";

export interface SuiteRequest extends WorldOptions {
  /** Absolute paths. */
  readonly files: readonly string[];
  /** Which cases run, by their names. Default: all. */
  readonly selects?: (name: string) => boolean;
  readonly update: boolean;
  readonly coverage: boolean;
  readonly mutate: boolean;
  /** Unix milliseconds of the machine: cases without a clock begin in its month. */
  readonly nowMs: number;
  /** The lines of `sluice explain`, for the call that failed. */
  readonly explain: (result: OfflineResult, world: World) => readonly string[];
}

export interface SuiteOutcome {
  /** undefined: the files or their configurations have errors, and nothing was run. */
  readonly results: RunResults | undefined;
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  readonly omitted: Omitted;
  /** Files that the outcome depends on. */
  readonly files: readonly string[];
  /** The same text without the secrets that configurations hold in plain text. */
  readonly scrub: (text: string) => string;
}

/** A document with everything that its cases need. */
interface Ready {
  readonly document: TestDocument;
  readonly world: World;
  readonly names: Names;
  readonly fixtures: Fixtures;
}

/** A case that has been run. */
export interface RanCase {
  readonly test: TestCase;
  readonly context: CaseContext;
  readonly outcome: CaseOutcome;
}

export async function runSuite(request: SuiteRequest): Promise<SuiteOutcome> {
  const worlds = new Worlds(request);
  try {
    const loading = await loadAll(request, worlds);
    const { errors, warnings, omitted, files, ready } = loading;
    const scrub = secretsOf(ready.map(({ world }) => world.config));
    const found = { errors, warnings, omitted, files, scrub };
    if (errors.length > 0) return { ...found, results: undefined };
    const results = scrubbed(await runAll(ready, request), scrub);
    return { ...found, results, files: [...files, ...ready.flatMap(({ fixtures }) => fixtures.files)] };
  } finally {
    await worlds.close();
  }
}

/** Longer values are cut. */
const SHOWN_CHARACTERS_MAX = 2000;

/** Secrets are hidden before anything is cut, wrapped or escaped. */
function scrubbed(results: RunResults, hide: (text: string) => string): RunResults {
  const scrub = (text: string): string => {
    const clean = hide(text);
    return clean.length > SHOWN_CHARACTERS_MAX ? `${clean.slice(0, SHOWN_CHARACTERS_MAX)}…` : clean;
  };
  const clean = (failure: Failure): Failure => ({
    ...failure,
    ...(failure.expected === undefined ? {} : { expected: scrub(failure.expected) }),
    ...(failure.actual === undefined ? {} : { actual: scrub(failure.actual) }),
    ...(failure.message === undefined ? {} : { message: scrub(failure.message) }),
  });
  const cases = results.cases.map((one) => ({
    ...one,
    failures: one.failures.map(clean),
    trace: one.trace.map(scrub),
  }));
  return { ...results, cases };
}

interface Loading {
  readonly ready: readonly Ready[];
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  readonly omitted: Omitted;
  readonly files: readonly string[];
}

async function loadAll(request: SuiteRequest, worlds: Worlds): Promise<Loading> {
  const errors: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  const omitted: Omitted = { errors: 0, warnings: 0 };
  const files = new Set<string>(request.files);
  const ready: Ready[] = [];
  const told = new Set<string>();
  for (const path of request.files) {
    const sources = openSources(new ConfigRoot(rootOf(path, request)));
    const file = readTestFile(path, sources);
    for (const document of file.reporter.errors.length > 0 ? [] : file.documents) {
      const world = await worlds.of(document);
      if (world === "no config") {
        reportNoConfig(file, document);
        continue;
      }
      for (const one of world.files) files.add(one);
      if (!("offline" in world)) {
        // Documents with the same configuration have the same mistakes.
        for (const error of world.errors) {
          const identity = JSON.stringify([error.code, error.file, error.line, error.column, error.message]);
          if (!told.has(identity)) errors.push(error);
          told.add(identity);
        }
        continue;
      }
      const names = new Names(world.config, document.defaults);
      checkNames(document, names);
      ready.push({
        document,
        world,
        names,
        fixtures: new Fixtures(path, fixtureSources(path, world, request)),
      });
    }
    errors.push(...file.reporter.errors);
    warnings.push(...file.reporter.warnings);
    omitted.errors += file.reporter.omitted.errors;
    omitted.warnings += file.reporter.omitted.warnings;
  }
  return { ready, errors: inOrder(errors), warnings: inOrder(warnings), omitted, files: [...files] };
}

function reportNoConfig({ reporter, path }: TestFile, { root }: TestDocument): void {
  const message = "no gateway.config.yaml stands in the folder of this file or above it";
  const help = "name the configuration with `config: PATH`";
  const [key] = Object.keys(root);
  if (key === undefined) reporter.reportFile("E0001", path, message, { help });
  else reporter.report("E0001", { container: root, key, parent: undefined }, message, { help, at: "key" });
}

function rootOf(path: string, { root }: SuiteRequest): string {
  return root ?? sharedFolder(path, path);
}

/** Fixtures are in the root of the configuration, when the test file is there too; else in the folder of both. */
function fixtureSources(path: string, { configPath }: World, { root }: SuiteRequest): Sources {
  return openSources(new ConfigRoot(root ?? sharedFolder(path, folderOfConfig(configPath))));
}

async function runAll(ready: readonly Ready[], request: SuiteRequest): Promise<RunResults> {
  const startedMs = performance.now();
  const ran: RanCase[] = [];
  const cases: CaseResult[] = [];
  for (const { document, ...rest } of ready) {
    const startMs = document.clockMs ?? middleOfMonth(request.nowMs);
    const context: CaseContext = { document, ...rest, startMs, update: request.update };
    for (const test of document.cases) {
      if (request.selects !== undefined && !request.selects(test.name)) continue;
      const caseStartedMs = performance.now();
      const outcome = await runCase(test, context);
      // Without the calls: there may be a hundred thousand cases.
      ran.push({ test, context, outcome: { ...outcome, failed: undefined, last: undefined } });
      cases.push({
        ...{ name: test.name, file: document.file, place: test.place, failures: outcome.failures },
        durationMs: performance.now() - caseStartedMs,
        trace: outcome.failed === undefined ? [] : request.explain(outcome.failed, context.world),
      });
    }
  }
  const worlds = [...new Set(ready.map(({ world }) => world))];
  const coverage = request.coverage
    ? {
        coverage: coverageOf(
          worlds.flatMap(({ offline }) => offline.protections),
          shownBy(ran),
        ),
      }
    : {};
  const isGreen = ran.every(({ outcome }) => outcome.failures.length === 0);
  const mutate = async () => (isGreen ? await survivorsOf(mutants(worlds, ran)) : ("skipped" as const));
  const mutated = request.mutate ? { mutations: await mutate() } : {};
  const written = [...new Set(ready.flatMap(({ fixtures }) => fixtures.written))];
  return { cases, written, ...coverage, ...mutated, durationMs: performance.now() - startedMs };
}

/** Noon (UTC) of the 15th: far from the edges of days and months. */
export function middleOfMonth(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 15, 12);
}

/** Each protection with the ways in which cases have shown it. */
function shownBy(ran: readonly RanCase[]): ReadonlyMap<string, ReadonlySet<Way>> {
  const shown = new Map<string, Set<Way>>();
  for (const { outcome } of ran) {
    for (const { id, way } of outcome.shown) {
      const ways = shown.get(id) ?? new Set();
      shown.set(id, ways.add(way));
    }
  }
  return shown;
}

/**
 * Each protection that can be taken out, with the cases that call what it protects. The same protection of a configuration
 * with other overlays or variables is one: a case that misses it in one of them will do.
 */
function mutants(worlds: readonly World[], ran: readonly RanCase[]): readonly Mutant[] {
  const known = new Map(
    worlds.map((world) => [world, new Set(world.offline.protections.map(({ id }) => id))]),
  );
  const all = worlds.flatMap(({ offline }) => offline.protections).filter(({ isRemovable }) => isRemovable);
  return [...new Map(all.map((protection) => [protection.id, protection])).values()].map((protection) => {
    const { id, owner } = protection;
    const key = `${owner.project}/${owner.kind}/${owner.name}`;
    const cases = ran.filter(
      ({ context, outcome }) => outcome.touched.has(key) && known.get(context.world)?.has(id) === true,
    );
    return { protection, cases };
  });
}
