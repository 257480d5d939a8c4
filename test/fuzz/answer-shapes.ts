/**
 * Answers of the eight providers, whole and streamed, with text, tool calls, usage and a member that no adapter knows:
 * what the fuzzers mutate. Invented texts in the real shapes; knows nothing of the adapters that read them.
 */

export interface AnswerShape {
  /** As `provider:` names it. */
  readonly provider: string;
  readonly model: string;
  readonly streamType: "text/event-stream" | "application/x-ndjson";
  /** A whole answer. */
  readonly whole: object;
  /** The events of a streamed answer. */
  readonly events: readonly ShapedEvent[];
  /** What ends the stream, behind the events. */
  readonly ending: string;
}

export interface ShapedEvent {
  readonly name?: string;
  readonly data: object;
}

/** Arguments of a tool call that is told as an object. */
export const SHAPED_ARGUMENTS = { port: "Brest", deep: { hours: [1, 2, 3] } };
const USAGE = { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 };

function openAiShape(provider: string, model: string): AnswerShape {
  const head = { id: `${provider}-1`, created: 1_790_000_000, model, unknown: { member: [1, "two"] } };
  const call = (args: unknown) => ({
    index: 0,
    id: "call_1",
    type: "function",
    function: { name: "tide", arguments: args },
  });
  const chunk = (delta: object, finish_reason: string | null = null): ShapedEvent => ({
    data: { ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] },
  });
  const message = { role: "assistant", content: "High tide.", tool_calls: [call(SHAPED_ARGUMENTS)] };
  return {
    provider,
    model,
    streamType: "text/event-stream",
    whole: {
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
      usage: USAGE,
    },
    events: [
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "High " }),
      chunk({ content: "tide." }),
      chunk({ tool_calls: [call("")] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"port":' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ' "Brest"}' } }] }),
      chunk({}, "tool_calls"),
      { data: { ...head, object: "chat.completion.chunk", choices: [], usage: USAGE } },
    ],
    ending: "data: [DONE]\n\n",
  };
}

const named = (name: string, about: object): ShapedEvent => ({ name, data: { type: name, ...about } });

const ANTHROPIC: AnswerShape = {
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  streamType: "text/event-stream",
  whole: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [
      { type: "text", text: "High tide." },
      { type: "tool_use", id: "toolu_1", name: "tide", input: SHAPED_ARGUMENTS },
    ],
    stop_reason: "tool_use",
    usage: { input_tokens: 5, output_tokens: 9, cache_read_input_tokens: 0 },
  },
  events: [
    named("message_start", {
      message: { id: "msg_1", model: "claude-sonnet-4-5", usage: { input_tokens: 5, output_tokens: 1 } },
    }),
    named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    named("ping", {}),
    named("content_block_delta", { index: 0, delta: { type: "text_delta", text: "High tide." } }),
    named("content_block_stop", { index: 0 }),
    named("content_block_start", {
      index: 1,
      content_block: { type: "tool_use", id: "toolu_1", name: "tide", input: {} },
    }),
    named("content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json: '{"port":' } }),
    named("content_block_delta", { index: 1, delta: { type: "input_json_delta", partial_json: '"Brest"}' } }),
    named("content_block_stop", { index: 1 }),
    named("content_block_start", {
      index: 2,
      content_block: { type: "tool_use", id: "toolu_2", name: "tide", input: SHAPED_ARGUMENTS },
    }),
    named("content_block_stop", { index: 2 }),
    named("message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } }),
    named("message_stop", {}),
  ],
  ending: "",
};

const googlePart = (parts: object[], finishReason?: string): object => ({
  candidates: [{ index: 0, content: { role: "model", parts }, finishReason }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 9, totalTokenCount: 14 },
  modelVersion: "gemini-2.5-flash",
  responseId: "google-1",
});
const GOOGLE_CALL = { functionCall: { name: "tide", args: SHAPED_ARGUMENTS }, thoughtSignature: "c2ln" };

const GOOGLE: AnswerShape = {
  provider: "google",
  model: "gemini-2.5-flash",
  streamType: "text/event-stream",
  whole: googlePart([{ text: "High tide." }, GOOGLE_CALL], "STOP"),
  events: [
    { data: googlePart([{ text: "High " }]) },
    { data: googlePart([{ text: "tide." }]) },
    { data: googlePart([GOOGLE_CALL], "STOP") },
  ],
  ending: "",
};

const ollamaLine = (message: object, more: object = {}): object => ({
  model: "llama3.2",
  created_at: "2026-01-01T00:00:00Z",
  message: { role: "assistant", ...message },
  done: false,
  ...more,
});
const OLLAMA_DONE = { done: true, done_reason: "stop", prompt_eval_count: 5, eval_count: 9 };
const OLLAMA_CALLS = {
  content: "",
  tool_calls: [{ function: { name: "tide", arguments: SHAPED_ARGUMENTS } }],
};

const OLLAMA: AnswerShape = {
  provider: "ollama",
  model: "llama3.2",
  streamType: "application/x-ndjson",
  whole: ollamaLine({ ...OLLAMA_CALLS, content: "High tide." }, OLLAMA_DONE),
  events: [
    { data: ollamaLine({ content: "High " }) },
    { data: ollamaLine({ content: "tide." }) },
    { data: ollamaLine(OLLAMA_CALLS) },
    { data: ollamaLine({ content: "" }, OLLAMA_DONE) },
  ],
  ending: "",
};

const COHERE_USAGE = {
  billed_units: { input_tokens: 5, output_tokens: 9 },
  tokens: { input_tokens: 500, output_tokens: 9 },
};
const cohereCall = (args: string): object => ({
  id: "call_1",
  type: "function",
  function: { name: "tide", arguments: args },
});

const COHERE: AnswerShape = {
  provider: "cohere",
  model: "command-r-08-2024",
  streamType: "text/event-stream",
  whole: {
    id: "cohere-1",
    message: {
      role: "assistant",
      content: [{ type: "text", text: "High tide." }],
      tool_calls: [cohereCall('{"port":"Brest"}')],
    },
    finish_reason: "TOOL_CALL",
    usage: COHERE_USAGE,
  },
  events: [
    named("message-start", { id: "cohere-1", delta: { message: { role: "assistant", content: [] } } }),
    named("content-start", { index: 0, delta: { message: { content: { type: "text", text: "" } } } }),
    named("content-delta", { index: 0, delta: { message: { content: { text: "High tide." } } } }),
    named("content-end", { index: 0 }),
    named("tool-call-start", { index: 0, delta: { message: { tool_calls: cohereCall("") } } }),
    named("tool-call-delta", {
      index: 0,
      delta: { message: { tool_calls: { function: { arguments: '{"port":"Brest"}' } } } },
    }),
    named("tool-call-end", { index: 0 }),
    named("message-end", { delta: { finish_reason: "TOOL_CALL", usage: COHERE_USAGE } }),
  ],
  ending: "data: [DONE]\n\n",
};

export const ANSWER_SHAPES: readonly AnswerShape[] = [
  openAiShape("openai", "gpt-4o-mini"),
  openAiShape("mistral", "mistral-small-latest"),
  openAiShape("groq", "llama-3.3-70b-versatile"),
  openAiShape("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
  ANTHROPIC,
  GOOGLE,
  OLLAMA,
  COHERE,
];

/** The events as the provider sends them. `change` edits the text of an event's JSON. */
export function streamText(
  { streamType, events, ending }: AnswerShape,
  change: (json: string, n: number) => string = (json) => json,
): string {
  const texts = events.map(({ name, data }, n) => {
    const json = change(JSON.stringify(data), n);
    if (streamType === "application/x-ndjson") return `${json}\n`;
    return `${name === undefined ? "" : `event: ${name}\n`}data: ${json}\n\n`;
  });
  return texts.join("") + ending;
}
