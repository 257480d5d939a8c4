/** What each key of a LiteLLM proxy configuration becomes. Keys that depend on their values are completed by litellm*.ts. */
import type { Level, MappingRow } from "./mapping.ts";

type Section = (keys: string, row: Omit<MappingRow, "keys">) => MappingRow;

/** Keys of one section, separated by spaces. */
function section(prefix: string): Section {
  return (keys, row) => ({ keys: keys.split(" ").map((key) => `${prefix}.${key}`), ...row });
}

const say = (level: Level, target: string | null, message: string, ...or: readonly Level[]) => ({
  level,
  target,
  message,
  ...(or.length > 0 && { or }),
});

const exact = (message: string, target: string | null = null) => say("exact", target, message);
const unsupported = (message: string) => say("unsupported", null, message);
const manual = (message: string, target: string | null = null) => say("manual", target, message);

const model = section("model_list[]");
const params = section("model_list[].litellm_params");
const info = section("model_list[].model_info");
const litellm = section("litellm_settings");
const router = section("router_settings");
const general = section("general_settings");

const NO_CACHE = "Sluice has no cache of answers; prompt caches of the providers work as they are.";
const NO_RETRY =
  "Sluice does not repeat a call to the same target: the next failover entry is asked at once.";
const NO_DATABASE = "Not needed: Sluice has no database; limits, spend and sessions are in `state`.";
const OTLP = "Sluice sends traces by OTLP: set `telemetry.otlp.endpoint`.";
const KEYS_IN_GIT = "Tokens are made with `sluice token new` and their hashes kept in git.";
const METADATA = "Describes the model for LiteLLM; Sluice reads it nowhere.";
const BREAKER = "Sluice leaves a target out for 30 s after 5 failures in a row.";

const MODELS: readonly MappingRow[] = [
  model(
    "model_name",
    say(
      "exact",
      "projects[].aliases[].alias",
      "The name that clients send as `model`.",
      "approximate",
      "manual",
      "unsupported",
    ),
  ),
  params(
    "model",
    say(
      "exact",
      "projects[].aliases[].provider, model, credential",
      "The provider by its prefix, and the model.",
      "approximate",
      "manual",
      "unsupported",
    ),
  ),
  params(
    "custom_llm_provider",
    say(
      "exact",
      "projects[].aliases[].provider",
      "Names the provider in place of the model's prefix.",
      "unsupported",
    ),
  ),
  params(
    "api_key",
    say(
      "exact",
      "projects[].credentials[].api_key",
      "References are kept; a hard-coded key becomes a reference.",
      "manual",
      "unsupported",
    ),
  ),
  params(
    "api_base base_url",
    say(
      "exact",
      "projects[].credentials[].base_url",
      "The server that is asked.",
      "approximate",
      "manual",
      "unsupported",
    ),
  ),
  params("api_version", say("approximate", null, "Azure's v1 API needs no version.", "unsupported")),
  params(
    "litellm_credential_name",
    say(
      "exact",
      "projects[].aliases[].credential",
      "The entry of `credential_list`.",
      "manual",
      "unsupported",
    ),
  ),
  params(
    "organization",
    say(
      "exact",
      "projects[].credentials[].options.organization",
      "Sent as OpenAI-Organization.",
      "unsupported",
      "manual",
    ),
  ),
  params(
    "reasoning_effort",
    say(
      "exact",
      "projects[].credentials[].options.reasoning_effort",
      "An option of the credential, for OpenAI's reasoning models.",
      "unsupported",
    ),
  ),
  params(
    "temperature",
    say(
      "exact",
      "projects[].aliases[].temperature",
      "Sent unless the client sends its own.",
      "approximate",
      "unsupported",
    ),
  ),
  params(
    "top_p",
    say(
      "exact",
      "projects[].aliases[].top_p",
      "Sent unless the client sends its own.",
      "approximate",
      "unsupported",
    ),
  ),
  params(
    "max_tokens max_completion_tokens",
    say(
      "approximate",
      "projects[].aliases[].max_output_tokens",
      "A cap in Sluice: clients may ask for less, not for more.",
      "unsupported",
    ),
  ),
  params(
    "rpm",
    say(
      "approximate",
      "projects[].aliases[].rate_limit_per_minute",
      "A limit of the alias, summed over its deployments: more calls get 429 instead of another deployment.",
      "unsupported",
    ),
  ),
  params(
    "tpm itpm otpm",
    unsupported("Sluice limits calls per minute and money per month, not tokens per minute."),
  ),
  params(
    "weight",
    say(
      "approximate",
      "projects[].aliases[].failover",
      "The heaviest deployment is asked first, the others when it fails.",
      "unsupported",
    ),
  ),
  params("order", say("exact", "projects[].aliases[].failover", "The order of failover.", "unsupported")),
  params(
    "timeout",
    say(
      "approximate",
      "providers.<key>.timeout_ms",
      "Holds for all models of the provider; the longest of them counts.",
      "manual",
      "unsupported",
    ),
  ),
  params(
    "stream_timeout",
    say(
      "approximate",
      "providers.<key>.first_byte_timeout_ms",
      "Time to the first content of a stream, for all models of the provider; the longest of them counts.",
      "manual",
      "unsupported",
    ),
  ),
  params(
    "max_retries num_retries",
    say("unsupported", "projects[].aliases[].failover", NO_RETRY, "approximate", "exact"),
  ),
  params(
    "input_cost_per_token output_cost_per_token",
    say("exact", "prices[]", "Per million tokens in Sluice.", "approximate", "unsupported"),
  ),
  params(
    "cache_read_input_token_cost",
    say("exact", "prices[].cached_input", "Per million tokens in Sluice.", "approximate", "unsupported"),
  ),
  params(
    "cache_creation_input_token_cost",
    say("exact", "prices[].cache_write", "Per million tokens in Sluice.", "approximate", "unsupported"),
  ),
  params(
    "input_cost_per_second output_cost_per_second input_cost_per_character output_cost_per_character",
    unsupported("Sluice prices tokens."),
  ),
  params(
    "extra_headers headers",
    say(
      "unsupported",
      "projects[].credentials[].options.anthropic_beta",
      "Providers of Sluice send their own headers; of these `anthropic-beta` becomes an option.",
      "exact",
      "approximate",
    ),
  ),
  params(
    "drop_params",
    exact("Settings that a model refuses are always left out or brought into its range."),
  ),
  params(
    "additional_drop_params allowed_openai_params",
    unsupported("Sluice decides by model which settings are left out."),
  ),
  params(
    "mock_response",
    manual(
      "Answers from a template are provider `mock`, with its option `reply`; the alias asks the real model now.",
    ),
  ),
  params(
    "aws_access_key_id aws_secret_access_key aws_session_token aws_region_name aws_profile_name aws_role_name aws_session_name aws_web_identity_token aws_sts_endpoint aws_external_id aws_bedrock_runtime_endpoint",
    unsupported("Credentials of AWS: no built-in provider signs with them."),
  ),
  params(
    "vertex_project vertex_location vertex_credentials vertex_ai_project vertex_ai_location vertex_ai_credentials",
    unsupported("Credentials of Vertex AI: no built-in provider fetches its tokens."),
  ),
  params(
    "azure_ad_token tenant_id client_id client_secret azure_username azure_password azure_scope",
    unsupported("Provider `openai` sends a key; tokens of Microsoft Entra are not fetched."),
  ),
  params(
    "region_name watsonx_region_name project_id deployment_id space_id token",
    unsupported("Belongs to an upstream that no built-in provider speaks to."),
  ),
  params("tags tag_regex", unsupported("No routing by tags: give clients separate aliases.")),
  params(
    "max_parallel_requests",
    unsupported(
      "Sluice does not limit calls at the same time for each model; see `providers.<key>.max_connections`.",
    ),
  ),
  params(
    "max_budget budget_duration",
    manual(
      "Set `monthly_budget_usd` with `estimated_cost_per_1k_tokens_usd`; budgets are per calendar month.",
      "projects[].aliases[].monthly_budget_usd",
    ),
  ),
  params(
    "default_api_key_rpm_limit default_api_key_tpm_limit",
    unsupported("Limits are those of an alias; tokens have a monthly cap."),
  ),
  params(
    "cache cache_control_injection_points",
    unsupported("For Anthropic see the option `prompt_cache` of the credential."),
  ),
  params("model_info", exact(METADATA)),
  params(
    "use_in_pass_through use_litellm_proxy use_chat_completions_api merge_reasoning_content_in_choices configurable_clientside_auth_params allow_client_keepalive_override keepalive_seconds stream_chunk_size cooldown_time hf_model_name",
    unsupported("Sluice has no such switch."),
  ),
  params(
    "*",
    unsupported(
      "LiteLLM passes what it does not know to the provider; in Sluice clients send such fields themselves.",
    ),
  ),
  info("mode", say("exact", null, "Chat models and embeddings are served.", "unsupported")),
  info(
    "base_model",
    say(
      "approximate",
      "prices[]",
      "LiteLLM prices by it; add an entry to `prices` when the model has another name at its provider.",
    ),
  ),
  info(
    "input_cost_per_token output_cost_per_token",
    say("exact", "prices[]", "Per million tokens in Sluice.", "approximate", "unsupported"),
  ),
  info(
    "cache_read_input_token_cost",
    say("exact", "prices[].cached_input", "Per million tokens in Sluice.", "approximate", "unsupported"),
  ),
  info(
    "cache_creation_input_token_cost",
    say("exact", "prices[].cache_write", "Per million tokens in Sluice.", "approximate", "unsupported"),
  ),
  info(
    "access_groups team_id",
    manual("Tokens of a project may name all of its aliases: use one project for each group.", "projects[]"),
  ),
  info("*", exact(METADATA)),
];

/** Read in litellm_settings and in router_settings alike. */
function reliability(inSection: Section): readonly MappingRow[] {
  return [
    inSection(
      "fallbacks",
      say(
        "approximate",
        "projects[].aliases[].failover",
        "Targets of the other model follow those of the alias. Sluice moves on for failures that another target can help with, not for invalid requests.",
      ),
    ),
    inSection(
      "fallbacks[].*",
      say(
        "approximate",
        "projects[].aliases[].failover",
        "Targets of the other model follow those of the alias. Sluice moves on for failures that another target can help with, not for invalid requests.",
        "manual",
        "no effect",
        "unsupported",
      ),
    ),
    inSection(
      "default_fallbacks",
      say(
        "approximate",
        "projects[].aliases[].failover",
        "Added to the failover list of every alias.",
        "manual",
        "no effect",
        "unsupported",
      ),
    ),
    inSection(
      "context_window_fallbacks",
      unsupported(
        "A prompt that is too long is answered with the provider's error; give long prompts an alias of their own.",
      ),
    ),
    inSection(
      "content_policy_fallbacks",
      unsupported("A filtered answer is an answer: it does not move on."),
    ),
    inSection(
      "num_retries",
      say("unsupported", "projects[].aliases[].failover", NO_RETRY, "approximate", "exact"),
    ),
    inSection("allowed_fails cooldown_time", say("approximate", null, BREAKER)),
    inSection("retry_after", say("approximate", null, "Sluice waits for no target: it asks the next one.")),
    inSection(
      "max_fallbacks",
      say("approximate", "projects[].aliases[].failover", "All failover entries are tried, at most 16."),
    ),
  ];
}

const LITELLM: readonly MappingRow[] = [
  ...reliability(litellm),
  litellm(
    "drop_params",
    exact("Settings that a model refuses are always left out or brought into its range."),
  ),
  litellm(
    "modify_params",
    say("approximate", null, "Sluice adapts requests to each provider's format and nothing beyond it."),
  ),
  litellm(
    "request_timeout",
    say(
      "approximate",
      "server.request_timeout_ms, providers.<key>.timeout_ms",
      "The longest wait for one answer; of a whole call with failover `server.request_timeout_ms`.",
      "manual",
    ),
  ),
  litellm(
    "callbacks success_callback failure_callback service_callback service_callbacks input_callback audit_log_callbacks",
    manual("Each entry has a finding of its own."),
  ),
  litellm(
    "callbacks[] success_callback[] failure_callback[] service_callback[] service_callbacks[] input_callback[] audit_log_callbacks[]",
    manual(
      "Metrics are always there; traces go by OTLP; for anything else write a stage plugin (`sluice init plugin NAME --kind stage`).",
      "telemetry.otlp",
    ),
  ),
  litellm("set_verbose", say("exact", "log.level", "Becomes `log.level: debug`.")),
  litellm("json_logs", exact("The log is always JSON lines.", "log")),
  litellm(
    "turn_off_message_logging",
    exact("Texts are never logged unless `log.content` says so.", "log.content"),
  ),
  litellm(
    "redact_messages_in_exceptions redact_user_api_key_info suppress_debug_info disable_streaming_logging",
    exact("Sluice never logs keys or texts unless `log.content` says so.", "log.content"),
  ),
  litellm(
    "log_raw_request_response",
    unsupported("Requests to providers are not logged; see `log.content` for texts."),
  ),
  litellm("cache", unsupported(NO_CACHE)),
  litellm(
    "cache_params enable_redis_auth_cache enable_caching_on_provider_specific_optional_params default_in_memory_ttl default_redis_ttl default_redis_batch_cache_expiry",
    unsupported(NO_CACHE),
  ),
  litellm(
    "max_budget",
    say(
      "approximate",
      "projects[].tokens[].monthly_budget_usd_cap",
      "A cap of the clients' token, per calendar month.",
      "manual",
    ),
  ),
  litellm(
    "budget_duration",
    say(
      "exact",
      "projects[].tokens[].monthly_budget_usd_cap",
      "Budgets are per calendar month.",
      "manual",
      "approximate",
    ),
  ),
  litellm(
    "banned_keywords_list",
    say("exact", "projects[].aliases[].guardrails[]", "Guardrail `keyword_blocklist`.", "manual"),
  ),
  litellm("blocked_user_list", unsupported("Sluice knows tokens, not users: revoke the token.")),
  litellm(
    "guardrails",
    manual(
      "An older form of guardrails: see `guardrails` of an alias for those that Sluice has.",
      "projects[].aliases[].guardrails[]",
    ),
  ),
  litellm(
    "ssl_verify ssl_security_level",
    say(
      "manual",
      "providers.<key>.ca",
      "Certificates are always verified; name your own with `providers.<key>.ca`.",
    ),
  ),
  litellm(
    "ssl_certificate",
    manual(
      "Client certificates are `providers.<key>.client_cert` and `client_key`.",
      "providers.<key>.client_cert",
    ),
  ),
  litellm(
    "force_ipv4 aiohttp_trust_env disable_aiohttp_transport disable_aiohttp_trust_env",
    exact(
      "Sluice's connections need no such switch; forward proxies come from HTTPS_PROXY or `providers.<key>.proxy`.",
    ),
  ),
  litellm("require_auth_for_metrics_endpoint", manual("Set `admin.metrics_token`.", "admin.metrics_token")),
  litellm(
    "enable_json_schema_validation",
    say(
      "approximate",
      "projects[].endpoints[].output_schema",
      "Schemas that clients send are passed to the provider; `output_schema` of an endpoint checks answers.",
    ),
  ),
  litellm(
    "default_internal_user_params default_team_settings default_team_params max_internal_user_budget internal_user_budget_duration max_end_user_budget max_user_budget upperbound_key_generate_params default_key_generate_params key_generation_settings max_ui_session_budget enable_key_alias_format_validation",
    unsupported(`No users, teams or keys made at run time: ${KEYS_IN_GIT}`),
  ),
  litellm("default_team_settings[]", unsupported(`No teams: ${KEYS_IN_GIT}`)),
  litellm("return_response_headers", exact("Rate-limit headers are always sent.")),
  litellm("model_alias_map", say("manual", "projects[].aliases[]", "Add an alias with the same target.")),
  litellm(
    "add_function_to_prompt disable_add_transform_inline_image_block use_chat_completions_url_for_anthropic_messages disable_hf_tokenizer_download disable_copilot_system_to_assistant enable_preview_features LITELLM_DISABLE_STOP_SEQUENCE_LIMIT disable_stop_sequence_limit use_client telemetry include_cost_in_streaming_usage user_url_validation reasoning_auto_summary",
    exact("An implementation detail of LiteLLM."),
  ),
  litellm(
    "disable_end_user_cost_tracking disable_end_user_cost_tracking_prometheus_only enable_end_user_cost_tracking_prometheus_only langfuse_default_tags prometheus_metrics_config prometheus_initialize_budget_metrics custom_prometheus_metadata_labels custom_prometheus_tags s3_callback_params gcs_pub_sub_use_v1 cold_storage_custom_logger datadog_params generic_api_callback",
    unsupported(`Belongs to a logging integration. ${OTLP}`),
  ),
  litellm(
    "google_moderation_confidence_threshold llamaguard_model_name llamaguard_unsafe_content_categories llm_guard_mode presidio_ad_hoc_recognizers output_parse_pii",
    manual(
      "Belongs to a moderation integration: use the guardrails of Sluice, or guardrail `webhook` for your own service.",
      "projects[].aliases[].guardrails[]",
    ),
  ),
  litellm(
    "custom_provider_map",
    manual("Write a provider plugin (`sluice init plugin NAME --kind provider`).", "plugins[]"),
  ),
  litellm("mcp_aliases", unsupported("Tools are offered as `<server>__<tool>`.")),
  litellm(
    "public_model_groups public_model_groups_links public_agent_groups tag_budget_config cost_discount_config cost_margin_config priority_reservation priority_reservation_settings store_audit_logs check_provider_endpoint experimental_mcp_client vector_store_registry cache_control_injection_points",
    unsupported("Sluice has no such setting."),
  ),
  litellm(
    "api_key openai_key azure_key anthropic_key",
    manual(
      "A key for every provider: give it to a credential as `${env:NAME}`.",
      "projects[].credentials[].api_key",
    ),
  ),
];

const ROUTER: readonly MappingRow[] = [
  ...reliability(router),
  router(
    "routing_strategy",
    say(
      "approximate",
      "projects[].aliases[].failover",
      "Targets are asked in order: the first takes the calls, the next ones its failures.",
      "exact",
    ),
  ),
  router("routing_strategy_args", unsupported("Targets are asked in order.")),
  router("model_group_alias", exact("An alias with the same targets.", "projects[].aliases[]")),
  router(
    "model_group_alias.*",
    say(
      "exact",
      "projects[].aliases[]",
      "An alias with the same targets.",
      "manual",
      "no effect",
      "unsupported",
      "approximate",
    ),
  ),
  router(
    "timeout",
    say(
      "approximate",
      "server.request_timeout_ms, providers.<key>.timeout_ms",
      "The longest wait for one answer; of a whole call with failover `server.request_timeout_ms`.",
      "manual",
    ),
  ),
  router(
    "stream_timeout",
    say(
      "approximate",
      "providers.<key>.first_byte_timeout_ms",
      "Time to the first content of a stream.",
      "manual",
    ),
  ),
  router(
    "redis_host redis_port redis_password redis_url redis_db",
    say(
      "approximate",
      "state",
      "`state: { driver: redis }`: limits, budgets and sessions hold over all replicas.",
      "manual",
    ),
  ),
  router("disable_cooldowns", unsupported(BREAKER)),
  router(
    "retry_policy model_group_retry_policy allowed_fails_policy",
    say("approximate", null, `By Sluice's own rules. ${NO_RETRY} ${BREAKER}`),
  ),
  router(
    "enable_pre_call_checks enable_pre_call_check optional_pre_call_checks",
    say(
      "approximate",
      "projects[].aliases[].usage_hard_limit_tokens",
      "Sluice does not know context windows; `usage_hard_limit_tokens` caps the input of a call.",
    ),
  ),
  router(
    "enable_tag_filtering tag_filtering_match_any",
    unsupported("No routing by tags: give clients separate aliases."),
  ),
  router("provider_budget_config", unsupported("Budgets are those of aliases and tokens.")),
  router(
    "default_litellm_params",
    manual("Settings for every model: set them at each alias.", "projects[].aliases[]"),
  ),
  router(
    "default_max_parallel_requests max_parallel_requests",
    unsupported("See `providers.<key>.max_connections`."),
  ),
  router("cache_responses caching_groups cache_kwargs client_ttl redis_startup_nodes", unsupported(NO_CACHE)),
  router(
    "alerting_config",
    manual("Webhooks of a project receive audit events; metrics are at `/metrics`.", "projects[].webhooks[]"),
  ),
  router("set_verbose", exact("Becomes `log.level: debug`.", "log.level")),
  router("debug_level", exact("The default of `log.level` is info.", "log.level")),
  router(
    "assistants_config default_priority polling_interval router_general_settings ignore_invalid_deployments deployment_affinity_ttl_seconds search_tools guardrail_list",
    unsupported("Sluice has no such setting."),
  ),
];

const GENERAL: readonly MappingRow[] = [
  general(
    "master_key",
    manual(
      "Sluice asks every client for a token whose hash is in git. Make one with `sluice token new --name clients` and replace the hash.",
      "projects[].tokens[]",
    ),
  ),
  general(
    "database_url",
    manual(
      "Keys, users, teams and budgets in the database are not in this file: make a token for each client.",
      "projects[].tokens[]",
    ),
  ),
  general(
    "database_type database_args database_connection_pool_limit database_connection_timeout database_connection_pool_timeout disable_prisma_schema_update allow_requests_on_db_unavailable use_redis_transaction_buffer proxy_batch_write_at proxy_batch_polling_interval proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time disable_reset_budget disable_adding_master_key_hash_to_db user_api_key_cache_ttl maximum_spend_logs_retention_period maximum_spend_logs_retention_interval disable_spend_logs disable_spend_updates disable_error_logs",
    exact(NO_DATABASE, "state"),
  ),
  general(
    "store_model_in_db supported_db_objects",
    manual(
      "Models that were added in the user interface are in the database, not in this file: add an alias for each.",
      "projects[].aliases[]",
    ),
  ),
  general(
    "store_prompts_in_spend_logs",
    manual("Set `log.content: redacted` or `full` if texts are to be logged.", "log.content"),
  ),
  general("salt_key litellm_license", exact(NO_DATABASE)),
  general(
    "alerting alerting_args alerting_threshold alert_types alert_to_webhook_url spend_report_frequency",
    manual(
      "Webhooks of a project receive audit events; alert on `/metrics` for the rest.",
      "projects[].webhooks[]",
    ),
  ),
  general(
    "custom_auth custom_auth_settings custom_sso custom_key_generate custom_key_update custom_ui_sso_sign_in_handler",
    manual(`Write a stage plugin (\`sluice init plugin NAME --kind stage\`). ${KEYS_IN_GIT}`, "plugins[]"),
  ),
  general(
    "enable_jwt_auth litellm_jwtauth enable_oauth2_auth enable_oauth2_proxy_auth oauth2_config_mappings allow_user_auth",
    manual(`Clients sign in with tokens. ${KEYS_IN_GIT}`, "projects[].tokens[]"),
  ),
  general(
    "key_management_system key_management_settings use_azure_key_vault use_google_kms",
    manual(
      "Mount secrets as files and refer to them: `${file:/run/secrets/NAME}`.",
      "projects[].credentials[].api_key",
    ),
  ),
  general(
    "completion_model",
    manual("Calls name their model; give the default an alias such as `default`.", "projects[].aliases[]"),
  ),
  general("infer_model_from_keys", unsupported("Aliases are listed in the file.")),
  general(
    "max_parallel_requests global_max_parallel_requests",
    unsupported("The gateway sheds load by memory; limit calls with `rate_limit_per_minute`."),
  ),
  general("max_request_size_mb", exact("Larger bodies get 413.", "server.max_body_bytes")),
  general("max_response_size_mb", unsupported("Answers are bounded by `max_output_tokens`.")),
  general(
    "background_health_checks health_check_interval health_check_details health_check_concurrency use_shared_health_check",
    unsupported("Models are not called for their health; circuit breakers and `/readyz` are there."),
  ),
  general(
    "pass_through_endpoints",
    say(
      "approximate",
      "projects[].proxy_endpoints[]",
      "A second project of type `proxy`; its paths begin with `/api/<uuid>/proxy/`.",
    ),
  ),
  general(
    "pass_through_endpoints[].path",
    say("approximate", "projects[].proxy_endpoints[].slug", "The path becomes a slug.", "manual"),
  ),
  general(
    "pass_through_endpoints[].target",
    say("exact", "projects[].proxy_endpoints[].upstream_url", "Where calls go.", "manual"),
  ),
  general(
    "pass_through_endpoints[].headers",
    exact("Headers to add.", "projects[].proxy_endpoints[].headers"),
  ),
  general(
    "pass_through_endpoints[].headers.*",
    say("exact", "projects[].proxy_endpoints[].headers", "Headers to add.", "manual"),
  ),
  general(
    "pass_through_endpoints[].auth",
    exact("Calls always need a token with scope `proxy`.", "projects[].tokens[].scopes"),
  ),
  general(
    "pass_through_endpoints[].forward_headers",
    say("approximate", null, "Headers of clients are passed on, except `Authorization`."),
  ),
  general("pass_through_endpoints[].include_subpath", exact("The rest of the path is always passed on.")),
  general(
    "pass_through_endpoints[].cost_per_request pass_through_endpoints[].methods pass_through_endpoints[].guardrails pass_through_endpoints[].id",
    unsupported("Not a setting of proxy endpoints here; see `allowed_methods` and limits."),
  ),
  general(
    "use_x_forwarded_for",
    manual("Name the proxies whose X-Forwarded-For is believed.", "server.trusted_proxies"),
  ),
  general("allowed_ips", manual("Restrict addresses in front of the gateway.")),
  general(
    "ui_access_mode disable_master_key_return default_team_disabled user_mcp_management_mode enable_public_model_hub hide_ui_settings store_ui_settings",
    exact("Concerns LiteLLM's user interface."),
  ),
  general(
    "allowed_routes public_routes admin_only_routes enforced_params enforce_user_param reject_clientside_metadata_tags litellm_key_header_name service_account_settings role_permissions disable_retry_on_max_parallel_request_limit_error disable_responses_id_security use_client_credentials_pass_through_routes allow_client_side_credentials",
    unsupported("Tokens have scopes; clients send them as Bearer tokens and nothing else is configurable."),
  ),
  general(
    "forward_openai_org_id forward_client_headers_to_llm_api forward_llm_provider_auth_headers user_header_name user_header_mappings add_user_information_to_llm_headers",
    unsupported("Headers of clients are not passed to providers."),
  ),
  general("image_generation_model embedding_model moderation_model", unsupported("Calls name their model.")),
  general("otel", manual(OTLP, "telemetry.otlp.endpoint")),
  general(
    "coordination_redis enable_mcp_registry mcp_internal_ip_ranges mcp_client_side_auth_header_name always_include_stream_usage control_plane_url store_audit_logs require_auth_for_metrics_endpoint",
    unsupported("Sluice has no such setting."),
  ),
];

const OTHERS: readonly MappingRow[] = [
  { keys: ["environment_variables"], ...manual("Set these variables where the gateway runs.") },
  {
    keys: ["environment_variables.*"],
    ...manual("Set this variable where the gateway runs; its value is not written."),
  },
  {
    keys: ["credential_list[].credential_name"],
    ...exact("The name of a credential.", "projects[].credentials[].name"),
  },
  { keys: ["credential_list[].credential_info", "credential_list[].credential_info.*"], ...exact(METADATA) },
  {
    keys: ["credential_list[].credential_values.api_key"],
    ...say(
      "exact",
      "projects[].credentials[].api_key",
      "References are kept; a hard-coded key becomes a reference.",
      "manual",
      "unsupported",
    ),
  },
  {
    keys: ["credential_list[].credential_values.api_base"],
    ...say(
      "exact",
      "projects[].credentials[].base_url",
      "The server that is asked.",
      "manual",
      "approximate",
      "unsupported",
    ),
  },
  { keys: ["credential_list[].credential_values.*"], ...unsupported("Not a property of credentials here.") },
  {
    keys: ["include", "include[]"],
    ...manual(
      "Import the included file as well, and join the lists of aliases and credentials.",
      "include[]",
    ),
  },
  {
    keys: ["guardrails[].guardrail_name"],
    ...say("exact", "projects[].aliases[].guardrails[]", "Guardrails are named by what they do.", "manual"),
  },
  {
    keys: ["guardrails[].litellm_params.guardrail"],
    ...say(
      "approximate",
      "projects[].aliases[].guardrails[].use",
      "Sluice's own guardrail for the same purpose.",
      "manual",
    ),
  },
  {
    keys: ["guardrails[].litellm_params.mode", "guardrails[].litellm_params.mode[]"],
    ...say(
      "exact",
      "projects[].aliases[].guardrails[].on",
      "`pre_call` and `during_call` judge the input, `post_call` the answer.",
      "approximate",
      "manual",
    ),
  },
  {
    keys: ["guardrails[].litellm_params.default_on"],
    ...say("exact", "projects[].aliases[].guardrails[]", "On every alias.", "manual"),
  },
  {
    keys: ["guardrails[].litellm_params.api_key", "guardrails[].litellm_params.api_base"],
    ...say("exact", null, "Sluice's guardrails ask no service.", "manual"),
  },
  {
    keys: [
      "guardrails[].litellm_params.pii_entities_config",
      "guardrails[].litellm_params.pii_entities_config.*",
    ],
    ...say(
      "approximate",
      "projects[].aliases[].guardrails[].kinds",
      "The kinds that guardrail `pii` knows.",
      "unsupported",
      "manual",
    ),
  },
  {
    keys: ["guardrails[].litellm_params.*", "guardrails[].guardrail_info"],
    ...manual(
      "An option of LiteLLM's guardrail: check whether Sluice's needs it.",
      "projects[].aliases[].guardrails[].options",
    ),
  },
  {
    keys: ["mcp_servers.*.url"],
    ...say(
      "exact",
      "projects[].mcp_servers[].url",
      "Its tools are offered by the project's MCP bridge.",
      "manual",
      "unsupported",
    ),
  },
  {
    keys: ["mcp_servers.*.transport", "mcp_servers.*.command", "mcp_servers.*.args", "mcp_servers.*.env"],
    ...say("unsupported", null, "MCP servers are reached by Streamable HTTP only.", "exact"),
  },
  {
    keys: [
      "mcp_servers.*.headers",
      "mcp_servers.*.static_headers",
      "mcp_servers.*.headers.*",
      "mcp_servers.*.static_headers.*",
    ],
    ...say("exact", "projects[].mcp_servers[].headers", "Sent to the server.", "manual", "unsupported"),
  },
  {
    keys: ["mcp_servers.*.auth_type", "mcp_servers.*.auth_value", "mcp_servers.*.authentication_token"],
    ...say("manual", "projects[].mcp_servers[].headers", "Becomes a header of the server.", "exact"),
  },
  {
    keys: ["mcp_servers.*.description", "mcp_servers.*.spec_version", "mcp_servers.*.alias"],
    ...exact("Sluice reads it from the server."),
  },
  {
    keys: [
      "mcp_servers.*.allowed_tools",
      "mcp_servers.*.disallowed_tools",
      "mcp_servers.*.access_groups",
      "mcp_servers.*.mcp_info",
      "mcp_servers.*.extra_headers",
      "mcp_servers.*.*",
    ],
    ...unsupported("All tools of a server are offered, with the headers of the file."),
  },
  {
    keys: [
      "mcp_tools",
      "callback_settings",
      "finetune_settings",
      "files_settings",
      "vector_store_registry",
      "search_tools",
      "agents",
      "agent_list",
      "prompts",
      "policies",
      "policy_attachments",
      "assistant_settings",
      "router_groups",
      "litellm_proxy_config",
      "worker_config",
    ],
    ...unsupported("Sluice has no such section."),
  },
];

export const LITELLM_ROWS: readonly MappingRow[] = [...MODELS, ...LITELLM, ...ROUTER, ...GENERAL, ...OTHERS];

/** Keys from public LiteLLM files that LiteLLM never reads. */
export const LITELLM_DEAD: readonly string[] = [
  ...["enable_load_balancing", "enable_cooldowns", "log_verbose", "enable_cors", "use_langfuse"],
  ...["disable_request_timeout", "stream_response", "cors_origins", "max_requests_per_minute"],
];
