/**
 * The eight providers as they look from outside: the bytes that each sends for an answer, a stream, an error. Invented
 * texts in the real shapes; knows nothing of the adapters that read them.
 */

export type VendorKey =
  | "openai"
  | "anthropic"
  | "google"
  | "mistral"
  | "groq"
  | "together"
  | "ollama"
  | "cohere";

/** What one vendor sends. */
export interface Vendor {
  /** As `provider:` names it. */
  readonly key: VendorKey;
  /** As messages name it. */
  readonly label: string;
  readonly streamType: "text/event-stream" | "application/x-ndjson";
  /** A whole answer. */
  whole(text: string): object;
  /** Events of a streamed answer, up to the completion signal. */
  opening(pieces: readonly string[]): string;
  /** The completion signal, and what follows it. */
  ending(): string;
  /** An error told inside a 200 stream. */
  errorEvent(message: string): string;
  /** Body of an answer with an error status. */
  errorBody(status: number, message: string): object;
}

/** An event of a stream: JSON, or a text as it is; named where the vendor names its events. */
function event(value: unknown, name?: string): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

const USED = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

function openAiShaped(
  key: VendorKey,
  label: string,
  errorBody: Vendor["errorBody"] = (_status, message) => ({ error: { message, type: "invalid_request" } }),
): Vendor {
  const head = { id: `${key}-1`, created: 1_790_000_000, model: `${key}-model-1` };
  const chunk = (delta: object, finish_reason: string | null): string =>
    event({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
  return {
    key,
    label,
    streamType: "text/event-stream",
    whole: (content) => ({
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: USED,
    }),
    opening: (pieces) =>
      chunk({ role: "assistant", content: "" }, null) +
      pieces.map((content) => chunk({ content }, null)).join(""),
    ending: () =>
      chunk({}, "stop") +
      event({ ...head, object: "chat.completion.chunk", choices: [], usage: USED }) +
      event("[DONE]"),
    errorEvent: (message) => event({ error: { message, type: "server_error" } }),
    errorBody,
  };
}

const anthropic: Vendor = {
  key: "anthropic",
  label: "Anthropic",
  streamType: "text/event-stream",
  whole: (text) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "anthropic-model-1",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: 5, output_tokens: 2 },
  }),
  opening: (pieces) => {
    const message = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "anthropic-model-1",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 5, output_tokens: 1 },
    };
    const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const deltas = pieces.map((text) =>
      event(
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
        "content_block_delta",
      ),
    );
    return (
      event({ type: "message_start", message }, "message_start") +
      event(block, "content_block_start") +
      event({ type: "ping" }, "ping") +
      deltas.join("")
    );
  },
  ending: () =>
    event({ type: "content_block_stop", index: 0 }, "content_block_stop") +
    event(
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      "message_delta",
    ) +
    event({ type: "message_stop" }, "message_stop"),
  errorEvent: (message) => event({ type: "error", error: { type: "overloaded_error", message } }, "error"),
  errorBody: (_status, message) => ({ type: "error", error: { type: "api_error", message } }),
};

const googleHead = { modelVersion: "google-model-1", responseId: "google-1" };
const googleUsage = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };
const googleAnswer = (text: string, finishReason?: string): object => ({
  candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason, index: 0 }],
  usageMetadata: googleUsage,
  ...googleHead,
});

const google: Vendor = {
  key: "google",
  label: "Google",
  streamType: "text/event-stream",
  whole: (text) => googleAnswer(text, "STOP"),
  opening: (pieces) => pieces.map((text) => `data: ${JSON.stringify(googleAnswer(text))}\r\n\r\n`).join(""),
  ending: () => `data: ${JSON.stringify(googleAnswer("", "STOP"))}\r\n\r\n`,
  errorEvent: (message) => event({ error: { code: 503, message, status: "UNAVAILABLE" } }),
  errorBody: (code, message) => ({ error: { code, message, status: "INTERNAL" } }),
};

const ollama: Vendor = {
  key: "ollama",
  label: "Ollama",
  streamType: "application/x-ndjson",
  whole: (content) => ({
    model: "ollama-model-1",
    created_at: "2026-05-14T12:00:00Z",
    message: { role: "assistant", content },
    done: true,
    done_reason: "stop",
    prompt_eval_count: 5,
    eval_count: 2,
  }),
  opening: (pieces) =>
    pieces
      .map((content) =>
        line({ model: "ollama-model-1", message: { role: "assistant", content }, done: false }),
      )
      .join(""),
  ending: () =>
    line({
      model: "ollama-model-1",
      message: { role: "assistant", content: "" },
      done: true,
      done_reason: "stop",
      prompt_eval_count: 5,
      eval_count: 2,
    }),
  errorEvent: (error) => line({ error }),
  errorBody: (_status, error) => ({ error }),
};

const cohereUsage = {
  billed_units: { input_tokens: 5, output_tokens: 2 },
  tokens: { input_tokens: 5, output_tokens: 2 },
};

const cohere: Vendor = {
  key: "cohere",
  label: "Cohere",
  streamType: "text/event-stream",
  whole: (text) => ({
    id: "cohere-1",
    finish_reason: "COMPLETE",
    message: { role: "assistant", content: [{ type: "text", text }] },
    usage: cohereUsage,
  }),
  opening: (pieces) => {
    const named = (type: string, rest: object): string => event({ type, ...rest }, type);
    return (
      named("message-start", { id: "cohere-1", delta: { message: { role: "assistant" } } }) +
      named("content-start", { index: 0, delta: { message: { content: { type: "text", text: "" } } } }) +
      pieces
        .map((text) => named("content-delta", { index: 0, delta: { message: { content: { text } } } }))
        .join("")
    );
  },
  ending: () =>
    event({ type: "content-end", index: 0 }, "content-end") +
    event({ type: "message-end", delta: { finish_reason: "COMPLETE", usage: cohereUsage } }, "message-end") +
    event("[DONE]"),
  errorEvent: (error) =>
    event({ type: "message-end", delta: { finish_reason: "ERROR", error } }, "message-end"),
  errorBody: (_status, message) => ({ id: "cohere-err", message }),
};

export const VENDORS: readonly Vendor[] = [
  openAiShaped("openai", "OpenAI"),
  anthropic,
  google,
  openAiShaped("mistral", "Mistral", (_status, message) => ({
    object: "error",
    message,
    type: "api",
    code: "1",
  })),
  openAiShaped("groq", "Groq"),
  openAiShaped("together", "Together"),
  ollama,
  cohere,
];
