/**
 * Compiles a resolved configuration: all or nothing, in slices that let calls run in between. What it took of the
 * instance pool is released if it fails.
 */
import { Slices } from "../base/slices.ts";
import type { ProjectConfig, ResolvedConfig } from "../config/model.ts";
import { edited } from "../guardrails/edits.ts";
import type { Plugin } from "../plugin/contract.ts";
import type { ProjectRef } from "../plugin/exchange.ts";
import type { Host } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import { BUILT_IN } from "../plugins-host/builtin.ts";
import { makeHost, type Platform } from "../plugins-host/host.ts";
import type { InstancePool } from "../plugins-host/instances.ts";
import type { Registry } from "../plugins-host/registry.ts";
import type { ProviderClients } from "../upstream/provider-clients.ts";
import { type CompileContext, CompileError, type SetUpStage } from "./context.ts";
import { builtIn, finishSteps, ownFinishSteps, recordHooks, requestSteps, thirdParty } from "./endpoint.ts";
import { EndpointUnits } from "./endpoint-units.ts";
import { compileMcp } from "./mcp.ts";
import type { CompiledConfig, CompiledEndpoint, CompiledProject } from "./model.ts";
import { setNamed } from "./names.ts";
import { networkOutbound, type Outbound } from "./outbound.ts";
import { compileProxies } from "./proxy.ts";
import { authenticateOptions } from "./stage-options.ts";

export interface CompileInput {
  readonly config: ResolvedConfig;
  readonly hash: string;
  readonly registry: Registry;
  readonly platform: Platform;
  readonly pool: InstancePool;
  readonly clients: Pick<ProviderClients, "acquire">;
  /** Default: connections over the network, providers' through `clients`. */
  readonly outbound?: Outbound;
  /** Default: the plugin's own `setup`. */
  readonly setUpStage?: SetUpStage;
}

/** Rejects with a CompileError when a plugin's setup fails. */
export async function compileConfig(input: CompileInput): Promise<CompiledConfig> {
  const context = await makeContext(input);
  try {
    return await compileAll(context, input.hash);
  } catch (thrown) {
    await context.lease.release();
    throw thrown;
  }
}

async function compileAll(context: CompileContext, hash: string): Promise<CompiledConfig> {
  const { config, lease } = context;
  const authenticate = await builtIn(context, "authenticate", authenticateOptions(config));
  const record = await recordHooks(context);
  const projects = new Map<string, CompiledProject>();
  for (const project of config.projects) projects.set(project.uuid, await compileProject(context, project));
  return Object.freeze({
    hash,
    server: config.server,
    projects,
    tracesCalls: config.calls.keep > 0,
    authenticate: requestSteps(authenticate === undefined ? [] : [authenticate]),
    record: [...finishSteps(record === undefined ? [] : [record]), ...context.ownFinish],
    close: () => lease.release(),
  });
}

async function compileProject(context: CompileContext, project: ProjectConfig): Promise<CompiledProject> {
  const ref: ProjectRef = Object.freeze({ uuid: project.uuid, id: project.id, name: project.name });
  const early = [];
  for (const use of project.stages) {
    const plugin = context.registry.stages.get(use.use);
    if (plugin?.stage === "authenticate") early.push(await thirdParty(context, use));
  }
  const units = new EndpointUnits(context, project);
  const endpoints = new Map<string, CompiledEndpoint>();
  for (const endpoint of project.endpoints) {
    const compiled = context.at(endpoint.at, () => units.endpoint(endpoint));
    setNamed(endpoints, endpoint.slug, endpoint, isPromise(compiled) ? await compiled : compiled);
    if (context.slices.isUsedUp) await context.slices.yielded();
  }
  const aliases = new Map<string, CompiledEndpoint>();
  const active = project.aliases.filter((alias) => alias.is_active);
  for (const alias of active) {
    const compiled = context.at(alias.at, () => units.alias(alias));
    setNamed(aliases, alias.alias, alias, isPromise(compiled) ? await compiled : compiled);
    if (context.slices.isUsedUp) await context.slices.yielded();
  }
  return {
    ref,
    type: project.type,
    errorFormat: project.error_format,
    authenticate: requestSteps(early),
    endpoints,
    proxies: await compileProxies(context, project, ref),
    listingJson: listingOf(project),
    aliases,
    models: active.map(({ alias: id, provider }) => ({
      ...{ id, object: "model", created: 0, owned_by: provider },
    })),
    mcp: await compileMcp(context, project),
  };
}

/** `data` of the listing call. */
export function listingOf({ endpoints }: ProjectConfig): string {
  const listing = endpoints.map(({ uuid, name, slug, is_active, expose_as_mcp_tool }) => {
    return { uuid, name, slug, is_active, expose_as_mcp_tool };
  });
  return JSON.stringify(listing);
}

export async function makeContext(input: CompileInput): Promise<CompileContext> {
  const { config, registry, platform, clients } = input;
  const { outbound = networkOutbound(clients), setUpStage = setUp } = input;
  const lease = input.pool.lease();
  const own = new Set<Plugin>(BUILT_IN);
  const redact = await redactor(input);
  const hosts = new Map<Plugin, Host>();
  return {
    config,
    registry,
    platform,
    lease,
    ownFinish: ownFinishSteps(config, platform, redact),
    slices: new Slices(),
    outbound,
    setUpStage,
    hostFor(plugin) {
      let host = hosts.get(plugin);
      if (host === undefined) {
        host = makeHost({
          platform,
          plugin: plugin.name,
          kind: plugin.kind,
          builtIn: own.has(plugin),
          redact,
        });
        hosts.set(plugin, host);
      }
      return host;
    },
    at(place, make) {
      const refuse = (thrown: unknown): never => {
        throw thrown instanceof CompileError ? thrown : new CompileError(place, thrown);
      };
      try {
        const made = make();
        if (!isPromise(made)) return made;
        const outcome = made.catch(refuse);
        // When another failure comes first, this one is not awaited.
        outcome.catch(() => undefined);
        return outcome;
      } catch (thrown) {
        return refuse(thrown);
      }
    },
  };
}

/** The options were checked against this plugin's own schema, which is what its type stands for. */
const setUp: SetUpStage = (plugin, options, host) => plugin.setup(options as never, host);

/** Redaction for logs is the built-in PII filter in mask mode; what it cannot judge at once is left out whole. */
async function redactor({ config, registry, platform }: CompileInput): Promise<(text: string) => string> {
  const pii = registry.guardrails.get("pii");
  const isNeeded = config.log.content === "redacted" || config.calls.content === "redacted";
  if (!isNeeded || pii === undefined) return () => "[REDACTED]";
  const host = makeHost({
    platform,
    plugin: "pii",
    kind: "guardrail",
    builtIn: true,
    redact: () => "[REDACTED]",
  });
  // The options are the plugin's own words for its strictest form.
  const guard = await pii.setup({ mode: "mask" } as never, host);
  return (text) => {
    const about = { side: "input", role: "user", totalCharacters: text.length, partial: false } as const;
    // The filter judges text alone; the exchange is there for guardrails that look further.
    const verdict = guard.judge(text, about as Parameters<typeof guard.judge>[1]);
    if (isPromise(verdict)) return "[REDACTED]";
    return verdict?.verdict === "replace" ? edited(text, verdict.edits) : text;
  };
}
