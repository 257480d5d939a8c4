/**
 * Places of changes, and causes: what several endpoints inherit from one line of `endpoint_defaults` is one change there,
 * with the endpoints that it reaches.
 */
import { isDeepStrictEqual } from "node:util";
import type { SourcePlace } from "../config/model.ts";
import { asJsonMap, type ConfigPath, type JsonMap, type Origin } from "../config/shown.ts";
import type { Draft, PlanChange, Sides } from "./draft.ts";
import { changeText } from "./fields/field.ts";
import type { ConfigObject, ObjectRef } from "./objects.ts";
import type { PreparedSide } from "./prepared-side.ts";
import { RULES } from "./rules.ts";
import { type Side, startOf } from "./side.ts";

const INHERITED = /^projects\[\d+\]\.endpoint_defaults\b/;

/** In the order of the drafts. */
export function sharedCauses(drafts: readonly Draft[], sides: Sides): readonly PlanChange[] {
  const changes: PlanChange[] = [];
  const causes = new Map<string, Cause>();
  const toldKeys = new Set<string>();
  for (const draft of drafts) {
    const { change, inheritedKey } = placed(draft, sides);
    if (inheritedKey === undefined) {
      changes.push(change);
      continue;
    }
    toldKeys.add(inheritedKey);
    const { rule, risk, message, object } = change;
    const at = causeText(change);
    const key = JSON.stringify([at, rule, risk, message, change.before ?? null, change.after ?? null]);
    const known = causes.get(key);
    if (known !== undefined) {
      known.reaches.push(object);
      continue;
    }
    const reaches = [object];
    const whole = { ...change, object: defaultsRef(object.project ?? ""), reaches };
    causes.set(key, { at, change: whole, reaches });
    changes.push(whole);
  }
  const idle = idleCauses([...causes.values()]);
  return [...changes.filter((change) => !idle.has(change)), ...unusedDefaults(sides, toldKeys)];
}

interface Cause {
  readonly at: string;
  readonly change: PlanChange;
  readonly reaches: ObjectRef[];
}

const causeText = ({ path, side, at: { file } }: PlanChange): string => JSON.stringify([file, path, side]);

/** What has no effect on some endpoints says nothing where the same line has one on others. */
function idleCauses(causes: readonly Cause[]): ReadonlySet<PlanChange> {
  const felt = new Set(causes.filter(({ change }) => change.rule !== "P501").map(({ at }) => at));
  return new Set(
    causes.filter(({ at, change }) => change.rule === "P501" && felt.has(at)).map(({ change }) => change),
  );
}

const defaultsRef = (project: string): ObjectRef => ({ kind: "endpoint_defaults", project, name: project });

/** Keys of `endpoint_defaults` that differ while no endpoint does, since none inherits them. */
function unusedDefaults(sides: Sides, told: ReadonlySet<string>): readonly PlanChange[] {
  const { from, to } = sides;
  return to.objects.flatMap((is) => {
    const was = is.ref.kind === "project" ? from.byIdentity.get(is.identity) : undefined;
    if (was === undefined) return [];
    const [before, after] = [defaultsOf(was, from), defaultsOf(is, to)];
    const keys = [...new Set([...Object.keys(after), ...Object.keys(before)])].filter(
      (key) => !isDeepStrictEqual(before[key], after[key]) && !told.has(`${is.projectUuid}/${key}`),
    );
    return keys.map((key) => {
      const values = { before: before[key], after: after[key] };
      const message = `${changeText(key, values.before, values.after)}: no endpoint inherits it.`;
      const path = ["endpoint_defaults", key];
      const draft = {
        ...values,
        message,
        rule: "P501",
        action: "change",
        fromPath: path,
        toPath: path,
      } as const;
      const { change } = placed({ ...draft, was, is, reaches: [] }, sides);
      return { ...change, object: defaultsRef(is.ref.name) };
    });
  });
}

function defaultsOf({ path }: ConfigObject, { side }: PreparedSide): JsonMap {
  const { projects } = side.shown.config;
  const project = Array.isArray(projects) ? projects[Number(path.at(-1))] : undefined;
  return asJsonMap(asJsonMap(project)["endpoint_defaults"]);
}

interface Placed {
  readonly change: PlanChange;
  /** It is the project's `endpoint_defaults` that has changed: uuid and key. */
  readonly inheritedKey: string | undefined;
}

function placed(draft: Draft, { from, to }: Sides): Placed {
  const { rule, risk = RULES[rule].risk, message, action, was, is, before, after, reaches } = draft;
  const wasAt = was === undefined ? undefined : originOf(from.side, was, draft.fromPath);
  const isAt = is === undefined ? undefined : originOf(to.side, is, draft.toPath);
  // What is gone is shown where it was, and so is what a default has taken the place of.
  const isGone = is === undefined || (wasAt !== undefined && (isAt === undefined || after === undefined));
  const object = is ?? was;
  if (object === undefined) throw new Error("a change is of an object of one side at least");
  const side = isGone ? from.side : to.side;
  const path = isGone ? draft.fromPath : draft.toPath;
  const origin = (isGone ? wasAt : isAt) ?? nearest(side, [...((isGone ? was : is) ?? object).path, ...path]);
  const change: PlanChange = {
    ...{ rule, risk, action, object: object.ref, before, after, message, reaches },
    path: origin.path,
    at: origin.at,
    side: isGone ? "from" : "to",
    acceptedAt: isGone ? heldAt(draft, to) : origin.at,
  };
  const origins = [wasAt, isAt].filter((at) => at !== undefined);
  const isInherited = origins.length > 0 && origins.every((at) => INHERITED.test(at.path));
  return { change, inheritedKey: isInherited ? `${object.projectUuid}/${String(path[0])}` : undefined };
}

function originOf({ shown }: Side, object: ConfigObject, path: ConfigPath): Origin | undefined {
  for (let length = path.length; length > 0; length--) {
    const origin = shown.originOf([...object.path, ...path.slice(0, length)]);
    if (origin !== undefined) return origin;
  }
  return path.length === 0 ? shown.originOf(object.path) : undefined;
}

/** Of the maps and lists around a value, the first that is written. */
function nearest({ shown }: Side, path: ConfigPath): Origin {
  for (let length = path.length; length > 0; length--) {
    const origin = shown.originOf(path.slice(0, length));
    if (origin !== undefined) return { ...origin, path: pathText(path) };
  }
  // `version` is in every configuration.
  return { at: startOf(shown.originOf(["version"])?.at.file ?? ""), path: pathText(path) };
}

/** In `to`: what held the value that is gone. */
function heldAt({ is, was, toPath }: Draft, { side, byIdentity }: PreparedSide): SourcePlace {
  // An item's index may be that of another one by now; a key that is gone is skipped by `nearest`.
  const holder = typeof toPath.at(-1) === "number" ? toPath.slice(0, -1) : toPath;
  if (is !== undefined) return nearest(side, [...is.path, ...holder]).at;
  if (was === undefined) return nearest(side, []).at;
  const project = byIdentity.get(`project/${was.projectUuid}`);
  const own = was.path.slice(0, -1);
  // Projects may be in another order there.
  return nearest(side, project === undefined ? own : [...project.path, ...own.slice(2)]).at;
}

function pathText(path: ConfigPath): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    if (!/^[\w$-]+$/.test(key)) return `${text}[${JSON.stringify(key)}]`;
    return text === "" ? key : `${text}.${key}`;
  }, "");
}
