/**
 * Writes bodies in OpenAI's chat format. By hand: of an ordinary call only its texts go through JSON.stringify, which
 * is the expensive part.
 */

import type {
  CallOptions,
  Content,
  ContentPart,
  JsonObject,
  JsonSchema,
  Message,
  ProviderRequest,
  ToolChoice,
} from "../../plugin/chat.ts";
import { contentText } from "../../plugin/content.ts";
import { droppedHints, firstUnsupportedField, type SupportedFields } from "../unsupported-fields.ts";
import { asObject } from "../wire/json.ts";
import { toolJson } from "../wire/tools.ts";
import type { ChatDialect, ChatModelRules } from "./dialect.ts";

/** Models remembered, and system prompts kept as JSON; at the limit the memory starts anew. */
const MEMORY_MAX = 512;
const REMEMBERED_PROMPT_CHARACTERS_MAX = 16_384;

const ALL: SupportedFields = { has: () => true };
const ALL_OF_CHAT: SupportedFields = { has: (field) => field !== "input" };

const STREAM_MEMBERS: JsonObject = { stream: true, stream_options: { include_usage: true } };

interface KnownModel {
  /** `{"model":"…","messages":[` */
  readonly head: string;
  readonly rules: ChatModelRules;
  /** `,"max_tokens":` */
  readonly maxTokens: string;
  /** Sent with every call, those without tools and those with: each behind its comma, and as what they are. */
  readonly members: Sent;
  readonly membersWithTools: Sent;
}

interface Sent {
  readonly members: JsonObject;
  readonly json: string;
}

export class BodyEncoder {
  readonly #dialect: ChatDialect;
  readonly #streamMembers: string;
  readonly #models = new Map<string, KnownModel>();
  readonly #prompts = new Map<string, string>();
  readonly #schemas = new WeakMap<object, string>();

  constructor(dialect: ChatDialect) {
    this.#dialect = dialect;
    this.#streamMembers = membersJson(dialect.streamFields ?? STREAM_MEMBERS);
  }

  encode(request: ProviderRequest, stream: boolean): string {
    const model = this.#model(request.model);
    let body = model.head;
    for (let i = 0; i < request.messages.length; i++) {
      const message = request.messages[i];
      if (message !== undefined) body += i === 0 ? this.#message(message) : `,${this.#message(message)}`;
    }
    body += "]";
    const { temperature, topP, maxOutputTokens, responseSchema, options } = request;
    if (temperature !== undefined) body += `,"temperature":${temperature}`;
    if (topP !== undefined) body += `,"top_p":${topP}`;
    if (maxOutputTokens !== undefined) body += model.maxTokens + maxOutputTokens;
    const tools = options?.tools !== undefined && options.tools.length > 0;
    const alone = !tools && !stream;
    if (responseSchema !== undefined && options?.schemaDetails !== undefined)
      body += membersJson({ response_format: formatOf(responseSchema, options.schemaDetails) });
    else if (isObjectSchema(responseSchema) && takesSchema(model.rules, alone))
      body += this.#responseFormat(responseSchema);
    else if (options?.json === true) body += ',"response_format":{"type":"json_object"}';
    if (options !== undefined) body += this.#options(options, model.rules);
    const { members, json } = tools ? model.membersWithTools : model.members;
    // What the caller says itself wins.
    body += options?.extra === undefined ? json : membersJson({ ...members, ...this.#taken(options.extra) });
    return stream ? `${body}${this.#streaming(options?.extra?.["stream_options"])}}` : `${body}}`;
  }

  /** `asked`: what the caller wants of a stream, beside its usage. */
  #streaming(asked: unknown): string {
    const options = asObject(asked);
    if (options === undefined) return this.#streamMembers;
    const { streamFields = STREAM_MEMBERS } = this.#dialect;
    const stream_options = { ...asObject(streamFields["stream_options"]), ...options };
    return membersJson({ ...streamFields, stream_options });
  }

  /** A field may be present without asking for anything, and some vendors refuse it even then. */
  #taken({ stream_options: _ofStreams, ...extra }: JsonObject): JsonObject {
    const { supported } = this.#dialect;
    if (supported === undefined) return extra;
    return Object.fromEntries(Object.entries(extra).filter(([field]) => supported.has(field)));
  }

  /** Hints that are left out, see WireFormat. */
  dropped(request: ProviderRequest): readonly string[] {
    return droppedHints(request, this.#dialect.supported ?? ALL);
  }

  /** Without the members that only others of OpenAI's format take. */
  #takenOf<T extends { readonly extra?: JsonObject }>(from: T): T {
    const { supported } = this.#dialect;
    if (supported === undefined || from.extra === undefined) return from;
    const kept = Object.entries(from.extra).filter(([field]) => supported.has(field));
    return { ...from, extra: Object.fromEntries(kept) };
  }

  /** The field that there is no word for. */
  unsupported(request: ProviderRequest, stream: boolean): string | undefined {
    const { options } = request;
    const { rules } = this.#model(request.model);
    const field = firstUnsupportedField(
      request,
      this.#dialect.supported ?? (this.#dialect.embeddings ? ALL : ALL_OF_CHAT),
    );
    if (field !== undefined || options === undefined) return field;
    if (rules.stop === false && options.stop !== undefined) return "stop";
    const alone = !stream && (options.tools?.length ?? 0) === 0;
    return options.schemaDetails !== undefined && !takesSchema(rules, alone) ? "response_format" : undefined;
  }

  #model(name: string): KnownModel {
    let model = this.#models.get(name);
    if (model === undefined) {
      const rules = this.#dialect.model?.(name) ?? {};
      const members = { ...this.#dialect.fields, ...rules.fields };
      model = {
        head: `{"model":${JSON.stringify(name)},"messages":[`,
        rules,
        maxTokens: `,"${rules.maxTokensField ?? "max_tokens"}":`,
        members: sent(members),
        membersWithTools: sent({ ...members, ...rules.fieldsWithTools }),
      };
      remember(this.#models, name, model);
    }
    return model;
  }

  #message(message: Message): string {
    const { role, content, toolCalls, extra } = message;
    if (typeof content !== "string" || toolCalls !== undefined || role === "tool" || extra !== undefined) {
      const parts = typeof content === "string" ? content : content.map((part) => this.#takenOf(part));
      return JSON.stringify(this.#richMessage({ ...this.#takenOf(message), content: parts }));
    }
    if (role !== "system" || content.length > REMEMBERED_PROMPT_CHARACTERS_MAX) {
      return `{"role":"${role}","content":${JSON.stringify(content)}}`;
    }
    // An endpoint's prompt is the same for all its calls: its JSON is kept.
    let json = this.#prompts.get(content);
    if (json === undefined) {
      json = `{"role":"system","content":${JSON.stringify(content)}}`;
      remember(this.#prompts, content, json);
    }
    return json;
  }

  #richMessage({ role, content, toolCalls = [], toolCallId = "", extra }: Message): object {
    const { toolCallId: sent = shortId } = this.#dialect;
    if (role === "user") return { ...extra, role, content: partsOf(content) };
    // OpenAI's older name for what a tool answers, which knows no call's id.
    if (extra?.["role"] === "function") return { ...extra, content: contentText(content) };
    if (role === "tool") return { ...extra, role, tool_call_id: sent(toolCallId), content: plainly(content) };
    const refusal = typeof content === "string" ? [] : content.filter(isRefusal);
    const text = plainly(typeof content === "string" ? content : content.filter((p) => !isRefusal(p)));
    const calls = toolCalls.map((call) => ({
      id: sent(call.id),
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    }));
    return {
      ...extra,
      role,
      content: text === "" && (calls.length > 0 || refusal.length > 0) ? null : text,
      ...(refusal.length > 0 && { refusal: contentText(refusal) }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }

  #options(options: CallOptions, rules: ChatModelRules): string {
    const { stop = [], seed, tools = [], toolChoice, parallelToolCalls } = options;
    const { seedField = "seed", requiredToolChoice = "required" } = this.#dialect;
    const members: Record<string, unknown> = {
      [seedField]: seed,
      n: options.n,
      frequency_penalty: options.frequencyPenalty,
      presence_penalty: options.presencePenalty,
      user: this.#dialect.supported?.has("user") === false ? undefined : options.user,
    };
    if (stop.length > 0 && rules.stop !== false) members["stop"] = stop;
    // A choice without tools to choose from is refused.
    if (tools.length > 0) {
      members["tools"] = tools.map((tool) => toolJson(tool, tool.strict));
      members["tool_choice"] = toolChoice === "required" ? requiredToolChoice : choiceJson(toolChoice);
      members["parallel_tool_calls"] = parallelToolCalls;
    }
    return membersJson(members);
  }

  #responseFormat(schema: JsonObject): string {
    let json = this.#schemas.get(schema);
    if (json === undefined) {
      // Not `strict`: that mode refuses schemas which the gateway itself checks without trouble.
      json = membersJson({ response_format: formatOf(schema, { name: "answer" }) });
      this.#schemas.set(schema, json);
    }
    return json;
  }
}

/** OpenAI takes 40 characters. An id of Google's carries more than that behind a tilde, which is for Google alone. */
const ID_CHARACTERS_MAX = 40;

function shortId(id: string): string {
  const end = id.indexOf("~");
  return id.slice(0, end < 0 ? ID_CHARACTERS_MAX : Math.min(end, ID_CHARACTERS_MAX));
}

function formatOf(schema: JsonSchema, about: NonNullable<CallOptions["schemaDetails"]>): object {
  return { type: "json_schema", json_schema: { ...about, schema } };
}

function isRefusal(part: ContentPart): boolean {
  return part.type === "text" && part.refusal === true;
}

function sent(members: JsonObject): Sent {
  return { members, json: membersJson(members) };
}

function membersJson(members: JsonObject): string {
  const json = JSON.stringify(members).slice(1, -1);
  return json === "" ? "" : `,${json}`;
}

function partsOf(content: Content): string | object[] {
  if (typeof content === "string") return content;
  return content.map(partJson);
}

/** In one text, unless more is said of its parts. */
function plainly(content: Content): string | object[] {
  const isMore = typeof content !== "string" && content.some(({ extra }) => extra !== undefined);
  return isMore ? partsOf(content) : contentText(content);
}

function partJson(part: ContentPart): object {
  const { extra } = part;
  switch (part.type) {
    case "text":
      return { ...extra, type: "text", text: part.text };
    case "image":
      return { ...extra, type: "image_url", image_url: { url: part.url, detail: part.detail } };
    case "audio":
      return { ...extra, type: "input_audio", input_audio: { data: part.base64, format: part.format } };
    case "file":
      return { ...extra, type: "file", file: { filename: part.name, file_data: part.url, file_id: part.id } };
  }
}

function choiceJson(choice: ToolChoice | undefined): unknown {
  return typeof choice === "object" ? { type: "function", function: { name: choice.name } } : choice;
}

/** The vendors take schemas of objects only; other ones are left to the gateway's own check. */
function isObjectSchema(schema: JsonSchema | undefined): schema is Readonly<Record<string, unknown>> {
  return typeof schema === "object" && schema["type"] === "object";
}

function takesSchema({ responseSchema = true }: ChatModelRules, alone: boolean): boolean {
  return responseSchema === "alone" ? alone : responseSchema;
}

function remember<Value>(memory: Map<string, Value>, key: string, value: Value): void {
  if (memory.size >= MEMORY_MAX) memory.clear();
  memory.set(key, value);
}
