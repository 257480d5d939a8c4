/**
 * What goes to a model and what comes back, in the gateway's own words. Providers translate between these shapes and
 * their wire formats; hooks and guardrails see nothing else.
 */

/** A JSON Schema, draft 2020-12 or draft-07. @since 0.1.0 */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** What JSON can say. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** `tool`: the result of a tool call. */
export type Role = "system" | "user" | "assistant" | "tool";

/**
 * One message of a conversation. Immutable: a hook that changes one puts a new one in its place.
 * @since 0.1.0
 */
export interface Message {
  readonly role: Role;
  readonly content: Content;
  /** Of an assistant that asked for tools: in the order asked. */
  readonly toolCalls?: readonly ToolCall[];
  /** Of role tool: the call that this is the result of. */
  readonly toolCallId?: string;
  /** What only OpenAI's format says of a message, `name` for one: passed on where that format is spoken. */
  readonly extra?: JsonObject;
}

/** Members of a JSON object; those that are undefined are left out. @since 0.2.0 */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A text, or parts in their order. `contentText` and `contentLength` read either. @since 0.1.0 */
export type Content = string | readonly ContentPart[];

/** A part of a message. @since 0.1.0 */
export type ContentPart = TextPart | ImagePart | AudioPart | FilePart;

interface Part {
  /** What only OpenAI's format says of a part: passed on where that format is spoken. */
  readonly extra?: JsonObject;
}

/** Text. @since 0.1.0 */
export interface TextPart extends Part {
  readonly type: "text";
  readonly text: string;
  /** Of an assistant: why it did not answer, where that is told apart from its answer. */
  readonly refusal?: true;
}

/** An image, by address or as a data URL. @since 0.1.0 */
export interface ImagePart extends Part {
  readonly type: "image";
  /** `https:`, or `data:<media type>;base64,…`. */
  readonly url: string;
  /** How closely to look, where a provider can be told. */
  readonly detail?: "auto" | "low" | "high";
}

/** Only for providers that say they take it, see `unsupported`. @since 0.1.0 */
export interface AudioPart extends Part {
  readonly type: "audio";
  readonly base64: string;
  /** `wav` or `mp3`. */
  readonly format: string;
}

/**
 * A document: its bytes, or the id that a provider gave it. Only for providers that say they take it.
 * @since 0.1.0
 */
export interface FilePart extends Part {
  readonly type: "file";
  readonly name?: string;
  /** `data:<media type>;base64,…`. */
  readonly url?: string;
  readonly id?: string;
}

/** A call of a tool that a model asks for. @since 0.1.0 */
export interface ToolCall {
  /** Unique in its conversation; the gateway makes one where a provider has none. */
  readonly id: string;
  readonly name: string;
  /** JSON text of an object, as the model wrote it; `{}` when it wrote nothing. */
  readonly arguments: string;
}

/** A part of a tool call, as a stream brings it: the first of an index has id and name. @since 0.1.0 */
export interface ToolCallDelta {
  /** 0 for the first call of the answer, then 1, 2 …, whatever the provider counts. */
  readonly index: number;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** Appended to what came before. */
  readonly arguments: string;
}

/** A function that a model may ask for. @since 0.1.0 */
export interface Tool {
  readonly name: string;
  readonly description?: string;
  /** Schema of the arguments; absent: none. */
  readonly parameters?: JsonSchema;
  readonly strict?: boolean;
  /** Hints of the caller beside it, such as `cache_control`. @since 0.2.0 */
  readonly extra?: JsonObject;
}

/** Whether a model may, must or must not call a tool, or must call one by name. @since 0.1.0 */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/**
 * Why an answer ended. `error`: filtered, refused, malformed; the provider's own word goes beside it.
 * @since 0.1.0
 */
export type FinishReason = "stop" | "length" | "tool_calls" | "error";

/** Tokens of a model that a provider asked within an answer. @since 0.2.0 */
export interface ModelUsage
  extends Pick<
    Usage,
    | "promptTokens"
    | "completionTokens"
    | "totalTokens"
    | "cachedPromptTokens"
    | "cacheWriteTokens"
    | "cacheWrite1hTokens"
  > {
  /** As the provider names it; "": the model that was asked. */
  readonly model: string;
}

/** Tokens of one call. All integers, at least 0. @since 0.1.0 */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** The part of promptTokens that the provider read from its cache. Default 0. */
  readonly cachedPromptTokens?: number;
  /** The part of promptTokens that the provider wrote into its cache, where that has a price. Default 0. */
  readonly cacheWriteTokens?: number;
  /** The part of cacheWriteTokens that is kept for an hour, where that has a price of its own. Default 0. @since 0.2.0 */
  readonly cacheWrite1hTokens?: number;
  /** The part of completionTokens that nobody sees: the model's reasoning. Default 0. */
  readonly reasoningTokens?: number;
  /** Web searches that the provider ran for the answer and charges for. Default 0. @since 0.2.0 */
  readonly webSearches?: number;
  /** The processing tier that the provider served the call with, e.g. `flex`. Absent: not reported. @since 0.2.0 */
  readonly serviceTier?: string;
  /** Where the provider processed the call, if that has a price, e.g. `us`. Absent: not reported. @since 0.2.0 */
  readonly inferenceGeo?: string;
  /** Tokens of other models that the provider asked for the answer and charges for beside those above. @since 0.2.0 */
  readonly otherModels?: readonly ModelUsage[];
  /** What the provider charges for, where it charges for other tokens than it counts above. @since 0.2.0 */
  readonly billed?: { readonly promptTokens: number; readonly completionTokens: number };
  /** True when it was not reported, or not usably, and was estimated from the text. */
  readonly estimated?: boolean;
}

/** One whole answer. @since 0.1.0 */
export interface ChatResult {
  /** The provider's id of the answer; the gateway makes one where the provider has none. */
  readonly id: string;
  /** The model that answered, as the provider names it. */
  readonly model: string;
  readonly content: string;
  /** Tools that the model asks for; absent or empty: none. */
  readonly toolCalls?: readonly ToolCall[];
  readonly finishReason: FinishReason;
  /**
   * The provider's own word, where it is not the same as finishReason. Shown as
   * `meta.provider_finish_reason` where the answer was filtered, refused or malformed.
   */
  readonly providerFinishReason?: string;
  /** Absent when the provider reported none: the gateway then estimates it. */
  readonly usage?: Usage;
  /** Where several answers were asked for (`CallOptions.n`), those after the first. */
  readonly alternatives?: readonly Alternative[];
  /** Of a call for embeddings: one vector for each text, in their order. */
  readonly embeddings?: readonly (readonly number[])[];
  /** Of a call with `CallOptions.native`, where the provider speaks OpenAI's format. */
  readonly native?: NativeAnswer;
}

/** A further answer to one question. */
export type Alternative = Pick<ChatResult, "content" | "toolCalls" | "finishReason" | "providerFinishReason">;

/**
 * An answer in OpenAI's own shape as it came, and what was read of it: it is shown where hooks left that as it was. A
 * hook that changes an answer need not know of it.
 * @since 0.2.0
 */
export interface NativeAnswer {
  readonly json: JsonObject;
  readonly content: string;
  readonly toolCalls: ChatResult["toolCalls"];
  readonly alternatives: ChatResult["alternatives"];
}

/**
 * One event of a streamed answer. A hook that changes the text returns a new chunk without `raw`: the gateway then
 * writes it itself; a chunk that still has `raw` goes out as the provider's own bytes.
 * @since 0.1.0
 */
export interface ChatChunk {
  /** Text added by this event; "" when it carries none. */
  readonly text: string;
  readonly toolCalls: readonly ToolCallDelta[] | undefined;
  /** Set on the event that ends the answer. */
  readonly finishReason: FinishReason | undefined;
  readonly providerFinishReason: string | undefined;
  /** Set on the event that reports usage; the last one wins. */
  readonly usage: Usage | undefined;
  /**
   * JSON text of an OpenAI-shaped chunk that may be sent to the client as it is, else undefined. Of a call with
   * `CallOptions.native`, events that end the answer have it too: they are sent behind everything else.
   */
  readonly native: string | undefined;
  /** `raw` says more than the fields above do (thoughts, say): it is no text that hooks could judge. */
  readonly nativeOnly?: true;
}

/** A chunk of nothing but text, as a hook would return it. @since 0.1.0 */
export function textChunk(text: string): ChatChunk {
  return eventChunk(text, undefined);
}

/** A chunk of text with the provider's own OpenAI-shaped event, if it may be passed on. @since 0.1.0 */
export function eventChunk(text: string, native: string | undefined): ChatChunk {
  return {
    text,
    toolCalls: undefined,
    finishReason: undefined,
    providerFinishReason: undefined,
    usage: undefined,
    native,
  };
}

/**
 * What a provider is asked for. Settings that are undefined are not sent, so that the provider's default holds.
 * @since 0.1.0
 */
export interface ProviderRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  /** 0 to 2. */
  readonly temperature: number | undefined;
  /** 0 to 1. */
  readonly topP: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** A schema that the answer must follow, for providers that can be told one. */
  readonly responseSchema: JsonSchema | undefined;
  /** What the caller asks for beside the endpoint's settings. undefined on the chat surface. */
  readonly options: CallOptions | undefined;
}

/**
 * What one call may ask for beside the endpoint's settings. What is undefined is not sent. A provider says by
 * `unsupported` what it has no word for; asked for that, another target is asked or the call refused.
 * @since 0.1.0
 */
export interface CallOptions {
  /** In place of the endpoint's. */
  readonly temperature?: number;
  readonly topP?: number;
  /** Where it is less than the endpoint's. */
  readonly maxOutputTokens?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly tools?: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  /** The answer must be JSON, of any shape; `ProviderRequest.responseSchema` says more. */
  readonly json?: boolean;
  /** In place of the endpoint's. */
  readonly responseSchema?: JsonSchema;
  /** Goes with it, for providers that want it named. */
  readonly schemaDetails?: {
    readonly name: string;
    readonly description?: string;
    readonly strict?: boolean;
  };
  /** Answers to one question, at least 1. */
  readonly n?: number;
  /** -2 to 2. */
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  /** Who the caller's user is, for a provider that watches for abuse. */
  readonly user?: string;
  /** Members of the request that only OpenAI's format knows, as they came. */
  readonly extra?: JsonObject;
  /** Set: the answer is a vector for each message's text, with this number of dimensions where it is given. */
  readonly embed?: { readonly dimensions?: number };
  /** The caller speaks OpenAI's format in full: answers keep what they came with, see `raw`. */
  readonly native?: boolean;
  /** Code units that tools and schema take in the prompt, beside the messages. Default 0. */
  readonly promptCharacters?: number;
}
