/** `sluice/provider`: the public API of providers: wire formats, OpenAI's chat format, and reading of JSON and failures. */

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
} from "../plugin/chat.ts";
export { eventChunk, textChunk } from "../plugin/chat.ts";
export type { Base64Url } from "../plugin/content.ts";
export { charactersOf, contentLength, contentText, readBase64Url } from "../plugin/content.ts";
export type { MaybePromise, ProviderPlugin, Target } from "../plugin/contract.ts";
export { defineProvider, isPromise } from "../plugin/contract.ts";
export { estimateTokens } from "../plugin/estimate.ts";
export type { Clock, Host } from "../plugin/host.ts";
export type {
  Credential,
  Provider,
  ProviderFailure,
  ProviderSink,
  SettingConstraint,
  StreamControl,
  StreamDecoder,
  WireFormat,
  WireRequest,
} from "../plugin/provider.ts";
export { failure, isFailure } from "../plugin/provider.ts";
export { addedTokens, mediaTokens } from "./media-tokens.ts";
export type { ChatDialect, ChatModelRules } from "./openai-chat/dialect.ts";
export { openAiChat } from "./openai-chat/openai-chat.ts";
export type { SupportedFields } from "./unsupported-fields.ts";
export { COMMON_FIELDS, droppedHints, firstUnsupportedField } from "./unsupported-fields.ts";
export type { End } from "./wire/end-of.ts";
export { endOf } from "./wire/end-of.ts";
export {
  errorCode,
  errorWithin,
  isRetryable,
  jsonFailure,
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
