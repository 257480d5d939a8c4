/** Cohere, in the second version of its chat: words of its own for settings. wire/cohere-*.ts read what comes back. */
import type {
  CallOptions,
  ContentPart,
  JsonSchema,
  Message,
  OptionsOf,
  ProviderRequest,
  WireFormat,
} from "sluice/provider";
import {
  contentText,
  defineProvider,
  droppedHints,
  firstUnsupportedField,
  type JsonObject,
  jsonFailure,
  toolCallIds,
  toolJson,
} from "sluice/provider";
import { decodeCohere, decodeCohereVectors } from "./wire/cohere-answer.ts";
import { CohereDecoder } from "./wire/cohere-events.ts";

const schema = {
  type: "object",
  additionalProperties: false,
  properties: {
    safety_mode: {
      enum: ["CONTEXTUAL", "STRICT", "OFF"],
      description: "Which safety instruction Cohere puts into the prompt.",
    },
    thinking: {
      enum: ["enabled", "disabled"],
      description: "Whether reasoning models think before they answer. Nobody sees their thoughts.",
    },
    client_name: { type: "string", minLength: 1, description: "Sent as X-Client-Name." },
    count: {
      enum: ["tokens", "billed_units"],
      description:
        "Which of Cohere's two counts is used for both usage and cost: all tokens, its hidden preamble included, or what it bills. Absent: all tokens are the usage, and the cost follows what it bills.",
    },
  },
} as const;

type CohereOptions = OptionsOf<typeof schema>;

export const cohere = defineProvider({
  name: "cohere",
  label: "Cohere",
  description: "Cohere's chat, version 2.",
  defaultBaseUrl: "https://api.cohere.com",
  needsApiKey: true,
  schema,
  examples: [{}, { safety_mode: "STRICT", thinking: "disabled", count: "billed_units" }],
  constraints: [
    { setting: "temperature", range: { min: 0, max: 1 }, reason: "Cohere takes 0 to 1" },
    { setting: "top_p", range: { min: 0.01, max: 0.99 }, reason: "Cohere takes 0.01 to 0.99" },
  ],
  setup(options, host): WireFormat {
    const newId = toolCallIds(host);
    const { count: counted, client_name } = options;
    const named = client_name === undefined ? undefined : { "x-client-name": client_name };
    return {
      framing: "sse",
      encode(request, { baseUrl, apiKey }, stream) {
        const headers = {
          "content-type": "application/json",
          authorization: `Bearer ${apiKey}`,
          ...named,
        };
        const [path, body] =
          request.options?.embed === undefined
            ? ["/v2/chat", bodyOf(request, options, stream)]
            : ["/v2/embed", embedBody(request)];
        return { method: "POST", url: baseUrl + path, headers, body: JSON.stringify(body) };
      },
      decode: (text, asked) =>
        asked?.embed === undefined ? decodeCohere(text, counted, newId) : decodeCohereVectors(text),
      // Cohere's 498 is a blocked token, not another vendor's want of capacity: it does not move on.
      failure: jsonFailure,
      decoder: () => new CohereDecoder(counted, newId),
      unsupported: (request) => firstUnsupportedField(request, takenBeside(request.options)),
      dropped: (request) => droppedHints(request, REASONS.test(request.model) ? TAKEN_WITH_EFFORT : TAKEN),
    };
  },
});

export default cohere;

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
]);
const TAKEN_WITH_EFFORT = new Set([...TAKEN, "reasoning_effort"]);
/** Models that think; the others refuse to be told. */
const REASONS = /reasoning/;
/** Cohere calls tools or answers in JSON. */
const TAKEN_WITH_TOOLS = new Set([...TAKEN].filter((field) => field !== "response_format"));

function takenBeside({ tools = [] }: CallOptions = {}): ReadonlySet<string> {
  return tools.length > 0 ? TAKEN_WITH_TOOLS : TAKEN;
}

/** What texts are embedded for, Cohere wants to know and OpenAI's format does not say: to be searched through. */
function embedBody({ model, messages, options }: ProviderRequest): JsonObject {
  return {
    model,
    texts: messages.map(({ content }) => contentText(content)),
    input_type: "search_document",
    embedding_types: ["float"],
    output_dimension: options?.embed?.dimensions,
  };
}

/** Members that are undefined are left out by JSON.stringify. */
function bodyOf(request: ProviderRequest, options: CohereOptions, stream: boolean): JsonObject {
  const { model, temperature, topP, maxOutputTokens, responseSchema, options: asked = {} } = request;
  const { safety_mode, thinking } = options;
  const { stop = [], seed } = asked;
  const offered = toolsFor(asked);
  return {
    model,
    messages: messagesOf(request.messages),
    stream,
    max_tokens: maxOutputTokens,
    temperature,
    p: topP,
    stop_sequences: stop.length === 0 ? undefined : stop,
    seed,
    frequency_penalty: asked.frequencyPenalty,
    presence_penalty: asked.presencePenalty,
    ...offered,
    // Refused beside tools.
    response_format: offered === undefined ? responseFormat(responseSchema, asked.json) : undefined,
    safety_mode,
    thinking: thinkingOf(model, asked) ?? (thinking === undefined ? undefined : { type: thinking }),
  };
}

/** A call's own effort, which Cohere knows as on and off. */
function thinkingOf(model: string, { extra }: CallOptions): JsonObject | undefined {
  const effort = extra?.["reasoning_effort"];
  if (typeof effort !== "string" || !REASONS.test(model)) return undefined;
  return { type: effort === "none" ? "disabled" : "enabled" };
}

/** No tool can be chosen by name: the one that is wanted is offered alone, and some tool required. */
function toolsFor({ tools = [], toolChoice = "auto" }: CallOptions): JsonObject | undefined {
  const offered =
    typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.name) : tools;
  if (offered.length === 0) return undefined;
  const choice = toolChoice === "auto" ? undefined : toolChoice === "none" ? "NONE" : "REQUIRED";
  return { tools: offered.map((tool) => toolJson(tool)), tool_choice: choice };
}

/** Schemas of objects only; other ones are left to the gateway's own check. */
function responseFormat(schema: JsonSchema | undefined, json = false): JsonObject | undefined {
  if (typeof schema === "object" && schema["type"] === "object") {
    return { type: "json_object", json_schema: schema };
  }
  return json ? { type: "json_object" } : undefined;
}

/** System messages are taken at the front only. */
function messagesOf(messages: readonly Message[]): JsonObject[] {
  const system = messages.filter(({ role }) => role === "system");
  const others = messages.filter(({ role }) => role !== "system");
  return [...system, ...others].map(messageJson);
}

function messageJson({ role, content, toolCalls = [], toolCallId }: Message): JsonObject {
  const text = contentText(content);
  if (role === "tool") return { role, tool_call_id: toolCallId, content: text };
  if (toolCalls.length > 0) {
    const calls = toolCalls.map(({ id, name, arguments: json }) => ({
      id,
      type: "function",
      function: { name, arguments: json },
    }));
    return { role, content: text === "" ? undefined : text, tool_calls: calls };
  }
  if (role !== "user" || typeof content === "string") return { role, content: text };
  return { role, content: content.flatMap(partJson) };
}

/** Sound and documents are refused before. */
function partJson(part: ContentPart): JsonObject[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  return part.type === "image"
    ? [{ type: "image_url", image_url: { url: part.url, detail: part.detail } }]
    : [];
}
