/** Answers in OpenAI's chat format: OpenAI, Groq, Mistral, Together and whatever is compatible with them. */
import type { Dialect, SpokenReply } from "./dialect.ts";

const FINISH = { stop: "stop", length: "length", tool_calls: "tool_calls", error: "content_filter" } as const;

export const openaiDialect: Dialect = {
  name: "openai",
  whole: (reply) =>
    JSON.stringify({
      id: reply.id,
      object: "chat.completion",
      created: 0,
      model: reply.model,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: reply.pieces.join(""), tool_calls: callsOf(reply) },
          finish_reason: FINISH[reply.finishReason],
        },
      ],
      usage: usageOf(reply),
    }),
  stream(reply) {
    const calls = callsOf(reply)?.map((call, index) => ({ index, ...call }));
    const usage = usageOf(reply);
    const finish = chunk(reply, [{ index: 0, delta: {}, finish_reason: FINISH[reply.finishReason] }]);
    return {
      before: delta(reply, { role: "assistant", content: "" }),
      pieces: reply.pieces.map((content) => delta(reply, { content })),
      after: [
        calls === undefined ? "" : delta(reply, { tool_calls: calls }),
        event(finish),
        usage === undefined ? "" : event({ ...chunk(reply, []), usage }),
        "data: [DONE]\n\n",
      ].join(""),
    };
  },
  vectors: (vectors, model) =>
    JSON.stringify({
      object: "list",
      data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
      model,
      usage: { prompt_tokens: vectors.length, total_tokens: vectors.length },
    }),
  error: (status) =>
    JSON.stringify({ error: { message: `scripted status ${status}`, type: "scripted", code: null } }),
};

function callsOf({ toolCalls }: SpokenReply): readonly object[] | undefined {
  if (toolCalls.length === 0) return undefined;
  return toolCalls.map(({ id, name, arguments: text }) => ({
    ...{ id, type: "function", function: { name, arguments: text } },
  }));
}

function usageOf({ usage }: SpokenReply): object | undefined {
  if (usage === undefined) return undefined;
  const { prompt, completion, cached } = usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
  };
}

function chunk({ id, model }: SpokenReply, choices: readonly object[]): object {
  return { id, object: "chat.completion.chunk", created: 0, model, choices };
}

function delta(reply: SpokenReply, said: object): string {
  return event(chunk(reply, [{ index: 0, delta: said, finish_reason: null }]));
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
