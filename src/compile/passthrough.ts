/**
 * The chain of calls that are passed on as they are, to a proxy's upstream or to an MCP server: what of the stages makes
 * sense where nobody here reads question or answer.
 */
import type { ProjectConfig } from "../config/model.ts";
import type { CompileContext } from "./context.ts";
import {
  auditStep,
  builtIn,
  finishSteps,
  recordHooks,
  requestSteps,
  thirdParty,
  traceStep,
  withDecision,
} from "./endpoint.ts";
import type { FinishStep, RequestStep } from "./model.ts";

export interface PassedOnChain {
  /** Limits, the token's cap, and the project's own stages. */
  readonly request: readonly RequestStep[];
  readonly finish: readonly FinishStep[];
}

/** `subject`: what its limits are counted under. `limits`: options of stage limit; undefined: there are none. */
export async function passedOnChain(
  context: CompileContext,
  project: ProjectConfig,
  subject: string,
  limits: object | undefined,
): Promise<PassedOnChain> {
  const own = await Promise.all([
    builtIn(context, "limit", limits),
    builtIn(context, "budget", { subject, tariffs: {} }),
    recordHooks(context),
    ...project.stages
      .filter((use) => context.registry.stages.get(use.use)?.stage !== "authenticate")
      .map((use) => thirdParty(context, use)),
  ]);
  const chain = own.filter((placed) => placed !== undefined).sort((a, b) => a.stage - b.stage);
  return {
    request: withDecision(requestSteps(chain)),
    finish: [...finishSteps(chain.toReversed()), ...auditStep(context), ...traceStep(context)],
  };
}
