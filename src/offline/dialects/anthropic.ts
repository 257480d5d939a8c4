/** Answers in the format of Anthropic's messages. */
import type { Dialect, SpokenReply } from "./dialect.ts";

const FINISH = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", error: "refusal" } as const;

export const anthropicDialect: Dialect = {
  name: "anthropic",
  whole: (reply) => {
    const text = reply.pieces.join("");
    const content = [
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...reply.toolCalls.map(({ id, name, arguments: json }) => ({
        ...{ type: "tool_use", id, name, input: inputOf(json) },
      })),
    ];
    const { id, model, finishReason } = reply;
    const usage = usageOf(reply);
    return JSON.stringify({
      ...{ id, type: "message", role: "assistant", model, content },
      ...{ stop_reason: FINISH[finishReason], stop_sequence: null, usage },
    });
  },
  stream(reply) {
    const { id, model, finishReason, toolCalls, pieces } = reply;
    const usage = usageOf(reply);
    const message = { id, type: "message", role: "assistant", model, content: [] };
    const hasText = pieces.length > 0;
    const start = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
    const calls = toolCalls.map(({ arguments: json, ...call }, n) => {
      const index = n + (hasText ? 1 : 0);
      const block = { type: "tool_use", ...call, input: {} };
      return [
        event({ type: "content_block_start", index, content_block: block }),
        event({
          type: "content_block_delta",
          index,
          delta: { type: "input_json_delta", partial_json: json },
        }),
        event({ type: "content_block_stop", index }),
      ].join("");
    });
    const opening = usage === undefined ? message : { ...message, usage: { ...usage, output_tokens: 1 } };
    return {
      before: event({ type: "message_start", message: opening }) + (hasText ? event(start) : ""),
      pieces: pieces.map((text) =>
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
      ),
      after: [
        hasText ? event({ type: "content_block_stop", index: 0 }) : "",
        ...calls,
        event({ type: "message_delta", delta: { stop_reason: FINISH[finishReason] }, usage }),
        event({ type: "message_stop" }),
      ].join(""),
    };
  },
  error: (status) =>
    JSON.stringify({ type: "error", error: { type: "scripted", message: `scripted status ${status}` } }),
};

/** Anthropic counts what it read from its cache beside the input. */
function usageOf({ usage }: SpokenReply): object | undefined {
  if (usage === undefined) return undefined;
  const { prompt, completion, cached = 0 } = usage;
  return {
    input_tokens: prompt - cached,
    output_tokens: completion,
    ...(cached > 0 && { cache_read_input_tokens: cached }),
  };
}

function inputOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

function event(data: { readonly type: string; readonly [key: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
