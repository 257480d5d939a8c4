/** Compiles one endpoint: sets up the plugins of each stage and arranges their hooks in flat arrays, one per kind. */
import { uuidV5 } from "../base/ids.ts";
import type {
  AliasConfig,
  EndpointConfig,
  GuardrailUse,
  ProjectConfig,
  ResolvedConfig,
  StageUse,
} from "../config/model.ts";
import { endpointDefaultsWith } from "../config/schema/defaults.ts";
import { guardrailHooks } from "../guardrails/guardrail.ts";
import { DeadlineError } from "../guardrails/verdict.ts";
import type { GuardrailPlugin, Stage, StagePlugin } from "../plugin/contract.ts";
import type { EndpointRef } from "../plugin/exchange.ts";
import type { Guardrail, Hooks, Host, MaybePromise } from "../plugin/index.ts";
import { andThen, STAGES } from "../plugin/index.ts";
import type { Platform } from "../plugins-host/host.ts";
import { allOf } from "../plugins-host/instances.ts";
import { ISOLATED_CHILD } from "../plugins-host/isolation/guardrail-process.ts";
import { isolated } from "../plugins-host/isolation/isolated-guardrail.ts";
import type { Registry } from "../plugins-host/registry.ts";
import type { CompileContext } from "./context.ts";
import type { CompiledEndpoint, FinishStep, PassthroughChain, RequestStep } from "./model.ts";
import { type Placed, type Placing, place } from "./place.ts";
import { stageOptions } from "./stage-options.ts";
import { compileTargets } from "./targets.ts";

/** An alias as the endpoint that it is: without prompt, schemas and conversations, which are its clients' own. */
export function endpointOf(
  { stageKeys }: Registry,
  { uuid }: ProjectConfig,
  alias: AliasConfig,
): EndpointConfig {
  return {
    ...endpointDefaultsWith(stageKeys),
    stages: [],
    ...alias,
    name: alias.alias,
    slug: alias.alias,
    uuid: uuidV5(uuid, `alias:${alias.alias}`),
  };
}

/** Synchronous unless a plugin's setup is not, since there may be ten thousand endpoints. */
export function compileEndpoint(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
): MaybePromise<CompiledEndpoint> {
  return andThen(placeAll(context, project, endpoint), (chain) =>
    andThen(compileTargets(context, project, endpoint), (targets) => {
      const ref: EndpointRef = Object.freeze({
        uuid: endpoint.uuid,
        slug: endpoint.slug,
        name: endpoint.name,
      });
      const caller = chain.findLast((placed) => placed.call !== undefined);
      if (caller?.call === undefined) throw new Error("no plugin is registered for stage call");
      const upward = chain.toReversed();
      return {
        ref,
        isActive: endpoint.is_active,
        streamingEnabled: endpoint.streaming_enabled,
        ...(endpoint.allowed_fields && { allowedFields: new Set(endpoint.allowed_fields) }),
        request: withDecision(requestSteps(chain)),
        call: caller.call,
        callPlugin: caller.plugin,
        targets,
        response: upward.flatMap((placed) => placed.response ?? []),
        stream: upward.flatMap((placed) => placed.stream ?? []),
        keepsAnswer: chain.some((placed) => placed.readsAnswer) || keepsTexts(context),
        commit: upward.flatMap((placed) => placed.commit ?? []),
        finish: [...finishSteps(upward), ...auditStep(context), ...context.ownFinish],
      };
    }),
  );
}

/** In the order of the stages; within one, the gateway's own first, then the config's in the order of the YAML. */
function placeAll(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
): MaybePromise<readonly Placed[]> {
  const placed = [
    ...context.registry.stageKeys.map((plugin) =>
      builtIn(context, plugin.name, stageOptions(context, project, endpoint, plugin)),
    ),
    ...endpoint.guardrails.map((use) => guardrail(context, use)),
    recordHooks(context),
    // A project's stages at authenticate run before the body is read; see compile.ts.
    ...project.stages
      .filter((use) => context.registry.stages.get(use.use)?.stage !== "authenticate")
      .map((use) => thirdParty(context, use)),
    ...endpoint.stages.map((use) => thirdParty(context, use)),
  ];
  return andThen(allOf(placed), (all) =>
    all.filter((entry) => entry !== undefined).sort((a, b) => a.stage - b.stage),
  );
}

export function recordHooks(context: CompileContext): MaybePromise<Placed | undefined> {
  return builtIn(context, "record", { content: context.config.log.content });
}

/** Sets up a built-in stage with its part of the config; undefined: it is not part of this chain. */
export function builtIn(
  context: CompileContext,
  name: string,
  part: object | undefined,
): MaybePromise<Placed | undefined> {
  if (part === undefined) return undefined;
  const plugin = context.registry.stages.get(name);
  if (plugin === undefined) throw new Error(`there is no stage plugin '${name}'`);
  return placeStage(context, plugin, part);
}

export function thirdParty(context: CompileContext, use: StageUse): MaybePromise<Placed> {
  const plugin = context.registry.stages.get(use.use);
  if (plugin === undefined) throw new Error(`there is no stage plugin '${use.use}'`);
  return context.at(use.at, () => placeStage(context, plugin, use.options));
}

function placeStage(
  context: CompileContext,
  plugin: StagePlugin<never>,
  options: object,
): MaybePromise<Placed> {
  return context.lease.take<Placed>(plugin, options, {
    make: () =>
      andThen(context.setUpStage(plugin, options, context.hostFor(plugin)), (hooks) =>
        place(placing(context, plugin, plugin.stage), hooks),
      ),
    close: (placed) => placed.close(),
  });
}

function guardrail(context: CompileContext, use: GuardrailUse): MaybePromise<Placed> {
  const plugin = context.registry.guardrails.get(use.use);
  if (plugin === undefined) throw new Error(`there is no guardrail '${use.use}'`);
  const { clock, log } = context.platform;
  // Equal uses are one, wherever they stand.
  const { at, ...others } = use;
  const judgedCharactersMax = context.config.server.max_judged_characters;
  const known = { ...others, judgedCharactersMax };
  return context.at(at, () =>
    context.lease.take<Placed>(plugin, known, {
      make: () =>
        andThen(setUp(context, plugin, use), (made) => {
          const hooks = guardrailHooks({
            ...{ name: plugin.name, guardrail: made, use, judgedCharactersMax },
            ...{ clock, log },
          });
          return place(placing(context, plugin, "guard"), hooks);
        }),
      close: (placed) => placed.close(),
    }),
  );
}

function placing(
  { platform, registry }: CompileContext,
  plugin: StagePlugin<never> | GuardrailPlugin<never>,
  stage: Stage,
): Placing {
  const { kind, name } = plugin;
  const foreign = registry.moduleOf(plugin) !== undefined;
  return { stage: STAGES.indexOf(stage), kind, plugin: name, log: platform.log, foreign };
}

/** In its own process or in the gateway's. */
function setUp(
  context: CompileContext,
  plugin: GuardrailPlugin<never>,
  { use: name, options, isolate, timeout_ms: timeoutMs }: GuardrailUse,
): MaybePromise<Guardrail> {
  const { fetch, ...rest } = context.hostFor(plugin);
  // What a verdict waits for may take no longer than the verdict.
  const host: Host = {
    ...rest,
    fetch: (url, request) =>
      fetch(url, { ...request, timeoutMs: Math.min(timeoutMs, request?.timeoutMs ?? timeoutMs) }),
  };
  // See placeStage: checked against the plugin's schema.
  if (!isolate) return plugin.setup(options as never, host);
  const module = context.registry.moduleOf(plugin);
  return isolated({
    entry: ISOLATED_CHILD,
    source: { module, name, options },
    ...{ timeoutMs, deadlineError: (ms) => new DeadlineError(ms) },
    ...{ host, clock: context.platform.clock },
  });
}

export function requestSteps(chain: readonly Placed[]): RequestStep[] {
  return chain.flatMap((placed) => placed.request ?? []);
}

export function finishSteps(chain: readonly Placed[]): FinishStep[] {
  return chain.flatMap((placed) => placed.finish ?? []);
}

/** Claims are decided once, when the last hook of stage budget has run; without such hooks nothing can be claimed. */
function withDecision(steps: readonly RequestStep[]): RequestStep[] {
  const budget = STAGES.indexOf("budget");
  const at = steps.findLastIndex((step) => step.stage <= budget) + 1;
  if (at === 0) return [...steps];
  return steps.toSpliced(at, 0, { stage: budget, plugin: "gateway", run: "decide" });
}

function auditStep({ platform }: CompileContext): FinishStep[] {
  return ownStep(platform, "audit", platform.auditBlocks).map((step) => ({ ...step, withAnswer: true }));
}

/** Recent calls and time series of every call; traces where they are exported, elsewhere they cost nothing. */
export function ownFinishSteps(
  { calls, telemetry }: ResolvedConfig,
  platform: Platform,
  redact: (text: string) => string,
): readonly FinishStep[] {
  const asItIs = (text: string): string => text;
  const shown = calls.content === "none" ? undefined : calls.content === "full" ? asItIs : redact;
  return [
    ...ownStep(platform, "history", platform.history?.(shown)),
    ...(telemetry.otlp.endpoint === null ? [] : ownStep(platform, "traces", platform.traces?.finish)),
  ];
}

/** The texts of an answer that is over are read by traces or by recent calls. */
function keepsTexts({ config }: CompileContext): boolean {
  const { endpoint, content } = config.telemetry.otlp;
  return (endpoint !== null && content) || (config.calls.keep > 0 && config.calls.content !== "none");
}

/** A finish hook of the gateway itself. */
function ownStep({ log }: Platform, plugin: string, finish: Hooks["finish"]): FinishStep[] {
  const stage = STAGES.indexOf("record");
  const placed = place({ stage, kind: "stage", plugin, log, foreign: false }, { finish });
  return placed.finish === undefined ? [] : [placed.finish];
}

/**
 * The chain of calls that pass through unread, to a proxy's upstream or to an MCP server: the stages that need neither
 * question nor answer. `subject`: what its limits are counted under. `limits`: options of
 * stage limit, if there are limits.
 */
export async function passthroughChain(
  context: CompileContext,
  project: ProjectConfig,
  subject: string,
  limits: object | undefined,
): Promise<PassthroughChain> {
  const own = await Promise.all([
    builtIn(context, "limit", limits),
    builtIn(context, "budget", { subject, schedules: {} }),
    recordHooks(context),
    ...project.stages
      .filter((use) => context.registry.stages.get(use.use)?.stage !== "authenticate")
      .map((use) => thirdParty(context, use)),
  ]);
  const chain = own.filter((placed) => placed !== undefined).sort((a, b) => a.stage - b.stage);
  return {
    request: withDecision(requestSteps(chain)),
    finish: [...finishSteps(chain.toReversed()), ...auditStep(context), ...context.ownFinish],
  };
}
