/**
 * A filled and checked configuration -> `ResolvedConfig`: amounts made exact, templates applied, ids and slugs derived,
 * names of things as the rest of the gateway expects them. Reports nothing: what could be wrong has been checked.
 */

import { numericId, uuidV5 } from "../base/ids.ts";
import { derivedTokenId } from "../base/token.ts";
import { withoutTrailingSlashes } from "../base/trailing-slashes.ts";
import { optionsBesideUse } from "./check/options.ts";
import type {
  CallSettings,
  CredentialConfig,
  EndpointConfig,
  GuardrailUse,
  PluginModule,
  ProjectConfig,
  ProviderConfig,
  ResolvedConfig,
  SourcePlace,
  StageUse,
  TokenConfig,
} from "./model.ts";
import type { PluginKind, PluginLookup } from "./plugins.ts";
import { isPlainMap, type Tree } from "./read/tree.ts";
import { resolvePrice, usd } from "./resolve-prices.ts";
import { fill } from "./schema/defaults.ts";
import type {
  FilledCallSettings,
  FilledConfig,
  FilledEndpoint,
  FilledGuardrailUse,
  FilledProject,
  FilledStageUse,
  FilledToken,
} from "./schema/filled.ts";
import { providers as providersSchema } from "./schema/gateway.ts";
import { slugOf } from "./slug.ts";

interface Resolvable {
  readonly config: FilledConfig;
  readonly tree: Tree;
  readonly plugins: PluginLookup;
  readonly modules: readonly PluginModule[];
}

interface Resolution extends Resolvable {
  /** Values by their JSON; see `once`. */
  readonly known: Map<string, unknown>;
}

export function resolveConfig(resolvable: Resolvable): ResolvedConfig {
  const resolution: Resolution = { ...resolvable, known: new Map() };
  const { config, tree, modules } = resolution;
  const { version, server, admin, state, reload, log, telemetry, network } = config;
  return {
    ...{ version, server, admin, state, reload, log, telemetry, network },
    plugins: modules,
    providers: resolveProviders(resolution),
    prices: config.prices.map((price) => resolvePrice(tree, price)),
    control_plane: {
      listener: config.control_plane.listener,
      tokens: config.control_plane.tokens.map(({ name = "", hash = "", expires_at }) => ({
        name,
        hash: hash.toLowerCase(),
        expires_at: expires_at === null ? null : Date.parse(expires_at),
      })),
    },
    projects: config.projects.map((project) => resolveProject(project, resolution)),
  };
}

/** Every known provider, so that nobody needs to know the defaults again. */
function resolveProviders(resolution: Resolution): Readonly<Record<string, ProviderConfig>> {
  const { config, plugins } = resolution;
  const providers: Record<string, ProviderConfig> = {};
  const { additionalProperties: schema } = providersSchema;
  for (const name of new Set([...plugins.names("provider"), ...Object.keys(config.providers)])) {
    // What the section's schema makes of an empty map is a whole provider.
    const filled = typeof schema === "object" ? (fill(schema, {}) as ProviderConfig) : undefined;
    const given = config.providers[name] ?? filled;
    if (given === undefined) continue;
    const options = filledOptions(resolution, "provider", name, given.options);
    providers[name] = { ...given, options, base_url: withoutSlash(given.base_url) };
  }
  return providers;
}

function resolveProject(project: FilledProject, resolution: Resolution): ProjectConfig {
  const { tree, config } = resolution;
  const uuid = (project.uuid ?? "").toLowerCase();
  const templates = new Map(project.provider_templates.map((template) => [template.name, template]));
  const settings = (from: FilledCallSettings): CallSettings => {
    const template = templates.get(from.provider_template ?? undefined);
    return resolveCallSettings(from, template ?? from, resolution);
  };
  return {
    uuid,
    id: project.id ?? numericId(uuid),
    name: project.name ?? "",
    type: project.type ?? "ai_gateway",
    error_format: project.error_format,
    credentials: project.credentials.map((credential, index): CredentialConfig => {
      const { name = "", provider = "", is_active } = credential;
      const options = { ...config.providers[provider]?.options, ...credential.options };
      return {
        ...{ name, provider, is_active },
        api_key: credential.api_key ?? "",
        base_url: withoutSlash(credential.base_url),
        options: filledOptions(resolution, "provider", provider, options),
        at: placeOf(tree, project.credentials, index),
      };
    }),
    tokens: project.tokens.map((token) => resolveToken(token, tree)),
    stages: resolveStages(project.stages, resolution),
    endpoints: project.endpoints.map((endpoint, index) => ({
      ...resolveEndpoint(endpoint, uuid, resolution),
      ...settings(endpoint),
      at: placeOf(tree, project.endpoints, index),
    })),
    aliases: project.aliases.map((alias, index) => ({
      alias: alias.alias ?? "",
      is_active: alias.is_active,
      allowed_fields: alias.allowed_fields,
      ...settings(alias),
      at: placeOf(tree, project.aliases, index),
    })),
    proxy_endpoints: project.proxy_endpoints.map((proxy) => ({ slug: "", upstream_url: "", ...proxy })),
    oauth_connections: project.oauth_connections.map((connection) => ({
      ...{ name: "", token_url: "", client_id: "", client_secret: "" },
      ...connection,
    })),
    mcp_servers: project.mcp_servers.map((server) => ({ name: "", url: "", ...server })),
    webhooks: project.webhooks.map(({ name = "", url = "", events, active, secret = [] }) => {
      return { name, url, events, active, secret: typeof secret === "string" ? [secret] : secret };
    }),
  };
}

function resolveToken(token: FilledToken, tree: Tree): TokenConfig {
  const hash = (token.hash ?? "").toLowerCase();
  const id = token.id === null ? derivedTokenId(hash) : String(token.id);
  const { scopes, is_active } = token;
  const expires_at = token.expires_at === null ? null : Date.parse(token.expires_at);
  const monthly_budget_usd_cap = usd(tree, token, "monthly_budget_usd_cap");
  return { id, name: token.name ?? id, hash, scopes, is_active, monthly_budget_usd_cap, expires_at };
}

type EndpointOnly = Omit<EndpointConfig, keyof CallSettings | "at">;

function resolveEndpoint(
  endpoint: FilledEndpoint,
  projectUuid: string,
  resolution: Resolution,
): EndpointOnly {
  const { name = "" } = endpoint;
  const slug = endpoint.slug ?? slugOf(name);
  return {
    name,
    uuid: endpoint.uuid?.toLowerCase() ?? uuidV5(projectUuid, slug),
    slug,
    description: endpoint.description,
    is_active: endpoint.is_active,
    expose_as_mcp_tool: endpoint.expose_as_mcp_tool,
    streaming_enabled: endpoint.streaming_enabled,
    sessions_enabled: endpoint.sessions_enabled,
    session_ttl_seconds: endpoint.session_ttl_seconds,
    session_max_messages: endpoint.session_max_messages,
    session_max_tokens: endpoint.session_max_tokens,
    session_overflow: endpoint.session_overflow,
    prompt: endpoint.prompt,
    user_prompt_template: endpoint.user_prompt_template,
    input_schema: once(endpoint.input_schema, resolution),
    output_schema: once(endpoint.output_schema, resolution),
    stages: resolveStages(endpoint.stages, resolution),
  };
}

interface Choice {
  readonly provider?: string | null;
  readonly model?: string | null;
  readonly credential: string | null;
}

function resolveCallSettings(from: FilledCallSettings, choice: Choice, resolution: Resolution): CallSettings {
  const { tree } = resolution;
  return {
    provider: choice.provider ?? "",
    model: choice.model ?? "",
    credential: choice.credential ?? "",
    failover: from.failover.map(({ credential = "", model = "" }) => ({ credential, model })),
    temperature: from.temperature,
    top_p: from.top_p,
    max_output_tokens: from.max_output_tokens,
    usage_hard_limit_tokens: from.usage_hard_limit_tokens,
    monthly_budget_usd: usd(tree, from, "monthly_budget_usd"),
    budget_estimate: from.budget_estimate,
    estimated_cost_per_1k_tokens_usd: usd(tree, from, "estimated_cost_per_1k_tokens_usd"),
    rate_limit_per_minute: from.rate_limit_per_minute,
    rate_limit_per_hour: from.rate_limit_per_hour,
    guardrails: from.guardrails.map((use, index) =>
      resolveGuardrail(use, { list: from.guardrails, index }, resolution),
    ),
  };
}

function resolveGuardrail(
  guardrail: FilledGuardrailUse,
  { list, index }: { readonly list: object; readonly index: number },
  resolution: Resolution,
): GuardrailUse {
  const { use = "", on, roles, on_error, timeout_ms, isolate, shadow } = guardrail;
  const given = { ...optionsBesideUse(guardrail), ...guardrail.options };
  const options = filledOptions(resolution, "guardrail", use, given);
  const at = placeOf(resolution.tree, list, index);
  return {
    use,
    on: onceList(on, resolution),
    roles: onceList(roles, resolution),
    on_error,
    timeout_ms,
    isolate,
    shadow,
    options,
    at,
  };
}

function resolveStages(uses: readonly FilledStageUse[], resolution: Resolution): readonly StageUse[] {
  return uses.map(({ use = "", options }, index) => ({
    use,
    options: filledOptions(resolution, "stage", use, options),
    at: placeOf(resolution.tree, uses, index),
  }));
}

/** Options with the defaults that stand in the plugin's schema. */
function filledOptions(resolution: Resolution, kind: PluginKind, name: string, options: Options): Options {
  const schema = resolution.plugins.find(kind, name)?.schema;
  // `fill` of a map is a map.
  return once(isPlainMap(schema) ? (fill(schema, options) as Options) : options, resolution);
}

/** Equal values become one: of ten thousand endpoints most have the schemas and guardrails of others. */
function once<T>(value: T, { known }: Resolution): T {
  const text = JSON.stringify(value);
  // Only a value of the same type has the same text.
  const first = known.get(text) as T | undefined;
  if (first !== undefined) return first;
  known.set(text, value);
  return value;
}

/** The same for words without commas, whose text costs less. */
function onceList<T extends readonly string[]>(words: T, { known }: Resolution): T {
  const text = words.join();
  // No JSON text begins like a word, so only lists are known by such a text.
  const first = known.get(text) as T | undefined;
  if (first !== undefined) return first;
  known.set(text, words);
  return words;
}

type Options = Readonly<Record<string, unknown>>;

function placeOf(tree: Tree, container: object, key: number): SourcePlace {
  const range = tree.valueRange({ container, key, parent: undefined });
  if (range === undefined) return { file: "", line: 1, column: 1 };
  return { file: range.source.path, ...range.source.position(range.start) };
}

function withoutSlash(url: string | null): string | null {
  return url === null || url === undefined ? null : withoutTrailingSlashes(url);
}
