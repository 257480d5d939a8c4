/**
 * The provider's side of the wire formats: scripted replies as the bytes that a provider would send. A format is found by
 * trial: of the dialects below, the one whose answer the format reads. That holds for formats of third parties too.
 */
import type { ChatResult } from "../plugin/index.ts";
import type { WireFormat } from "../provider-kit/index.ts";
import { isFailure } from "../provider-kit/index.ts";
import { anthropicDialect } from "./dialects/anthropic.ts";
import { cohereDialect } from "./dialects/cohere.ts";
import type { Dialect, SpokenReply } from "./dialects/dialect.ts";
import { googleDialect } from "./dialects/google.ts";
import { ollamaDialect } from "./dialects/ollama.ts";
import { openaiDialect } from "./dialects/openai.ts";
import { piecesOf, type ReplyEntry } from "./script.ts";

const DIALECTS: readonly Dialect[] = [
  openaiDialect,
  anthropicDialect,
  googleDialect,
  cohereDialect,
  ollamaDialect,
];

const PROBE: SpokenReply = {
  id: "probe",
  model: "probe",
  pieces: ["probe"],
  toolCalls: [],
  finishReason: "stop",
  usage: { prompt: 3, completion: 2 },
};

/** undefined: the format is none of the known families', and only raw answers can be scripted for it. */
export function dialectOf(format: WireFormat): Dialect | undefined {
  return DIALECTS.find((dialect) => {
    const result = decoded(format, dialect.whole(PROBE));
    return result?.content === "probe" && result.finishReason === "stop" && result.usage?.promptTokens === 3;
  });
}

function decoded(format: WireFormat, text: string): ChatResult | undefined {
  try {
    const result = format.decode(text);
    return isFailure(result) ? undefined : result;
  } catch {
    return undefined;
  }
}

/** `number`: of the request in its case, for ids. */
export function spokenReply(entry: ReplyEntry, model: string, number: number): SpokenReply {
  const { toolCalls = [], usage } = entry;
  return {
    id: `offline-${number}`,
    model,
    pieces: piecesOf(entry),
    toolCalls: toolCalls.map((call, n) => ({
      id: call.id ?? `call_${number}_${n + 1}`,
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {}),
    })),
    finishReason: entry.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage,
  };
}
