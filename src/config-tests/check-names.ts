/** Holds the names of a document's cases against its configuration, so that a misspelled one is a mistake with a place. */
import type { ProjectConfig } from "../config/model.ts";
import { child, isPlainMap, type PlainMap, type Spot } from "../config/read/tree.ts";
import { nearestOf } from "../config/report/suggest.ts";
import { readGiven } from "./given.ts";
import { isMatcher } from "./matchers.ts";
import type { TestDocument, TestStep } from "./model.ts";
import { type CallTarget, type Names, UnknownName } from "./names.ts";
import { hasPlaceholders, placeholdersIn, textsIn } from "./placeholders.ts";
import { FACTS, listIn, mapIn } from "./read.ts";

export function checkNames(document: TestDocument, names: Names): void {
  const { root, cases } = document;
  const report = reporterOf(document);
  report(child(root, "defaults", undefined), mapIn(root, "defaults"), () => names.checkDefaults());
  for (const { given, givenSpot, steps } of cases) {
    for (const { error, spot } of readGiven(given, givenSpot, names).problems)
      reportAt(document, spot, error);
    for (const step of steps) checkStepNames(step, document, names);
  }
}

type Report = (spot: Spot, map: PlainMap, look: () => void) => void;

function reporterOf(document: TestDocument): Report {
  return (spot, map, look) => {
    try {
      look();
    } catch (thrown) {
      if (!(thrown instanceof UnknownName)) throw thrown;
      reportAt(document, Object.hasOwn(map, thrown.key) ? child(map, thrown.key, spot) : spot, thrown);
    }
  };
}

function reportAt({ reporter }: TestDocument, spot: Spot, { message, advice }: UnknownName): void {
  reporter.report("E0502", spot, message, advice);
}

function checkStepNames({ value, spot }: TestStep, document: TestDocument, names: Names): void {
  const report = reporterOf(document);
  const { call, http, expect } = value;
  let target: CallTarget | undefined;
  if (isPlainMap(call) && !namesLater(call)) {
    const at = child(value, "call", spot);
    report(at, call, () => {
      // A call that names nothing was reported when the file was read.
      if (!["endpoint", "alias", "tool", "proxy"].some((key) => typeof call[key] === "string")) return;
      target = names.target(call);
      names.tokenFor(target, call["token"]);
    });
  }
  if (isPlainMap(http) && !hasPlaceholders([http["project"], http["token"]])) {
    report(child(value, "http", spot), http, () => {
      const project = names.defaultProject(http["project"]);
      if (project !== undefined) names.tokenOf(project, http["token"], undefined);
      else checkFacts(value);
    });
  }
  if (isPlainMap(expect) && target !== undefined)
    checkExpected(expect, { spot: child(value, "expect", spot), target, document });
}

/** Facts of a project are of one only where it is known which. */
function checkFacts(step: PlainMap): void {
  for (const { text } of textsIn(step, undefined)) {
    const fact = placeholdersIn(text).find((name) => FACTS.some((one) => one === name));
    if (fact === undefined) continue;
    const message = `\`{{${fact}}}\` is of no project, since the configuration has several`;
    throw new UnknownName("path", message, { help: "add `project:` to the request or to `defaults`" });
  }
}

/** What is called is known only when the case runs. */
function namesLater(call: PlainMap): boolean {
  return hasPlaceholders(["endpoint", "alias", "tool", "proxy", "project", "token"].map((key) => call[key]));
}

interface Expected {
  readonly spot: Spot;
  readonly target: CallTarget;
  readonly document: TestDocument;
}

function checkExpected(expect: PlainMap, { spot, target, document }: Expected): void {
  const settings = settingsOf(target);
  if (settings === undefined) return;
  const { guardrails, sent } = expect;
  const uses = settings.guardrails.map(({ use }) => use);
  if (isPlainMap(guardrails) && !isMatcher(guardrails)) {
    const at = child(expect, "guardrails", spot);
    for (const key of Object.keys(guardrails)) {
      if (isMatcher(guardrails[key]) && Object.hasOwn(guardrails[key], "none")) continue;
      checkGuardrail(key, child(guardrails, key, at), { uses, target, document });
    }
  }
  const known = targetsOf(settings);
  const check = (name: string, at: Spot, isKey: boolean): void => {
    if (known.includes(name) || hasPlaceholders(name)) return;
    const message = `${target.kind} ${JSON.stringify(target.name)} has no target ${JSON.stringify(name)}`;
    document.reporter.report("E0502", at, message, {
      ...nearestOf(name, known, "it has no targets"),
      at: isKey ? "key" : "value",
    });
  };
  const list = listIn(expect, "attempts");
  for (const [index, attempt] of list.entries()) {
    if (!isPlainMap(attempt)) continue;
    const at = child(list, index, child(expect, "attempts", spot));
    for (const name of Object.keys(attempt)) check(name, child(attempt, name, at), true);
  }
  if (isPlainMap(sent) && typeof sent["target"] === "string")
    check(sent["target"], child(sent, "target", child(expect, "sent", spot)), false);
}

type Settings = ProjectConfig["endpoints"][number] | ProjectConfig["aliases"][number];

function settingsOf({ kind, project, name }: CallTarget): Settings | undefined {
  if (kind === "alias") return project.aliases.find(({ alias }) => alias === name);
  return kind === "proxy" ? undefined : project.endpoints.find(({ slug }) => slug === name);
}

function targetsOf(settings: Settings): readonly string[] {
  const { provider, model, credential, failover } = settings;
  // A provider without credentials stands for its own.
  return [
    `${credential === "" ? provider : credential}/${model}`,
    ...failover.map((entry) => `${entry.credential}/${entry.model}`),
  ];
}

function checkGuardrail(
  key: string,
  spot: Spot,
  {
    uses,
    target,
    document,
  }: { readonly uses: readonly string[]; readonly target: CallTarget; readonly document: TestDocument },
): void {
  const [, use = key, nth = "1"] = /^(.*)\[(\d+)\]$/.exec(key) ?? [];
  const times = uses.filter((one) => one === use).length;
  if (Number(nth) >= 1 && times >= Number(nth)) return;
  const what = `${target.kind} ${JSON.stringify(target.name)}`;
  if (times > 0) {
    document.reporter.report(
      "E0502",
      spot,
      `${what} uses ${use} ${times === 1 ? "once" : `${times} times`}`,
      { at: "key" },
    );
    return;
  }
  const advice = nearestOf(use, [...new Set(uses)], "it has no guardrails");
  document.reporter.report("E0502", spot, `${what} has no guardrail ${JSON.stringify(use)}`, {
    ...advice,
    at: "key",
  });
}
