/** Runs one case: its steps in order on one case of the offline gateway, up to the first that is not as expected. */

import { spotAt } from "../config/check/validate.ts";
import type { SourcePlace } from "../config/model.ts";
import { isPlainMap, type PlainMap } from "../config/read/tree.ts";
import type { OfflineCase } from "../offline/case.ts";
import type { OfflineResult } from "../offline/result.ts";
import { durationMs } from "./durations.ts";
import { type Unmet, unmetBy } from "./expectations.ts";
import { type Fixtures, isFileName } from "./fixtures.ts";
import { readGiven } from "./given.ts";
import { pathText } from "./matchers.ts";
import { placeOf, type TestCase, type TestDocument, type TestStep } from "./model.ts";
import { type CallTarget, type Names, UnknownName } from "./names.ts";
import { observedOf, savedValue } from "./observed.ts";
import { filled, hasPlaceholders } from "./placeholders.ts";
import { type ClientRequest, httpRequest, requestOf } from "./requests.ts";
import type { Failure } from "./results.ts";
import { FixtureError, scriptOf, upstreamOf } from "./script.ts";
import type { World } from "./world.ts";

export interface CaseContext {
  readonly document: TestDocument;
  readonly world: World;
  readonly names: Names;
  readonly fixtures: Fixtures;
  readonly startMs: number;
  readonly update: boolean;
  /** A protection that is taken out; see `Offline.protections`. */
  readonly without?: string | undefined;
}

export interface CaseOutcome {
  /** Of the first step that is not as expected. */
  readonly failures: readonly Failure[];
  /** The call that it is about. */
  readonly failed: OfflineResult | undefined;
  /** The last call. */
  readonly last: OfflineResult | undefined;
  /** Protections that the case has shown at work. */
  readonly shown: OfflineResult["shown"];
  /** What was called, as protections name their owners: `<project uuid>/<kind>/<name>`. */
  readonly touched: ReadonlySet<string>;
}

export async function runCase(test: TestCase, context: CaseContext): Promise<CaseOutcome> {
  const { world, names, startMs, without } = context;
  const { given } = readGiven(test.given, test.givenSpot, names);
  const run = await world.offline.case({ startMs, given, ...(without === undefined ? {} : { without }) });
  return new CaseRun(test, context, run).all();
}

/** One made call. */
interface Made {
  readonly result: OfflineResult;
  readonly touched: readonly string[];
}

interface StepFailure {
  readonly failures: readonly Failure[];
  /** undefined: no call was made. */
  readonly result: OfflineResult | undefined;
}

class CaseRun {
  readonly #test: TestCase;
  readonly #context: CaseContext;
  readonly #run: OfflineCase;
  readonly #saved = new Map<string, unknown>();
  readonly #shown: OfflineResult["shown"][number][] = [];
  readonly #touched = new Set<string>();
  #last: OfflineResult | undefined;

  constructor(test: TestCase, context: CaseContext, run: OfflineCase) {
    this.#test = test;
    this.#context = context;
    this.#run = run;
    const [session] = run.sessions;
    if (session !== undefined) this.#saved.set("session", session);
  }

  async all(): Promise<CaseOutcome> {
    for (const step of this.#test.steps) {
      const failed = await this.#step(step);
      if (failed !== undefined) return this.#outcome(failed.failures, failed.result);
    }
    return this.#outcome([], undefined);
  }

  #outcome(failures: readonly Failure[], failed: OfflineResult | undefined): CaseOutcome {
    return { failures, failed, last: this.#last, shown: this.#shown, touched: this.#touched };
  }

  /** undefined: as expected. */
  async #step(step: TestStep): Promise<StepFailure | undefined> {
    const { advance } = step.value;
    if (typeof advance === "string") {
      this.#run.advance(durationMs(this.#textOf(advance)) ?? 0);
      return undefined;
    }
    const repeat = Number(this.#textOf(String(step.value["repeat"] ?? 1)));
    for (let round = 1; round <= repeat; round++) {
      const failed = await this.#round(step, repeat > 1 ? round : undefined);
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  async #round(step: TestStep, round: number | undefined): Promise<StepFailure | undefined> {
    let made: Made;
    let value: PlainMap;
    try {
      // A copy of a map is a map.
      value = this.#filled(step) as PlainMap;
      made = await this.#call(value);
    } catch (thrown) {
      if (!(thrown instanceof UnknownName) && !(thrown instanceof FixtureError)) throw thrown;
      const failure = { place: this.#placeOf(step, []), path: prefixOf(step, []), message: thrown.message };
      return { failures: [failure], result: undefined };
    }
    const { result } = made;
    this.#last = result;
    this.#shown.push(...result.shown);
    for (const owner of made.touched) this.#touched.add(owner);
    const observed = observedOf(result);
    const expected = isPlainMap(value["expect"]) ? value["expect"] : {};
    const unmet: Unmet[] = [...unmetBy(expected, { ...this.#context, result, observed })];
    const script = this.#scriptProblem(value, result);
    const failures = unmet.map((one) => this.#failure(step, one, round));
    if (script !== undefined)
      failures.push({
        place: this.#placeOf(step, ["provider"]),
        path: prefixOf(step, ["provider"]),
        message: script,
      });
    if (failures.length > 0) return { failures, result };
    const unsaved = this.#save(value, observed);
    if (unsaved === undefined) return undefined;
    const failure = {
      place: this.#placeOf(step, ["save", unsaved.name]),
      path: prefixOf(step, ["save", unsaved.name]),
      message: `the answer has no ${unsaved.what}`,
    };
    return { failures: [failure], result };
  }

  #failure(step: TestStep, unmet: Unmet, round: number | undefined): Failure {
    const { path } = unmet;
    const place = this.#placeOf(step, ["expect", ...path]);
    const text = `${prefixOf(step, path)}${round === undefined ? "" : ` (call ${round})`}`;
    if ("message" in unmet) return { place, path: text, message: unmet.message };
    return { place, path: text, expected: unmet.expected, actual: unmet.actual };
  }

  /** Of the longest part of the path that is written; a row's value where it is from a row. */
  #placeOf({ value, spot }: TestStep, path: readonly (string | number)[]): SourcePlace {
    const { tree } = this.#context.document;
    for (let length = path.length; length > 0; length--) {
      const keys = path.slice(0, length);
      const last = keys.at(-1) ?? "";
      const container = spotAt(value, keys.slice(0, -1), spot);
      const holder = container?.value;
      if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, last)) continue;
      return placeOf(tree, { container: holder, key: last, parent: container?.spot });
    }
    return placeOf(tree, spot);
  }

  /** Too few entries of the script, or too many. */
  #scriptProblem(value: PlainMap, { script, closed }: OfflineResult): string | undefined {
    if (value["provider"] === undefined) return undefined;
    const { entries, played, missing } = script;
    const entry = entries === 1 ? "1 entry" : `${entries} entries`;
    if (missing > 0) {
      const attempts = played + missing;
      return `the script has ${entry}, and there were ${attempts} attempts: add ${missing} more`;
    }
    if (played >= entries) return undefined;
    const asked =
      played === 0
        ? "no provider was asked"
        : `there ${played === 1 ? "was 1 attempt" : `were ${played} attempts`}`;
    const why = closed.length > 0 ? ` (refused: ${closed.join(", ")})` : "";
    return `the script has ${entry}, and ${asked}${why}`;
  }

  #save(
    value: PlainMap,
    observed: ReturnType<typeof observedOf>,
  ): { readonly name: string; readonly what: string } | undefined {
    const { save } = value;
    for (const [name, what] of Object.entries(isPlainMap(save) ? save : {})) {
      const saved = savedValue(observed, String(what));
      if (saved === undefined) return { name, what: String(what) };
      this.#saved.set(name, saved);
    }
    return undefined;
  }

  #textOf(text: string): string {
    return String(
      filled(text, {
        bindings: (name) => (this.#saved.has(name) ? { value: this.#saved.get(name) } : undefined),
      }),
    );
  }

  /** Facts of the project that the step is about, and saved values, in the place of placeholders. */
  #filled({ value }: TestStep): unknown {
    if (!hasPlaceholders(value)) return value;
    const facts = new Map<string, unknown>(this.#saved);
    const { names, world } = this.#context;
    const about = isPlainMap(value["call"]) ? value["call"] : isPlainMap(value["http"]) ? value["http"] : {};
    const isCall = value["call"] !== undefined && !hasPlaceholders(about["project"]);
    const project = isCall ? this.#projectOf(about) : names.defaultProject(about["project"]);
    if (project !== undefined) {
      facts.set("project.uuid", project.uuid).set("project.id", project.id).set("project.name", project.name);
      const token = names.tokenOf(project, about["token"], undefined);
      if (token !== undefined) facts.set("token", world.offline.token(project.uuid, token.id));
    }
    return filled(value, { bindings: (name) => (facts.has(name) ? { value: facts.get(name) } : undefined) });
  }

  #projectOf(call: PlainMap): CallTarget["project"] | undefined {
    try {
      return this.#context.names.target(call).project;
    } catch (thrown) {
      // The target's name holds a placeholder itself.
      if (!(thrown instanceof UnknownName)) throw thrown;
      return this.#context.names.defaultProject(call["project"]);
    }
  }

  async #call(value: PlainMap): Promise<Made> {
    const { names, fixtures } = this.#context;
    const { call, http } = value;
    const script = scriptOf(value, fixtures);
    const upstream = upstreamOf(value);
    const answers = { ...(script && { script }), ...(upstream && { upstream }) };
    if (isPlainMap(call)) {
      const target = names.target(call);
      const token = names.tokenFor(target, call["token"]);
      const request = requestOf(call, target, this.#tokenText(target.project.uuid, token?.id));
      const owner = target.kind === "tool" ? "endpoint" : target.kind;
      const touched = [`${target.project.uuid}/${owner}/${target.name}`];
      if (token !== undefined) touched.push(`${target.project.uuid}/token/${token.id}`);
      return { result: await this.#run.call(request, answers), touched };
    }
    const request = this.#httpRequest(isPlainMap(http) ? http : {});
    const result = await this.#run.call(request, answers);
    return { result, touched: touchedBy(result) };
  }

  #httpRequest(http: PlainMap): ClientRequest {
    const { names, fixtures } = this.#context;
    const project = names.defaultProject(http["project"]) ?? this.#projectOfPath(String(http["path"]));
    const isAnonymous = http["token"] === null || project === undefined;
    const token = isAnonymous
      ? undefined
      : names.tokenOf(project, http["token"], scopeOfPath(String(http["path"])));
    const { body } = http;
    const read = isFileName(body) ? fixtures.read(body) : body;
    if (typeof read === "object" && read !== null && "unusable" in read)
      throw new FixtureError("body", `${String(body)} ${String(read.unusable)}`);
    return httpRequest(http, read, project && this.#tokenText(project.uuid, token?.id));
  }

  #projectOfPath(path: string): CallTarget["project"] | undefined {
    const uuid = /^\/api\/([^/?]+)/.exec(path)?.[1]?.toLowerCase();
    return this.#context.names.config.projects.find((project) => project.uuid === uuid);
  }

  #tokenText(project: string, id: string | undefined): string | undefined {
    return id === undefined ? undefined : this.#context.world.offline.token(project, id);
  }
}

/** What a request of its own reached. */
function touchedBy({ call }: OfflineResult): readonly string[] {
  if (call === undefined) return [];
  const { project, endpoint, token, surface } = call;
  const kind = surface === "wrapper" ? "alias" : surface === "proxy" ? "proxy" : "endpoint";
  return [`${project.uuid}/${kind}/${endpoint.slug}`, `${project.uuid}/token/${token.id}`];
}

/** The scope that a path asks for. */
function scopeOfPath(path: string): "chat" | "models" | "admin" | "mcp" | "proxy" {
  const below = path.replace(/^\/api\/[^/?]+\//, "");
  if (/^mcp\b/.test(below)) return "mcp";
  if (/^proxy\//.test(below)) return "proxy";
  if (/^v1\/models\b/.test(below)) return "models";
  return /^endpoints\b/.test(below) ? "admin" : "chat";
}

/** `steps[1].status`. */
function prefixOf({ index }: TestStep, path: readonly (string | number)[]): string {
  return pathText(index === undefined ? path : ["steps", index, ...path]);
}
