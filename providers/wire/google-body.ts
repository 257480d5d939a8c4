/** Writes bodies for Google: its names for everything, and nothing that it does not know, since it refuses that. */
import {
  type CallOptions,
  type Content,
  type ContentPart,
  contentText,
  droppedHints,
  firstUnsupportedField,
  type JsonObject,
  type JsonSchema,
  type Message,
  type ProviderRequest,
  parseObject,
  type TextPart,
  type Tool,
  type ToolChoice,
} from "sluice/provider";
import { dialogueOf, fileElsewhere, imageWithin, isSaid, silentMessage, type Turn } from "./dialogue.ts";
import { readCallId } from "./google-call-id.ts";
import { Memory } from "./memory.ts";

/** What a credential says of all its calls. */
export interface GoogleSettings {
  readonly safety_settings?: readonly JsonObject[];
  readonly thinking_budget?: number;
  readonly thinking_level?: string;
}

/** Sent where a signature is wanted and none is there, as Google documents it: the call was another vendor's. */
const NO_SIGNATURE = "skip_thought_signature_validator";
const STOPS_MAX = 5;

/** Tokens to think with, by OpenAI's words, for Gemini 2.5. */
const BUDGETS: Readonly<Record<string, number>> = {
  ...{ none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576, xhigh: 24_576, max: 24_576 },
};
/** Levels of Gemini 3 and later. */
const LEVELS: Readonly<Record<string, string>> = {
  ...{ none: "MINIMAL", minimal: "MINIMAL", low: "LOW", medium: "MEDIUM" },
  ...{ high: "HIGH", xhigh: "HIGH", max: "HIGH" },
};
/** Pro models of the third generation know two levels. */
const TWO_LEVELS: Readonly<Record<string, string>> = {
  MINIMAL: "LOW",
  LOW: "LOW",
  MEDIUM: "HIGH",
  HIGH: "HIGH",
};
/** Gemini 2.5 Pro cannot be kept from thinking. */
const PRO_BUDGET_MIN = 128;

const TAKEN = new Set([
  "input",
  "dimensions",
  "stop",
  "seed",
  "tools",
  "tool_choice",
  "response_format",
  "frequency_penalty",
  "presence_penalty",
  "input_audio",
  "file",
]);

const TAKEN_WITH_EFFORT = new Set([...TAKEN, "reasoning_effort"]);

/** How one model differs. */
interface KnownModel {
  /** Wants the system's words in the first turn, and takes no schema. */
  readonly gemma: boolean;
  readonly generation: number;
  readonly thinkingConfig: JsonObject | undefined;
  /** What a call's own `reasoning_effort` becomes; undefined: the model has nothing like it. */
  readonly effort: (word: string) => JsonObject | undefined;
}

export class GoogleBody {
  readonly #models: Memory<KnownModel>;
  readonly #systems = new Memory(
    (system) => `,"systemInstruction":{"parts":[{"text":${JSON.stringify(system)}}]}`,
  );
  readonly #formats = new WeakMap<object, string>();
  /** Members sent with every call, each behind its comma. */
  readonly #members: string;

  constructor(settings: GoogleSettings) {
    this.#models = new Memory((name) => knownModel(name, settings));
    this.#members = membersJson({ safetySettings: settings.safety_settings });
  }

  encode(request: ProviderRequest): string {
    const { responseSchema, options } = request;
    const model = this.#models.of(request.model);
    const { system, turns } = dialogueOf(request.messages);
    const named = isSaid(system) && !model.gemma;
    let body = `{"contents":[${contentsJson(named ? turns : withWords(system, turns), model)}]`;
    if (named) body += this.#systems.of(system);
    let config = generationJson(request, model);
    // Gemini 2 answers in JSON or calls tools.
    const tools = options?.tools !== undefined && options.tools.length > 0;
    if (!model.gemma && (model.generation >= 3 || !tools)) config += this.#format(responseSchema, options);
    if (config !== "") body += `,"generationConfig":{${config.slice(1)}}`;
    if (options !== undefined && tools) body += membersJson(toolsOf(options));
    return `${body}${this.#members}}`;
  }

  /** A call for embeddings: a request for each text. `path`: the model's. */
  embed({ messages, options }: ProviderRequest, path: string): string {
    const outputDimensionality = options?.embed?.dimensions;
    const requests = messages.map(({ content }) => ({
      model: path,
      content: { parts: [{ text: contentText(content) }] },
      outputDimensionality,
    }));
    return JSON.stringify({ requests });
  }

  /** Hints that are left out, see WireFormat. */
  dropped(request: ProviderRequest): readonly string[] {
    const effort = request.options?.extra?.["reasoning_effort"];
    const takes = typeof effort === "string" && this.#models.of(request.model).effort(effort) !== undefined;
    return droppedHints(request, takes ? TAKEN_WITH_EFFORT : TAKEN);
  }

  /** The field that there is no word for. JSON is not to be had of Gemma, nor of Gemini 2 beside tools. */
  unsupported(request: ProviderRequest): string | undefined {
    const { options = {}, messages } = request;
    const field = firstUnsupportedField(request, TAKEN) ?? fileElsewhere(messages) ?? silentMessage(messages);
    if (field !== undefined || (options.json !== true && options.schemaDetails === undefined)) return field;
    const { gemma, generation } = this.#models.of(request.model);
    const tools = (options.tools?.length ?? 0) > 0;
    return gemma || (generation < 3 && tools) ? "response_format" : undefined;
  }

  #format(schema: JsonSchema | undefined, options: CallOptions | undefined): string {
    if (typeof schema !== "object") {
      return options?.json === true ? ',"responseMimeType":"application/json"' : "";
    }
    let json = this.#formats.get(schema);
    if (json === undefined) {
      json = `,"responseMimeType":"application/json","responseJsonSchema":${JSON.stringify(schema)}`;
      this.#formats.set(schema, json);
    }
    return json;
  }
}

function knownModel(name: string, settings: GoogleSettings): KnownModel {
  const generation = Number(/gemini-(\d+)/.exec(name)?.[1] ?? 0);
  return {
    gemma: name.includes("gemma"),
    generation,
    thinkingConfig: thinkingFor(generation, settings),
    effort: (word) => effortFor(name, generation, word),
  };
}

function effortFor(name: string, generation: number, word: string): JsonObject | undefined {
  if (generation >= 3) {
    const level = LEVELS[word];
    if (level === undefined) return undefined;
    return { thinkingLevel: /gemini-3(?:\.0)?-pro/.test(name) ? TWO_LEVELS[level] : level };
  }
  const budget = /gemini-2\.5/.test(name) ? BUDGETS[word] : undefined;
  if (budget === undefined) return undefined;
  return { thinkingBudget: name.includes("pro") ? Math.max(PRO_BUDGET_MIN, budget) : budget };
}

/** Gemini 2.5 is told a number of tokens, later ones a level; either is refused by the others. */
function thinkingFor(
  generation: number,
  { thinking_budget, thinking_level }: GoogleSettings,
): JsonObject | undefined {
  if (generation === 2 && thinking_budget !== undefined) return { thinkingBudget: thinking_budget };
  if (generation >= 3 && thinking_level !== undefined) return { thinkingLevel: thinking_level.toUpperCase() };
  return undefined;
}

/** Each member behind its comma; those that are undefined are left out. */
function membersJson(members: JsonObject): string {
  const json = JSON.stringify(members).slice(1, -1);
  return json === "" ? "" : `,${json}`;
}

function generationJson(request: ProviderRequest, model: KnownModel): string {
  const asked = request.options?.extra?.["reasoning_effort"];
  const thinkingConfig =
    (typeof asked === "string" ? model.effort(asked) : undefined) ?? model.thinkingConfig;
  const { temperature, topP, maxOutputTokens, options } = request;
  let json = "";
  if (temperature !== undefined) json += `,"temperature":${temperature}`;
  if (topP !== undefined) json += `,"topP":${topP}`;
  if (maxOutputTokens !== undefined) json += `,"maxOutputTokens":${maxOutputTokens}`;
  const { stop = [], seed, frequencyPenalty, presencePenalty } = options ?? {};
  if (stop.length > 0) json += `,"stopSequences":${JSON.stringify(stop.slice(0, STOPS_MAX))}`;
  if (seed !== undefined) json += `,"seed":${seed}`;
  if (frequencyPenalty !== undefined) json += `,"frequencyPenalty":${frequencyPenalty}`;
  if (presencePenalty !== undefined) json += `,"presencePenalty":${presencePenalty}`;
  if (thinkingConfig !== undefined) json += `,"thinkingConfig":${JSON.stringify(thinkingConfig)}`;
  return json;
}

/** The system's words before those of the first turn, which is the user's. */
function withWords(system: string, turns: readonly Turn[]): readonly Turn[] {
  if (!isSaid(system)) return turns;
  const words: Message = { role: "user", content: `${system}\n\n` };
  const [first, ...others] = turns;
  return first?.side === "user"
    ? [{ side: "user", messages: [words, ...first.messages] }, ...others]
    : [{ side: "user", messages: [words] }, ...turns];
}

function contentsJson(turns: readonly Turn[], model: KnownModel): string {
  /** Of the calls so far: a result goes by the name of its tool. */
  const toolNames = new Map<string, string>();
  let json = "";
  for (const { side, messages } of turns) {
    const parts = partsJson(messages, toolNames, model);
    if (parts === "") continue;
    json += `${json === "" ? "" : ","}{"role":"${side === "user" ? "user" : "model"}","parts":[${parts}]}`;
  }
  return json;
}

function partsJson(
  messages: readonly Message[],
  toolNames: Map<string, string>,
  { generation }: KnownModel,
): string {
  let json = "";
  for (const { role, content, toolCalls = [], toolCallId } of messages) {
    if (role === "tool") json += `,${JSON.stringify(resultPart(content, toolCallId, toolNames))}`;
    if (typeof content !== "string") for (const part of content) json += partJson(part, role === "tool");
    else if (role !== "tool" && isSaid(content)) json += `,{"text":${JSON.stringify(content)}}`;
    toolCalls.forEach(({ id, name, arguments: text }, n) => {
      toolNames.set(id, name);
      const told = readCallId(id);
      // Of calls made together the first is signed.
      const signature = told.signature ?? (generation >= 3 && n === 0 ? NO_SIGNATURE : undefined);
      const functionCall = { id: told.id, name, args: parseObject(text) ?? {} };
      json += `,${JSON.stringify({ functionCall, thoughtSignature: signature })}`;
    });
  }
  return json.slice(1);
}

/** Behind its comma; "" for text that says nothing, or that a tool's result holds already. */
function partJson(part: Exclude<Content, string>[number], inResult: boolean): string {
  if (part.type === "text") {
    return inResult || !isSaid(part.text) ? "" : `,{"text":${JSON.stringify(part.text)}}`;
  }
  const seen = bytesPart(part);
  return seen === undefined ? "" : `,${JSON.stringify(seen)}`;
}

/** A file without its bytes is refused before. */
function bytesPart(part: Exclude<ContentPart, TextPart>): JsonObject | undefined {
  if (part.type === "audio") return { inlineData: { mimeType: `audio/${part.format}`, data: part.base64 } };
  return part.url === undefined ? undefined : imagePart(part.url);
}

/** What a tool gave, as an object: its own where it is one. */
function resultPart(content: Content, callId = "", toolNames: ReadonlyMap<string, string>): JsonObject {
  const text = contentText(content);
  const { id } = readCallId(callId);
  const name = toolNames.get(callId) ?? callId;
  return { functionResponse: { id, name, response: parseObject(text) ?? { result: text } } };
}

const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["webp", "image/webp"],
  ["gif", "image/gif"],
  ["heic", "image/heic"],
  ["heif", "image/heif"],
]);

function imagePart(url: string): JsonObject {
  const image = imageWithin(url);
  if (image !== undefined) return { inlineData: { mimeType: image.mediaType, data: image.base64 } };
  const ending = /\.(\w+)(?:[?#]|$)/.exec(url)?.[1]?.toLowerCase() ?? "";
  return { fileData: { fileUri: url, mimeType: MEDIA_TYPES.get(ending) } };
}

function toolsOf({ tools = [], toolChoice }: CallOptions): JsonObject {
  const functionCallingConfig = toolChoice === undefined ? undefined : callingConfig(toolChoice);
  return {
    tools: [{ functionDeclarations: tools.map(declaration) }],
    toolConfig: functionCallingConfig === undefined ? undefined : { functionCallingConfig },
  };
}

function declaration({ name, description, parameters }: Tool): JsonObject {
  return { name, description, parametersJsonSchema: typeof parameters === "object" ? parameters : undefined };
}

function callingConfig(choice: ToolChoice): JsonObject {
  if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.name] };
  return { mode: choice === "required" ? "ANY" : choice.toUpperCase() };
}
