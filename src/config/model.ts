/**
 * A resolved configuration: every reference replaced, every default filled in, every cross-reference known to hold.
 * Plain data in the YAML's own names, so that it can be sent to a worker thread and be compared. Types follow from the
 * schema; what is written out here is what resolving changes.
 */
import type { Money } from "../base/money.ts";
import type { ValueOf } from "../plugin/schema-type.ts";
import type { ConfigSchema } from "./schema/config.ts";
import type { alias, endpoint, guardrailKeys, stageUse } from "./schema/endpoint.ts";
import type { provider } from "./schema/gateway.ts";
import type { amounts } from "./schema/prices.ts";
import type {
  credential,
  mcpServer,
  oauthConnection,
  project,
  proxyEndpoint,
  token,
  webhook,
} from "./schema/project.ts";

/** `T` with `C` in place of the keys of the same names. */
type With<T, C> = Omit<T, keyof C> & C;

type Config = ValueOf<ConfigSchema>;

export type ResolvedConfig = With<
  Omit<Config, "include">,
  {
    /** In load order. */
    readonly plugins: readonly PluginModule[];
    readonly prices: readonly PriceConfig[];
    readonly control_plane: With<Config["control_plane"], { readonly tokens: readonly ControlTokenConfig[] }>;
    readonly projects: readonly ProjectConfig[];
  }
>;

export type ServerConfig = Config["server"];
export type LogLevel = Config["log"]["level"];
export type ProviderConfig = ValueOf<typeof provider>;

/** `hash`: in lower case. `expires_at`: Unix milliseconds. */
type ControlTokenConfig = With<
  Config["control_plane"]["tokens"][number],
  { readonly expires_at: number | null }
>;

/** A module that registers plugins. */
export interface PluginModule {
  /** Absolute path, or package name. */
  readonly specifier: string;
  /** Where a package is resolved from: the folder of the config file that names it. */
  readonly from: string;
  /** Hash of a local module's files: when it changes, the module is loaded again. "" for a package. */
  readonly version: string;
  /** A local module and everything that it imports by relative paths. Empty for a package. */
  readonly files: readonly string[];
  readonly at: SourcePlace;
}

/** Where something is written in the YAML, for errors that are found only later. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

type Placed = { readonly at: SourcePlace };

/** USD per 1,000,000 tokens. */
export type PriceAmounts = With<
  { readonly [K in keyof typeof amounts]: Money | null },
  { readonly input: Money; readonly output: Money }
>;

export interface PriceList extends PriceAmounts {
  readonly long_prompt: (PriceAmounts & { readonly above_tokens: number }) | null;
}

type Price = Config["prices"][number];

export interface PriceConfig extends Pick<Price, "provider" | "model" | "geo">, PriceList {
  /** A number: what the other prices are multiplied by. */
  readonly tiers: Readonly<Record<string, PriceList | number>>;
  /** USD for one. */
  readonly web_search: Money | null;
  readonly next: (PriceList & { readonly from_ms: number }) | null;
}

type Project = ValueOf<typeof project>;

export type ErrorFormat = Project["error_format"];
export type ProjectType = Project["type"];

/** Provider templates and `endpoint_defaults` are already applied. */
export type ProjectConfig = With<
  Omit<Project, "include" | "provider_templates" | "endpoint_defaults">,
  {
    readonly id: number;
    readonly credentials: readonly CredentialConfig[];
    readonly tokens: readonly TokenConfig[];
    readonly stages: readonly StageUse[];
    readonly endpoints: readonly EndpointConfig[];
    readonly aliases: readonly AliasConfig[];
    readonly webhooks: readonly WebhookConfig[];
  }
>;

export type CredentialConfig = With<ValueOf<typeof credential>, { readonly api_key: string }> & Placed;

/** `hash`: in lower case. */
export type TokenConfig = With<
  ValueOf<typeof token>,
  {
    /** The integer or string as text; derived from the hash when absent. */
    readonly id: string;
    readonly name: string;
    readonly monthly_budget_usd_cap: Money | null;
    /** Unix milliseconds. */
    readonly expires_at: number | null;
  }
>;

/** A third-party stage in use. */
export type StageUse = ValueOf<typeof stageUse> & Placed;

/** A guardrail in use. In the YAML, options are written next to `use` or under `options`; here they are one map. */
export type GuardrailUse = ValueOf<{
  readonly type: "object";
  readonly properties: typeof guardrailKeys;
  readonly required: readonly ["use"];
}> &
  Placed;

type ChangedSettings = {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
  readonly monthly_budget_usd: Money | null;
  readonly estimated_cost_per_1k_tokens_usd: Money | null;
  readonly guardrails: readonly GuardrailUse[];
};

export type EndpointConfig = With<
  Omit<ValueOf<typeof endpoint>, "provider_template">,
  ChangedSettings & {
    readonly uuid: string;
    readonly slug: string;
    readonly stages: readonly StageUse[];
    /** null: of an alias that sets no cap; the client and the model say how long an answer may be. */
    readonly max_output_tokens: number | null;
    readonly allowed_fields?: AliasConfig["allowed_fields"];
  }
> &
  Placed;

export type AliasConfig = With<Omit<ValueOf<typeof alias>, "provider_template">, ChangedSettings> & Placed;

/** What endpoints and aliases share. */
export type CallSettings = Pick<EndpointConfig, keyof EndpointConfig & keyof AliasConfig>;

export type ProxyEndpointConfig = ValueOf<typeof proxyEndpoint>;
export type OAuthConnectionConfig = ValueOf<typeof oauthConnection>;
export type McpServerConfig = ValueOf<typeof mcpServer>;
/** `secret`: one, or two during rotation. */
type WebhookConfig = With<ValueOf<typeof webhook>, { readonly secret: readonly string[] }>;
