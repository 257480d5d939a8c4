/**
 * What protects the endpoints of a configuration, one entry each: what coverage counts, and what a mutation takes out.
 * Taking one out compiles the one endpoint again without it, from the instances that are there.
 */
import { endpointOf } from "../compile/endpoint.ts";
import type { EndpointConfig, ProjectConfig, ResolvedConfig, SourcePlace } from "../config/model.ts";
import type { Registry } from "../plugins-host/registry.ts";
import { numberOf, rateLimitsOf } from "./settings.ts";

/** How a protection shows in a call. Coverage wants a case for each way that its kind has (`WAYS`). */
export type Way = "acts" | "passes" | "refuses" | "accepts" | "takes over" | "is called";

export type ProtectionKind =
  | "guardrail"
  | "rate limit"
  | "token cap"
  | "budget"
  | "input schema"
  | "output schema"
  | "failover"
  | "alias"
  | "tool";

/** The ways in which each kind must show for it to be covered. */
export const WAYS: Readonly<Record<ProtectionKind, readonly Way[]>> = {
  guardrail: ["acts", "passes"],
  "rate limit": ["refuses"],
  "token cap": ["refuses"],
  budget: ["refuses"],
  "input schema": ["accepts", "refuses"],
  "output schema": ["accepts", "refuses"],
  failover: ["takes over"],
  alias: ["is called"],
  tool: ["is called"],
};

export interface ProtectionOwner {
  readonly kind: "endpoint" | "alias" | "proxy" | "token";
  /** UUID and name of the project. */
  readonly project: string;
  readonly projectName: string;
  /** Slug, alias, or a token's id. */
  readonly name: string;
}

export interface Protection {
  /** Unique in its configuration: `<project uuid>/<kind>/<name>#<part>`. */
  readonly id: string;
  readonly kind: ProtectionKind;
  readonly owner: ProtectionOwner;
  /** For people: `pii`, `pii[2]`, `rate_limit_per_minute`, `failover openai-spare/gpt-5-nano`. */
  readonly label: string;
  /** Where it is written: the key's or entry's own place where the loader knows it, else its owner's. */
  readonly at: SourcePlace;
  /** False: it is counted by coverage and cannot be taken out (aliases, tools). */
  readonly isRemovable: boolean;
  /** Of a guardrail or failover entry: its index in its list. */
  readonly index?: number;
  /** The key of the configuration that it is. */
  readonly key: string;
}

/** The place of a value, by its path in the configuration. undefined: not known. */
export type PlaceOf = (path: readonly (string | number)[]) => SourcePlace | undefined;

const NOWHERE: SourcePlace = { file: "", line: 1, column: 1 };

/** In the order of the configuration. */
export function protectionsOf(
  config: ResolvedConfig,
  registry: Registry,
  placeOf: PlaceOf,
): readonly Protection[] {
  return config.projects.flatMap((project, n) => ofProject(project, registry, ["projects", n], placeOf));
}

type Path = readonly (string | number)[];

function ofProject(
  project: ProjectConfig,
  registry: Registry,
  path: Path,
  placeOf: PlaceOf,
): readonly Protection[] {
  const { uuid, name: projectName } = project;
  const owner = (kind: ProtectionOwner["kind"], name: string): ProtectionOwner => ({
    ...{ kind, project: uuid, projectName, name },
  });
  return [
    ...project.endpoints.flatMap((endpoint, n) =>
      ofCalls(endpoint, {
        owner: owner("endpoint", endpoint.slug),
        path: [...path, "endpoints", n],
        placeOf,
      }),
    ),
    ...project.aliases.flatMap((alias, n) => {
      if (!alias.is_active) return [];
      const place = { owner: owner("alias", alias.alias), path: [...path, "aliases", n], placeOf };
      const named = one({ kind: "alias", key: "alias", label: alias.alias }, { ...place, at: alias.at });
      return [named, ...ofCalls(endpointOf(registry, project, alias), place)];
    }),
    ...project.proxy_endpoints.flatMap((proxy, n) =>
      windows(proxy, {
        ...{ owner: owner("proxy", proxy.slug), path: [...path, "proxy_endpoints", n], placeOf, at: NOWHERE },
      }),
    ),
    ...project.tokens.flatMap((token, n) => {
      if (token.monthly_budget_usd_cap === null || !token.is_active) return [];
      const place = { owner: owner("token", token.id), path: [...path, "tokens", n], placeOf, at: NOWHERE };
      return [
        one({ kind: "budget", key: "monthly_budget_usd_cap", label: `budget of token ${token.name}` }, place),
      ];
    }),
  ];
}

interface Place {
  readonly owner: ProtectionOwner;
  readonly path: Path;
  readonly placeOf: PlaceOf;
  /** Of the owner. */
  readonly at: SourcePlace;
}

interface ProtectionKey {
  readonly kind: ProtectionKind;
  readonly key: string;
  readonly label: string;
  /** Of an entry of a list. */
  readonly index?: number;
  /** Of that entry, where it is known. */
  readonly at?: SourcePlace;
}

function one({ kind, key, label, index, at: ownAt }: ProtectionKey, place: Place): Protection {
  const { owner, path, placeOf, at } = place;
  const part = index === undefined ? key : `${key}[${index}]`;
  const own = placeOf(index === undefined ? [...path, key] : [...path, key, index]);
  return {
    id: `${owner.project}/${owner.kind}/${owner.name}#${part}`,
    ...{ kind, owner, label, key },
    at: own ?? ownAt ?? placeOf(path) ?? at,
    isRemovable: kind !== "alias" && kind !== "tool",
    ...(index !== undefined && { index }),
  };
}

function windows(
  limits: { readonly rate_limit_per_minute: number | null; readonly rate_limit_per_hour: number | null },
  place: Place,
): readonly Protection[] {
  const keys = ["rate_limit_per_minute", "rate_limit_per_hour"] as const;
  return keys.flatMap((key) =>
    limits[key] === null ? [] : [one({ kind: "rate limit", key, label: key }, place)],
  );
}

/** Of an endpoint, or of an alias as the endpoint that it is. */
function ofCalls(settings: EndpointConfig, where: Omit<Place, "at">): readonly Protection[] {
  if (!settings.is_active) return [];
  const place: Place = { ...where, at: settings.at };
  const found = [
    ...settings.guardrails.map(({ use, at }, index) =>
      one(
        { kind: "guardrail", key: "guardrails", label: labelOf(settings.guardrails, index, use), index, at },
        place,
      ),
    ),
    ...windows(rateLimitsOf(settings), place),
  ];
  const add = (kind: ProtectionKind, key: string, isSet: boolean): void => {
    if (isSet) found.push(one({ kind, key, label: key }, place));
  };
  add("token cap", "usage_hard_limit_tokens", numberOf(settings, "usage_hard_limit_tokens") !== null);
  add("budget", "monthly_budget_usd", settings.monthly_budget_usd !== null);
  add("input schema", "input_schema", settings.input_schema !== null);
  add("output schema", "output_schema", settings.output_schema !== null);
  for (const [index, { credential, model }] of settings.failover.entries()) {
    const label = `failover ${credential}/${model}`;
    found.push(one({ kind: "failover", key: "failover", label, index }, place));
  }
  if (settings.expose_as_mcp_tool)
    found.push(one({ kind: "tool", key: "expose_as_mcp_tool", label: `tool ${settings.slug}` }, place));
  return found;
}

/** `pii`, and from the second of the same on `pii[2]`. */
export function labelOf(guardrails: readonly { readonly use: string }[], index: number, use: string): string {
  const nth = guardrails.slice(0, index + 1).filter((other) => other.use === use).length;
  return nth === 1 ? use : `${use}[${nth}]`;
}

/** The settings without the protection. */
export function withoutProtection(
  settings: EndpointConfig,
  { kind, key, index }: Protection,
): EndpointConfig {
  if (kind === "guardrail") return { ...settings, guardrails: settings.guardrails.toSpliced(index ?? 0, 1) };
  if (kind === "failover") return { ...settings, failover: settings.failover.toSpliced(index ?? 0, 1) };
  return { ...settings, [key]: null };
}
