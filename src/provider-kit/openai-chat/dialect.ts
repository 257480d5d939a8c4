/** What a vendor of OpenAI's chat format does its own way. Whatever is left out is as OpenAI's server has it. */

import type { JsonObject } from "../../plugin/chat.ts";
import type { SupportedFields } from "../unsupported-fields.ts";

/** How a vendor differs from OpenAI. @since 0.1.0 */
export interface ChatDialect {
  /** After the base URL. Default `/chat/completions`. */
  readonly path?: string;
  /** Beside authorization and content type, names in lower case. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with every call. Default: none. */
  readonly fields?: JsonObject;
  /** What asks for a stream. Default `stream: true` and the `stream_options` that ask for usage. */
  readonly streamFields?: JsonObject;
  /** How a model differs. Called once a model. Default: no model does. */
  readonly model?: (name: string) => ChatModelRules;
  /** Default `seed`. */
  readonly seedField?: string;
  /** The tool choice that leaves the model no other. Default `required`. */
  readonly requiredToolChoice?: string;
  /** How the id of a tool call is sent back, of any vendor; the same each time. Default: `shortId`. */
  readonly toolCallId?: (id: string) => string;
  /** What it takes of the fields that only some know, see `firstUnsupportedField`. Default: all but `input`. */
  readonly supported?: SupportedFields;
  /** Makes embeddings. Default: it does not. */
  readonly embeddings?: {
    /** Default `dimensions`. */
    readonly dimensionsField?: string;
  };
  /** Statuses on which another target may do better, beside 408, 429 and 5xx. Default: none. */
  readonly retryableStatuses?: readonly number[];
}

/** How one model differs from others of its vendor. @since 0.1.0 */
export interface ChatModelRules {
  /** Default `max_tokens`. */
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
  /** Takes `stop`. Default true. */
  readonly stop?: boolean;
  /** Takes a `response_format` of type `json_schema`; `alone`: not in streams nor beside tools. Default true. */
  readonly responseSchema?: boolean | "alone";
  /** Sent with every call of this model, over the dialect's. Default: none. */
  readonly fields?: JsonObject;
  /** Sent with calls that offer tools, over `members`. Default: none. */
  readonly fieldsWithTools?: JsonObject;
}
