/**
 * What a reload changes, as the audit events that it raises (`event.*`). Pure: two configurations in, events
 * out; names of fields only, since values may be secrets.
 */
import { isDeepStrictEqual } from "node:util";
import { Slices } from "../base/slices.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { AuditSeverity } from "../plugin/store.ts";
import type {
  CredentialConfig,
  ProjectConfig,
  ProxyEndpointConfig,
  ResolvedConfig,
  TokenConfig,
} from "./model.ts";
import { type Entry, entryKeys, withoutPlaces } from "./read/entry-keys.ts";

export interface ConfigChange {
  /** An event key, such as `token.revoked`. */
  readonly event: string;
  readonly severity: AuditSeverity;
  readonly project: { readonly id: number; readonly name: string; readonly uuid: string };
  /** Name of what has changed. */
  readonly target: string;
  readonly metadata: { readonly [key: string]: JsonValue };
}

/**
 * All events between two configurations, in the order of their projects: of `after`, then those that are gone. In
 * slices, since ten thousand endpoints may have changed.
 */
export async function diffConfigs(
  before: ResolvedConfig,
  after: ResolvedConfig,
): Promise<readonly ConfigChange[]> {
  const slices = new Slices();
  const all: ConfigChange[] = [];
  for (const [old, now] of paired(before.projects, after.projects, ({ uuid }) => uuid)) {
    const project = now ?? old;
    if (project === undefined) continue;
    const { id, name, uuid } = project;
    const changes = [
      ...tokenChanges(old, now),
      ...credentialChanges(old, now),
      ...(await endpointChanges(old, now, slices)),
      ...disconnections(old, now),
      ...disabledProviders(before, after, now),
    ];
    for (const change of changes) all.push({ ...change, project: { id, name, uuid } });
    if (slices.isUsedUp) await slices.yielded();
  }
  return all;
}

type Change = Omit<ConfigChange, "project">;
type Project = ProjectConfig | undefined;

function tokenChanges(before: Project, after: Project): Change[] {
  const pairs = paired(before?.tokens ?? [], after?.tokens ?? [], ({ id }) => id);
  return pairs.flatMap(([old, now]) => {
    if (now === undefined) return old === undefined ? [] : [token("token.deleted", "warn", old)];
    if (old === undefined) return [token("token.created", "info", now)];
    const changes: Change[] = [];
    if (old.hash !== now.hash) changes.push(token("token.rotated", "info", now));
    if (old.is_active && !now.is_active) changes.push(token("token.revoked", "warn", now));
    return changes;
  });
}

function token(event: string, severity: AuditSeverity, { id, name }: TokenConfig): Change {
  return { event, severity, target: name, metadata: { token_id: tokenId(id) } };
}

/** An integer where the configuration has one. */
export function tokenId(id: string): number | string {
  return /^(?:0|[1-9]\d{0,14})$/.test(id) ? Number(id) : id;
}

function credentialChanges(before: Project, after: Project): Change[] {
  const pairs = paired(before?.credentials ?? [], after?.credentials ?? [], ({ name }) => name);
  return pairs.flatMap(([old, now]) => {
    if (now === undefined) return old === undefined ? [] : [credential("credential.deleted", "warn", old)];
    if (old === undefined) return [credential("credential.created", "info", now)];
    return old.is_active && !now.is_active ? [credential("credential.deactivated", "warn", now)] : [];
  });
}

function credential(event: string, severity: AuditSeverity, { name, provider }: CredentialConfig): Change {
  return { event, severity, target: name, metadata: { provider } };
}

/** What is called by a path or a model name of its own: endpoints, aliases, proxy endpoints. */
interface Callable {
  readonly kind: "endpoint" | "alias" | "proxy_endpoint";
  readonly slug: string;
  readonly name: string;
  readonly isActive: boolean;
  readonly entry: Entry | ProxyEndpointConfig;
}

function callables(project: Project): Callable[] {
  if (project === undefined) return [];
  return [
    ...project.endpoints.map((entry) => ({
      kind: "endpoint" as const,
      slug: entry.slug,
      name: entry.name,
      isActive: entry.is_active,
      entry,
    })),
    ...project.aliases.map((entry) => ({
      kind: "alias" as const,
      slug: entry.alias,
      name: entry.alias,
      isActive: entry.is_active,
      entry,
    })),
    ...project.proxy_endpoints.map((entry) => ({
      kind: "proxy_endpoint" as const,
      slug: entry.slug,
      name: entry.slug,
      isActive: entry.is_active,
      entry,
    })),
  ];
}

async function endpointChanges(before: Project, after: Project, slices: Slices): Promise<Change[]> {
  const changes: Change[] = [];
  for (const [old, now] of paired(
    callables(before),
    callables(after),
    ({ kind, slug }) => `${kind}/${slug}`,
  )) {
    const change = endpointChange(old, now);
    if (change !== undefined) changes.push(change);
    if (slices.isUsedUp) await slices.yielded();
  }
  return changes;
}

function endpointChange(old: Callable | undefined, now: Callable | undefined): Change | undefined {
  if (now === undefined) {
    return old?.isActive ? callable("endpoint.deactivated", "warn", old, { removed: true }) : undefined;
  }
  if (old === undefined) return callable("endpoint.created", "info", now, {});
  const fields = changedFields(old.entry, now.entry);
  if (fields.length === 0) return undefined;
  return old.isActive && !now.isActive
    ? callable("endpoint.deactivated", "warn", now, { fields })
    : callable("endpoint.updated", "info", now, { fields });
}

function callable(
  event: string,
  severity: AuditSeverity,
  { kind, slug, name }: Callable,
  more: { readonly [key: string]: JsonValue },
): Change {
  return { event, severity, target: name, metadata: { kind, slug, ...more } };
}

/** Its first token connects it; that it is gone from the configuration ends it. */
function disconnections(before: Project, after: Project): Change[] {
  const kept = new Set(after?.oauth_connections.map(({ name }) => name));
  return (before?.oauth_connections ?? [])
    .filter(({ name }) => !kept.has(name))
    .map(({ name }) => ({
      event: "oauth_connection.disconnected",
      severity: "warn" as const,
      target: name,
      metadata: {},
    }));
}

/** To every project with a credential of that provider. */
function disabledProviders(before: ResolvedConfig, after: ResolvedConfig, project: Project): Change[] {
  const used = new Set(project?.credentials.map(({ provider }) => provider));
  return Object.entries(after.providers)
    .filter(([key, { enabled }]) => used.has(key) && !enabled && (before.providers[key]?.enabled ?? true))
    .map(([key]) => ({
      event: "provider.disabled",
      severity: "critical" as const,
      target: key,
      metadata: { provider: key },
    }));
}

/** Names of the fields that differ. Most entries of a reload are unchanged, which their keys tell. */
function changedFields(before: Callable["entry"], after: Callable["entry"]): string[] {
  if (before === after) return [];
  if ("upstream_url" in before || "upstream_url" in after) return differing({ ...before }, { ...after });
  if (entryKeys(before).content === entryKeys(after).content) return [];
  return differing(withoutPlaces(before), withoutPlaces(after));
}

function differing(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}

/** Entries of two lists by their key: those of `after` in its order, then those that only `before` has. */
function paired<T>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (entry: T) => string,
): (readonly [before: T | undefined, after: T | undefined])[] {
  const old = new Map(before.map((entry) => [keyOf(entry), entry]));
  const both = after.map((entry) => [old.get(keyOf(entry)), entry] as const);
  const kept = new Set(after.map(keyOf));
  const gone = before.filter((entry) => !kept.has(keyOf(entry)));
  return [...both, ...gone.map((entry) => [entry, undefined] as const)];
}
