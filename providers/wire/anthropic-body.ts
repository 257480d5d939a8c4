/**
 * Writes bodies for Anthropic. By hand: of an ordinary call only its texts go through JSON.stringify, which is the expensive
 * part. How models differ stands in anthropic-models.ts.
 */
import {
  type CallOptions,
  type Content,
  droppedHints,
  firstUnsupportedField,
  type JsonObject,
  type JsonSchema,
  type Message,
  type ProviderRequest,
  parseObject,
  type Tool,
  type ToolChoice,
} from "sluice/provider";
import { jsonToolMembers, mayForceJson } from "./anthropic-json-tool.ts";
import { type AnthropicModel, anthropicModel } from "./anthropic-models.ts";
import { anthropicSchema } from "./anthropic-schema.ts";
import { dialogueOf, fileElsewhere, imageWithin, isSaid, silentMessage, type Turn } from "./dialogue.ts";
import { Memory } from "./memory.ts";

interface KnownModel extends AnthropicModel {
  /** `{"model":"…","max_tokens":` */
  readonly head: string;
}

const AUTO = { type: "auto" } as const;

const TAKEN = new Set([
  "stop",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "user",
  "file",
  "cache_control",
]);
const TAKEN_WITH_EFFORT = new Set([...TAKEN, "reasoning_effort"]);

/** Anthropic's words for OpenAI's. */
const EFFORTS: Readonly<Record<string, string>> = {
  ...{ none: "low", minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "max", max: "max" },
};

export class AnthropicBody {
  readonly #models = new Memory<KnownModel>((name) => ({
    ...anthropicModel(name),
    head: `{"model":${JSON.stringify(name)},"max_tokens":`,
  }));
  readonly #systems = new Memory((system) => `,"system":${JSON.stringify(system)}`);
  readonly #formats = new WeakMap<object, string>();
  /** Members sent with every call, each behind its comma. */
  readonly #members: string;

  constructor(cacheTtl: string | undefined) {
    this.#members = cacheTtl === undefined ? "" : `,"cache_control":{"type":"ephemeral","ttl":"${cacheTtl}"}`;
  }

  encode(request: ProviderRequest, stream: boolean): string {
    const { temperature, topP, maxOutputTokens, responseSchema, options } = request;
    const model = this.#models.of(request.model);
    const { system, turns } = dialogueOf(request.messages);
    let body = model.head + (maxOutputTokens ?? model.outputTokensMax);
    if (isSaid(system)) body += markedSystem(request) ?? this.#systems.of(system);
    body += `,"messages":[${turnsJson(turns)}]`;
    if (temperature !== undefined) body += `,"temperature":${temperature}`;
    if (topP !== undefined) body += `,"top_p":${topP}`;
    const format = model.schema && responseSchema !== undefined ? this.#format(responseSchema) : "";
    body += outputConfig(format, effortOf(request, model));
    if (format === "" && model.forcedTool && mayForceJson(request)) {
      body += membersJson(jsonToolMembers(responseSchema));
    }
    if (options !== undefined) body += optionsJson(options, model);
    body += this.#members;
    return stream ? `${body},"stream":true}` : `${body}}`;
  }

  /** The field that there is no word for: a file must be there in full, and JSON needs a schema that the model takes. */
  unsupported(request: ProviderRequest): string | undefined {
    const { responseSchema, options, messages, model } = request;
    const field = firstUnsupportedField(request, TAKEN) ?? fileElsewhere(messages) ?? silentMessage(messages);
    if (field !== undefined || (options?.json !== true && options?.schemaDetails === undefined)) return field;
    const { schema, forcedTool } = this.#models.of(model);
    const takes = responseSchema !== undefined && schema && this.#format(responseSchema) !== "";
    return takes || (forcedTool && mayForceJson(request)) ? undefined : "response_format";
  }

  /** Hints that are left out, see WireFormat. */
  dropped(request: ProviderRequest): readonly string[] {
    const { effort } = this.#models.of(request.model);
    return droppedHints(request, effort ? TAKEN_WITH_EFFORT : TAKEN);
  }

  #format(schema: JsonSchema): string {
    if (typeof schema !== "object") return "";
    let json = this.#formats.get(schema);
    if (json === undefined) {
      const taken = anthropicSchema(schema);
      json = taken === undefined ? "" : JSON.stringify({ type: "json_schema", schema: taken });
      this.#formats.set(schema, json);
    }
    return json;
  }
}

function effortOf({ options }: ProviderRequest, { effort }: AnthropicModel): string | undefined {
  const asked = options?.extra?.["reasoning_effort"];
  return effort && typeof asked === "string" ? EFFORTS[asked] : undefined;
}

/** `format`: JSON text, "" for none. */
function outputConfig(format: string, effort: string | undefined): string {
  const members = [];
  if (format !== "") members.push(`"format":${format}`);
  if (effort !== undefined) members.push(`"effort":"${effort}"`);
  return members.length === 0 ? "" : `,"output_config":{${members.join(",")}}`;
}

/** The system's words in parts, where some of them carry a cache mark; undefined: as one text. */
function markedSystem({ messages }: ProviderRequest): string | undefined {
  const system = messages.filter(({ role }) => role === "system");
  if (!system.some(isMarked)) return undefined;
  return membersJson({
    system: system.flatMap((message) => marked(partsOf(message.content), message.extra)),
  });
}

function isMarked({ content, extra }: Message): boolean {
  if (extra?.["cache_control"] !== undefined) return true;
  return typeof content !== "string" && content.some((part) => part.extra?.["cache_control"] !== undefined);
}

/** A mark of a whole message is its last part's. */
function marked(blocks: Block[], extra: JsonObject | undefined): Block[] {
  const last = blocks.at(-1);
  const mark = extra?.["cache_control"];
  if (last !== undefined && mark !== undefined) last["cache_control"] = mark;
  return blocks;
}

/** Turns that say nothing are left out: no text may be empty, and neighbours of one side are taken. */
function turnsJson(turns: readonly Turn[]): string {
  let json = "";
  turns.forEach(({ side, messages }, n) => {
    // An answer to go on with may not end in white space.
    const trims = side === "assistant" && n === turns.length - 1;
    const content = contentJson(messages, trims);
    if (content === "") return;
    json += `${json === "" ? "" : ","}{"role":"${side}","content":${content}}`;
  });
  return json;
}

function contentJson(messages: readonly Message[], trims: boolean): string {
  const [only] = messages;
  const isPlain =
    messages.length === 1 &&
    only?.role !== "tool" &&
    only?.toolCalls === undefined &&
    only?.extra === undefined;
  if (isPlain && typeof only?.content === "string") {
    const text = trims ? only.content.trimEnd() : only.content;
    return isSaid(text) ? JSON.stringify(text) : "";
  }
  const blocks = messages.flatMap(blocksOf);
  const last = blocks.at(-1);
  if (trims && typeof last?.["text"] === "string") last["text"] = last["text"].trimEnd();
  return blocks.length === 0 ? "" : JSON.stringify(blocks);
}

type Block = Record<string, unknown>;

function blocksOf({ role, content, toolCalls = [], toolCallId = "", extra }: Message): Block[] {
  if (role === "tool") {
    const result = typeof content === "string" ? content : partsOf(content);
    return marked([{ type: "tool_result", tool_use_id: wireId(toolCallId), content: result }], extra);
  }
  const calls = toolCalls.map(({ id, name, arguments: text }) => ({
    type: "tool_use",
    id: wireId(id),
    name,
    input: parseObject(text) ?? {},
  }));
  return marked([...partsOf(content), ...calls], extra);
}

function partsOf(content: Content): Block[] {
  if (typeof content === "string") return isSaid(content) ? [{ type: "text", text: content }] : [];
  return content
    .filter((part) => part.type !== "text" || isSaid(part.text))
    .flatMap((part): Block[] => {
      const cache_control = part.extra?.["cache_control"];
      const mark = cache_control === undefined ? {} : { cache_control };
      if (part.type === "text") return [{ type: "text", text: part.text, ...mark }];
      if (part.type === "image") return [{ type: "image", source: source(part.url), ...mark }];
      // A file without its bytes, and sound, are refused before.
      if (part.type !== "file" || part.url === undefined) return [];
      return [{ type: "document", title: part.name, source: source(part.url), ...mark }];
    });
}

function source(url: string): JsonObject {
  const image = imageWithin(url);
  return image === undefined
    ? { type: "url", url }
    : { type: "base64", media_type: image.mediaType, data: image.base64 };
}

/** Letters, digits, `_` and `-` are taken; what Google's ids carry behind a tilde is for Google. */
function wireId(id: string): string {
  return id.replace(/~.*$/s, "").replace(/[^\w-]/g, "_") || "_";
}

function optionsJson(options: CallOptions, model: AnthropicModel): string {
  const stop = options.stop?.filter(isSaid) ?? [];
  const members = {
    stop_sequences: stop.length === 0 ? undefined : stop,
    metadata: options.user === undefined ? undefined : { user_id: options.user },
    ...toolsOf(options, model),
  };
  return membersJson(members);
}

/** Each member behind its comma; those that are undefined are left out. */
function membersJson(members: JsonObject): string {
  const json = JSON.stringify(members).slice(1, -1);
  return json === "" ? "" : `,${json}`;
}

function toolsOf(options: CallOptions, { forcedTool }: AnthropicModel): JsonObject | undefined {
  const { tools = [], toolChoice, parallelToolCalls } = options;
  if (tools.length === 0) return undefined;
  const named = typeof toolChoice === "object" ? toolChoice.name : undefined;
  // Where no tool can be required, the one that is wanted is offered alone.
  const offered = named === undefined || forcedTool ? tools : tools.filter(({ name }) => name === named);
  const alone = parallelToolCalls === false && toolChoice !== "none";
  const choice = toolChoice === undefined && !alone ? undefined : choiceOf(toolChoice, forcedTool);
  return {
    tools: offered.map(toolJson),
    tool_choice: alone ? { ...choice, disable_parallel_tool_use: true } : choice,
  };
}

function choiceOf(choice: ToolChoice = "auto", forcedTool: boolean): JsonObject {
  if (choice === "none") return { type: "none" };
  if (choice === "auto" || !forcedTool) return AUTO;
  return choice === "required" ? { type: "any" } : { type: "tool", name: choice.name };
}

function toolJson({ name, description, parameters, extra }: Tool): JsonObject {
  const schema = typeof parameters === "object" ? parameters : { properties: {} };
  const { cache_control } = extra ?? {};
  return { name, description, input_schema: { type: "object", ...schema }, cache_control };
}
