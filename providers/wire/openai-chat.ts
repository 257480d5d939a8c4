/**
 * OpenAI's chat-completions wire format, which other vendors share with small differences: those are a `ChatDialect`.
 * Pure translation: no sockets, no time. What comes back is read by openai-chat-answer.ts.
 */
import type { Credential, Logger, Message, ProviderRequest, WireFormat } from "sluice/plugin";
import { contentText } from "sluice/plugin";
import { ChunkDecoder, decodeAnswer, decodeFailure } from "./openai-chat-answer.ts";

/** What one vendor does its own way. */
export interface ChatDialect {
  /** After the base URL. */
  readonly path: string;
  /** Of the vendor, beside authorization and content type. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Which settings a model takes. Called once per model. */
  readonly model: (name: string) => ModelRules;
  /** JSON members that ask for a stream, e.g. `"stream":true`. */
  readonly streamMembers: string;
}

/** What one model takes of an endpoint's settings. What it refuses is left out, never sent to fail. */
export interface ModelRules {
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly temperature: boolean;
  readonly topP: boolean;
  /** `response_format` of type `json_schema`. */
  readonly responseSchema: boolean;
}

/** Models remembered, and system prompts kept as JSON; at the limit the memory starts anew. */
const MEMORY_MAX = 512;
const REMEMBERED_PROMPT_CHARACTERS_MAX = 16_384;

/** Makes the wire format of a vendor that speaks `dialect`. */
export function openAiChat(dialect: ChatDialect, log: Logger): WireFormat {
  const addresses = new WeakMap<
    Credential,
    { readonly url: string; readonly headers: Record<string, string> }
  >();
  const encoder = new BodyEncoder(dialect, log);
  return {
    framing: "sse",
    encode(request, credential, stream) {
      let address = addresses.get(credential);
      if (address === undefined) {
        const authorization =
          credential.apiKey === "" ? undefined : { authorization: `Bearer ${credential.apiKey}` };
        const headers = { "content-type": "application/json", ...authorization, ...dialect.headers };
        address = { url: credential.baseUrl + dialect.path, headers };
        addresses.set(credential, address);
      }
      return {
        method: "POST",
        url: address.url,
        headers: address.headers,
        body: encoder.encode(request, stream),
      };
    },
    decode: decodeAnswer,
    failure: decodeFailure,
    decoder: () => new ChunkDecoder(),
  };
}

interface KnownModel {
  /** `{"model":"…","messages":[` */
  readonly head: string;
  readonly rules: ModelRules;
  /** Settings that were left out and have been told to the log. */
  readonly told: Set<string>;
}

/** Writes bodies by hand: only the texts of a call go through JSON.stringify, which is the dear part. */
class BodyEncoder {
  readonly #dialect: ChatDialect;
  readonly #log: Logger;
  readonly #models = new Map<string, KnownModel>();
  readonly #prompts = new Map<string, string>();
  readonly #schemas = new WeakMap<object, string>();

  constructor(dialect: ChatDialect, log: Logger) {
    this.#dialect = dialect;
    this.#log = log;
  }

  encode(request: ProviderRequest, stream: boolean): string {
    const model = this.#model(request.model);
    const { rules } = model;
    let body = model.head;
    for (let i = 0; i < request.messages.length; i++) {
      const message = request.messages[i];
      if (message !== undefined) body += i === 0 ? this.#message(message) : `,${this.#message(message)}`;
    }
    body += "]";
    const { temperature, topP, maxOutputTokens, responseSchema } = request;
    if (temperature !== undefined) {
      if (rules.temperature) body += `,"temperature":${temperature}`;
      else this.#leftOut(request.model, model, "temperature");
    }
    if (topP !== undefined) {
      if (rules.topP) body += `,"top_p":${topP}`;
      else this.#leftOut(request.model, model, "top_p");
    }
    if (maxOutputTokens !== undefined) body += `,"${rules.maxTokensField}":${maxOutputTokens}`;
    if (rules.responseSchema && isObjectSchema(responseSchema)) body += this.#responseFormat(responseSchema);
    return stream ? `${body},${this.#dialect.streamMembers}}` : `${body}}`;
  }

  #model(name: string): KnownModel {
    let model = this.#models.get(name);
    if (model === undefined) {
      model = {
        head: `{"model":${JSON.stringify(name)},"messages":[`,
        rules: this.#dialect.model(name),
        told: new Set(),
      };
      remember(this.#models, name, model);
    }
    return model;
  }

  /** An endpoint's prompt is the same for all its calls: its JSON is kept. */
  #message(message: Message): string {
    const { role } = message;
    const content = contentText(message.content);
    if (role !== "system" || content.length > REMEMBERED_PROMPT_CHARACTERS_MAX) {
      return `{"role":"${role}","content":${JSON.stringify(content)}}`;
    }
    let json = this.#prompts.get(content);
    if (json === undefined) {
      json = `{"role":"system","content":${JSON.stringify(content)}}`;
      remember(this.#prompts, content, json);
    }
    return json;
  }

  #responseFormat(schema: object): string {
    let json = this.#schemas.get(schema);
    if (json === undefined) {
      // Not `strict`: that mode refuses schemas which the gateway itself checks without trouble.
      const format = { type: "json_schema", json_schema: { name: "answer", schema } };
      json = `,"response_format":${JSON.stringify(format)}`;
      this.#schemas.set(schema, json);
    }
    return json;
  }

  #leftOut(name: string, model: KnownModel, setting: string): void {
    if (model.told.has(setting)) return;
    model.told.add(setting);
    this.#log.warn({ model: name, setting }, "the model refuses this setting: it is not sent");
  }
}

function remember<Value>(memory: Map<string, Value>, key: string, value: Value): void {
  if (memory.size >= MEMORY_MAX) memory.clear();
  memory.set(key, value);
}

/** The vendors take schemas of objects only; other ones are left to the gateway's own check. */
function isObjectSchema(
  schema: ProviderRequest["responseSchema"],
): schema is Readonly<Record<string, unknown>> {
  return typeof schema === "object" && schema["type"] === "object";
}
