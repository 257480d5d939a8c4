/**
 * What a configuration is once it is resolved: every reference replaced, every default filled in, every
 * cross-reference known to hold. Plain data in the YAML's own names, so that it can cross to a worker thread and
 * be compared. Nothing here knows how it is run.
 */
import type { Money } from "../base/money.ts";
import type { Scope } from "../plugin/exchange.ts";
import type { JsonSchema } from "../plugin/index.ts";

export interface ResolvedConfig {
  readonly version: 1;
  readonly server: ServerConfig;
  readonly admin: AdminConfig;
  readonly state: StateConfig;
  readonly reload: {
    /** False: only explicit reloads. */
    readonly watch: boolean;
  };
  readonly log: { readonly level: LogLevel; readonly content: "none" | "redacted" | "full" };
  readonly telemetry: {
    readonly otlp: {
      readonly endpoint: string | null;
      readonly headers: Readonly<Record<string, string>>;
      readonly content: boolean;
    };
  };
  readonly network: { readonly allow: readonly string[] };
  /** Module files (absolute) or package names, in load order. */
  readonly plugins: readonly PluginModule[];
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly prices: readonly PriceConfig[];
  readonly control_plane: {
    readonly tokens: readonly ControlTokenConfig[];
    readonly listener: "public" | "admin";
  };
  readonly projects: readonly ProjectConfig[];
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly max_body_bytes: number;
  readonly max_buffered_bytes: number;
  readonly max_connections_per_address: number;
  readonly max_judged_characters: number;
  readonly request_timeout_ms: number;
  readonly stream_idle_timeout_ms: number;
  /** null: no limit. */
  readonly stream_timeout_ms: number | null;
  readonly drain_timeout_ms: number;
  readonly lame_duck_ms: number;
  readonly body_timeout_ms: number;
  readonly trusted_proxies: readonly string[];
  readonly expose_config_hash: boolean;
  readonly expose_cost: boolean;
}

export interface AdminConfig {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** `sha256:` and 64 hex digits; null: `/metrics` needs no token. */
  readonly metrics_token: string | null;
}

export interface ControlTokenConfig {
  readonly name: string;
  /** `sha256:` and 64 hex digits in lower case. */
  readonly hash: string;
  /** Unix milliseconds. */
  readonly expires_at: number | null;
}

export interface StateConfig {
  readonly driver: string;
  readonly directory: string;
  readonly snapshot_interval_seconds: number;
  readonly on_error: "degrade" | "refuse";
  readonly url: string;
  readonly key_prefix: string;
  readonly on_unavailable: "deny" | "allow";
  readonly on_data_loss: "deny" | "allow";
  readonly max_sessions: number;
  /** Of a store that a plugin registers. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A module that registers plugins. */
export interface PluginModule {
  /** Absolute path, or package name. */
  readonly specifier: string;
  /** Where a package is resolved from: the folder of the config file that names it. */
  readonly from: string;
  /** Hash of a local module's files: one that has changed is loaded again, whole. "" for a package. */
  readonly version: string;
  /** A local module and what it imports by relative paths, over and over. Empty for a package. */
  readonly files: readonly string[];
  readonly at: SourcePlace;
}

/** Where something stands in the YAML, for errors that show only later. */
export interface SourcePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface ProviderConfig {
  readonly enabled: boolean;
  /** null: the provider's own. */
  readonly base_url: string | null;
  readonly timeout_ms: number;
  readonly first_byte_timeout_ms: number;
  readonly stream_idle_timeout_ms: number;
  readonly max_connections: number;
  /** URL of a forward proxy; null: the environment's. */
  readonly proxy: string | null;
  /** PEM; null: the system's certificates. */
  readonly ca: string | null;
  readonly client_cert: string | null;
  readonly client_key: string | null;
  readonly http2: boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

/** USD per 1,000,000 tokens. */
export interface PriceAmounts {
  readonly input: Money;
  readonly output: Money;
  readonly cached_input: Money | null;
  readonly cache_write: Money | null;
  readonly cache_write_1h: Money | null;
}

export interface PriceList extends PriceAmounts {
  readonly long_prompt: (PriceAmounts & { readonly above_tokens: number }) | null;
}

export interface PriceConfig extends PriceList {
  readonly provider: string;
  readonly model: string;
  /** By processing tier: prices of its own, or what the others are multiplied by. */
  readonly tiers: Readonly<Record<string, PriceList | number>>;
  /** By place: what token prices are multiplied by. */
  readonly geo: Readonly<Record<string, number>>;
  /** USD for one. */
  readonly web_search: Money | null;
  readonly next: (PriceList & { readonly from_ms: number }) | null;
}

/** How a wrapper project's errors look. */
export type ErrorFormat = "auto" | "specification" | "openai";

export type ProjectType = "ai_gateway" | "ai_wrapper" | "proxy";

export interface ProjectConfig {
  readonly uuid: string;
  readonly id: number;
  readonly name: string;
  readonly type: ProjectType;
  readonly error_format: ErrorFormat;
  readonly credentials: readonly CredentialConfig[];
  readonly tokens: readonly TokenConfig[];
  readonly stages: readonly StageUse[];
  /** Provider templates are already applied. */
  readonly endpoints: readonly EndpointConfig[];
  readonly aliases: readonly AliasConfig[];
  readonly proxy_endpoints: readonly ProxyEndpointConfig[];
  readonly oauth_connections: readonly OAuthConnectionConfig[];
  readonly mcp_servers: readonly McpServerConfig[];
  readonly webhooks: readonly WebhookConfig[];
}

export interface CredentialConfig {
  readonly name: string;
  readonly provider: string;
  readonly api_key: string;
  readonly base_url: string | null;
  readonly is_active: boolean;
  readonly options: Readonly<Record<string, unknown>>;
  readonly at: SourcePlace;
}

export interface TokenConfig {
  /** The config's integer or string, as text; derived from the hash when absent. */
  readonly id: string;
  readonly name: string;
  /** `sha256:` and 64 hex digits in lower case. */
  readonly hash: string;
  readonly scopes: readonly Scope[];
  readonly is_active: boolean;
  readonly monthly_budget_usd_cap: Money | null;
  /** Unix milliseconds. */
  readonly expires_at: number | null;
}

/** A third-party stage in use. */
export interface StageUse {
  readonly use: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly at: SourcePlace;
}

/** A guardrail in use. Options may stand beside `use` or under `options`; here they are one. */
export interface GuardrailUse {
  readonly use: string;
  readonly on: readonly ("input" | "output")[];
  /** Of the input: whose texts it judges. */
  readonly roles: readonly ("user" | "tool" | "system")[];
  readonly on_error: "block" | "allow";
  readonly timeout_ms: number;
  readonly isolate: boolean;
  readonly shadow: boolean;
  readonly options: Readonly<Record<string, unknown>>;
  readonly at: SourcePlace;
}

export interface FailoverEntry {
  readonly credential: string;
  readonly model: string;
}

/** What endpoints and aliases share: routing, limits, budgets, guardrails. */
export interface CallSettings {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
  readonly failover: readonly FailoverEntry[];
  readonly temperature: number | null;
  readonly top_p: number | null;
  /** null: of an alias that sets no cap; the client and the model say how long an answer may be. */
  readonly max_output_tokens: number | null;
  readonly usage_hard_limit_tokens: number | null;
  readonly monthly_budget_usd: Money | null;
  readonly budget_estimate: "worst_case" | "expected";
  readonly estimated_cost_per_1k_tokens_usd: Money | null;
  readonly rate_limit_per_minute: number | null;
  readonly rate_limit_per_hour: number | null;
  readonly guardrails: readonly GuardrailUse[];
  /** Of aliases: members of requests that clients may send beyond those that the gateway reads; null: see the schema. */
  readonly allowed_fields?: readonly string[] | null;
}

export interface EndpointConfig extends CallSettings {
  readonly name: string;
  readonly uuid: string;
  readonly slug: string;
  readonly description: string;
  readonly is_active: boolean;
  readonly expose_as_mcp_tool: boolean;
  readonly streaming_enabled: boolean;
  readonly sessions_enabled: boolean;
  readonly session_ttl_seconds: number;
  readonly session_max_messages: number;
  readonly session_max_tokens: number | null;
  readonly session_overflow: "trim" | "reject";
  readonly prompt: string;
  readonly user_prompt_template: string;
  readonly input_schema: JsonSchema | null;
  readonly output_schema: JsonSchema | null;
  readonly stages: readonly StageUse[];
  readonly at: SourcePlace;
}

export interface AliasConfig extends CallSettings {
  readonly alias: string;
  readonly is_active: boolean;
  readonly at: SourcePlace;
}

export interface ProxyEndpointConfig {
  readonly slug: string;
  readonly upstream_url: string;
  readonly allowed_methods: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly oauth_connection: string | null;
  readonly timeout_ms: number;
  readonly is_active: boolean;
  readonly rate_limit_per_minute: number | null;
  readonly rate_limit_per_hour: number | null;
}

export interface OAuthConnectionConfig {
  readonly name: string;
  readonly token_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly grant: "client_credentials" | "refresh_token";
  readonly refresh_token: string | null;
  readonly scopes: readonly string[];
}

export interface McpServerConfig {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly is_active: boolean;
}

export interface WebhookConfig {
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly active: boolean;
  /** One, or two during rotation. */
  readonly secret: readonly string[];
}
