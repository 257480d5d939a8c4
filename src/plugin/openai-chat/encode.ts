/**
 * Writes bodies in OpenAI's chat format. By hand: of an ordinary call only its texts go through JSON.stringify, which
 * is the dear part.
 */
import type {
  CallOptions,
  Content,
  JsonSchema,
  Message,
  ProviderRequest,
  Tool,
  ToolChoice,
} from "../chat.ts";
import { contentText } from "../content.ts";
import type { ChatDialect, ChatModelRules, JsonMembers } from "./dialect.ts";

/** Models remembered, and system prompts kept as JSON; at the limit the memory starts anew. */
const MEMORY_MAX = 512;
const REMEMBERED_PROMPT_CHARACTERS_MAX = 16_384;

const STREAM_MEMBERS: JsonMembers = { stream: true, stream_options: { include_usage: true } };

interface KnownModel {
  /** `{"model":"…","messages":[` */
  readonly head: string;
  readonly rules: ChatModelRules;
  /** `,"max_tokens":` */
  readonly maxTokens: string;
  /** Members sent with every call, each behind its comma. */
  readonly members: string;
  readonly membersWithTools: string;
}

export class BodyEncoder {
  readonly #dialect: ChatDialect;
  readonly #streamMembers: string;
  readonly #models = new Map<string, KnownModel>();
  readonly #prompts = new Map<string, string>();
  readonly #schemas = new WeakMap<object, string>();

  constructor(dialect: ChatDialect) {
    this.#dialect = dialect;
    this.#streamMembers = membersJson(dialect.streamMembers ?? STREAM_MEMBERS);
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
    if (isObjectSchema(responseSchema) && takesSchema(model.rules, alone))
      body += this.#responseFormat(responseSchema);
    else if (options?.json === true) body += ',"response_format":{"type":"json_object"}';
    if (options !== undefined) body += this.#options(options, model.rules);
    body += tools ? model.membersWithTools : model.members;
    return stream ? `${body}${this.#streamMembers}}` : `${body}}`;
  }

  #model(name: string): KnownModel {
    let model = this.#models.get(name);
    if (model === undefined) {
      const rules = this.#dialect.model?.(name) ?? {};
      const members = { ...this.#dialect.members, ...rules.members };
      model = {
        head: `{"model":${JSON.stringify(name)},"messages":[`,
        rules,
        maxTokens: `,"${rules.maxTokensField ?? "max_tokens"}":`,
        members: membersJson(members),
        membersWithTools: membersJson({ ...members, ...rules.membersWithTools }),
      };
      remember(this.#models, name, model);
    }
    return model;
  }

  #message(message: Message): string {
    const { role, content } = message;
    if (typeof content !== "string" || message.toolCalls !== undefined || role === "tool") {
      return JSON.stringify(this.#richMessage(message));
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

  #richMessage({ role, content, toolCalls = [], toolCallId = "" }: Message): object {
    const { toolCallId: sent = shortId } = this.#dialect;
    if (role === "user") return { role, content: partsOf(content) };
    const text = contentText(content);
    if (role === "tool") return { role, tool_call_id: sent(toolCallId), content: text };
    if (toolCalls.length === 0) return { role, content: text };
    return {
      role,
      content: text === "" ? null : text,
      tool_calls: toolCalls.map((call) => ({
        id: sent(call.id),
        type: "function",
        function: { name: call.name, arguments: call.arguments },
      })),
    };
  }

  #options(options: CallOptions, rules: ChatModelRules): string {
    const { stop = [], seed, tools = [], toolChoice, parallelToolCalls } = options;
    const { seedField = "seed", requiredToolChoice = "required" } = this.#dialect;
    const members: Record<string, unknown> = { [seedField]: seed };
    if (stop.length > 0 && rules.stop !== false) members["stop"] = stop;
    // A choice without tools to choose from is refused.
    if (tools.length > 0) {
      members["tools"] = tools.map(toolJson);
      members["tool_choice"] = toolChoice === "required" ? requiredToolChoice : choiceJson(toolChoice);
      members["parallel_tool_calls"] = parallelToolCalls;
    }
    return membersJson(members);
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
}

/** OpenAI takes 40 characters. An id of Google's carries more than that behind a tilde, which is for Google alone. */
const ID_CHARACTERS_MAX = 40;

function shortId(id: string): string {
  const end = id.indexOf("~");
  return id.slice(0, end < 0 ? ID_CHARACTERS_MAX : Math.min(end, ID_CHARACTERS_MAX));
}

function membersJson(members: JsonMembers): string {
  const json = JSON.stringify(members).slice(1, -1);
  return json === "" ? "" : `,${json}`;
}

function partsOf(content: Content): string | object[] {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : { type: "image_url", image_url: { url: part.url, detail: part.detail } },
  );
}

/** Some vendors want parameters even of a tool that has none. */
function toolJson({ name, description, parameters, strict }: Tool): object {
  const schema = typeof parameters === "object" ? parameters : { type: "object", properties: {} };
  return { type: "function", function: { name, description, parameters: schema, strict } };
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
