/** A compiled configuration without one of its protections: the one unit that has it is compiled again. */
import { type CompileInput, makeContext } from "../compile/compile.ts";
import type { CompileContext } from "../compile/context.ts";
import { builtIn, compileEndpoint, endpointOf, requestSteps } from "../compile/endpoint.ts";
import type { CompiledConfig, CompiledProject } from "../compile/model.ts";
import { compileProxies } from "../compile/proxy.ts";
import { authenticateOptions } from "../compile/stage-options.ts";
import type { EndpointConfig, ProjectConfig, ResolvedConfig } from "../config/model.ts";
import { type Protection, withoutProtection } from "./protections.ts";

interface Compiled {
  readonly compiled: CompiledConfig;
  readonly config: ResolvedConfig;
}

export async function withoutOne(
  input: CompileInput,
  base: Compiled,
  protection: Protection,
): Promise<Compiled> {
  const { owner } = protection;
  const project = base.config.projects.find(({ uuid }) => uuid === owner.project);
  const compiled = base.compiled.projects.get(owner.project);
  if (project === undefined || compiled === undefined || !protection.isRemovable)
    throw new Error(`the protection '${protection.id}' cannot be taken out`);
  const context = await makeContext(input);
  const close = (): Promise<void> => context.lease.release();
  const edited = edit(context, project, protection);
  const config = {
    ...base.config,
    projects: base.config.projects.map((one) => (one === project ? edited : one)),
  };
  if (owner.kind === "token") {
    const authenticate = await builtIn(context, "authenticate", authenticateOptions(config));
    const steps = requestSteps(authenticate === undefined ? [] : [authenticate]);
    return { config, compiled: { ...base.compiled, authenticate: steps, close } };
  }
  const unit = await recompiled(context, compiled, edited, protection);
  const projects = new Map(base.compiled.projects).set(owner.project, { ...compiled, ...unit });
  return { config, compiled: { ...base.compiled, projects, close } };
}

function edit(context: CompileContext, project: ProjectConfig, protection: Protection): ProjectConfig {
  const { owner, key } = protection;
  const without = (settings: EndpointConfig): EndpointConfig => withoutProtection(settings, protection);
  switch (owner.kind) {
    case "endpoint": {
      const endpoints = project.endpoints.map((one) => (one.slug === owner.name ? without(one) : one));
      return { ...project, endpoints };
    }
    case "alias": {
      const aliases = project.aliases.map((one) =>
        one.alias === owner.name ? { ...one, ...without(endpointOf(context.registry, project, one)) } : one,
      );
      return { ...project, aliases };
    }
    case "proxy": {
      const proxies = project.proxy_endpoints.map((one) =>
        one.slug === owner.name ? { ...one, [key]: null } : one,
      );
      return { ...project, proxy_endpoints: proxies };
    }
    case "token": {
      const tokens = project.tokens.map((one) => (one.id === owner.name ? { ...one, [key]: null } : one));
      return { ...project, tokens };
    }
  }
}

async function recompiled(
  context: CompileContext,
  compiled: CompiledProject,
  edited: ProjectConfig,
  { owner }: Protection,
): Promise<Partial<CompiledProject>> {
  if (owner.kind === "proxy") {
    const proxies = await compileProxies(context, edited, compiled.ref);
    return { proxies };
  }
  if (owner.kind === "alias") {
    const alias = edited.aliases.find(({ alias: name }) => name === owner.name);
    if (alias === undefined) return {};
    const made = await compileEndpoint(context, edited, endpointOf(context.registry, edited, alias));
    return { aliases: new Map(compiled.aliases).set(owner.name, made) };
  }
  const endpoint = edited.endpoints.find(({ slug }) => slug === owner.name);
  if (endpoint === undefined) return {};
  return {
    endpoints: new Map(compiled.endpoints).set(owner.name, await compileEndpoint(context, edited, endpoint)),
  };
}
