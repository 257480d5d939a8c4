/** Changes as they are read: by project and object, what is most dangerous first. */
import { type DocumentChange, objectName, type Place } from "../document.ts";
import type { ObjectKind, ObjectRef } from "../objects.ts";
import { RISKS } from "../rules.ts";

export interface ObjectGroup {
  readonly object: ObjectRef;
  /** By risk, the highest first. */
  readonly changes: readonly DocumentChange[];
}

export interface ProjectGroup {
  /** null: of the whole gateway. */
  readonly project: string | null;
  readonly objects: readonly ObjectGroup[];
}

/** `changes` are ordered by risk. The group of the whole gateway comes last. */
export function grouped(changes: readonly DocumentChange[]): readonly ProjectGroup[] {
  const projects = new Map<string | null, Map<string, { object: ObjectRef; changes: DocumentChange[] }>>();
  for (const change of changes) {
    const { object } = change;
    const objects =
      projects.get(object.project) ?? new Map<string, { object: ObjectRef; changes: DocumentChange[] }>();
    projects.set(object.project, objects);
    const key = `${object.kind}\0${object.name}`;
    const group = objects.get(key) ?? { object, changes: [] };
    objects.set(key, group);
    group.changes.push(change);
  }
  const groups = [...projects].map(([project, objects]) => ({ project, objects: [...objects.values()] }));
  return [
    ...groups.filter(({ project }) => project !== null),
    ...groups.filter(({ project }) => project === null),
  ];
}

const KINDS: Readonly<Partial<Record<ObjectKind, string>>> = {
  gateway: "section",
  endpoint_defaults: "defaults of endpoints",
  template: "provider template",
  control_token: "control-plane token",
  proxy_endpoint: "proxy endpoint",
  oauth_connection: "OAuth connection",
  mcp_server: "MCP server",
};

/** `proxy endpoint`. */
export function kindText(kind: ObjectKind): string {
  return KINDS[kind] ?? kind;
}

/** `endpoint triage`: as it is named below its project. */
export function objectTitle({ kind, name }: ObjectRef): string {
  return kind === "endpoint_defaults" ? kindText(kind) : `${kindText(kind)} ${name}`;
}

const NAMED_MAX = 4;

/** `support/a, support/b and 3 more`; undefined: nothing else. `nameOf`: as they are called where that is shown. */
export function reachText(
  { reaches, object }: DocumentChange,
  nameOf: (object: ObjectRef) => string = objectName,
): string | undefined {
  if (
    reaches.length === 0 ||
    (reaches.length === 1 && objectName(reaches[0] ?? object) === objectName(object))
  )
    return undefined;
  const names = reaches.slice(0, NAMED_MAX).map(nameOf);
  const more = reaches.length - names.length;
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ");
}

/** `support.yaml:41:7`. */
export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** `2 breaking, 1 behavior`. */
export function riskCounts(changes: readonly DocumentChange[]): string {
  return RISKS.map((risk) => [risk, changes.filter((change) => change.risk === risk).length] as const)
    .filter(([, number]) => number > 0)
    .map(([risk, number]) => `${number} ${risk}`)
    .join(", ");
}

/** The revision as people write it. */
export function shortRevision(revision: string | null): string | undefined {
  if (revision === null) return undefined;
  return /^[0-9a-f]{40,64}/.test(revision) ? revision.replace(/^([0-9a-f]{9})[0-9a-f]*/, "$1") : revision;
}
