/** Answers in Ollama's own format: one JSON text whole, or one a line. */
import type { Dialect, SpokenReply } from "./dialect.ts";

const DONE = { stop: "stop", length: "length", tool_calls: "stop", error: "error" } as const;

export const ollamaDialect: Dialect = {
  name: "ollama",
  whole: (reply) => line(reply, said(reply.pieces.join(""), reply), true),
  stream: (reply) => ({
    before: "",
    pieces: reply.pieces.map((content) => `${line(reply, { role: "assistant", content }, false)}\n`),
    after: `${line(reply, said("", reply), true)}\n`,
  }),
  vectors: (embeddings, model) => JSON.stringify({ model, embeddings, prompt_eval_count: embeddings.length }),
  error: (status) => JSON.stringify({ error: `scripted status ${status}` }),
};

function said(content: string, { toolCalls }: SpokenReply): object {
  if (toolCalls.length === 0) return { role: "assistant", content };
  const tool_calls = toolCalls.map(({ id, name, arguments: json }) => ({
    ...{ id, function: { name, arguments: json } },
  }));
  return { role: "assistant", content, tool_calls };
}

function line(reply: SpokenReply, message: object, isLast: boolean): string {
  const { model, usage, finishReason } = reply;
  const end = isLast && {
    done_reason: DONE[finishReason],
    ...(usage !== undefined && { prompt_eval_count: usage.prompt, eval_count: usage.completion }),
  };
  return JSON.stringify({ model, created_at: "2026-01-01T00:00:00Z", message, done: isLast, ...end });
}
