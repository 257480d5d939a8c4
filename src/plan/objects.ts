/**
 * The objects of a configuration, each under the identity that two configurations are compared by. A field belongs to
 * exactly one object: an endpoint is no part of its project, and a credential is none of the endpoint that names it.
 */

import { asJsonMap, type ConfigPath, isJsonMap, type JsonMap } from "../config/shown.ts";
import { slugOf } from "../config/slug.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { Side } from "./side.ts";

/** Sections of the gateway are objects of kind `gateway`, named after their key. */
export type ObjectKind =
  | "gateway"
  | "provider"
  | "price"
  | "plugin"
  | "control_token"
  | "project"
  | "endpoint_defaults"
  | "credential"
  | "template"
  | "token"
  | "endpoint"
  | "alias"
  | "proxy_endpoint"
  | "oauth_connection"
  | "mcp_server"
  | "webhook";

/** How an object is named in plans: `support/triage`, or `server` for one of the whole gateway. */
export interface ObjectRef {
  readonly kind: ObjectKind;
  /** The project's name as a slug, or its uuid where two projects share the slug; null: of the whole gateway. */
  readonly project: string | null;
  readonly name: string;
}

export interface ConfigObject {
  readonly ref: ObjectRef;
  /** What pairs it with its counterpart: differs between any two objects of one side. */
  readonly identity: string;
  /** Its own fields, without those of the objects below it. */
  readonly value: JsonMap;
  /** Of its map in `Side.shown.config`. */
  readonly path: ConfigPath;
  /** `moved_from`: the name that it had. */
  readonly movedFrom: string | null;
}

/** Lists of a project whose items are objects of their own, and what each is known by. */
const PARTS: Readonly<Record<string, readonly [kind: ObjectKind, ...identity: string[]]>> = {
  credentials: ["credential", "name"],
  provider_templates: ["template", "name"],
  tokens: ["token", "id", "name", "hash"],
  endpoints: ["endpoint", "slug"],
  aliases: ["alias", "alias"],
  proxy_endpoints: ["proxy_endpoint", "slug"],
  oauth_connections: ["oauth_connection", "name"],
  mcp_servers: ["mcp_server", "name"],
  webhooks: ["webhook", "name", "url"],
};

/** Keys of the root that are not sections of their own. */
const ROOT_LISTS: ReadonlySet<string> = new Set(["projects", "providers", "prices", "plugins"]);

/** In the order of the configuration. */
export function objectsOf({ shown: { config } }: Side): readonly ConfigObject[] {
  const objects: ConfigObject[] = [];
  const add = (ref: ObjectRef, identity: string, value: JsonMap, path: ConfigPath): void => {
    const { moved_from: moved } = value;
    objects.push({ ref, identity, value, path, movedFrom: typeof moved === "string" ? moved : null });
  };
  for (const [key, value] of Object.entries(config)) {
    if (ROOT_LISTS.has(key)) continue;
    const { tokens, ...own } = isJsonMap(value) ? value : { value };
    add(
      { kind: "gateway", project: null, name: key },
      `gateway/${key}`,
      key === "control_plane" ? own : { ...own, ...(tokens === undefined ? {} : { tokens }) },
      [key],
    );
  }
  for (const [index, token] of itemsOf(asJsonMap(config["control_plane"])["tokens"])) {
    const name = String(token["name"]);
    add({ kind: "control_token", project: null, name }, `control_token/${name}`, token, [
      "control_plane",
      "tokens",
      index,
    ]);
  }
  for (const [name, value] of Object.entries(asJsonMap(config["providers"])))
    add({ kind: "provider", project: null, name }, `provider/${name}`, asJsonMap(value), ["providers", name]);
  for (const [index, price] of itemsOf(config["prices"])) {
    const name = [price["provider"], price["model"], price["geo"]]
      .filter((part) => typeof part === "string")
      .join("/");
    add({ kind: "price", project: null, name }, `price/${name}`, price, ["prices", index]);
  }
  const { plugins } = config;
  for (const [index, module] of (Array.isArray(plugins) ? plugins : []).entries())
    add({ kind: "plugin", project: null, name: String(module) }, `plugin/${String(module)}`, { module }, [
      "plugins",
      index,
    ]);
  addProjects(config, add);
  return objects;
}

type Add = (ref: ObjectRef, identity: string, value: JsonMap, path: ConfigPath) => void;

function addProjects(config: JsonMap, add: Add): void {
  const projects = itemsOf(config["projects"]);
  const slugs = projects.map(([, { name }]) => slugOf(String(name)));
  for (const [index, project] of projects) {
    const uuid = String(project["uuid"]).toLowerCase();
    const slug = slugs[index] ?? "";
    const isAlone = slug !== "" && slugs.indexOf(slug) === slugs.lastIndexOf(slug);
    const name = isAlone ? slug : uuid;
    const path = ["projects", index] as const;
    const own = Object.entries(project).filter(
      ([key]) => key !== "endpoint_defaults" && !Object.hasOwn(PARTS, key),
    );
    add({ kind: "project", project: name, name }, `project/${uuid}`, Object.fromEntries(own), path);
    for (const [key, [kind, ...identities]] of Object.entries(PARTS)) {
      for (const [at, item] of itemsOf(project[key])) {
        const known = identities
          .map((identity) => item[identity])
          .find((value) => value !== null && value !== undefined);
        const itemName = String(known);
        add({ kind, project: name, name: itemName }, `${uuid}/${kind}/${itemName}`, item, [...path, key, at]);
      }
    }
  }
}

function itemsOf(value: JsonValue | undefined): readonly (readonly [number, JsonMap])[] {
  return Array.isArray(value) ? value.map((item: JsonValue, index) => [index, asJsonMap(item)] as const) : [];
}
