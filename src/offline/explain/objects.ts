/** Finds what `--endpoint` and `--token` name. */
import { endpointOf } from "../../compile/endpoint.ts";
import type { ProjectConfig, ResolvedConfig, TokenConfig } from "../../config/model.ts";
import { nearestName } from "../../config/report/suggest.ts";
import { slugOf } from "../../config/slug.ts";
import type { Call } from "../../pipeline/call.ts";
import type { Registry } from "../../plugins-host/registry.ts";
import type { ExplainedObject } from "./places.ts";

/** `support/summarise`: a project by the slug of its name or by its UUID, and an endpoint, alias or proxy endpoint of it. */
export function findObject(
  config: ResolvedConfig,
  registry: Registry,
  named: string,
): ExplainedObject | string {
  const slash = named.indexOf("/");
  const [project, name] = slash < 0 ? [undefined, named] : [named.slice(0, slash), named.slice(slash + 1)];
  const projects = config.projects.filter((one) => project === undefined || isNamed(one, project));
  if (projects.length === 0) return unknown("project", project ?? "", config.projects.map(projectName));
  const found = projects.flatMap((one) => objectIn(one, registry, name));
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  if (first !== undefined) {
    return `there are several of that name: ${found.map((one) => objectName(one)).join(", ")}`;
  }
  const known = projects.flatMap((one) =>
    [
      ...one.endpoints.map(({ slug }) => slug),
      ...one.aliases.map(({ alias }) => alias),
      ...one.proxy_endpoints.map(({ slug }) => slug),
    ].map((other) => `${projectName(one)}/${other}`),
  );
  return unknown("endpoint", named, known);
}

function objectIn(project: ProjectConfig, registry: Registry, name: string): ExplainedObject[] {
  const endpoint = project.endpoints.find(({ slug }) => slug === name);
  if (endpoint !== undefined) return [{ kind: "endpoint", project, name, settings: endpoint }];
  const alias = project.aliases.find((one) => one.alias === name);
  if (alias !== undefined)
    return [{ kind: "alias", project, name, settings: endpointOf(registry, project, alias) }];
  const isProxy = project.proxy_endpoints.some(({ slug }) => slug === name);
  return isProxy ? [{ kind: "proxy", project, name, settings: undefined }] : [];
}

/** What a call came to. */
export function objectOf(
  config: ResolvedConfig,
  registry: Registry,
  { project: { uuid }, endpoint: { slug } }: Pick<Call, "project" | "endpoint">,
): ExplainedObject | undefined {
  const project = config.projects.find((one) => one.uuid === uuid);
  return project && objectIn(project, registry, slug)[0];
}

export function objectName({ project, name }: Pick<ExplainedObject, "project" | "name">): string {
  return `${projectName(project)}/${name}`;
}

function projectName({ name }: ProjectConfig): string {
  return slugOf(name);
}

function isNamed({ uuid, name }: ProjectConfig, named: string): boolean {
  return uuid === named.toLowerCase() || name === named || slugOf(name) === slugOf(named);
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** Names of a list that a message shows. */
const SHOWN_MAX = 8;

function unknown(kind: string, named: string, known: readonly string[]): string {
  const nearest = nearestName(named, known) ?? known.find((one) => nearestName(named, [lastOf(one)]));
  const meant = nearest === undefined ? "" : `; did you mean '${nearest}'?`;
  const shown = known.slice(0, SHOWN_MAX).join(", ");
  const more = known.length > SHOWN_MAX ? ` and ${known.length - SHOWN_MAX} more` : "";
  return `there is no ${kind} '${named}'${meant || (known.length === 0 ? "" : `; there are ${shown}${more}`)}`;
}

/** By name or id; without one the first that may make the call. undefined: there is none, and the call has no token. */
export function findToken(
  project: ProjectConfig,
  scope: TokenConfig["scopes"][number],
  { named, nowMs }: { readonly named: string | undefined; readonly nowMs: number },
): TokenConfig | string | undefined {
  if (named !== undefined) {
    const token = project.tokens.find(({ id, name }) => id === named || name === named);
    return (
      token ??
      unknown(
        "token",
        named,
        project.tokens.map(({ name }) => name),
      )
    );
  }
  return project.tokens.find(
    ({ is_active, scopes, expires_at }) =>
      is_active && scopes.includes(scope) && (expires_at === null || expires_at > nowMs),
  );
}
