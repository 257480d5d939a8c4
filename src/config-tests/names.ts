/** Finds what a test case names in the configuration: projects, tokens, and what a call goes to. */

import type { TokenScope } from "../base/scopes.ts";
import type { ProjectConfig, ResolvedConfig, TokenConfig } from "../config/model.ts";
import type { PlainMap } from "../config/read/tree.ts";
import { nearestOf } from "../config/report/suggest.ts";
import { slugOf } from "../config/slug.ts";
import type { Defaults } from "./model.ts";

/** What a case names and the configuration lacks. */
export class UnknownName extends Error {
  /** The key of the case that names it. */
  readonly key: string;
  readonly advice: { readonly suggestion: string } | { readonly help: string };

  constructor(key: string, message: string, advice: UnknownName["advice"]) {
    super(message);
    this.key = key;
    this.advice = advice;
  }
}

export type TargetKind = "endpoint" | "alias" | "tool" | "proxy";

export interface CallTarget {
  readonly kind: TargetKind;
  readonly project: ProjectConfig;
  /** Slug, alias, or name of a tool. */
  readonly name: string;
}

const SCOPES: Readonly<Record<TargetKind, TokenScope>> = {
  endpoint: "chat",
  alias: "chat",
  tool: "mcp",
  proxy: "proxy",
};

export class Names {
  readonly config: ResolvedConfig;
  readonly #defaults: Defaults;

  constructor(config: ResolvedConfig, defaults: Defaults) {
    this.config = config;
    this.#defaults = defaults;
  }

  /** By name, slug of the name, or UUID. Throws UnknownName. */
  project(name: string): ProjectConfig {
    const { projects } = this.config;
    const wanted = name.toLowerCase();
    const found =
      projects.find((project) => project.name === name) ??
      projects.find((project) => project.uuid === wanted || slugOf(project.name) === wanted);
    if (found !== undefined) return found;
    const known = projects.map((project) => project.name);
    throw new UnknownName(
      "project",
      `there is no project ${quoted(name)}`,
      nearestOf(name, known, NO_PROJECTS),
    );
  }

  /** The project that a call is for when nothing else says so. */
  defaultProject(named: unknown): ProjectConfig | undefined {
    const name = typeof named === "string" ? named : this.#defaults.project;
    if (name !== undefined) return this.project(name);
    const { projects } = this.config;
    return projects.length === 1 ? projects[0] : undefined;
  }

  /** What a call, or an entry of `given`, is about. Throws UnknownName. */
  target(call: PlainMap, kinds: readonly TargetKind[] = ["endpoint", "alias", "tool", "proxy"]): CallTarget {
    const kind = kinds.find((one) => typeof call[one] === "string");
    if (kind === undefined)
      throw new UnknownName("", "names no endpoint, alias, tool or proxy", { help: "add `endpoint: SLUG`" });
    const name = String(call[kind]);
    const project = this.defaultProject(call["project"]) ?? this.#projectOf(kind, name);
    const known = namesOf(project, kind);
    // Tools of upstream servers are not known offline.
    const isForeign = kind === "tool" && name.includes("__");
    if (!known.includes(name) && !isForeign) {
      const message = `project ${quoted(project.name)} has no ${LABELS[kind]} ${quoted(name)}`;
      throw new UnknownName(kind, message, nearestOf(name, known, `it has no ${LABELS[kind]} at all`));
    }
    return { kind, project, name };
  }

  /** The only project that has it. */
  #projectOf(kind: TargetKind, name: string): ProjectConfig {
    const { projects } = this.config;
    const having = projects.filter((project) => namesOf(project, kind).includes(name));
    const [only, second] = having;
    if (only !== undefined && second === undefined) return only;
    if (only === undefined) {
      const known = [...new Set(projects.flatMap((project) => namesOf(project, kind)))];
      const message = `there is no ${LABELS[kind]} ${quoted(name)}`;
      throw new UnknownName(kind, message, nearestOf(name, known, `there is no ${LABELS[kind]} at all`));
    }
    const owners = having.map((project) => quoted(project.name)).join(", ");
    const message = `${LABELS[kind]} ${quoted(name)} exists in several projects: ${owners}`;
    throw new UnknownName(kind, message, { help: "add `project:` to the call or to `defaults`" });
  }

  /** By name or id. Throws UnknownName. */
  token(project: ProjectConfig, name: string): TokenConfig {
    const found =
      project.tokens.find((token) => token.name === name) ??
      project.tokens.find((token) => token.id === name);
    if (found !== undefined) return found;
    const known = project.tokens.map((token) => token.name);
    const message = `project ${quoted(project.name)} has no token ${quoted(name)}`;
    throw new UnknownName("token", message, nearestOf(name, known, NO_TOKENS));
  }

  /** The project named, the default one, or the first that has the token. Throws UnknownName. */
  projectWithToken(named: unknown, token: string): ProjectConfig {
    const project = this.defaultProject(named);
    if (project !== undefined) return project;
    const isIt = ({ name, id }: TokenConfig): boolean => name === token || id === token;
    const having = this.config.projects.find(({ tokens }) => tokens.some(isIt));
    if (having !== undefined) return having;
    const known = this.config.projects.flatMap(({ tokens }) => tokens.map(({ name }) => name));
    throw new UnknownName(
      "token",
      `no project has a token ${quoted(token)}`,
      nearestOf(token, known, NO_TOKENS),
    );
  }

  /** All projects that have a credential of that name. Throws UnknownName. */
  projectsWithCredential(credential: string): readonly ProjectConfig[] {
    const { projects } = this.config;
    const having = projects.filter(({ credentials }) => credentials.some(({ name }) => name === credential));
    if (having.length > 0) return having;
    const known = projects.flatMap(({ credentials }) => credentials.map(({ name }) => name));
    const message = `no project has a credential ${quoted(credential)}`;
    throw new UnknownName("open", message, nearestOf(credential, known, "there are no credentials"));
  }

  /** Some endpoint or alias of the projects must use the model with the credential. Throws UnknownName. */
  checkModel(projects: readonly ProjectConfig[], credential: string, model: string): void {
    const used = projects.flatMap(({ endpoints, aliases }) =>
      [...endpoints, ...aliases].flatMap((settings) => [settings, ...settings.failover]),
    );
    const known = [...new Set(used.filter((one) => one.credential === credential).map((one) => one.model))];
    if (known.includes(model)) return;
    const targets = known.map((one) => `${credential}/${one}`);
    const message = `nothing uses ${quoted(model)} with credential ${quoted(credential)}`;
    throw new UnknownName("open", message, nearestOf(`${credential}/${model}`, targets, "nothing uses it"));
  }

  /** The token of a call that may name one: the default if the project has it, else the first with the scope. */
  tokenOf(project: ProjectConfig, named: unknown, scope: TokenScope | undefined): TokenConfig | undefined {
    if (typeof named === "string") return this.token(project, named);
    const { token: byDefault } = this.#defaults;
    if (byDefault !== undefined) {
      const found = project.tokens.find(({ name, id }) => name === byDefault || id === byDefault);
      if (found !== undefined) return found;
    }
    const active = project.tokens.filter((token) => token.is_active);
    return active.find(({ scopes }) => scope === undefined || scopes.includes(scope)) ?? active[0];
  }

  tokenFor({ kind, project }: CallTarget, named: unknown): TokenConfig | undefined {
    return this.tokenOf(project, named, SCOPES[kind]);
  }

  /** `defaults.token` must be one of the default project, or of any. Throws UnknownName. */
  checkDefaults(): void {
    const { token } = this.#defaults;
    this.defaultProject(undefined);
    if (token !== undefined) this.token(this.projectWithToken(undefined, token), token);
  }
}

const NO_TOKENS = "it has no tokens";
const NO_PROJECTS = "the configuration has no projects";

const LABELS: Readonly<Record<TargetKind, string>> = {
  endpoint: "endpoint",
  alias: "alias",
  tool: "tool",
  proxy: "proxy endpoint",
};

function namesOf(project: ProjectConfig, kind: TargetKind): readonly string[] {
  switch (kind) {
    case "endpoint":
      return project.endpoints.map(({ slug }) => slug);
    case "alias":
      return project.aliases.map(({ alias }) => alias);
    case "proxy":
      return project.proxy_endpoints.map(({ slug }) => slug);
    case "tool":
      return project.endpoints.filter((endpoint) => endpoint.expose_as_mcp_tool).map(({ slug }) => slug);
  }
}

function quoted(name: string): string {
  return JSON.stringify(name);
}
