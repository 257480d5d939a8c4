/**
 * What goes to a model and what comes back, in the gateway's own words. Providers translate between these shapes and
 * their wire formats; hooks and guardrails see nothing else.
 */

/** A JSON Schema, draft 2020-12 or draft-07. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

export type Role = "system" | "user" | "assistant";

/** One message of a conversation. Immutable: a hook that changes one puts a new one in its place. */
export interface Message {
  readonly role: Role;
  readonly content: string;
}

/** Why an answer ended. `error`: filtered, refused, malformed; the provider's own word goes beside it. */
export type FinishReason = "stop" | "length" | "tool_calls" | "error";

/** Tokens of one call. All integers, at least 0. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** The part of promptTokens that the provider read from its cache. Default 0. */
  readonly cachedPromptTokens?: number;
  /** True when no provider reported it and the 4-characters rule was used. */
  readonly estimated?: boolean;
}

/** One whole answer. */
export interface ChatResult {
  /** The provider's id of the answer; the gateway makes one where the provider has none. */
  readonly id: string;
  /** The model that answered, as the provider names it. */
  readonly model: string;
  readonly content: string;
  readonly finishReason: FinishReason;
  /** The provider's own word, where it is not the same as finishReason. Shown as `meta.provider_finish_reason`. */
  readonly providerFinishReason?: string;
  /** Absent when the provider reported none: the gateway then estimates it. */
  readonly usage?: Usage;
}

/**
 * One event of a streamed answer. A hook that changes the text returns a new chunk without `raw`: the gateway then
 * writes it itself; a chunk that still has `raw` goes out as the provider's own bytes.
 */
export interface ChatChunk {
  /** Text added by this event; "" when it carries none. */
  readonly text: string;
  /** Set on the event that ends the answer. */
  readonly finishReason: FinishReason | undefined;
  readonly providerFinishReason: string | undefined;
  /** Set on the event that reports usage; the last one wins. */
  readonly usage: Usage | undefined;
  /** JSON text of an OpenAI-shaped chunk that may be sent to the client as it is, else undefined. */
  readonly raw: string | undefined;
}

/** A chunk of nothing but text, as a hook would return it. */
export function textChunk(text: string): ChatChunk {
  return { text, finishReason: undefined, providerFinishReason: undefined, usage: undefined, raw: undefined };
}

/** What a provider is asked for. Settings that are undefined are not sent, so that the provider's default holds. */
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
}
