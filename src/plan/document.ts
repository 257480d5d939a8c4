/**
 * A plan as it is saved, sent and rendered: every change with its place and whether somebody has accepted it, what they
 * come to, and what a running gateway knows of it. Its JSON is an interface: see `PLAN_VERSION`.
 */
import { relative } from "node:path";
import type { SourcePlace } from "../config/model.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { Acceptances } from "./acceptance.ts";
import { changesBetween, type ObjectChange } from "./changes.ts";
import { type ObjectRef, objectsOf } from "./objects.ts";
import type { PlanChange } from "./plan.ts";
import { RISKS, type Risk, type RuleId } from "./rules.ts";
import type { Side } from "./side.ts";

/** Rises when a key changes its meaning or goes. */
export const PLAN_VERSION = 1;

export interface PlanDocument {
  readonly plan_version: typeof PLAN_VERSION;
  readonly from: PlanSide;
  readonly to: PlanSide;
  /** By risk, the highest first; within one in the order of the configuration. */
  readonly changes: readonly DocumentChange[];
  readonly counts: PlanCounts;
  /** Those that stand in the running gateway. Empty without `--usage`. */
  readonly overrides: readonly PlanOverride[];
  /** Where the running gateway differs from `from`. Empty without `--usage`. */
  readonly drift: readonly PlanDrift[];
  /** Who is affected. Only with `--usage`. */
  readonly usage?: PlanUsage;
}

/** What a running gateway knows of the objects that change. */
export interface PlanUsage {
  /** Since when calls and tokens are counted: the start of that process. RFC 3339. */
  readonly since: string;
  /** `YYYY-MM`, of the spend. */
  readonly month: string;
  readonly objects: readonly ObjectUsage[];
}

export interface ObjectUsage {
  readonly object: ObjectRef;
  readonly calls: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly spend_usd: number;
}

export interface PlanSide {
  readonly side: string;
  readonly hash: string;
  readonly revision: string | null;
}

export interface DocumentChange {
  readonly rule: RuleId;
  readonly risk: Risk;
  readonly object: ObjectRef;
  readonly path: string;
  /** On the side where it stands. Relative to the working directory where it is below. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly before: JsonValue;
  readonly after: JsonValue;
  readonly message: string;
  /** Objects that inherit what changes. */
  readonly reaches: readonly ObjectRef[];
  readonly accepted: Accepted | null;
}

export interface Accepted {
  readonly reason: string;
  /** null: by the command line, for this run. */
  readonly until: string | null;
}

export interface PlanCounts extends Readonly<Record<Risk, number>> {
  readonly add: number;
  readonly change: number;
  readonly remove: number;
}

export interface PlanOverride {
  readonly kind: string;
  readonly object: ObjectRef;
  /** What it does, such as `switched off`. */
  readonly change: string;
  readonly actor: string;
  readonly set_at: string;
  /** True: the new configuration says otherwise, and wins. */
  readonly ends: boolean;
}

export interface PlanDrift {
  readonly object: ObjectRef;
  readonly change: "added" | "changed" | "removed";
  /** Keys that differ. */
  readonly keys: readonly string[];
}

/** `--accept RULE[@OBJECT]`. */
export interface AcceptedRule {
  readonly rule: RuleId;
  /** `support/triage`; undefined: every object. */
  readonly object: string | undefined;
}

export interface DocumentInput {
  readonly from: Side;
  readonly to: Side;
  readonly changes: readonly PlanChange[];
  readonly acceptances: Acceptances;
  readonly accept: readonly AcceptedRule[];
  readonly cwd: string;
  readonly overrides?: readonly PlanOverride[];
  readonly drift?: readonly PlanDrift[];
  readonly usage?: PlanUsage | undefined;
}

/** A document, and what renderers need beside it. */
export interface Plan {
  readonly document: PlanDocument;
  /** What happens to an object as a whole. */
  verbOf(object: ObjectRef): Verb;
  /** In the new configuration: the value's place, or that of what held it. */
  newPlaceOf(change: DocumentChange): Place;
}

export type Verb = "add" | "change" | "remove";
export type Place = Readonly<Record<"line" | "column", number>> & { readonly file: string };

export function planOf(input: DocumentInput): Plan {
  const { from, to, cwd, overrides = [], drift = [] } = input;
  const newPlaces = new Map<DocumentChange, Place>();
  const changes = input.changes.map((change): DocumentChange => {
    const { rule, risk, object, path, at, before, after, message, reaches } = change;
    const made = {
      ...{ rule, risk, object, path },
      ...placeOf(at, cwd),
      ...{ before: before ?? null, after: after ?? null, message, reaches },
      accepted: acceptedBy(change, input),
    };
    newPlaces.set(made, placeOf(change.acceptedAt, cwd));
    return made;
  });
  const verbs = verbsOf(changesBetween(from, to));
  const ordered = RISKS.flatMap((risk) => changes.filter((change) => change.risk === risk));
  const document: PlanDocument = {
    plan_version: PLAN_VERSION,
    from: sideOf(from),
    to: sideOf(to),
    changes: ordered,
    counts: countsOf(verbs, ordered),
    ...{ overrides, drift },
    ...(input.usage === undefined ? {} : { usage: input.usage }),
  };
  return {
    document,
    verbOf: (object) => verbs.get(keyOf(object)) ?? "change",
    newPlaceOf: (change) => newPlaces.get(change) ?? change,
  };
}

const keyOf = ({ kind, project, name }: ObjectRef): string => `${kind}\0${project ?? ""}\0${name}`;

function sideOf({ name, hash, revision }: Side): PlanSide {
  return { side: name, hash, revision };
}

function placeOf({ file, line, column }: SourcePlace, cwd: string): Place {
  return { file: shownFile(file, cwd), line, column };
}

/** Relative to the working directory where it is below. */
export function shownFile(file: string, cwd: string): string {
  const path = relative(cwd, file);
  return path === "" || path.startsWith("..") ? file : path;
}

function acceptedBy(change: PlanChange, { to, from, acceptances, accept }: DocumentInput): Accepted | null {
  const named = accept.find(
    ({ rule, object }) => rule === change.rule && isNamed(object, change, { from, to }),
  );
  if (named !== undefined) return { reason: "--accept", until: null };
  const found = acceptances.find(change.rule, change.acceptedAt);
  return found === undefined ? null : { reason: found.reason, until: found.until };
}

/** An object may be named with its project's slug or uuid. */
function isNamed(
  name: string | undefined,
  { object }: PlanChange,
  { from, to }: { readonly from: Side; readonly to: Side },
): boolean {
  if (name === undefined || name === objectName(object)) return true;
  if (object.project === null || !name.includes("/")) return false;
  const uuids = [from, to].flatMap((side) =>
    objectsOf(side)
      .filter(({ ref: { kind, name: project } }) => kind === "project" && project === object.project)
      .map(({ value }) => String(value["uuid"]).toLowerCase()),
  );
  return uuids.some((uuid) => name.toLowerCase() === `${uuid}/${object.name}`.toLowerCase());
}

/** `support/triage`; of the whole gateway the name alone. */
export function objectName({ kind, project, name }: ObjectRef): string {
  return project === null || kind === "project" ? name : `${project}/${name}`;
}

export function verbsOf(changes: readonly ObjectChange[]): ReadonlyMap<string, Verb> {
  return new Map(
    changes.map(({ ref, before, after }) => [
      keyOf(ref),
      before === undefined ? "add" : after === undefined ? "remove" : "change",
    ]),
  );
}

/** What happens to each object, and how many changes of each risk nobody has accepted. */
export function countsOf(
  verbs: ReadonlyMap<string, Verb>,
  changes: readonly Pick<DocumentChange, "risk" | "accepted">[],
): PlanCounts {
  const counts = { add: 0, change: 0, remove: 0, breaking: 0, weakens: 0, money: 0, behavior: 0, safe: 0 };
  for (const verb of verbs.values()) counts[verb] += 1;
  for (const { risk, accepted } of changes) if (accepted === null) counts[risk] += 1;
  return counts;
}

/** `Plan: 2 to add, 1 to change, 1 to remove. 1 breaking, 1 weakens, 1 money.` `paint`: how a risk is shown. */
export function summaryLine(
  { changes, counts }: Pick<PlanDocument, "changes" | "counts">,
  paint: (text: string, risk: Risk) => string = (text) => text,
): string {
  if (changes.length === 0) return "No changes.";
  const { add, change, remove } = counts;
  const present = RISKS.filter((risk) => counts[risk] > 0);
  const risks = present.map((risk) => paint(`${counts[risk]} ${risk}`, risk));
  const objects = `Plan: ${add} to add, ${change} to change, ${remove} to remove.`;
  return risks.length === 0 ? objects : `${objects} ${risks.join(", ")}.`;
}
