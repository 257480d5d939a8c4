/**
 * Which part of an endpoint's configuration each built-in stage is given. A stage reads its part and nothing else;
 * undefined leaves it out of the chain, so that what is not configured costs nothing.
 */
import type { CallSettings, EndpointConfig, ProjectConfig, ResolvedConfig } from "../config/model.ts";
import type { CompileContext } from "./context.ts";
import { outputLimit } from "./output-limit.ts";
import { innerTariffsOf, listTariffsOf, tariffsOf } from "./prices.ts";

export function authenticatePart(config: ResolvedConfig): object {
  const tokens = config.projects.flatMap((project) =>
    project.tokens.map((token) => ({
      sha256: token.hash.slice("sha256:".length),
      id: token.id,
      name: token.name,
      project_uuid: project.uuid,
      scopes: token.scopes,
      is_active: token.is_active,
      expires_at: token.expires_at,
      monthly_cap_nano_usd: token.monthly_budget_usd_cap?.nanoUsd ?? null,
      monthly_cap_text: token.monthly_budget_usd_cap?.text ?? "",
    })),
  );
  return { tokens };
}

export function limitPart(subject: string, settings: CallSettings): object | undefined {
  const { rate_limit_per_minute, rate_limit_per_hour, usage_hard_limit_tokens } = settings;
  if (rate_limit_per_minute === null && rate_limit_per_hour === null && usage_hard_limit_tokens === null) {
    return undefined;
  }
  return { subject, rate_limit_per_minute, rate_limit_per_hour, usage_hard_limit_tokens };
}

export function budgetPart(
  context: CompileContext,
  project: ProjectConfig,
  subject: string,
  endpoint: EndpointConfig,
): object | undefined {
  const { config } = context;
  const targets = targetsOf(project, endpoint);
  const tariffs = tariffsOf(config, endpoint, targets);
  if (Object.keys(tariffs).length === 0) return undefined;
  const hasOwnPrice = endpoint.estimated_cost_per_1k_tokens_usd !== null;
  return {
    subject,
    cap_nano_usd: endpoint.monthly_budget_usd?.nanoUsd ?? null,
    cap_text: endpoint.monthly_budget_usd?.text ?? "",
    tariffs,
    ...(hasOwnPrice && { list_tariffs: listTariffsOf(config, targets) }),
    // Only clients of aliases can ask for tools that ask other models.
    ...("allowed_fields" in endpoint && innerPart(config, targets)),
    max_output_tokens: endpoint.max_output_tokens,
    ...(endpoint.max_output_tokens === null && { output_limits: outputLimits(context, project, targets) }),
    ...(endpoint.output_schema !== null && {
      schema_characters: JSON.stringify(endpoint.output_schema).length,
    }),
    providers: [...new Set(targets.map(({ provider }) => provider))],
    budget_estimate: endpoint.budget_estimate,
    prompt: endpoint.prompt,
    user_prompt_template: endpoint.user_prompt_template,
    sessions_enabled: endpoint.sessions_enabled,
  };
}

function innerPart(config: ResolvedConfig, targets: readonly TargetEntry[]): object {
  const inner = innerTariffsOf(config, targets);
  return Object.keys(inner).length === 0 ? {} : { inner_tariffs: inner };
}

function outputLimits(
  context: CompileContext,
  project: ProjectConfig,
  targets: readonly TargetEntry[],
): Readonly<Record<string, object>> {
  const limits: Record<string, object> = {};
  for (const target of targets) {
    const { known = null, assumed } = outputLimit(context, project, target);
    limits[`${target.provider}/${target.model}`] = { known, assumed };
  }
  return limits;
}

export function preparePart(endpoint: EndpointConfig): object {
  return {
    prompt: endpoint.prompt,
    user_prompt_template: endpoint.user_prompt_template,
    sessions_enabled: endpoint.sessions_enabled,
    session_ttl_seconds: endpoint.session_ttl_seconds,
    session_max_messages: endpoint.session_max_messages,
    session_max_tokens: endpoint.session_max_tokens,
    session_overflow: endpoint.session_overflow,
  };
}

export interface TargetEntry {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
}

/** The primary, then the failover entries in their order; a failover entry's provider is its credential's. */
export function targetsOf(project: ProjectConfig, settings: CallSettings): readonly TargetEntry[] {
  const failover = settings.failover.map(({ credential, model }) => ({
    provider: project.credentials.find(({ name }) => name === credential)?.provider ?? settings.provider,
    model,
    credential,
  }));
  const { provider, model, credential } = settings;
  return [{ provider, model, credential }, ...failover];
}
