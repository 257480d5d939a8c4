/**
 * Places of changes, and causes: what several endpoints inherit from one line of `endpoint_defaults` is one change there,
 * with the endpoints that it reaches.
 */
import type { SourcePlace } from "../config/model.ts";
import type { ConfigPath, Origin } from "../config/shown.ts";
import type { Draft, PlanChange, Sides } from "./draft.ts";
import type { ConfigObject, ObjectRef } from "./objects.ts";
import type { PreparedSide } from "./prepared-side.ts";
import { RULES } from "./rules.ts";
import { type Side, startOf } from "./side.ts";

const INHERITED = /^projects\[\d+\]\.endpoint_defaults\b/;

/** In the order of the drafts. */
export function sharedCauses(drafts: readonly Draft[], sides: Sides): readonly PlanChange[] {
  const changes: PlanChange[] = [];
  const causes = new Map<string, { readonly at: number; readonly reaches: ObjectRef[] }>();
  for (const draft of drafts) {
    const { change, isInherited } = placed(draft, sides);
    if (!isInherited) {
      changes.push(change);
      continue;
    }
    const { rule, risk, path, side, before, after, message, object } = change;
    const key = JSON.stringify([rule, risk, path, side, before ?? null, after ?? null, message]);
    const cause = causes.get(key);
    if (cause !== undefined) {
      cause.reaches.push(object);
      continue;
    }
    const reaches = [object];
    causes.set(key, { at: changes.length, reaches });
    const { project } = object;
    changes.push({ ...change, object: { kind: "endpoint_defaults", project, name: project ?? "" }, reaches });
  }
  return changes;
}

/** A change with its place, and whether it is the project's `endpoint_defaults` that has changed. */
function placed(
  draft: Draft,
  { from, to }: Sides,
): { readonly change: PlanChange; readonly isInherited: boolean } {
  const { rule, risk = RULES[rule].risk, message, action, was, is, before, after, reaches } = draft;
  const wasAt = was === undefined ? undefined : originOf(from.side, was, draft.fromPath);
  const isAt = is === undefined ? undefined : originOf(to.side, is, draft.toPath);
  const isNow = is !== undefined && (isAt !== undefined || wasAt === undefined);
  const object = is ?? was;
  if (object === undefined) throw new Error("a change is of an object of one side at least");
  const { side } = isNow ? to : from;
  const path = isNow ? draft.toPath : draft.fromPath;
  const origin = (isNow ? isAt : wasAt) ?? nearest(side, [...object.path, ...path]);
  const inherited = [wasAt, isAt].filter((at) => at !== undefined);
  const change: PlanChange = {
    ...{ rule, risk, action, object: object.ref, before, after, message, reaches },
    path: origin.path,
    at: origin.at,
    side: isNow ? "to" : "from",
    acceptedAt: isNow ? origin.at : heldAt(draft, to),
  };
  return { change, isInherited: inherited.length > 0 && inherited.every((at) => INHERITED.test(at.path)) };
}

function originOf({ shown }: Side, object: ConfigObject, path: ConfigPath): Origin | undefined {
  for (let length = path.length; length > 0; length--) {
    const origin = shown.originOf([...object.path, ...path.slice(0, length)]);
    if (origin !== undefined) return origin;
  }
  return path.length === 0 ? shown.originOf(object.path) : undefined;
}

/** Of the maps and lists around a value, the first that is written. */
function nearest({ shown, config }: Side, path: ConfigPath): Origin {
  for (let length = path.length; length > 0; length--) {
    const origin = shown.originOf(path.slice(0, length));
    if (origin !== undefined) return { ...origin, path: pathText(path) };
  }
  return { at: startOf(config.projects[0]?.endpoints[0]?.at.file ?? ""), path: pathText(path) };
}

/** In `to`: what held the value that is gone. */
function heldAt({ is, was, toPath }: Draft, { side, byIdentity }: PreparedSide): SourcePlace {
  if (is !== undefined) return nearest(side, [...is.path, ...toPath.slice(0, -1)]).at;
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
