/**
 * Ollama, asked in its own format: its OpenAI-shaped one cannot set a context length and loses errors in streams. What
 * comes back is read by wire/ollama-answer.ts.
 */
import type {
  CallOptions,
  Credential,
  JsonObject,
  Message,
  OptionsOf,
  ProviderRequest,
  Tool,
  WireFormat,
} from "sluice/provider";
import {
  contentText,
  defineProvider,
  droppedHints,
  firstUnsupportedField,
  jsonFailure,
  parseObject,
  readBase64Url,
  toolCallIds,
  toolJson,
} from "sluice/provider";
import { decodeOllama, decodeOllamaVectors, OllamaDecoder } from "./wire/ollama-answer.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  properties: {
    num_ctx: {
      type: "integer",
      minimum: 1,
      description:
        "Context length in tokens. Ollama's default is small, and it cuts longer prompts silently.",
    },
    truncate: {
      type: "boolean",
      description: "false: a prompt longer than the context is an error. Ollama's default: true.",
    },
    keep_alive: {
      type: ["string", "integer"],
      description: 'How long the model stays loaded: "10m", seconds, or -1 for no limit.',
    },
    think: {
      enum: [true, false, "low", "medium", "high", "max"],
      description: "Whether and how hard the model thinks before it answers. Nobody sees its thoughts.",
    },
  },
} as const;

type OllamaOptions = OptionsOf<typeof schema>;

export const ollama = defineProvider({
  name: "ollama",
  label: "Ollama",
  description: "Ollama's chat: self-hosted models, or Ollama's own with a key.",
  defaultBaseUrl: "http://localhost:11434",
  needsApiKey: false,
  schema,
  examples: [{}, { num_ctx: 16384, keep_alive: "30m", think: false }],
  setup: (options, host) => wireFormat(options, toolCallIds(host)),
});

export default ollama;

function wireFormat(options: OllamaOptions, newId: () => string): WireFormat {
  return {
    framing: "ndjson",
    encode(request, credential, stream) {
      const [path, body] =
        request.options?.embed === undefined
          ? ["/api/chat", bodyOf(request, options, stream)]
          : ["/api/embed", embedBody(request, options)];
      const headers = headersFor(credential);
      return { method: "POST", url: credential.baseUrl + path, headers, body: JSON.stringify(body) };
    },
    decode: (text, asked) =>
      asked?.embed === undefined ? decodeOllama(text, newId) : decodeOllamaVectors(text),
    failure: jsonFailure,
    decoder: () => new OllamaDecoder(newId),
    unsupported: (request) =>
      firstUnsupportedField(request, request.options?.toolChoice === "required" ? TAKEN_OF_CHOICE : TAKEN) ??
      imageElsewhere(request.messages),
    dropped: (request) => droppedHints(request, THINKS.test(request.model) ? TAKEN_WITH_EFFORT : TAKEN),
  };
}

const TAKEN_OF_CHOICE = new Set([
  "input",
  "dimensions",
  "stop",
  "seed",
  "tools",
  "response_format",
  "frequency_penalty",
  "presence_penalty",
]);
/** That a tool must be called, Ollama cannot be told; see toolsFor for what it can. */
const TAKEN = new Set([...TAKEN_OF_CHOICE, "tool_choice"]);

const TAKEN_WITH_EFFORT = new Set([...TAKEN, "reasoning_effort"]);
/** Models that think; Ollama refuses `think` for the others. */
const THINKS = /gpt-oss|deepseek-(?:r1|v3\.1)|qwen3|qwq|magistral|think/;
const EFFORTS: Readonly<Record<string, string>> = {
  ...{ minimal: "low", low: "low", medium: "medium", high: "high", xhigh: "high", max: "high" },
};

/** A call's own effort: gpt-oss knows levels, the others on and off. */
function thinkOf({ model, options }: ProviderRequest): boolean | string | undefined {
  const effort = options?.extra?.["reasoning_effort"];
  if (typeof effort !== "string" || !THINKS.test(model)) return undefined;
  return model.includes("gpt-oss") ? EFFORTS[effort] : effort !== "none";
}

/** The first image that is only an address: Ollama takes bytes. */
function imageElsewhere(messages: readonly Message[]): string | undefined {
  for (const [n, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    const at = content.findIndex((part) => part.type === "image" && readBase64Url(part.url) === undefined);
    if (at >= 0) return `messages[${n}].content[${at}].image_url`;
  }
  return undefined;
}

function embedBody({ model, messages, options: asked }: ProviderRequest, options: OllamaOptions): JsonObject {
  const { num_ctx, keep_alive, truncate } = options;
  return {
    model,
    input: messages.map(({ content }) => contentText(content)),
    dimensions: asked?.embed?.dimensions,
    keep_alive,
    truncate,
    options: num_ctx === undefined ? undefined : { num_ctx },
  };
}

function headersFor({ apiKey }: Credential): Record<string, string> {
  const headers = { "content-type": "application/json" };
  return apiKey === "" ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
}

/** Members that are undefined are left out by JSON.stringify. */
function bodyOf(request: ProviderRequest, options: OllamaOptions, stream: boolean): JsonObject {
  const { model, temperature, topP, maxOutputTokens, responseSchema, options: asked = {} } = request;
  const { num_ctx, ...rest } = options;
  const tools = toolsFor(asked);
  return {
    model,
    messages: messagesOf(request.messages),
    // Said either way: Ollama streams unless told not to.
    stream,
    format: typeof responseSchema === "object" ? responseSchema : asked.json === true ? "json" : undefined,
    // Read here only; beside the messages they would be ignored.
    options: {
      temperature,
      top_p: topP,
      num_predict: maxOutputTokens,
      num_ctx,
      stop: asked.stop,
      seed: asked.seed,
      frequency_penalty: asked.frequencyPenalty,
      presence_penalty: asked.presencePenalty,
    },
    tools: tools.length === 0 ? undefined : tools.map((tool) => toolJson(tool)),
    ...rest,
    ...withoutUndefined({ think: thinkOf(request) }),
  };
}

function withoutUndefined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** There is no word for a choice, but a tool that is not offered is not called. */
function toolsFor({ tools = [], toolChoice }: CallOptions): readonly Tool[] {
  if (toolChoice === "none") return [];
  return typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
}

/** A result is tied to its call by the tool's name, which only the call knows. */
function messagesOf(messages: readonly Message[]): JsonObject[] {
  const toolNames = new Map<string, string>();
  return messages.map(({ role, content, toolCalls, toolCallId }) => {
    for (const { id, name } of toolCalls ?? []) toolNames.set(id, name);
    return {
      role,
      content: contentText(content),
      images: imagesIn(content),
      tool_calls: toolCalls?.map(({ id, name, arguments: text }) => ({
        id,
        function: { name, arguments: parseObject(text) ?? {} },
      })),
      tool_name: toolCallId === undefined ? undefined : toolNames.get(toolCallId),
      tool_call_id: toolCallId,
    };
  });
}

/** Bytes in base64. An address is refused before. */
function imagesIn(content: Message["content"]): string[] | undefined {
  if (typeof content === "string") return undefined;
  const urls = content
    .filter((part) => part.type === "image")
    .map(({ url }) => readBase64Url(url)?.base64 ?? url);
  return urls.length === 0 ? undefined : urls;
}
