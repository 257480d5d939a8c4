/**
 * Options of the built-in stages. A stage of endpoints is handed the values of the keys that it names, and nothing else of
 * the configuration but what is computed here.
 */
import type { EndpointConfig, ProjectConfig, ResolvedConfig } from "../config/model.ts";
import { innerSchedulesOf, listSchedulesOf, schedulesOf } from "../config/price-schedules.ts";
import type { StagePlugin } from "../plugin/contract.ts";
import type { CompileContext } from "./context.ts";
import { outputLimit } from "./output-limit.ts";
import { type TargetEntry, targetsOf } from "./targets.ts";

export function authenticateOptions(config: ResolvedConfig): object {
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

interface Place {
  readonly context: CompileContext;
  readonly project: ProjectConfig;
  readonly endpoint: EndpointConfig;
  /** What limits and sums of the endpoint are kept under. */
  readonly subject: string;
}

/** What stages need beside keys, by their names. */
const COMPUTED: Readonly<Record<string, (place: Place) => object | undefined>> = {
  limit: ({ subject }) => ({ subject }),
  budget: budgetTerms,
};

/** undefined: nothing that the stage reads is set, and it costs the endpoint's calls nothing. */
export function stageOptions(
  context: CompileContext,
  project: ProjectConfig,
  endpoint: EndpointConfig,
  { name, endpointKeys = {} }: StagePlugin<never>,
): object | undefined {
  const values = Object.keys(endpointKeys).map((key): [string, unknown] => [key, Reflect.get(endpoint, key)]);
  if (values.length > 0 && values.every(([, value]) => value === null)) return undefined;
  const subject = `${project.uuid}/${endpoint.slug}`;
  const computed = COMPUTED[name] ?? (() => ({}));
  const terms = computed({ context, project, endpoint, subject });
  return terms && { ...terms, ...Object.fromEntries(values) };
}

function budgetTerms({ context, project, endpoint, subject }: Place): object | undefined {
  const { config } = context;
  const targets = targetsOf(project, endpoint);
  const schedules = schedulesOf(config, endpoint, targets);
  if (Object.keys(schedules).length === 0) return undefined;
  const hasOwnPrice = endpoint.estimated_cost_per_1k_tokens_usd !== null;
  return {
    subject,
    cap_nano_usd: endpoint.monthly_budget_usd?.nanoUsd ?? null,
    cap_text: endpoint.monthly_budget_usd?.text ?? "",
    schedules,
    ...(hasOwnPrice && { list_schedules: listSchedulesOf(config, targets) }),
    // Only clients of aliases can ask for tools that ask other models.
    ...("allowed_fields" in endpoint && innerTerms(config, targets)),
    ...(endpoint.max_output_tokens === null && { output_limits: outputLimits(context, project, targets) }),
    ...(endpoint.output_schema !== null && {
      schema_characters: JSON.stringify(endpoint.output_schema).length,
    }),
    providers: [...new Set(targets.map(({ provider }) => provider))],
  };
}

function innerTerms(config: ResolvedConfig, targets: readonly TargetEntry[]): object {
  const inner = innerSchedulesOf(config, targets);
  return Object.keys(inner).length === 0 ? {} : { inner_schedules: inner };
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
