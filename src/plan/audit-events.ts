/**
 * What a reload changes, as the audit events that it raises, from the same list of changes as plans. Names of fields only,
 * since values may be secrets.
 */
import { numericId } from "../base/ids.ts";
import { asJsonMap, type JsonMap } from "../config/shown.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { AuditSeverity } from "../plugin/store.ts";
import type { ObjectChange } from "./changes.ts";
import type { ConfigObject } from "./objects.ts";
import type { Side } from "./side.ts";

export interface ConfigChange {
  /** An event key of the specification. */
  readonly event: string;
  readonly severity: AuditSeverity;
  readonly project: { readonly id: number; readonly name: string; readonly uuid: string };
  /** Name of what has changed. */
  readonly target: string;
  readonly metadata: { readonly [key: string]: JsonValue };
}

type Event = Omit<ConfigChange, "project">;

/** By project, in the order of `to`, then those that are gone. `changes`: of `changesBetween`. */
export function auditEvents(
  changes: readonly ObjectChange[],
  { from, to }: { readonly from: Side; readonly to: Side },
): readonly ConfigChange[] {
  const byProject = changesByProject(changes);
  const templates = { before: templatesOf(from), after: templatesOf(to) };
  const disabled = changes.filter(isDisabledProvider).map(({ ref }) => ref.name);
  const before = projectsOf(from);
  const after = projectsOf(to);
  const gone = [...before.keys()].filter((uuid) => !after.has(uuid));
  return [...after.keys(), ...gone].flatMap((uuid) => {
    const project = after.get(uuid) ?? before.get(uuid);
    if (project === undefined) return [];
    const own = byProject.get(uuid) ?? [];
    const events = [
      ...tokenEvents(tokensOf(from, uuid), tokensOf(to, uuid)),
      ...own.flatMap(credentialEvents),
      ...endpointEvents(own, after.get(uuid), { ...templates, uuid }),
      ...own.flatMap(disconnections),
      ...disabledFor(after.get(uuid), disabled),
    ];
    const ref = { id: idOf(project, uuid), name: String(project["name"]), uuid };
    return events.map((event): ConfigChange => ({ ...event, project: ref }));
  });
}

function idOf({ id }: JsonMap, uuid: string): number {
  return typeof id === "number" ? id : numericId(uuid);
}

function projectsOf({ shown: { config } }: Side): ReadonlyMap<string, JsonMap> {
  return new Map(
    mapsOf(config["projects"]).map((project) => [String(project["uuid"]).toLowerCase(), project]),
  );
}

function changesByProject(changes: readonly ObjectChange[]): ReadonlyMap<string, readonly ObjectChange[]> {
  const byProject = new Map<string, ObjectChange[]>();
  for (const change of changes) {
    const uuid = (change.after ?? change.before)?.projectUuid ?? "";
    const known = byProject.get(uuid);
    if (known === undefined) byProject.set(uuid, [change]);
    else known.push(change);
  }
  return byProject;
}

type Tokens = Side["config"]["projects"][number]["tokens"];

function tokensOf({ config }: Side, uuid: string): Tokens {
  return config.projects.find((project) => project.uuid === uuid)?.tokens ?? [];
}

/** As they are accepted: a hash may be a reference, whose text stays the same. */
function tokenEvents(before: Tokens, after: Tokens): Event[] {
  const old = new Map(before.map((token) => [token.id, token]));
  const kept = new Set(after.map(({ id }) => id));
  const events = after.flatMap((now): Event[] => {
    const was = old.get(now.id);
    if (was === undefined) return [tokenEvent("token.created", "info", now)];
    return [
      ...(was.hash === now.hash ? [] : [tokenEvent("token.rotated", "info", now)]),
      ...(was.is_active && !now.is_active ? [tokenEvent("token.revoked", "warn", now)] : []),
    ];
  });
  const gone = before.filter(({ id }) => !kept.has(id));
  return [...events, ...gone.map((token) => tokenEvent("token.deleted", "warn", token))];
}

function tokenEvent(event: string, severity: AuditSeverity, { id, name }: Tokens[number]): Event {
  // An integer where the configuration has one, as in the specification's example.
  const token_id = /^(?:0|[1-9]\d{0,14})$/.test(id) ? Number(id) : id;
  return { event, severity, target: name, metadata: { token_id } };
}

function credentialEvents({ ref, before, after }: ObjectChange): Event[] {
  if (ref.kind !== "credential") return [];
  const event = (name: string, severity: AuditSeverity, { value }: ConfigObject): Event => ({
    ...{ event: `credential.${name}`, severity, target: ref.name },
    metadata: { provider: value["provider"] ?? null },
  });
  if (after === undefined) return before === undefined ? [] : [event("deleted", "warn", before)];
  if (before === undefined) return [event("created", "info", after)];
  return isActive(before) && !isActive(after) ? [event("deactivated", "warn", after)] : [];
}

const isActive = ({ value }: ConfigObject): boolean => value["is_active"] !== false;

/** What is called by a path or a model name of its own, in the order of its events. */
const CALLABLE: readonly string[] = ["endpoint", "alias", "proxy_endpoint"];
/** What a provider template stands for. */
const CHOICE: readonly string[] = ["provider", "model", "credential"];

/** By project and name. */
type Templates = ReadonlyMap<string, JsonMap>;

interface Chosen {
  readonly uuid: string;
  readonly before: Templates;
  readonly after: Templates;
}

function templatesOf(side: Side): Templates {
  const templates = new Map<string, JsonMap>();
  for (const [uuid, { provider_templates: list }] of projectsOf(side)) {
    for (const template of mapsOf(list)) templates.set(`${uuid}/${String(template["name"])}`, template);
  }
  return templates;
}

function mapsOf(list: JsonValue | undefined): readonly JsonMap[] {
  return Array.isArray(list) ? list.map((item: JsonValue) => asJsonMap(item)) : [];
}

/** Those of `to` in its order, with the ones that a changed template is felt in; then those that are gone. */
function endpointEvents(own: readonly ObjectChange[], project: JsonMap | undefined, chosen: Chosen): Event[] {
  const changes = new Map(own.map((change) => [`${change.ref.kind}/${change.ref.name}`, change]));
  const templates = new Set(own.flatMap(({ ref }) => (ref.kind === "template" ? [ref.name] : [])));
  const events = CALLABLE.flatMap((kind) =>
    callablesOf(project, kind).flatMap((value): Event[] => {
      const change = changes.get(`${kind}/${nameOf(value)}`);
      if (change !== undefined) return changeEvents(change, value, chosen);
      const { provider_template: template } = value;
      if (typeof template !== "string" || !templates.has(template)) return [];
      const fields = choiceFields(value, value, chosen);
      return fields.length === 0 ? [] : [endpointEvent("updated", "info", { kind, value }, { fields })];
    }),
  );
  const gone = own.flatMap(({ ref, before, after }): Event[] => {
    if (!CALLABLE.includes(ref.kind) || after !== undefined || before === undefined) return [];
    const { value } = before;
    if (!isActive(before)) return [];
    return [endpointEvent("deactivated", "warn", { kind: ref.kind, value }, { removed: true })];
  });
  return [...events, ...gone];
}

function callablesOf(project: JsonMap | undefined, kind: string): readonly JsonMap[] {
  const list = kind === "alias" ? "aliases" : `${kind}s`;
  return mapsOf(project?.[list]);
}

const nameOf = ({ slug, alias }: JsonMap): string => String(alias ?? slug);

function changeEvents(
  { ref, before, isMoved, fields }: ObjectChange,
  value: JsonMap,
  chosen: Chosen,
): Event[] {
  const about = { kind: ref.kind, value };
  if (before === undefined) return [endpointEvent("created", "info", about, {})];
  const names = [
    ...fields.map(({ key }) => key).filter((key) => key !== "provider_template" && !CHOICE.includes(key)),
    ...choiceFields(before.value, value, chosen),
  ];
  if (names.length === 0) return [];
  const more = { fields: names, ...(isMoved ? { moved_from: before.ref.name } : {}) };
  const isOff = isActive(before) && value["is_active"] === false;
  return isOff
    ? [endpointEvent("deactivated", "warn", about, more)]
    : [endpointEvent("updated", "info", about, more)];
}

/** Which of provider, model and credential differ, wherever they are chosen. */
function choiceFields(before: JsonMap, after: JsonMap, { uuid, ...templates }: Chosen): readonly string[] {
  const choice = (value: JsonMap, known: Templates): JsonMap => {
    const { provider_template: template } = value;
    return typeof template === "string" ? (known.get(`${uuid}/${template}`) ?? {}) : value;
  };
  const [was, is] = [choice(before, templates.before), choice(after, templates.after)];
  return CHOICE.filter((key) => (was[key] ?? null) !== (is[key] ?? null));
}

interface Callable {
  readonly kind: string;
  readonly value: JsonMap;
}

function endpointEvent(
  name: string,
  severity: AuditSeverity,
  { kind, value }: Callable,
  more: ConfigChange["metadata"],
): Event {
  const slug = nameOf(value);
  const target = kind === "endpoint" ? String(value["name"]) : slug;
  return { event: `endpoint.${name}`, severity, target, metadata: { kind, slug, ...more } };
}

/** Its first token connects it; that it is gone from the configuration ends it. */
function disconnections({ ref, after }: ObjectChange): Event[] {
  if (ref.kind !== "oauth_connection" || after !== undefined) return [];
  return [{ event: "oauth_connection.disconnected", severity: "warn", target: ref.name, metadata: {} }];
}

/** A provider that a side does not name is enabled there. */
function isDisabledProvider({ ref, before, after }: ObjectChange): boolean {
  return ref.kind === "provider" && after?.value["enabled"] === false && before?.value["enabled"] !== false;
}

/** To every project with a credential of that provider. */
function disabledFor(project: JsonMap | undefined, disabled: readonly string[]): Event[] {
  if (disabled.length === 0) return [];
  const used = mapsOf(project?.["credentials"]).map(({ provider }) => provider);
  return disabled
    .filter((provider) => used.includes(provider))
    .map((provider) => ({
      ...{ event: "provider.disabled", severity: "critical", target: provider },
      metadata: { provider },
    }));
}
