/** Answers in the format of Google's `generateContent`: events of a stream have the shape of whole answers. */
import type { Dialect, SpokenReply } from "./dialect.ts";

const FINISH = { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", error: "SAFETY" } as const;

export const googleDialect: Dialect = {
  name: "google",
  whole: (reply) => {
    const text = reply.pieces.join("");
    return JSON.stringify(answer(reply, [...(text === "" ? [] : [{ text }]), ...callsOf(reply)], true));
  },
  stream: (reply) => ({
    before: "",
    pieces: reply.pieces.map((text) => event(answer(reply, [{ text }], false))),
    after: event(answer(reply, callsOf(reply), true)),
  }),
  vectors: (vectors) => JSON.stringify({ embeddings: vectors.map((values) => ({ values })) }),
  error: (status) =>
    JSON.stringify({ error: { code: status, message: `scripted status ${status}`, status: "SCRIPTED" } }),
};

function answer(reply: SpokenReply, parts: readonly object[], isLast: boolean): object {
  const { id, model, usage, finishReason } = reply;
  const candidate = {
    content: { role: "model", parts },
    ...(isLast && { finishReason: FINISH[finishReason] }),
    index: 0,
  };
  return {
    candidates: [candidate],
    ...(isLast && usage !== undefined && { usageMetadata: usageOf(usage) }),
    modelVersion: model,
    responseId: id,
  };
}

function usageOf({ prompt, completion, cached }: NonNullable<SpokenReply["usage"]>): object {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: completion,
    totalTokenCount: prompt + completion,
    ...(cached !== undefined && { cachedContentTokenCount: cached }),
  };
}

function callsOf({ toolCalls }: SpokenReply): readonly object[] {
  return toolCalls.map(({ id, name, arguments: json }) => ({
    functionCall: { id, name, args: argsOf(json) },
  }));
}

function argsOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
