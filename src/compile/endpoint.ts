/** Compiles one endpoint: sets up what stands at each stage and lays the hooks out in flat arrays, one a kind. */
import type { EndpointConfig, GuardrailUse, ProjectConfig, StageUse } from "../config/model.ts";
import type { EndpointRef, Guardrail, Hooks, StagePlugin } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { CompileContext } from "./context.ts";
import { guardrailHooks } from "./guardrail.ts";
import type { CompiledEndpoint, FinishStep, RequestStep } from "./model.ts";
import { budgetPart, limitPart, preparePart } from "./parts.ts";
import { compileTargets } from "./targets.ts";

/** The hooks of one plugin in their place. */
export interface Placed {
  readonly stage: number;
  readonly plugin: string;
  readonly hooks: Hooks;
}

export async function compileEndpoint(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
): Promise<CompiledEndpoint> {
  const ref: EndpointRef = Object.freeze({ uuid: endpoint.uuid, slug: endpoint.slug, name: endpoint.name });
  const chain = await placeAll(context, project, endpoint);
  const call = chain.findLast((placed) => placed.hooks.call !== undefined)?.hooks.call;
  if (call === undefined) throw new Error("no plugin stands at stage call");
  const upward = chain.toReversed();
  return {
    ref,
    isActive: endpoint.is_active,
    streamingEnabled: endpoint.streaming_enabled,
    request: withDecision(pick(chain, "request")),
    call,
    targets: await compileTargets(context, project, endpoint),
    response: pick(upward, "response"),
    stream: pick(upward, "stream"),
    commit: pick(upward, "commit"),
    finish: pick(upward, "finish"),
  };
}

/** In the order of the stages; within one, the gateway's own first, then the config's in the order of the YAML. */
async function placeAll(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
): Promise<Placed[]> {
  const subject = `${project.uuid}/${endpoint.slug}`;
  const { input_schema, output_schema } = endpoint;
  const placed: (Placed | undefined)[] = [
    await builtIn(context, "limit", limitPart(subject, endpoint)),
    await builtIn(context, "budget", budgetPart(context.config, project, subject, endpoint)),
  ];
  for (const use of endpoint.guardrails) placed.push(await guardrail(context, use));
  placed.push(
    await builtIn(context, "validate", input_schema === null ? undefined : { input_schema }),
    await builtIn(context, "prepare", preparePart(endpoint)),
    await builtIn(context, "call", {}),
    await builtIn(context, "check", output_schema === null ? undefined : { output_schema }),
    await recordHooks(context),
  );
  // A project's stages at authenticate stand before the body is read; see compile.ts.
  for (const use of project.stages) {
    if (context.registry.stages.get(use.use)?.stage !== "authenticate")
      placed.push(await thirdParty(context, use));
  }
  for (const use of endpoint.stages) placed.push(await thirdParty(context, use));
  return placed.filter((entry) => entry !== undefined).sort((a, b) => a.stage - b.stage);
}

export async function recordHooks(context: CompileContext): Promise<Placed | undefined> {
  return builtIn(context, "record", { content: context.config.log.content });
}

/** Sets up a built-in stage with its part of the config; undefined: it does not stand in this chain. */
export async function builtIn(
  context: CompileContext,
  name: string,
  part: object | undefined,
): Promise<Placed | undefined> {
  if (part === undefined) return undefined;
  const plugin = context.registry.stages.get(name);
  if (plugin === undefined) throw new Error(`there is no stage plugin '${name}'`);
  return placeStage(context, plugin, part);
}

export async function thirdParty(context: CompileContext, use: StageUse): Promise<Placed> {
  const plugin = context.registry.stages.get(use.use);
  if (plugin === undefined) throw new Error(`there is no stage plugin '${use.use}'`);
  return context.at(use.at, () => placeStage(context, plugin, use.options));
}

async function placeStage(
  context: CompileContext,
  plugin: StagePlugin<never>,
  options: object,
): Promise<Placed> {
  const hooks = await context.lease.take<Hooks>(
    plugin,
    options,
    // The options were checked against this plugin's own schema, which is what its type stands for.
    () => plugin.setup(options as never, context.hostFor(plugin)),
    (made) => made.close?.(),
  );
  return { stage: STAGES.indexOf(plugin.stage), plugin: plugin.name, hooks };
}

async function guardrail(context: CompileContext, use: GuardrailUse): Promise<Placed> {
  const plugin = context.registry.guardrails.get(use.use);
  if (plugin === undefined) throw new Error(`there is no guardrail '${use.use}'`);
  return context.at(use.at, async () => {
    const made = await context.lease.take<Guardrail>(
      plugin,
      use.options,
      // See placeStage: checked against the plugin's schema.
      () => plugin.setup(use.options as never, context.hostFor(plugin)),
      (guard) => guard.close?.(),
    );
    const { clock, log } = context.platform;
    const hooks = guardrailHooks({ name: plugin.name, guardrail: made, use, clock, log });
    return { stage: STAGES.indexOf("guard"), plugin: plugin.name, hooks };
  });
}

function pick<Name extends keyof Hooks>(
  chain: readonly Placed[],
  name: Name,
): { readonly stage: number; readonly plugin: string; readonly run: NonNullable<Hooks[Name]> }[] {
  const steps = [];
  for (const { stage, plugin, hooks } of chain) {
    const hook = hooks[name];
    // Bound once here, so that calling it costs no lookup and `this` is what its author expects.
    if (hook !== undefined && hook !== null)
      steps.push({ stage, plugin, run: hook.bind(hooks) as NonNullable<Hooks[Name]> });
  }
  return steps;
}

export const requestSteps = (chain: readonly Placed[]): RequestStep[] => pick(chain, "request");
export const finishSteps = (chain: readonly Placed[]): FinishStep[] => pick(chain, "finish");

/** Claims are decided once, when the last hook of stage budget has run; without such hooks nothing can be claimed. */
function withDecision(steps: readonly RequestStep[]): RequestStep[] {
  const budget = STAGES.indexOf("budget");
  const at = steps.findLastIndex((step) => step.stage <= budget) + 1;
  if (at === 0) return [...steps];
  return steps.toSpliced(at, 0, { stage: budget, plugin: "gateway", run: "decide" });
}
