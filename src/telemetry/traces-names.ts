/**
 * Every name that traces use, in one place: OpenTelemetry's conventions for generative AI still move (these are of
 * version 1.41). What they have no name for begins with `sluice.`.
 */

export const NAMES = {
  serviceName: "service.name",
  serviceVersion: "service.version",
  serviceInstance: "service.instance.id",

  method: "http.request.method",
  path: "url.path",
  status: "http.response.status_code",
  client: "client.address",
  errorType: "error.type",

  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  finishReasons: "gen_ai.response.finish_reasons",
  conversation: "gen_ai.conversation.id",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",

  requestId: "sluice.request_id",
  surface: "sluice.surface",
  project: "sluice.project",
  endpoint: "sluice.endpoint",
  token: "sluice.token_id",
  outcome: "sluice.outcome",
  stream: "sluice.stream",
  firstByte: "sluice.first_byte_ms",
  cost: "sluice.cost_usd",
  guardrails: "sluice.guardrails",
  credential: "sluice.credential",
  estimated: "sluice.usage_estimated",
} as const;

export type Name = (typeof NAMES)[keyof typeof NAMES];

/** The one operation: whatever the surface, a model is asked to go on with a conversation. */
export const CHAT = "chat";

/** Providers that the conventions call otherwise than the configuration does. */
const PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini", mistral: "mistral_ai" };

export function providerName(key: string): string {
  return PROVIDERS[key] ?? key;
}
