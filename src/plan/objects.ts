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
  /** In lower case; null: of the whole gateway. */
  readonly projectUuid: string | null;
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
export function objectsOf({ shown: { config }, config: resolved }: Side): readonly ConfigObject[] {
  const found = [
    ...sections(config),
    ...itemsOf(asJsonMap(config["control_plane"])["tokens"]).map(([index, value]): Found => {
      const ref: ObjectRef = { kind: "control_token", project: null, name: String(value["name"]) };
      return { ref, key: `control_token/${ref.name}`, value, path: ["control_plane", "tokens", index] };
    }),
    ...Object.entries(asJsonMap(config["providers"])).map(([name, value]): Found => {
      const ref: ObjectRef = { kind: "provider", project: null, name };
      return { ref, key: `provider/${name}`, value: asJsonMap(value), path: ["providers", name] };
    }),
    ...itemsOf(config["prices"]).map(([index, value]): Found => {
      const name = `${String(value["provider"])}/${String(value["model"])}`;
      return {
        ref: { kind: "price", project: null, name },
        key: `price/${name}`,
        value,
        path: ["prices", index],
      };
    }),
    ...pluginsOf(config, resolved),
    ...projectsOf(config),
  ];
  const known = new Map<string, number>();
  return found.map(({ ref, key, value, path, projectUuid = null }) => {
    const { moved_from: moved } = value;
    const nth = (known.get(key) ?? 0) + 1;
    known.set(key, nth);
    // Two plugin modules of one relative path in two folders, or a token named like another one's id.
    const identity = nth === 1 ? key : `${key}#${nth}`;
    return { ref, identity, value, path, projectUuid, movedFrom: typeof moved === "string" ? moved : null };
  });
}

/** `key`: its identity, unless another one has the same. */
interface Found extends Pick<ConfigObject, "ref" | "value" | "path"> {
  readonly key: string;
  readonly projectUuid?: string;
}

function sections(config: JsonMap): readonly Found[] {
  return Object.entries(config)
    .filter(([name]) => !ROOT_LISTS.has(name))
    .map(([name, section]) => {
      const { tokens, ...own } = isJsonMap(section) ? section : { value: section };
      const value = name === "control_plane" || tokens === undefined ? own : { ...own, tokens };
      return { ref: { kind: "gateway", project: null, name }, key: `gateway/${name}`, value, path: [name] };
    });
}

/** What a module's files hold counts, wherever they are. */
function pluginsOf({ plugins }: JsonMap, resolved: Side["config"]): readonly Found[] {
  return (Array.isArray(plugins) ? plugins : []).map((module: JsonValue, index) => {
    const name = String(module);
    const value = { module, version: resolved.plugins[index]?.version ?? "" };
    return {
      ref: { kind: "plugin", project: null, name },
      key: `plugin/${name}`,
      value,
      path: ["plugins", index],
    };
  });
}

function projectsOf(config: JsonMap): readonly Found[] {
  const projects = itemsOf(config["projects"]);
  const slugs = projects.map(([, { name }]) => slugOf(String(name)));
  return projects.flatMap(([index, project]) => {
    const projectUuid = String(project["uuid"]).toLowerCase();
    const slug = slugs[index] ?? "";
    const isAlone = slug !== "" && slugs.indexOf(slug) === slugs.lastIndexOf(slug);
    const name = isAlone ? slug : projectUuid;
    const own = Object.entries(project).filter(
      ([key]) => key !== "endpoint_defaults" && !Object.hasOwn(PARTS, key),
    );
    return [
      {
        ref: { kind: "project", project: name, name },
        key: `project/${projectUuid}`,
        value: Object.fromEntries(own),
        path: ["projects", index],
        projectUuid,
      },
      ...partsOf(project, { name, index, projectUuid }),
    ] satisfies Found[];
  });
}

interface ProjectPlace {
  readonly name: string;
  readonly index: number;
  readonly projectUuid: string;
}

function partsOf(project: JsonMap, { name, index, projectUuid }: ProjectPlace): readonly Found[] {
  return Object.entries(PARTS).flatMap(([list, [kind, ...identities]]) =>
    itemsOf(project[list]).map(([at, value]) => {
      const known = identities.map((key) => value[key]).find((own) => own !== null && own !== undefined);
      const ref = { kind, project: name, name: String(known) };
      const key = `${projectUuid}/${kind}/${ref.name}`;
      return { ref, key, value, path: ["projects", index, list, at], projectUuid };
    }),
  );
}

function itemsOf(value: JsonValue | undefined): readonly (readonly [number, JsonMap])[] {
  return Array.isArray(value) ? value.map((item: JsonValue, index) => [index, asJsonMap(item)] as const) : [];
}
