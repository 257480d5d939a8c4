/**
 * Writes a first test file for a configuration. Each case is tried on the offline gateway: what happens is what it
 * expects, and a case that is meant to show a protection at work is kept only if it does.
 */

import { ConfigRoot } from "../../config/read/root.ts";
import { openSources } from "../../config/read/source.ts";
import { type PlainMap, type Spot, Tree } from "../../config/read/tree.ts";
import { createReporter } from "../../config/report/diagnostic.ts";
import { Fixtures } from "../fixtures.ts";
import type { TestCase, TestDocument } from "../model.ts";
import { Names } from "../names.ts";
import { type CaseContext, runCase } from "../run-case.ts";
import type { World } from "../world.ts";
import { type Candidate, candidatesOf } from "./candidates.ts";
import { expectationOf } from "./expectation.ts";

/** Cases written; a configuration with more objects gets those of its first ones. */
const CASES_MAX = 2000;

/** For a configuration of which nothing can be called. */
const ALIVE: Candidate = {
  name: "the gateway is alive",
  tries: [{ http: { path: "/healthz" } }],
  wanted: undefined,
  shows: [],
};

export interface Starter {
  readonly cases: readonly PlainMap[];
  /** Protections for which no case could be derived: their ids. */
  readonly left: ReadonlySet<string>;
}

export async function starterCases(world: World, startMs: number): Promise<Starter> {
  const context = contextOf(world, startMs);
  const cases: PlainMap[] = [];
  const shown = new Set<string>();
  const names = new Set<string>();
  for (const candidate of candidatesOf(world.config, world.offline.protections)) {
    if (cases.length >= CASES_MAX) break;
    const made = await firstThatHolds(candidate, context);
    if (made === undefined || names.has(candidate.name)) continue;
    names.add(candidate.name);
    cases.push(made);
    if (candidate.wanted !== undefined) shown.add(candidate.wanted.id);
  }
  const alive = cases.length === 0 ? await firstThatHolds(ALIVE, context) : undefined;
  if (alive !== undefined) cases.push(alive);
  const left = world.offline.protections.filter(({ id }) => !shown.has(id)).map(({ id }) => id);
  return { cases, left: new Set(left) };
}

async function firstThatHolds(candidate: Candidate, context: CaseContext): Promise<PlainMap | undefined> {
  const { name, tries, wanted, shows } = candidate;
  for (const attempt of tries) {
    const { last, shown, failures } = await runCase(caseOf({ name, ...attempt }), context);
    if (last === undefined || failures.length > 0) continue;
    if (wanted !== undefined && !shown.some(({ id, way }) => id === wanted.id && way === wanted.way))
      continue;
    const test = { name, ...attempt, expect: expectationOf(last, shows) };
    const again = await runCase(caseOf(test), context);
    if (again.failures.length === 0) return test;
  }
  return undefined;
}

function contextOf(world: World, startMs: number): CaseContext {
  const tree = new Tree();
  const document: TestDocument = {
    ...{ file: world.configPath, config: undefined, overlays: [], root: {}, clockMs: undefined, env: {} },
    ...{ defaults: {}, cases: [], tree, reporter: createReporter(tree, new Set()) },
  };
  return {
    ...{ document, world, startMs, update: false },
    names: new Names(world.config, {}),
    fixtures: new Fixtures(world.configPath, openSources(new ConfigRoot(world.configPath))),
  };
}

function caseOf(test: PlainMap): TestCase {
  const spot: Spot = { container: [test], key: 0, parent: undefined };
  const given = test["given"];
  return {
    name: String(test["name"]),
    place: { file: "", line: 1, column: 1 },
    // Candidates write maps.
    given: (given ?? {}) as PlainMap,
    givenSpot: { container: test, key: "given", parent: spot },
    steps: [{ index: undefined, value: test, spot }],
  };
}
