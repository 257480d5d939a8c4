/**
 * A configuration that has passed its schema and got its defaults, still in the YAML's own values: amounts are numbers
 * or texts, references between things are names. What is `undefined` here was required, and its absence reported.
 */
import type { Scope } from "../../plugin/exchange.ts";
import type { JsonSchema } from "../../plugin/index.ts";
import type {
  ErrorFormat,
  McpServerConfig,
  OAuthConnectionConfig,
  ProjectType,
  ProviderConfig,
  ProxyEndpointConfig,
  ResolvedConfig,
} from "../model.ts";

/** A decimal, as a number or in quotes. */
export type FilledUsd = number | string;

export interface FilledConfig
  extends Pick<
    ResolvedConfig,
    "version" | "server" | "admin" | "state" | "reload" | "log" | "telemetry" | "network"
  > {
  readonly plugins: readonly string[];
  readonly providers: Readonly<Record<string, ProviderConfig>>;
  readonly prices: readonly FilledPrice[];
  readonly control_plane: {
    readonly tokens: readonly {
      readonly name?: string;
      readonly hash?: string;
      readonly expires_at: string | null;
    }[];
    readonly listener: "public" | "admin";
  };
  readonly projects: readonly FilledProject[];
}

export interface FilledAmounts {
  readonly input?: FilledUsd | null;
  readonly output?: FilledUsd | null;
  readonly cached_input: FilledUsd | null;
  readonly cache_write: FilledUsd | null;
  readonly cache_write_1h: FilledUsd | null;
}

export interface FilledPriceList extends FilledAmounts {
  readonly long_prompt: (FilledAmounts & { readonly above_tokens?: number }) | null;
}

export interface FilledTier extends FilledPriceList {
  readonly factor: number | null;
}

export interface FilledPrice extends FilledPriceList {
  readonly provider?: string;
  readonly model?: string;
  readonly tiers: Readonly<Record<string, FilledTier | null>>;
  readonly geo: Readonly<Record<string, number>>;
  readonly web_search: FilledUsd | null;
  readonly next: (FilledPriceList & { readonly from?: string }) | null;
}

export interface FilledProject {
  readonly uuid?: string;
  readonly id: number | null;
  readonly name?: string;
  readonly type?: ProjectType;
  readonly error_format: ErrorFormat;
  readonly credentials: readonly FilledCredential[];
  readonly provider_templates: readonly FilledTemplate[];
  readonly tokens: readonly FilledToken[];
  readonly stages: readonly FilledStageUse[];
  readonly endpoints: readonly FilledEndpoint[];
  readonly aliases: readonly FilledAlias[];
  readonly proxy_endpoints: readonly FilledProxyEndpoint[];
  readonly oauth_connections: readonly FilledOAuthConnection[];
  readonly mcp_servers: readonly FilledMcpServer[];
  readonly webhooks: readonly FilledWebhook[];
}

export interface FilledCredential {
  readonly name?: string;
  readonly provider?: string;
  readonly api_key: string | null;
  readonly base_url: string | null;
  readonly is_active: boolean;
  readonly options: Readonly<Record<string, unknown>>;
}

export interface FilledTemplate {
  readonly name?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly credential: string | null;
}

export interface FilledToken {
  readonly id: number | string | null;
  readonly name: string | null;
  readonly hash?: string;
  readonly scopes: readonly Scope[];
  readonly is_active: boolean;
  readonly monthly_budget_usd_cap: FilledUsd | null;
  readonly expires_at: string | null;
}

export interface FilledStageUse {
  readonly use?: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Options stand beside these keys, under `options`, or both. */
export interface FilledGuardrailUse extends FilledStageUse {
  readonly on: readonly ("input" | "output")[];
  readonly roles: readonly ("user" | "tool" | "system")[];
  readonly on_error: "block" | "allow";
  readonly timeout_ms: number;
  readonly isolate: boolean;
  readonly shadow: boolean;
  readonly [option: string]: unknown;
}

export interface FilledCallSettings {
  readonly provider: string | null;
  readonly model: string | null;
  readonly credential: string | null;
  readonly provider_template: string | null;
  readonly failover: readonly { readonly credential?: string; readonly model?: string }[];
  readonly temperature: number | null;
  readonly top_p: number | null;
  /** null: of an alias that sets no cap. */
  readonly max_output_tokens: number | null;
  readonly usage_hard_limit_tokens: number | null;
  readonly monthly_budget_usd: FilledUsd | null;
  readonly budget_estimate: "worst_case" | "expected";
  readonly estimated_cost_per_1k_tokens_usd: FilledUsd | null;
  readonly rate_limit_per_minute: number | null;
  readonly rate_limit_per_hour: number | null;
  readonly guardrails: readonly FilledGuardrailUse[];
}

export interface FilledEndpoint extends FilledCallSettings {
  readonly name?: string;
  readonly uuid: string | null;
  readonly slug: string | null;
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
  readonly stages: readonly FilledStageUse[];
}

export interface FilledAlias extends FilledCallSettings {
  readonly allowed_fields: readonly string[] | null;
  readonly alias?: string;
  readonly is_active: boolean;
}

type Requires<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

export type FilledProxyEndpoint = Requires<ProxyEndpointConfig, "slug" | "upstream_url">;

export type FilledOAuthConnection = Requires<
  OAuthConnectionConfig,
  "name" | "token_url" | "client_id" | "client_secret"
>;

export type FilledMcpServer = Requires<McpServerConfig, "name" | "url">;

export interface FilledWebhook {
  readonly name?: string;
  readonly url?: string;
  readonly events: readonly string[];
  readonly active: boolean;
  readonly secret?: string | readonly string[];
}
