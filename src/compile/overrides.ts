/**
 * Overrides laid over a compiled configuration: its tokens anew, its endpoints on or off. Everything else is shared with what
 * git has, so that revoking a token takes as long with ten thousand endpoints as with one.
 */
import type { ProjectConfig, ResolvedConfig } from "../config/model.ts";
import { type CompileInput, compileConfig, listingOf, makeContext } from "./compile.ts";
import { builtIn, requestSteps } from "./endpoint.ts";
import type { CompiledConfig, CompiledProject } from "./model.ts";
import { setNamed } from "./names.ts";
import { authenticateOptions } from "./stage-options.ts";

/** A compiled configuration that several others share. Closed with the last of them. */
export class CompiledBase {
  readonly config: ResolvedConfig;
  readonly compiled: CompiledConfig;
  #holders = 1;

  constructor(config: ResolvedConfig, compiled: CompiledConfig) {
    this.config = config;
    this.compiled = compiled;
  }

  hold(): this {
    this.#holders++;
    return this;
  }

  async release(): Promise<void> {
    this.#holders--;
    if (this.#holders === 0) await this.compiled.close();
  }
}

/**
 * `input.config` compiled, where it is `base.config` with overrides applied (config/overrides.ts): what those leave
 * alone is the same object in both. The base is held until this is closed. Rejects as compileConfig does.
 */
export async function compileOverrides(base: CompiledBase, input: CompileInput): Promise<CompiledConfig> {
  if (input.config === base.config) {
    base.hold();
    return { ...base.compiled, close: () => base.release() };
  }
  if (!input.config.projects.every((project, index) => isCovered(project, base.config.projects[index]))) {
    return compileConfig(input);
  }
  const context = await makeContext(input);
  try {
    const authenticate = await builtIn(context, "authenticate", authenticateOptions(input.config));
    const projects = new Map(base.compiled.projects);
    for (const [index, project] of input.config.projects.entries()) {
      const compiled = projects.get(project.uuid);
      const before = base.config.projects[index];
      const isSame =
        project.endpoints === before?.endpoints && project.proxy_endpoints === before.proxy_endpoints;
      if (compiled === undefined || isSame) continue;
      projects.set(project.uuid, switched(compiled, project));
    }
    base.hold();
    return {
      ...base.compiled,
      projects,
      authenticate: requestSteps(authenticate === undefined ? [] : [authenticate]),
      close: async () => {
        await context.lease.release();
        await base.release();
      },
    };
  } catch (thrown) {
    await context.lease.release();
    throw thrown;
  }
}

/** Whether all that differs is what an overlay can express: tokens, and endpoints switched on or off. */
function isCovered(project: ProjectConfig, before: ProjectConfig | undefined): boolean {
  if (project === before) return true;
  return (
    project.uuid === before?.uuid &&
    project.proxy_endpoints.length === before.proxy_endpoints.length &&
    project.endpoints.length === before.endpoints.length
  );
}

function switched(compiled: CompiledProject, project: ProjectConfig): CompiledProject {
  return {
    ...compiled,
    endpoints: withActivity(compiled.endpoints, project.endpoints),
    proxies: withActivity(compiled.proxies, project.proxy_endpoints),
    listingJson: listingOf(project),
  };
}

function withActivity<T extends { readonly isActive: boolean }>(
  compiled: ReadonlyMap<string, T>,
  entries: readonly {
    readonly slug: string;
    readonly is_active: boolean;
    readonly moved_from: string | null;
  }[],
): ReadonlyMap<string, T> {
  const switchedOver = new Map(compiled);
  for (const entry of entries) {
    const { slug, is_active: isActive } = entry;
    const one = compiled.get(slug);
    if (one !== undefined && one.isActive !== isActive)
      setNamed(switchedOver, slug, entry, { ...one, isActive });
  }
  return switchedOver;
}
