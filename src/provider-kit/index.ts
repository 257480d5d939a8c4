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
  JsonMembers,
  JsonSchema,
  Message,
  ModelUsage,
  ProviderRequest,
  RawAnswer,
  TextPart,
  Tool,
  ToolCall,
  ToolCallDelta,
  ToolChoice,
  Usage,
} from "../plugin/chat.ts";
export { eventChunk, textChunk } from "../plugin/chat.ts";
export type { Base64Url } from "../plugin/content.ts";
export { charactersOf, contentText, readBase64Url } from "../plugin/content.ts";
export type { Target } from "../plugin/contract.ts";
export { defineProvider } from "../plugin/contract.ts";
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
export { addedTokens, mediaTokens } from "./media-tokens.ts";
export type { ChatDialect, ChatModelRules } from "./openai-chat/dialect.ts";
export { openAiChat } from "./openai-chat/openai-chat.ts";
export type { SupportedFields } from "./unsupported-fields.ts";
export { COMMON_FIELDS, droppedHints, firstUnsupportedField } from "./unsupported-fields.ts";
export { endOf } from "./wire/end-of.ts";
export {
  errorCode,
  errorWithin,
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
  isPresent,
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
