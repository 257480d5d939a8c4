/** `sluice/provider`: the public API of providers: wire formats, OpenAI's chat format, and reading of JSON and failures. */

export type {
  AudioPart,
  CallOptions,
  ChatChunk,
  ChatResult,
  Content,
  ContentPart,
  FilePart,
  FinishReason,
  ImagePart,
  JsonObject,
  JsonSchema,
  Message,
  ModelUsage,
  NativeAnswer,
  ProviderRequest,
  TextPart,
  Tool,
  ToolCall,
  ToolCallDelta,
  ToolChoice,
  Usage,
} from "../plugin/chat.ts";
export { eventChunk, textChunk } from "../plugin/chat.ts";
export type { Base64Url } from "../plugin/content.ts";
export { contentText, countCharacters, readBase64Url } from "../plugin/content.ts";
export type { Target } from "../plugin/contract.ts";
export { defineProvider } from "../plugin/define.ts";
export { estimateTokens } from "../plugin/estimate.ts";
export type { Exchange } from "../plugin/exchange.ts";
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
export type { OptionsOf } from "../plugin/schema-type.ts";
export { estimateAddedTokens, estimateMediaTokens } from "./media-tokens.ts";
export type { ChatDialect, ChatModelRules } from "./openai-chat/dialect.ts";
export { openAiChat } from "./openai-chat/openai-chat.ts";
export type { SupportedFields } from "./unsupported-fields.ts";
export { COMMON_FIELDS, droppedHints, firstUnsupportedField } from "./unsupported-fields.ts";
export { readFinish } from "./wire/end-of.ts";
export {
  embeddedError,
  invalidJson,
  jsonFailure,
  parseRetryAfter,
  readErrorCode,
  readErrorReason,
  readErrorStatus,
  statusFailure,
  toWholeSeconds,
  unusableAnswer,
} from "./wire/failures.ts";
export {
  areCounts,
  asCount,
  asObject,
  asObjects,
  asText,
  asVectors,
  firstObject,
  isPresent,
  parseJson,
  parseObject,
  parseValue,
} from "./wire/json.ts";
export { PlainEvents } from "./wire/plain-events.ts";
export { TOOL_CALLS_MAX, toolCallIds, toolJson, tooManyToolCalls } from "./wire/tools.ts";
