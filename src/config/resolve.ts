/**
 * A filled and checked configuration -> `ResolvedConfig`: amounts made exact, templates applied, ids and slugs derived.
 * Every other key is passed on as it is. Reports nothing: what could be wrong has been checked.
 */

import { numericId, uuidV5 } from "../base/ids.ts";
import { derivedTokenId } from "../base/token.ts";
import { withoutTrailingSlashes } from "../base/trailing-slashes.ts";
import { fill } from "../plugin/schema-defaults.ts";
import type { ValueOf } from "../plugin/schema-type.ts";
import { optionsBesideUse } from "./check/options.ts";
import type {
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
import { resolvePrice } from "./resolve-prices.ts";
import type { ConfigSchema } from "./schema/config.ts";
import { GUARDRAIL_KEYS } from "./schema/endpoint.ts";
import { provider as providerSchema } from "./schema/gateway.ts";
import { slugOf } from "./slug.ts";
import { usd } from "./usd.ts";

type Config = ValueOf<ConfigSchema>;
type Project = Config["projects"][number];
type Endpoint = Project["endpoints"][number];
type Alias = Project["aliases"][number];
type Guardrail = Endpoint["guardrails"][number];

interface Resolvable {
  /** Without errors: nothing that is required is missing. */
  readonly config: Config;
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
  const { include: _, ...own } = config;
  return {
    ...own,
    plugins: modules,
    providers: resolveProviders(resolution),
    prices: config.prices.map((price) => resolvePrice(tree, price)),
    control_plane: {
      ...config.control_plane,
      tokens: config.control_plane.tokens.map((token) => ({
        ...token,
        hash: token.hash.toLowerCase(),
        expires_at: momentMs(token.expires_at),
      })),
    },
    projects: config.projects.map((project) => resolveProject(project, resolution)),
  };
}

/** All known providers, those that the configuration does not name with the defaults. */
function resolveProviders(resolution: Resolution): Readonly<Record<string, ProviderConfig>> {
  const { config, plugins } = resolution;
  const providers: Record<string, ProviderConfig> = {};
  for (const name of new Set([...plugins.names("provider"), ...Object.keys(config.providers)])) {
    // What the section's schema makes of an empty map is a whole provider.
    const given = config.providers[name] ?? (fill(providerSchema, {}) as ProviderConfig);
    const options = filledOptions(resolution, "provider", name, given.options);
    providers[name] = { ...given, options, base_url: withoutSlash(given.base_url) };
  }
  return providers;
}

function resolveProject(project: Project, resolution: Resolution): ProjectConfig {
  const { tree, config } = resolution;
  const { include: _, provider_templates: templates, endpoint_defaults: _applied, ...own } = project;
  const uuid = project.uuid.toLowerCase();
  const choices: Choices = new Map(templates.map((template) => [template.name, template]));
  return {
    ...own,
    uuid,
    id: project.id ?? numericId(uuid),
    credentials: project.credentials.map((credential, index) => {
      const { provider } = credential;
      const options = { ...config.providers[provider]?.options, ...credential.options };
      return {
        ...credential,
        api_key: credential.api_key ?? "",
        base_url: withoutSlash(credential.base_url),
        options: filledOptions(resolution, "provider", provider, options),
        at: placeOf(tree, project.credentials, index),
      };
    }),
    tokens: project.tokens.map((token) => resolveToken(token, tree)),
    stages: resolveStages(project.stages, resolution),
    endpoints: project.endpoints.map((endpoint, index) => ({
      ...resolveEndpoint(endpoint, uuid, choices, resolution),
      at: placeOf(tree, project.endpoints, index),
    })),
    aliases: project.aliases.map((alias, index) => ({
      ...resolveCallSettings(alias, choices, resolution),
      at: placeOf(tree, project.aliases, index),
    })),
    webhooks: project.webhooks.map((webhook) => ({
      ...webhook,
      secret: typeof webhook.secret === "string" ? [webhook.secret] : webhook.secret,
    })),
  };
}

function resolveToken(token: Project["tokens"][number], tree: Tree): TokenConfig {
  const hash = token.hash.toLowerCase();
  const id = token.id === null ? derivedTokenId(hash) : String(token.id);
  return {
    ...token,
    id,
    name: token.name ?? id,
    hash,
    monthly_budget_usd_cap: usd(tree, token, "monthly_budget_usd_cap"),
    expires_at: momentMs(token.expires_at),
  };
}

/** What chooses a model: a template by its name, or an endpoint or alias itself. */
type Choices = ReadonlyMap<string, Pick<Endpoint, "provider" | "model" | "credential">>;

function resolveEndpoint(
  endpoint: Endpoint,
  projectUuid: string,
  choices: Choices,
  resolution: Resolution,
): Omit<EndpointConfig, "at"> {
  const slug = endpoint.slug ?? slugOf(endpoint.name);
  return {
    ...resolveCallSettings(endpoint, choices, resolution),
    uuid: endpoint.uuid?.toLowerCase() ?? uuidV5(projectUuid, slug),
    slug,
    input_schema: once(endpoint.input_schema, resolution),
    output_schema: once(endpoint.output_schema, resolution),
    stages: resolveStages(endpoint.stages, resolution),
  };
}

/** Of an endpoint or alias: its choice of a model, amounts and guardrails resolved, its other keys as they are. */
function resolveCallSettings<T extends Endpoint | Alias>(from: T, choices: Choices, resolution: Resolution) {
  const { tree } = resolution;
  const { provider_template: template, ...own } = from;
  const { provider, model, credential } = choices.get(template ?? "") ?? from;
  return {
    ...own,
    provider: provider ?? "",
    model: model ?? "",
    credential: credential ?? "",
    monthly_budget_usd: usd(tree, from, "monthly_budget_usd"),
    estimated_cost_per_1k_tokens_usd: usd(tree, from, "estimated_cost_per_1k_tokens_usd"),
    guardrails: from.guardrails.map((use, index) =>
      resolveGuardrail(use, { list: from.guardrails, index }, resolution),
    ),
  };
}

function resolveGuardrail(
  guardrail: Guardrail,
  { list, index }: { readonly list: object; readonly index: number },
  resolution: Resolution,
): GuardrailUse {
  const given = { ...optionsBesideUse(guardrail), ...guardrail.options };
  const own: Record<string, unknown> = {};
  for (const key of GUARDRAIL_KEYS) own[key] = guardrail[key];
  return {
    ...(own as Omit<GuardrailUse, "at">), // The keys that this type is made of.
    on: onceList(guardrail.on, resolution),
    roles: onceList(guardrail.roles, resolution),
    options: filledOptions(resolution, "guardrail", guardrail.use, given),
    at: placeOf(resolution.tree, list, index),
  };
}

function resolveStages(uses: Endpoint["stages"], resolution: Resolution): readonly StageUse[] {
  return uses.map(({ use, options }, index) => ({
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

function momentMs(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}

function withoutSlash(url: string | null): string | null {
  return url === null ? null : withoutTrailingSlashes(url);
}
