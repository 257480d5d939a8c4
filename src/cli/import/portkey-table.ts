/**
 * What each key of a Portkey config becomes. Keys of targets are those of the config itself, so each is listed once; keys in
 * camel case are the same keys.
 */
import type { MappingRow } from "./mapping.ts";

const NO_RETRY =
  "Sluice does not repeat a call to the same target: the next failover entry is asked at once.";
const NO_CACHE = "Sluice has no cache of answers; prompt caches of the providers work as they are.";
const OVERRIDE = "Sent unless the client sends its own; Portkey overrides what clients send.";
const GUARDRAIL =
  "Checks that Sluice has become guardrails of the alias; ids refer to guardrails that only Portkey has.";

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

export const PORTKEY_ROWS: readonly MappingRow[] = [
  row("provider", {
    level: "exact",
    or: ["approximate", "manual", "unsupported"],
    target: "projects[].aliases[].provider",
    message: "The provider of the target.",
  }),
  row("api_key", {
    level: "exact",
    or: ["manual", "unsupported"],
    target: "projects[].credentials[].api_key",
    message: "References are kept; a hard-coded key becomes a reference.",
  }),
  row("virtual_key", {
    level: "manual",
    or: ["unsupported"],
    target: "projects[].credentials[].api_key",
    message: "The key is in Portkey's vault: set a variable to it.",
  }),
  row("custom_host", {
    level: "exact",
    or: ["approximate", "manual", "unsupported"],
    target: "projects[].credentials[].base_url",
    message: "The server that is asked.",
  }),
  row("override_params.model", {
    level: "exact",
    or: ["approximate", "unsupported"],
    target: "projects[].aliases[].model",
    message: "The model of the target.",
  }),
  row("override_params.temperature", {
    level: "approximate",
    or: ["unsupported"],
    target: "projects[].aliases[].temperature",
    message: OVERRIDE,
  }),
  row("override_params.top_p", {
    level: "approximate",
    or: ["unsupported"],
    target: "projects[].aliases[].top_p",
    message: OVERRIDE,
  }),
  row("override_params.max_tokens override_params.max_completion_tokens", {
    level: "approximate",
    or: ["unsupported"],
    target: "projects[].aliases[].max_output_tokens",
    message: "A cap: clients may ask for less.",
  }),
  unsupported(
    "override_params.*",
    "Clients send it themselves: an alias sets provider, model, temperature, top_p and a cap of tokens.",
  ),
  row("strategy.mode", {
    level: "exact",
    or: ["approximate", "manual", "no effect"],
    target: "projects[].aliases[].failover",
    message: "Targets are asked in order.",
  }),
  row("strategy.on_status_codes", {
    level: "approximate",
    target: null,
    message:
      "Sluice moves on for time-outs, 401 and 403 with another credential, 408, 409, 425, 429, 499 and 5xx, and for nothing else.",
  }),
  manual(
    "strategy.conditions strategy.conditions[]",
    "projects[].aliases[]",
    "Sluice does not choose targets by the request: each target has an alias of its own, and clients name it.",
  ),
  row("strategy.default", {
    level: "exact",
    or: ["no effect"],
    target: "projects[].aliases[]",
    message: "The target of the alias with the config's name.",
  }),
  exact("targets", "projects[].aliases[].failover", "Each entry has findings of its own."),
  row("name", {
    level: "exact",
    or: ["no effect"],
    target: "projects[].aliases[].alias",
    message: "The name of the config or of a target.",
  }),
  exact(
    "slug id version_id is_default workspace_id created_at last_updated_at organisation_id owner_id updated_by status object success data configs",
    null,
    "Describes the config at Portkey.",
  ),
  row("weight", {
    level: "approximate",
    or: ["exact", "unsupported"],
    target: "projects[].aliases[].failover",
    message: "The heaviest target is asked first, the others when it fails; calls are not spread.",
  }),
  row("retry.attempts", {
    level: "unsupported",
    or: ["approximate", "exact"],
    target: "projects[].aliases[].failover",
    message: NO_RETRY,
  }),
  row("retry.on_status_codes retry.use_retry_after_header", {
    level: "unsupported",
    or: ["approximate", "exact"],
    target: null,
    message: NO_RETRY,
  }),
  unsupported("cache cache.mode cache.max_age cache.age", NO_CACHE),
  row("request_timeout", {
    level: "approximate",
    or: ["unsupported"],
    target: "providers.<key>.timeout_ms",
    message:
      "Holds for all models of the provider; the longest counts. Portkey's default answers 408, Sluice asks the next target.",
  }),
  row(
    "input_guardrails output_guardrails before_request_hooks after_request_hooks default_input_guardrails default_output_guardrails guardrails",
    { level: "manual", or: ["exact"], target: "projects[].aliases[].guardrails[]", message: GUARDRAIL },
  ),
  row(
    "input_guardrails[] output_guardrails[] before_request_hooks[] after_request_hooks[] default_input_guardrails[] default_output_guardrails[] guardrails[]",
    {
      level: "manual",
      or: ["exact", "approximate"],
      target: "projects[].aliases[].guardrails[]",
      message: GUARDRAIL,
    },
  ),
  manual(
    "input_mutators output_mutators input_mutators[] output_mutators[] mutators",
    "plugins[]",
    "Write a stage plugin (`sluice init plugin NAME --kind stage`).",
  ),
  row("resource_name azure_resource_name", {
    level: "approximate",
    or: ["unsupported", "manual"],
    target: "projects[].credentials[].base_url",
    message: "The address of the resource's v1 API.",
  }),
  row("deployment_id azure_deployment_name azure_model_name", {
    level: "exact",
    or: ["approximate", "unsupported"],
    target: "projects[].aliases[].model",
    message: "The model's name at Azure is that of the deployment.",
  }),
  row("azure_foundry_url", {
    level: "approximate",
    or: ["manual", "unsupported"],
    target: "projects[].credentials[].base_url",
    message: "The address of the resource's v1 API.",
  }),
  row("api_version azure_api_version", {
    level: "approximate",
    target: null,
    message: "Azure's v1 API needs no version.",
  }),
  unsupported(
    "azure_auth_mode azure_ad_token azure_entra_client_id azure_entra_client_secret azure_entra_tenant_id azure_managed_client_id azure_entra_scope ad_auth azure_extra_parameters",
    "Provider `openai` sends a key; tokens of Microsoft Entra are not fetched.",
  ),
  unsupported(
    "aws_access_key_id aws_secret_access_key aws_session_token aws_region aws_auth_type aws_role_arn aws_external_id aws_s3_bucket aws_s3_object_key aws_bedrock_model aws_server_side_encryption aws_service",
    "Credentials of AWS: no built-in provider signs with them.",
  ),
  unsupported(
    "vertex_project_id vertex_region vertex_service_account_json vertex_storage_bucket_name vertex_model_name vertex_skip_ptu_unicode",
    "Credentials of Vertex AI: no built-in provider fetches its tokens.",
  ),
  unsupported(
    "workers_ai_account_id huggingface_base_url snowflake_account fireworks_account_id oracle_api_version oracle_region foundation_model mistral_fim_completion stability_client_id",
    "Belongs to an upstream or a method that no built-in provider speaks to.",
  ),
  row("openai_organization", {
    level: "exact",
    or: ["manual", "unsupported"],
    target: "projects[].credentials[].options.organization",
    message: "Sent as OpenAI-Organization.",
  }),
  row("openai_project", {
    level: "exact",
    or: ["manual", "unsupported"],
    target: "projects[].credentials[].options.project",
    message: "Sent as OpenAI-Project.",
  }),
  unsupported("openai_beta", "Provider `openai` sends no such header."),
  row("anthropic_beta", {
    level: "exact",
    or: ["unsupported"],
    target: "projects[].credentials[].options.anthropic_beta",
    message: "Sent as anthropic-beta.",
  }),
  row("anthropic_version", {
    level: "exact",
    or: ["unsupported"],
    target: "projects[].credentials[].options.anthropic_version",
    message: "Version of the API.",
  }),
  unsupported("forward_headers", "Headers of clients are not passed to providers."),
  row("metadata trace_id", {
    level: "approximate",
    target: null,
    message:
      "Calls are logged with their project, token, alias and request id; clients may send `x-session-id`.",
  }),
  exact("strict_open_ai_compliance", null, "Answers always have OpenAI's shape."),
  unsupported(
    "passthrough model_pricing_config transform_to_form_data url_to_fetch",
    "Sluice has no such switch; prices are under `prices`.",
  ),
  manual(
    "prompt_id prompt_variables",
    null,
    "Prompts that are kept at Portkey: write them as `prompt` of an endpoint in an `ai_gateway` project.",
  ),
  exact("config", null, "The config itself."),
  manual(
    "plugins_enabled integrations credentials",
    "projects[].credentials[]",
    "Settings of Portkey's own gateway: a credential and an alias for each integration.",
  ),
];
