/**
 * The control plane's changes as overrides: what stands and what is wanted in, what the store has to keep or drop out.
 * Pure, as overrides.ts is, which reads what is written here.
 */

import type { JsonValue } from "../plugin/chat.ts";
import type { Override } from "../plugin/store.ts";
import type { ResolvedConfig, TokenConfig } from "./model.ts";
import { applyOverrides, hashesOf } from "./overrides.ts";

/** Who changes something, and when. */
export interface Author {
  readonly actor: string;
  readonly atMs: number;
}

/** What a change asks of the store, in this order. Nothing at all when it is so already. */
export interface OverrideEdit {
  readonly put: readonly Override[];
  readonly drop: readonly string[];
}

/** What edits start from: what git says, and what the store has over it. */
export interface Standing {
  readonly git: ResolvedConfig;
  readonly overrides: readonly Override[];
}

/** The control plane's changes as overrides. An object, so that the control plane can be handed it. */
export const overrideEdits = {
  /** The configuration that these make together. */
  running: ({ git, overrides }: Standing): ResolvedConfig => applyOverrides(git, overrides).config,

  /** A token that git does not know. */
  createToken(projectUuid: string, token: TokenConfig, { actor, atMs }: Author): OverrideEdit {
    const key = `token:${projectUuid}/${token.id}`;
    return { put: [{ key, value: jsonOf(token), replaced: null, actor, setAtMs: atMs }], drop: [] };
  },

  /** `token` as it runs now gets another hash; its present one never works again, nor does git's. */
  rotateToken(standing: Standing, projectUuid: string, turn: Rotation, author: Author): OverrideEdit {
    const { token, hash } = turn;
    const { actor, atMs } = author;
    const known = inGit(standing.git, projectUuid, token.id);
    const key = `token:${projectUuid}/${token.id}`;
    const value = known === undefined ? jsonOf({ ...token, hash }) : { hash };
    const replaced = known === undefined ? null : { hash: known.hash };
    const retired = known === undefined ? [token.hash] : [known.hash, token.hash];
    return {
      // The old hash goes first: a crash in between leaves a token that nobody can use, not one that two can.
      put: [
        ...revocation(standing, projectUuid, { id: token.id, hashes: retired }, author),
        { key, value, replaced, actor, setAtMs: atMs },
      ],
      drop: [],
    };
  },

  /** Neither the token's present hash nor git's ever works again. */
  revokeToken(standing: Standing, projectUuid: string, token: TokenConfig, author: Author): OverrideEdit {
    const known = inGit(standing.git, projectUuid, token.id);
    const hashes = known === undefined ? [token.hash] : [known.hash, token.hash];
    return { put: revocation(standing, projectUuid, { id: token.id, hashes }, author), drop: [] };
  },

  /** The override goes when git says the same. */
  setEndpointActive(standing: Standing, projectUuid: string, turn: Switch, author: Author): OverrideEdit {
    const { slug, isActive } = turn;
    const { actor, atMs } = author;
    const key = `endpoint:${projectUuid}/${slug}`;
    const project = standing.git.projects.find(({ uuid }) => uuid === projectUuid);
    const entries = [...(project?.endpoints ?? []), ...(project?.proxy_endpoints ?? [])];
    const entry = entries.find((one) => one.slug === slug);
    const gitsWord = entry?.is_active;
    const before = entry?.moved_from == null ? undefined : `endpoint:${projectUuid}/${entry.moved_from}`;
    if (gitsWord === isActive) {
      const isOfEntry = (one: Override): boolean =>
        one.key === key || one.key === before || one.formerly?.includes(key) === true;
      return { put: [], drop: standing.overrides.filter(isOfEntry).map((one) => one.key) };
    }
    const replaced = { is_active: gitsWord ?? null };
    const put = { key, value: { is_active: isActive }, replaced, actor, setAtMs: atMs };
    // Replicas whose configuration has the slug before know it by that.
    return { put: [before === undefined ? put : { ...put, formerly: [before] }], drop: [] };
  },
} as const;

export type OverrideEdits = typeof overrideEdits;

export interface Rotation {
  readonly token: TokenConfig;
  /** The new one. */
  readonly hash: string;
}

export interface Switch {
  readonly slug: string;
  readonly isActive: boolean;
}

/** Hashes remembered of one token: more rotations than that drop the oldest, which are in git no more. */
const REVOKED_PER_TOKEN_MAX = 500;

function revocation(
  { overrides }: Standing,
  projectUuid: string,
  { id, hashes }: { readonly id: string; readonly hashes: readonly string[] },
  { actor, atMs }: Author,
): readonly Override[] {
  const key = `revoked:${projectUuid}/${id}`;
  const known = hashesOf(overrides.find((one) => one.key === key)?.value ?? null);
  if (hashes.every((hash) => known.includes(hash))) return [];
  const others = known.filter((hash) => !hashes.includes(hash));
  const all = [...others, ...new Set(hashes)].slice(-REVOKED_PER_TOKEN_MAX);
  return [{ key, value: { hashes: all }, replaced: null, actor, setAtMs: atMs }];
}

function inGit(git: ResolvedConfig, projectUuid: string, id: string): TokenConfig | undefined {
  return git.projects.find(({ uuid }) => uuid === projectUuid)?.tokens.find((token) => token.id === id);
}

function jsonOf(token: TokenConfig): JsonValue {
  const { name, hash, scopes, is_active, monthly_budget_usd_cap, expires_at } = token;
  return {
    ...{ name, hash, scopes, is_active, expires_at },
    monthly_budget_usd_cap: monthly_budget_usd_cap?.text ?? null,
  };
}
