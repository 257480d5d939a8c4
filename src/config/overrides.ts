/**
 * What the control plane has changed at run time, over what git says (`config.override.git-wins`). Pure: a
 * configuration and the store's overrides in, the configuration to run out. Writes nothing and knows no store.
 *
 * Three kinds of keys. `token:<project>/<id>`: a token that was created, or whose hash was rotated; it goes when git
 * changes that token's hash, or has it too. `revoked:<project>/<id>`: hashes that never work again, whatever git says
 * later. `endpoint:<project>/<slug>`: whether an endpoint answers; it goes when git changes its `is_active`. One that was
 * renamed has it under any of its names, since replicas may run configurations from before and after.
 */

import { isJsonObject } from "../base/json.ts";
import { parseUsd } from "../base/money.ts";
import { knownScopes } from "../base/scopes.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { Override } from "../plugin/store.ts";
import type { ProjectConfig, ResolvedConfig, TokenConfig } from "./model.ts";

export interface Overridden {
  /** What overrides do not touch is the very object of the configuration given, down to projects and their lists. */
  readonly config: ResolvedConfig;
  /** Keys of overrides that git has won against: to be dropped. */
  readonly stale: readonly string[];
}

export function applyOverrides(config: ResolvedConfig, overrides: readonly Override[]): Overridden {
  if (overrides.length === 0) return { config, stale: [] };
  const known = sorted(overrides);
  const stale: string[] = [];
  const hashes = new Set(config.projects.flatMap(({ tokens }) => tokens.map(({ hash }) => hash)));
  const projects = config.projects.map((project) => {
    const mine = known.byProject.get(project.uuid);
    const tokens = tokensOf(project, mine?.tokens ?? NONE, { revoked: known.revoked, hashes, stale });
    const endpoints = switched(project.endpoints, mine?.endpoints ?? NONE, mine?.former ?? NONE);
    const proxies = switched(project.proxy_endpoints, mine?.endpoints ?? NONE, mine?.former ?? NONE);
    for (const [slug, { key }] of mine?.endpoints ?? NONE) {
      if (!endpoints.applied.has(slug) && !proxies.applied.has(slug)) stale.push(key);
    }
    const isSame =
      tokens === project.tokens &&
      endpoints.entries === project.endpoints &&
      proxies.entries === project.proxy_endpoints;
    if (isSame) return project;
    return { ...project, tokens, endpoints: endpoints.entries, proxy_endpoints: proxies.entries };
  });
  const isSame = projects.every((project, index) => project === config.projects[index]);
  return { config: isSame ? config : { ...config, projects }, stale };
}

type ByName = ReadonlyMap<string, Override>;
const NONE: ByName = new Map();

interface OfProject {
  readonly tokens: ByName;
  readonly endpoints: ByName;
  /** Of endpoints, by the names that they had before they were renamed. */
  readonly former: ByName;
}

interface Sorted {
  readonly byProject: ReadonlyMap<string, OfProject>;
  readonly revoked: ReadonlySet<string>;
}

function sorted(overrides: readonly Override[]): Sorted {
  const byProject = new Map<string, { readonly [Key in keyof OfProject]: Map<string, Override> }>();
  const revoked = new Set<string>();
  for (const override of overrides) {
    const { kind, projectUuid, name } = partsOf(override.key);
    if (kind === "revoked") {
      for (const hash of hashesOf(override.value)) revoked.add(hash);
      continue;
    }
    let mine = byProject.get(projectUuid);
    if (mine === undefined) {
      mine = { tokens: new Map(), endpoints: new Map(), former: new Map() };
      byProject.set(projectUuid, mine);
    }
    if (kind === "token") mine.tokens.set(name, override);
    if (kind === "endpoint") mine.endpoints.set(name, override);
    for (const key of override.formerly ?? []) mine.former.set(partsOf(key).name, override);
  }
  return { byProject, revoked };
}

interface TokenTally {
  readonly revoked: ReadonlySet<string>;
  /** Of all tokens that git has. */
  readonly hashes: ReadonlySet<string>;
  readonly stale: string[];
}

function tokensOf(project: ProjectConfig, overrides: ByName, tally: TokenTally): readonly TokenConfig[] {
  const { revoked, hashes, stale } = tally;
  const created: TokenConfig[] = [];
  const rotated = new Map<string, string>();
  const inGit = new Map(project.tokens.map((token) => [token.id, token]));
  for (const [id, { key, value, replaced }] of overrides) {
    const token = inGit.get(id);
    if (isJsonObject(replaced)) {
      const hash = isJsonObject(value) ? value["hash"] : undefined;
      if (token === undefined || token.hash !== replaced["hash"]) stale.push(key);
      else if (isHash(hash)) rotated.set(id, hash);
      continue;
    }
    const entry = tokenFrom(id, value);
    // The very token in git, under whatever id: it has been adopted there.
    if (token !== undefined || (entry !== undefined && hashes.has(entry.hash))) stale.push(key);
    else if (entry !== undefined) created.push(entry);
  }
  const tokens = project.tokens.map((token) => {
    const hash = rotated.get(token.id);
    return withoutRevoked(hash === undefined ? token : { ...token, hash }, revoked);
  });
  const isSame = created.length === 0 && tokens.every((token, index) => token === project.tokens[index]);
  return isSame ? project.tokens : [...tokens, ...created.map((token) => withoutRevoked(token, revoked))];
}

function withoutRevoked(token: TokenConfig, revoked: ReadonlySet<string>): TokenConfig {
  return token.is_active && revoked.has(token.hash) ? { ...token, is_active: false } : token;
}

interface Switched<Entry> {
  readonly entries: readonly Entry[];
  /** Slugs whose override holds. */
  readonly applied: ReadonlySet<string>;
}

interface Switchable {
  readonly slug: string;
  readonly is_active: boolean;
  readonly moved_from: string | null;
}

function switched<Entry extends Switchable>(
  entries: readonly Entry[],
  overrides: ByName,
  former: ByName,
): Switched<Entry> {
  const applied = new Set<string>();
  if (overrides.size === 0) return { entries, applied };
  const slugs = former.size === 0 ? undefined : new Set(entries.map(({ slug }) => slug));
  const changed = entries.map((entry) => {
    const standing = overridesOf(entry, overrides, former).filter(
      ({ key, replaced }) =>
        activity(replaced) === entry.is_active &&
        (partsOf(key).name === entry.slug || slugs?.has(partsOf(key).name) !== true),
    );
    const [first] = standing;
    if (first === undefined) return entry;
    for (const { key } of standing) applied.add(partsOf(key).name);
    const override = standing.reduce((latest, one) => (one.setAtMs > latest.setAtMs ? one : latest), first);
    const is_active = activity(override.value) ?? entry.is_active;
    return is_active === entry.is_active ? entry : { ...entry, is_active };
  });
  return { entries: changed.some((entry, index) => entry !== entries[index]) ? changed : entries, applied };
}

/**
 * Those that may stand over an entry: under its slug, under the one that it had before, and under the one that it has in
 * a configuration that this one does not know yet.
 */
function overridesOf(
  { slug, moved_from: before }: Switchable,
  overrides: ByName,
  former: ByName,
): Override[] {
  const known = [
    overrides.get(slug),
    before === null ? undefined : overrides.get(before),
    former.size === 0 ? undefined : former.get(slug),
  ];
  return known.filter((override) => override !== undefined);
}

/** `token:<project>/<id>` taken apart; ids may hold a slash themselves. */
export function partsOf(key: string): {
  readonly kind: string;
  readonly projectUuid: string;
  readonly name: string;
} {
  const colon = key.indexOf(":");
  const slash = key.indexOf("/", colon);
  return {
    kind: key.slice(0, colon),
    projectUuid: key.slice(colon + 1, slash),
    name: key.slice(slash + 1),
  };
}

/** A token as the store has it; undefined when that is none, as a newer version's may be. */
function tokenFrom(id: string, value: JsonValue): TokenConfig | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, hash, scopes, is_active, monthly_budget_usd_cap: cap, expires_at } = value;
  const money = typeof cap === "string" ? parseUsd(cap) : null;
  const isWhole = typeof name === "string" && isHash(hash) && Array.isArray(scopes) && money !== undefined;
  if (!isWhole || !(expires_at === null || typeof expires_at === "number")) return undefined;
  const held = knownScopes(scopes);
  return {
    ...{ id, name, hash, scopes: held, is_active: is_active === true, expires_at },
    monthly_budget_usd_cap: money,
  };
}

/** What a `revoked:` override holds. */
export function hashesOf(value: JsonValue): readonly string[] {
  const hashes = isJsonObject(value) ? value["hashes"] : undefined;
  return Array.isArray(hashes) ? hashes.filter(isHash) : [];
}

function activity(value: JsonValue): boolean | undefined {
  const is = isJsonObject(value) ? value["is_active"] : undefined;
  return typeof is === "boolean" ? is : undefined;
}

function isHash(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value.startsWith("sha256:");
}
