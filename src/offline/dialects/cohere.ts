/** Answers in the format of Cohere's chat, version 2. */
import type { Dialect, SpokenReply } from "./dialect.ts";

const FINISH = { stop: "COMPLETE", length: "MAX_TOKENS", tool_calls: "TOOL_CALL", error: "ERROR" } as const;

export const cohereDialect: Dialect = {
  name: "cohere",
  whole: (reply) => {
    const text = reply.pieces.join("");
    return JSON.stringify({
      id: reply.id,
      message: {
        role: "assistant",
        content: text === "" ? [] : [{ type: "text", text }],
        tool_calls: reply.toolCalls.map(callOf),
      },
      finish_reason: FINISH[reply.finishReason],
      usage: usageOf(reply),
    });
  },
  stream(reply) {
    const { id, pieces, toolCalls, finishReason } = reply;
    const start = { type: "text", text: "" };
    const calls = toolCalls.map((call, index) => {
      const opened = { ...callOf(call), function: { name: call.name, arguments: "" } };
      const rest = { function: { arguments: call.arguments } };
      return [
        event({ type: "tool-call-start", index, delta: { message: { tool_calls: opened } } }),
        event({ type: "tool-call-delta", index, delta: { message: { tool_calls: rest } } }),
        event({ type: "tool-call-end", index }),
      ].join("");
    });
    const end = { finish_reason: FINISH[finishReason], usage: usageOf(reply) };
    return {
      before:
        event({ type: "message-start", id, delta: { message: { role: "assistant" } } }) +
        event({ type: "content-start", index: 0, delta: { message: { content: start } } }),
      pieces: pieces.map((text) =>
        event({ type: "content-delta", index: 0, delta: { message: { content: { text } } } }),
      ),
      after: [
        event({ type: "content-end", index: 0 }),
        ...calls,
        event({ type: "message-end", delta: end }),
      ].join(""),
    };
  },
  vectors: (vectors) =>
    JSON.stringify({
      id: "offline",
      embeddings: { float: vectors },
      meta: { billed_units: { input_tokens: vectors.length } },
    }),
  error: (status) => JSON.stringify({ message: `scripted status ${status}` }),
};

function callOf({ id, name, arguments: text }: SpokenReply["toolCalls"][number]): object {
  return { id, type: "function", function: { name, arguments: text } };
}

function usageOf({ usage }: SpokenReply): object | undefined {
  if (usage === undefined) return undefined;
  const counts = { input_tokens: usage.prompt, output_tokens: usage.completion };
  return {
    billed_units: counts,
    tokens: counts,
    ...(usage.cached !== undefined && { cached_tokens: usage.cached }),
  };
}

function event(data: { readonly type: string; readonly [key: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
