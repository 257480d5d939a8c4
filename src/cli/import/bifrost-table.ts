/** What each key of Bifrost's `config.json` becomes. */
import type { MappingRow } from "./mapping.ts";

const NO_DATABASE = "Sluice has no database: configuration is in git, and limits and spend are in `state`.";
const NO_RETRY =
  "Sluice does not repeat a call to the same target: the next failover entry is asked at once.";
const NO_CACHE = "Sluice has no cache of answers; prompt caches of the providers work as they are.";
const LIMITS = "Budgets are monthly caps of tokens; rate limits are those of aliases.";
const TOKENS = "A token: make it with `sluice token new --name NAME`, and put its hash into the file.";

const row = (keys: string, rest: Omit<MappingRow, "keys">): MappingRow => ({
  keys: keys.split(" "),
  ...rest,
});
const unsupported = (keys: string, message: string) =>
  row(keys, { level: "unsupported", target: null, message });
const manual = (keys: string, target: string | null, message: string) =>
  row(keys, { level: "manual", target, message });
const exact = (keys: string, target: string | null, message: string) =>
  row(keys, { level: "exact", target, message });
const below = (prefix: string, keys: string): string =>
  keys
    .split(" ")
    .map((key) => `${prefix}.${key}`)
    .join(" ");

const KEY = "providers.*.keys[]";
const NETWORK = "providers.*.network_config";
const VIRTUAL = "governance.virtual_keys[]";

const PROVIDERS: readonly MappingRow[] = [
  row("providers.*", {
    level: "exact",
    or: ["approximate", "manual", "unsupported"],
    target: "projects[].credentials[].provider",
    message: "The provider of the credentials.",
  }),
  row(below(KEY, "name id"), {
    level: "exact",
    or: ["unsupported"],
    target: "projects[].credentials[].name",
    message: "A credential.",
  }),
  row(below(KEY, "value"), {
    level: "exact",
    or: ["manual", "unsupported"],
    target: "projects[].credentials[].api_key",
    message: "References are kept; a hard-coded key becomes a reference.",
  }),
  row(`${KEY}.value.env_var ${KEY}.value.value ${KEY}.value.from_env ${KEY}.value.ref ${KEY}.value.type`, {
    level: "exact",
    or: ["manual"],
    target: "projects[].credentials[].api_key",
    message: "References are kept.",
  }),
  row(below(KEY, "models"), {
    level: "exact",
    or: ["approximate", "manual", "unsupported"],
    target: "projects[].aliases[]",
    message: "An alias `provider/model` for each.",
  }),
  row(below(KEY, "weight"), {
    level: "approximate",
    or: ["exact", "unsupported"],
    target: "projects[].aliases[].failover",
    message: "The heaviest key is asked first, the others when it fails; calls are not spread.",
  }),
  row(below(KEY, "aliases"), {
    level: "exact",
    target: "projects[].aliases[].model",
    message: "Names of models at the provider.",
  }),
  row(`${KEY}.aliases.*`, {
    level: "exact",
    or: ["approximate", "unsupported"],
    target: "projects[].aliases[].model",
    message: "The name of the model at the provider.",
  }),
  row(below(KEY, "enabled"), {
    level: "exact",
    target: "projects[].credentials[].is_active",
    message: "Keys that are switched off are left out.",
  }),
  unsupported(
    below(KEY, "use_for_batch_api blacklisted_models config_hash status description"),
    "Aliases list what may be asked; batches are not served.",
  ),
  row(`${KEY}.azure_key_config.endpoint`, {
    level: "approximate",
    or: ["manual"],
    target: "projects[].credentials[].base_url",
    message: "The address of the resource's v1 API.",
  }),
  row(
    `${KEY}.azure_key_config.deployments ${KEY}.azure_key_config.deployments.* ${KEY}.deployments ${KEY}.deployments.*`,
    {
      level: "exact",
      or: ["unsupported"],
      target: "projects[].aliases[].model",
      message: "The model's name at Azure is that of the deployment.",
    },
  ),
  row(`${KEY}.azure_key_config.api_version`, {
    level: "approximate",
    target: null,
    message: "Azure's v1 API needs no version.",
  }),
  unsupported(
    `${KEY}.azure_key_config.client_id ${KEY}.azure_key_config.client_secret ${KEY}.azure_key_config.tenant_id ${KEY}.azure_key_config.scopes`,
    "Provider `openai` sends a key; tokens of Microsoft Entra are not fetched.",
  ),
  unsupported(
    `${KEY}.vertex_key_config ${KEY}.bedrock_key_config ${KEY}.bedrock_mantle_key_config ${KEY}.replicate_key_config ${KEY}.huggingface_key_config`,
    "Belongs to an upstream that no built-in provider speaks to.",
  ),
  row(`${KEY}.vllm_key_config.url ${KEY}.ollama_key_config.url ${KEY}.sgl_key_config.url`, {
    level: "exact",
    or: ["manual"],
    target: "projects[].credentials[].base_url",
    message: "The server that is asked.",
  }),
  row(`${KEY}.vllm_key_config.model_name`, {
    level: "exact",
    target: "projects[].aliases[].model",
    message: "The model of the server.",
  }),
  row(`${NETWORK}.base_url`, {
    level: "exact",
    or: ["approximate", "manual", "unsupported"],
    target: "projects[].credentials[].base_url",
    message: "The server that is asked.",
  }),
  row(`${NETWORK}.default_request_timeout_in_seconds`, {
    level: "exact",
    or: ["approximate", "unsupported"],
    target: "providers.<key>.timeout_ms",
    message: "The longest wait for a whole answer.",
  }),
  row(`${NETWORK}.stream_idle_timeout_in_seconds`, {
    level: "exact",
    or: ["approximate", "unsupported"],
    target: "providers.<key>.stream_idle_timeout_ms",
    message: "The longest silence inside a stream.",
  }),
  row(`${NETWORK}.max_conns_per_host`, {
    level: "exact",
    or: ["approximate", "unsupported"],
    target: "providers.<key>.max_connections",
    message: "Connections to one host.",
  }),
  row(`${NETWORK}.enforce_http2`, {
    level: "exact",
    or: ["unsupported"],
    target: "providers.<key>.http2",
    message: "HTTP/2 where the host offers it.",
  }),
  row(`${NETWORK}.max_retries`, {
    level: "unsupported",
    or: ["exact", "approximate"],
    target: "projects[].aliases[].failover",
    message: NO_RETRY,
  }),
  row(
    below(NETWORK, "retry_backoff_initial retry_backoff_max retry_backoff_initial_ms retry_backoff_max_ms"),
    { level: "unsupported", or: ["exact", "approximate"], target: null, message: NO_RETRY },
  ),
  unsupported(
    `${NETWORK}.extra_headers ${NETWORK}.beta_header_overrides`,
    "Providers of Sluice send their own headers; see `anthropic_beta` of a credential.",
  ),
  manual(
    `${NETWORK}.insecure_skip_verify`,
    "providers.<key>.ca",
    "Certificates are always verified: name your own with `providers.<key>.ca`.",
  ),
  manual(
    `${NETWORK}.ca_cert_pem`,
    "providers.<key>.ca",
    "Save the certificate as a file and write `ca: ${file:./ca.pem}`.",
  ),
  exact(
    `${NETWORK}.keep_alive_timeout_in_seconds`,
    null,
    "Connections are kept as long as the provider keeps them.",
  ),
  exact(
    `${NETWORK}.allow_private_network`,
    null,
    "Hosts of providers are the operator's and may be private.",
  ),
  unsupported(
    "providers.*.concurrency_and_buffer_size",
    "Sluice does not queue calls; above `providers.<key>.max_connections` they get 503 or go to the next target.",
  ),
  row("providers.*.proxy_config.type", {
    level: "exact",
    or: ["unsupported"],
    target: "providers.<key>.proxy",
    message: "A forward proxy.",
  }),
  row("providers.*.proxy_config.url", {
    level: "exact",
    or: ["manual", "unsupported"],
    target: "providers.<key>.proxy",
    message: "A forward proxy.",
  }),
  manual(
    "providers.*.proxy_config.username providers.*.proxy_config.password",
    "providers.<key>.proxy",
    "Write them into the address, by reference: `http://${env:PROXY_USER}:${env:PROXY_PASSWORD}@…`.",
  ),
  manual(
    "providers.*.proxy_config.ca_cert_pem",
    "providers.<key>.ca",
    "Save the certificate as a file and write `ca: ${file:./ca.pem}`.",
  ),
  row("providers.*.custom_provider_config.base_provider_type", {
    level: "exact",
    or: ["unsupported"],
    target: "projects[].credentials[].provider",
    message: "The provider whose format the server speaks.",
  }),
  exact(
    "providers.*.custom_provider_config.is_key_less",
    "projects[].credentials[].api_key",
    "Servers without keys get a placeholder.",
  ),
  unsupported(
    "providers.*.custom_provider_config.allowed_requests providers.*.custom_provider_config.request_path_overrides",
    "Chat completions and embeddings are asked for, at the provider's own paths.",
  ),
  unsupported(
    "providers.*.send_back_raw_request providers.*.send_back_raw_response providers.*.store_raw_request_response providers.*.openai_config providers.*.pricing_overrides providers.*.status providers.*.config_hash providers.*.description",
    "Sluice has no such switch.",
  ),
];

const CLIENT: readonly MappingRow[] = [
  exact("client.drop_excess_requests", null, "Calls never wait in a queue."),
  exact("client.initial_pool_size", null, "Sluice has no such pool."),
  exact("client.disable_db_pings_in_health client.hide_deleted_virtual_keys_in_filters", null, NO_DATABASE),
  unsupported("client.prometheus_labels", "Labels of metrics are fixed, see docs/metrics.md."),
  unsupported(
    "client.allowed_origins client.allowed_headers",
    "No CORS headers: browsers should not hold tokens; set them in front of the gateway.",
  ),
  row("client.enable_logging", {
    level: "approximate",
    or: ["exact"],
    target: "log",
    message: "Every call is a JSON line on stdout; texts only as `log.content` says.",
  }),
  row("client.disable_content_logging", {
    level: "exact",
    or: ["manual"],
    target: "log.content",
    message: "Texts are not logged unless `log.content` says so.",
  }),
  exact("client.log_retention_days", "log", "Log lines go to stdout; retention is up to the log collector."),
  row("client.max_request_body_size_mb", {
    level: "exact",
    target: "server.max_body_bytes",
    message: "Larger bodies get 413.",
  }),
  row("client.enforce_governance_header client.enforce_auth_on_inference client.enforce_scim_auth", {
    level: "exact",
    or: ["manual"],
    target: "projects[].tokens[]",
    message: "Every call needs a token.",
  }),
  unsupported("client.allow_direct_keys", "Clients cannot bring keys of providers."),
  unsupported(
    "client.enable_litellm_fallbacks client.compat client.header_filter_config client.required_headers client.whitelisted_routes client.dual_credential_conflict_behavior client.async_job_result_ttl client.allow_per_request_content_storage_override client.allow_per_request_raw_override client.routing_chain_max_depth",
    "Sluice has no such switch.",
  ),
  exact(
    "client.logging_headers client.dump_errors_in_console_logs",
    "log",
    "Errors of providers are in the log; headers are not.",
  ),
  unsupported(
    "client.mcp_agent_depth client.mcp_tool_execution_timeout client.mcp_code_mode_binding_level client.mcp_tool_sync_interval client.mcp_disable_auto_tool_inject client.mcp_enable_temp_token_auth client.mcp_external_client_url client.mcp_server_auth_mode client.oauth2_server_config",
    "Tools are offered by the project's MCP bridge; the gateway runs no agent.",
  ),
  unsupported("client.webhook_config", "Deliveries are kept as audit records."),
];

const GOVERNANCE: readonly MappingRow[] = [
  row(below(VIRTUAL, "id name"), { level: "exact", target: "projects[].tokens[].id", message: "A token." }),
  manual(below(VIRTUAL, "value"), "projects[].tokens[].hash", TOKENS),
  row(below(VIRTUAL, "is_active"), {
    level: "exact",
    target: "projects[].tokens[].is_active",
    message: "Revoked or not.",
  }),
  row(below(VIRTUAL, "expires_at"), {
    level: "exact",
    or: ["manual"],
    target: "projects[].tokens[].expires_at",
    message: "Refused from then on.",
  }),
  exact(below(VIRTUAL, "description"), null, "Describes the key."),
  row(below(VIRTUAL, "budget_id budgets"), {
    level: "exact",
    or: ["approximate", "manual", "no effect"],
    target: "projects[].tokens[].monthly_budget_usd_cap",
    message: "A monthly cap.",
  }),
  row(below(VIRTUAL, "rate_limit_id"), {
    level: "manual",
    or: ["no effect"],
    target: "projects[].aliases[].rate_limit_per_minute",
    message: LIMITS,
  }),
  manual(
    below(VIRTUAL, "team_id customer_id access_profile_id"),
    "projects[]",
    "Budgets of a group: give its tokens a project of their own.",
  ),
  row(`${VIRTUAL}.provider_configs[].provider`, {
    level: "manual",
    or: ["exact", "no effect"],
    target: "projects[]",
    message:
      "Tokens may name every alias of their project: use one project for each group of keys that may see other models.",
  }),
  row(below(`${VIRTUAL}.provider_configs[]`, "weight"), {
    level: "approximate",
    target: "projects[].aliases[].failover",
    message: "Of providers that share a model the heaviest is asked first; calls are not spread.",
  }),
  row(
    below(`${VIRTUAL}.provider_configs[]`, "allowed_models key_ids keys blacklisted_models allow_all_keys"),
    {
      level: "manual",
      or: ["exact"],
      target: "projects[]",
      message:
        "Tokens may name every alias of their project: use one project for each group of keys that may see other models.",
    },
  ),
  manual(
    below(`${VIRTUAL}.provider_configs[]`, "budget_id budgets rate_limit_id"),
    "projects[].aliases[]",
    LIMITS,
  ),
  row(`${VIRTUAL}.budgets[].max_limit ${VIRTUAL}.budgets[].reset_duration`, {
    level: "exact",
    or: ["approximate", "manual"],
    target: "projects[].tokens[].monthly_budget_usd_cap",
    message: "A monthly cap.",
  }),
  exact(`${VIRTUAL}.budgets[].id ${VIRTUAL}.budgets[].calendar_aligned`, null, "Refers to the entry."),
  exact(below(`${VIRTUAL}.provider_configs[]`, "id virtual_key_id"), null, "An id of Bifrost's database."),
  manual(
    `${VIRTUAL}.mcp_configs`,
    "projects[].tokens[].scopes",
    "Tokens with scope `mcp` may use all tools of their project.",
  ),
  exact(
    `${VIRTUAL}.calendar_aligned`,
    "projects[].tokens[].monthly_budget_usd_cap",
    "Budgets are per calendar month.",
  ),
  row("governance.budgets[].max_limit", {
    level: "exact",
    or: ["approximate", "manual", "unsupported"],
    target: "projects[].tokens[].monthly_budget_usd_cap",
    message: "The monthly cap of the tokens that refer to it.",
  }),
  row("governance.budgets[].reset_duration", {
    level: "exact",
    or: ["approximate", "manual", "unsupported"],
    target: "projects[].tokens[].monthly_budget_usd_cap",
    message: "Budgets are per calendar month (UTC).",
  }),
  exact("governance.budgets[].id governance.rate_limits[].id", null, "Refers to the entry."),
  row("governance.budgets[].virtual_key_id", {
    level: "exact",
    or: ["no effect"],
    target: "projects[].tokens[].monthly_budget_usd_cap",
    message: "The token whose cap it is.",
  }),
  manual(
    "governance.budgets[].provider_config_id governance.budgets[].model_config_id governance.budgets[].customer_id governance.budgets[].team_id",
    "projects[].aliases[].monthly_budget_usd",
    LIMITS,
  ),
  exact(
    "governance.budgets[].current_usage governance.budgets[].last_reset governance.budgets[].calendar_aligned governance.rate_limits[].token_current_usage governance.rate_limits[].token_last_reset governance.rate_limits[].request_current_usage governance.rate_limits[].request_last_reset governance.rate_limits[].calendar_aligned",
    "state",
    "Counters begin at zero.",
  ),
  manual(
    "governance.rate_limits[].request_max_limit governance.rate_limits[].request_reset_duration",
    "projects[].aliases[].rate_limit_per_minute",
    "Rate limits are those of aliases: set `rate_limit_per_minute` or `rate_limit_per_hour`.",
  ),
  unsupported(
    "governance.rate_limits[].token_max_limit governance.rate_limits[].token_reset_duration",
    "Sluice limits calls per minute and money per month, not tokens per minute.",
  ),
  manual(
    "governance.teams governance.customers governance.business_units governance.teams[] governance.customers[] governance.business_units[]",
    "projects[]",
    "Use a project for each group; budgets are those of tokens and aliases.",
  ),
  manual(
    "governance.routing_rules[]",
    "projects[].aliases[]",
    "Sluice does not choose targets by the request: make an alias for each outcome, with `failover` for its fallbacks.",
  ),
  manual(
    "governance.model_configs[]",
    "projects[].aliases[]",
    "Set `rate_limit_per_minute` or `monthly_budget_usd` at the alias.",
  ),
  manual(
    "governance.providers[]",
    "projects[].aliases[]",
    "Set limits and budgets at the aliases of the provider.",
  ),
  manual(
    "governance.pricing_overrides[]",
    "prices[]",
    "Add an entry to `prices`, in USD per 1,000,000 tokens.",
  ),
  manual(
    "governance.auth_config governance.auth_config.admin_username governance.auth_config.admin_password auth_config auth_config.admin_username auth_config.admin_password",
    "control_plane.tokens[]",
    "The console signs in with a control-plane token: put the hash of a new one under `control_plane.tokens`.",
  ),
  exact(
    "governance.auth_config.is_enabled governance.auth_config.disable_auth_on_inference auth_config.is_enabled auth_config.disable_auth_on_inference",
    "control_plane.tokens[]",
    "The admin API always needs a control-plane token.",
  ),
  unsupported("governance.roles governance.complexity_analyzer_config", "Sluice has no such section."),
];

const OTHERS: readonly MappingRow[] = [
  row("mcp.client_configs[].name", {
    level: "exact",
    or: ["unsupported"],
    target: "projects[].mcp_servers[].name",
    message: "An upstream MCP server.",
  }),
  row("mcp.client_configs[].connection_type", {
    level: "exact",
    or: ["unsupported"],
    target: "projects[].mcp_servers[]",
    message: "Streamable HTTP.",
  }),
  row("mcp.client_configs[].connection_string", {
    level: "exact",
    or: ["manual", "unsupported"],
    target: "projects[].mcp_servers[].url",
    message: "Its address.",
  }),
  row("mcp.client_configs[].headers mcp.client_configs[].headers.*", {
    level: "exact",
    or: ["manual", "unsupported"],
    target: "projects[].mcp_servers[].headers",
    message: "Sent to the server.",
  }),
  unsupported("mcp.client_configs[].stdio_config", "MCP servers are reached by Streamable HTTP only."),
  exact(
    "mcp.client_configs[].auth_type mcp.client_configs[].client_id",
    "projects[].mcp_servers[].headers",
    "Access is by headers.",
  ),
  unsupported(
    "mcp.client_configs[].tools_to_execute mcp.client_configs[].tools_to_auto_execute mcp.client_configs[].tools_to_skip mcp.client_configs[].is_code_mode_client mcp.client_configs[].is_ping_available mcp.client_configs[].tool_sync_interval mcp.client_configs[].tool_pricing mcp.client_configs[].allowed_extra_headers",
    "All tools of a server are offered to clients of the MCP bridge.",
  ),
  unsupported(
    "mcp.tool_manager_config mcp.tool_sync_interval mcp.client_configs[].oauth_config_id",
    "Tools are offered by the project's MCP bridge; the gateway runs no agent.",
  ),
  exact("plugins[].name", null, "See the plugin's own finding."),
  row("plugins[]", {
    level: "manual",
    or: ["exact", "approximate", "unsupported"],
    target: "plugins[]",
    message: "Write a stage plugin (`sluice init plugin NAME --kind stage`).",
  }),
  manual(
    "config_store config_store.enabled",
    "projects[]",
    "Objects created in the user interface are in the database, not in this file.",
  ),
  exact("config_store.type config_store.config", "state", NO_DATABASE),
  exact("logs_store", "log", "Every call is a JSON line on stdout."),
  unsupported("vector_store", NO_CACHE),
  exact("encryption_key", null, NO_DATABASE),
  exact("framework.pricing", "prices[]", "List prices come with Sluice; `prices` is for those that differ."),
  exact("$schema", null, "Sluice has a schema of its own: `sluice schema`."),
  exact("version source_of_truth env_label server", null, "Concerns Bifrost's own files and process."),
  manual(
    "guardrails_config",
    "projects[].aliases[].guardrails[]",
    "See the guardrails of an alias for those that Sluice has.",
  ),
  manual(
    "alerting",
    "projects[].webhooks[]",
    "Webhooks of a project receive audit events; alert on `/metrics` for the rest.",
  ),
  exact("audit_logs", "state", "Audit events are always recorded."),
  manual(
    "cluster_config load_balancer_config",
    "state",
    "Several replicas share limits with `state: { driver: redis }`.",
  ),
  manual("scim_config access_profiles", "projects[].tokens[]", "Clients sign in with tokens."),
  exact("circuit_breaker_config", null, "A target is left out for 30 s after 5 failures in a row."),
  unsupported(
    "websocket large_payload_optimization feature_flags skill_registry",
    "Sluice has no such section.",
  ),
];

export const BIFROST_ROWS: readonly MappingRow[] = [...PROVIDERS, ...CLIENT, ...GOVERNANCE, ...OTHERS];
