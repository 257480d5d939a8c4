/**
 * The hosts that objects of a configuration make the gateway talk to. A host that is inside a reference is an unknown
 * one, known by the text of the reference.
 */

import type { KnownPlugin } from "../config/plugins.ts";
import { asJsonMap, type ConfigPath, type JsonMap } from "../config/shown.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { ConfigObject } from "./objects.ts";

export interface Host {
  /** In lower case; `unknown host ${env:URL}` where a reference has it. */
  readonly host: string;
  /** Keys of the object that it may come from, the likeliest first. */
  readonly keys: readonly string[];
  /** From the object to where it is named. */
  readonly path: ConfigPath;
}

/** What is known of a plugin without running it; undefined: nothing. */
export type FindPlugin = (kind: "guardrail" | "provider", name: string) => KnownPlugin | undefined;

/** The side that an object belongs to. */
export interface Surroundings {
  readonly objects: readonly ConfigObject[];
  readonly byIdentity: ReadonlyMap<string, ConfigObject>;
  readonly findPlugin: FindPlugin;
}

/** Keys of objects that hold one address. */
const ADDRESS_KEYS: Readonly<Record<string, string>> = {
  proxy_endpoint: "upstream_url",
  oauth_connection: "token_url",
  mcp_server: "url",
  webhook: "url",
};

export function hostsOf(object: ConfigObject, sides: Surroundings): readonly Host[] {
  const { ref, value } = object;
  const key = ADDRESS_KEYS[ref.kind];
  if (key !== undefined) return hostAt(value[key], [key]);
  if (ref.kind === "credential") return credentialHosts(value, sides);
  if (ref.kind === "provider") return providerHosts(object, sides);
  if (ref.kind === "endpoint" || ref.kind === "alias" || ref.kind === "project") return optionHosts(value);
  if (ref.kind !== "gateway") return [];
  if (ref.name === "telemetry") {
    const { endpoint } = asJsonMap(value["otlp"]);
    return hostAt(endpoint, ["otlp", "endpoint"]);
  }
  return ref.name === "state" && value["driver"] === "redis" ? hostAt(value["url"], ["url"], ["driver"]) : [];
}

function hostAt(url: JsonValue | undefined, path: ConfigPath, more: readonly string[] = []): readonly Host[] {
  const host = hostIn(url);
  return host === undefined ? [] : [{ host, keys: [String(path[0]), ...more], path }];
}

function credentialHosts(value: JsonMap, sides: Surroundings): readonly Host[] {
  const own = hostAt(value["base_url"], ["base_url"]);
  if (own.length > 0) return own;
  const host = hostOfProvider(String(value["provider"]), sides);
  return host === undefined ? [] : [{ host, keys: ["base_url", "provider"], path: ["provider"] }];
}

function hostOfProvider(name: string, { byIdentity, findPlugin }: Surroundings): string | undefined {
  const given = byIdentity.get(`provider/${name}`)?.value["base_url"];
  return hostIn(given) ?? hostIn(findPlugin("provider", name)?.defaultBaseUrl);
}

/** The provider's own address counts where a credential relies on it. */
function providerHosts({ ref: { name }, value }: ConfigObject, sides: Surroundings): readonly Host[] {
  const relied = sides.objects.some(
    ({ ref, value: credential }) =>
      ref.kind === "credential" &&
      credential["provider"] === name &&
      hostIn(credential["base_url"]) === undefined,
  );
  const host = relied ? hostOfProvider(name, sides) : undefined;
  return [
    ...(host === undefined ? [] : [{ host, keys: ["base_url"], path: ["base_url"] }]),
    ...hostAt(value["proxy"], ["proxy"]),
  ];
}

/** Addresses among the options of guardrails and stages, whatever the plugins call them. */
function optionHosts(value: JsonMap): readonly Host[] {
  const hosts: Host[] = [];
  for (const key of ["guardrails", "stages"]) {
    const { [key]: list } = value;
    if (!Array.isArray(list)) continue;
    for (const [index, entry] of list.entries())
      visitTexts(entry, [key, index], (text, path) => {
        if (/^https?:\/\//i.test(text)) hosts.push(...hostAt(text, path));
      });
  }
  return hosts;
}

function visitTexts(
  value: JsonValue,
  path: ConfigPath,
  visit: (text: string, path: ConfigPath) => void,
): void {
  if (typeof value === "string") visit(value, path);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value))
      visitTexts(item, [...path, Array.isArray(value) ? Number(key) : key], visit);
}

/** What follows the scheme and the user, up to the path. A reference there may hold any of it. */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

/** undefined: the value names no host. */
export function hostIn(url: JsonValue | undefined): string | undefined {
  if (typeof url !== "string" || url === "") return undefined;
  // A reference may hold slashes of its own: `${file:./host}`.
  const references: string[] = [];
  const text = url.replace(/\$\{(?:env|file):[^}\n]*\}?/g, (reference) => {
    references.push(reference);
    return `\u0000${references.length - 1}\u0000`;
  });
  const authority = AUTHORITY.exec(text)?.[1] ?? (text.startsWith("\u0000") ? text : undefined);
  if (authority === undefined) return undefined;
  const place = authority.slice(authority.lastIndexOf("@") + 1);
  if (place.includes("\u0000"))
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the marks put there above.
    return `unknown host ${place.replace(/\u0000(\d+)\u0000/g, (_, index) => references[Number(index)] ?? "")}`;
  return place.replace(/:\d*$/, "").toLowerCase();
}
