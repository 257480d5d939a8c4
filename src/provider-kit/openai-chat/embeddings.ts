/** Embeddings in OpenAI's format: texts out, vectors in. Pure, and wary of what comes back. */
import type { ChatResult, ProviderRequest } from "../../plugin/chat.ts";
import { contentText } from "../../plugin/content.ts";
import type { ProviderFailure } from "../../plugin/provider.ts";
import { notJson, unusable } from "../wire/failures.ts";
import { type Json, parsed, record, records, textOf, vectorsIn } from "../wire/json.ts";
import { toldIn } from "./answer.ts";
import { usageIn } from "./finish.ts";

export function encodeEmbeddings(
  { model, messages, options }: ProviderRequest,
  dimensionsField = "dimensions",
): string {
  return JSON.stringify({
    ...options?.extra,
    model,
    input: messages.map(({ content }) => contentText(content)),
    [dimensionsField]: options?.embed?.dimensions,
    user: options?.user,
  });
}

/** Text of a 2xx answer. */
export function decodeEmbeddings(text: string): ChatResult | ProviderFailure {
  const answer = parsed(text);
  if (answer === undefined) return notJson("the answer", text);
  const failed = toldIn(answer);
  if (failed !== undefined) return failed;
  const entries = records(answer["data"]);
  const data: Json[] = [];
  // Each says which text it belongs to; where none does, they are in order.
  entries.forEach((entry, n) => {
    const { index } = entry;
    data[typeof index === "number" && index >= 0 && index < entries.length ? index : n] = entry;
  });
  // Array.from reaches holes too: two entries may claim one place.
  const embeddings = vectorsIn(Array.from(data, (entry: Json | undefined) => entry?.["embedding"]));
  if (embeddings === undefined) return unusable("the answer has no embeddings");
  return {
    id: textOf(answer["id"]),
    model: textOf(answer["model"]),
    content: "",
    finishReason: "stop",
    usage: record(answer["usage"]) === undefined ? undefined : usageIn(answer),
    embeddings,
    raw: { json: { ...answer, data }, content: "", toolCalls: undefined, more: undefined },
  };
}
