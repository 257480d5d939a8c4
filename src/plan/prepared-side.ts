/**
 * One side of a plan with what rules ask about it: its objects, who uses which of them, and the hosts that it talks to.
 */

import { configuredPriceName } from "../config/price-schedules.ts";
import { asJsonMap } from "../config/shown.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { CallTokens } from "./call-tokens.ts";
import { holdsReference } from "./directions/direction.ts";
import type { Finding } from "./finding.ts";
import { type FindPlugin, hostsOf } from "./hosts.ts";
import { type ConfigObject, type ObjectRef, objectsOf } from "./objects.ts";
import type { Side } from "./side.ts";

export type { FindPlugin } from "./hosts.ts";

export interface PreparedSide {
  readonly side: Side;
  readonly objects: readonly ConfigObject[];
  readonly byIdentity: ReadonlyMap<string, ConfigObject>;
  readonly findPlugin: FindPlugin;
  /** Active endpoints, aliases and proxy endpoints that rely on an object, by its identity. */
  readonly users: ReadonlyMap<string, readonly ObjectRef[]>;
  /** Of everything that the configuration names. */
  readonly hosts: ReadonlySet<string>;
  readonly nowMs: number;
  /** Findings by the values that they are of; see `remembered`. */
  readonly memory: Map<string, readonly Finding[]>;
  /** Measured tokens of an endpoint's calls; undefined: nobody has measured any. */
  readonly tokensOf: (object: ObjectRef) => CallTokens | undefined;
}

type Facts = Pick<PreparedSide, "findPlugin" | "nowMs" | "tokensOf">;

export function prepareSide(side: Side, { findPlugin, nowMs, tokensOf }: Facts): PreparedSide {
  const objects = objectsOf(side);
  const byIdentity = new Map(objects.map((object) => [object.identity, object]));
  const users = usersOf(objects, byIdentity, side.config);
  const hosts = new Set<string>();
  const prepared = {
    side,
    objects,
    byIdentity,
    findPlugin,
    users,
    hosts,
    nowMs,
    tokensOf,
    memory: new Map(),
  };
  for (const object of objects) for (const { host } of hostsOf(object, prepared)) hosts.add(host);
  return prepared;
}

/** Calls may reach it. */
export function isActive({ value }: ConfigObject): boolean {
  return value["is_active"] !== false && value["active"] !== false;
}

const CALLED: ReadonlySet<string> = new Set(["endpoint", "alias", "proxy_endpoint"]);

/** What clients call by a name. */
export function isCalled({ ref: { kind } }: ConfigObject): boolean {
  return CALLED.has(kind);
}

export interface TargetNames {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
}

/** The models that calls may be answered by, the primary first, as names. */
export function targetsOf(
  { value, projectUuid }: ConfigObject,
  byIdentity: ReadonlyMap<string, ConfigObject>,
): readonly TargetNames[] {
  const { provider_template: template, failover } = value;
  const choice =
    typeof template === "string" ? byIdentity.get(`${projectUuid}/template/${template}`)?.value : value;
  const entries = Array.isArray(failover) ? failover.map((entry: JsonValue) => asJsonMap(entry)) : [];
  return [...(choice === undefined ? [] : [choice]), ...entries].map((entry) => {
    const credential = String(entry["credential"] ?? "");
    const known = byIdentity.get(`${projectUuid}/credential/${credential}`)?.value["provider"];
    return {
      provider: String(entry["provider"] ?? known ?? ""),
      model: String(entry["model"] ?? ""),
      credential,
    };
  });
}

function usersOf(
  objects: readonly ConfigObject[],
  byIdentity: ReadonlyMap<string, ConfigObject>,
  config: Side["config"],
): ReadonlyMap<string, readonly ObjectRef[]> {
  const users = new Map<string, ObjectRef[]>();
  const add = (identity: string, user: ConfigObject): void => {
    const refs = users.get(identity);
    if (refs === undefined) users.set(identity, [user.ref]);
    else if (refs.at(-1) !== user.ref) refs.push(user.ref);
  };
  for (const object of objects) {
    if (!isCalled(object) || !isActive(object)) continue;
    const { value, projectUuid } = object;
    const { provider_template: template, oauth_connection: connection } = value;
    if (typeof template === "string") add(`${projectUuid}/template/${template}`, object);
    if (typeof connection === "string") add(`${projectUuid}/oauth_connection/${connection}`, object);
    for (const target of targetsOf(object, byIdentity)) {
      const { provider, credential } = target;
      const priced = configuredPriceName(config, target);
      if (priced !== undefined) add(`price/${provider}/${priced}`, object);
      add(`${projectUuid}/credential/${credential}`, object);
      add(`provider/${provider}`, object);
    }
  }
  return users;
}

/** A token that is accepted now. */
export function isAccepted({ value }: ConfigObject, nowMs: number): boolean {
  const { is_active: active, expires_at: expires } = value;
  if (active === false) return false;
  if (typeof expires !== "string" || holdsReference(expires)) return true;
  return !(Date.parse(expires) <= nowMs);
}
