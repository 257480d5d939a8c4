/** `sluice/plugin`: the public door for stages, guardrails and providers, built in or not. */
export type { Taken } from "./beyond.ts";
export { beyond, droppedHints, USUAL_FIELDS } from "./beyond.ts";
export type {
  Alternative,
  AudioPart,
  CallOptions,
  ChatChunk,
  ChatResult,
  Content,
  ContentPart,
  FilePart,
  FinishReason,
  ImagePart,
  JsonMembers,
  JsonSchema,
  JsonValue,
  Message,
  ModelUsage,
  ProviderRequest,
  RawAnswer,
  Role,
  TextPart,
  Tool,
  ToolCall,
  ToolCallDelta,
  ToolChoice,
  Usage,
} from "./chat.ts";
export { eventChunk, textChunk } from "./chat.ts";
export type { Base64Url } from "./content.ts";
export { charactersOf, contentLength, contentText, readBase64Url } from "./content.ts";
export type {
  Answer,
  AnswerStream,
  Block,
  ChunkHook,
  ChunkSink,
  Edit,
  Guardrail,
  GuardrailPlace,
  GuardrailPlugin,
  Hooks,
  MaybePromise,
  OptionFault,
  Outcome,
  Plugin,
  PluginBase,
  ProviderPlugin,
  Replace,
  Stage,
  StagePlugin,
  StoreHost,
  StorePlugin,
  Target,
  TextAbout,
  Verdict,
} from "./contract.ts";
export {
  andThen,
  block,
  defineGuardrail,
  definePlugin,
  defineProvider,
  defineStore,
  isPromise,
  replace,
  STAGES,
} from "./contract.ts";
export type { ErrorCode, RefusalExtras } from "./errors.ts";
export { ERRORS, GatewayError, isGatewayError, refuse, reject } from "./errors.ts";
export { estimateTokens, formatUsd } from "./estimate.ts";
export type {
  Attempt,
  CallEnd,
  Claim,
  ConfigRef,
  Delivery,
  EndpointRef,
  Exchange,
  GuardrailRun,
  ProjectRef,
  RateClaim,
  Scope,
  Slot,
  SpendClaim,
  Surface,
  TokenRef,
  VerdictRecord,
} from "./exchange.ts";
export { conversationOwner, slot } from "./exchange.ts";
export type {
  Cancellable,
  Clock,
  Host,
  HttpAnswer,
  HttpFailure,
  HttpRequest,
  Logger,
  MetricFamily,
  Metrics,
  OpenSession,
  Random,
  RequestLog,
  SchemaCheck,
  SchemaCompiler,
  Sessions,
  StoreSlice,
  Timer,
} from "./host.ts";
export { SLICE_ENTRIES_MAX, SLICE_KEY_MAX, SLICE_VALUE_BYTES_MAX } from "./host.ts";
export { addedTokens, mediaTokens } from "./media-tokens.ts";
export type { ChatDialect, ChatModelRules } from "./openai-chat/dialect.ts";
export { openAiChat } from "./openai-chat/openai-chat.ts";
export type {
  Credential,
  Provider,
  ProviderFailure,
  ProviderSink,
  Refusal,
  StreamControl,
  StreamDecoder,
  WireFormat,
  WireRequest,
} from "./provider.ts";
export { failure, isFailure } from "./provider.ts";
export type {
  Admission,
  AuditFilter,
  AuditKind,
  AuditRecord,
  AuditSeverity,
  AuditStore,
  Override,
  OverrideStore,
  Reservation,
  SessionStore,
  Spending,
  SpendSum,
  StateStore,
  StoreClaim,
  StoreHealth,
} from "./store.ts";
export {
  AUDIT_BYTES_MAX,
  AUDIT_RECORDS_MAX,
  auditKindOf,
  LEASE_MS,
  OVERRIDE_BYTES_MAX,
  OVERRIDES_MAX,
  SESSION_WAITERS_MAX,
} from "./store.ts";
export type { Template } from "./template.ts";
export { template } from "./template.ts";
export type { End } from "./wire/end-of.ts";
export { endOf } from "./wire/end-of.ts";
export {
  errorCode,
  errorWithin,
  jsonFailure,
  mayMoveOn,
  notJson,
  retryAfter,
  shortReason,
  statusFailed,
  statusWithin,
  unusable,
  wholeSeconds,
} from "./wire/failures.ts";
export type { Json } from "./wire/json.ts";
export {
  areCounts,
  count,
  firstOf,
  hasItems,
  isPresent,
  JSON_DEPTH_MAX,
  nestsTooDeep,
  parsed,
  parsedValue,
  parseJson,
  record,
  records,
  textOf,
  vectorsIn,
} from "./wire/json.ts";
export { PlainEvents } from "./wire/plain-events.ts";
export { callIds, TOOL_CALLS_MAX, toolJson, tooManyCalls } from "./wire/tools.ts";
