/** Embeddings in OpenAI's format: texts out, vectors in. Pure; any field of an answer may be missing. */
import type { ChatResult, JsonObject, ProviderRequest } from "../../plugin/chat.ts";
import { contentText } from "../../plugin/content.ts";
import type { ProviderFailure } from "../../plugin/provider.ts";
import { invalidJson, unusableAnswer } from "../wire/failures.ts";
import { asObject, asObjects, asText, asVectors, parseObject } from "../wire/json.ts";
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
  const answer = parseObject(text);
  if (answer === undefined) return invalidJson("the answer", text);
  const failed = toldIn(answer);
  if (failed !== undefined) return failed;
  const entries = asObjects(answer["data"]);
  const data: JsonObject[] = [];
  // Each says which text it belongs to; where none does, they are in order.
  entries.forEach((entry, n) => {
    const { index } = entry;
    data[typeof index === "number" && index >= 0 && index < entries.length ? index : n] = entry;
  });
  // Array.from reaches holes too: two entries may claim one place.
  const embeddings = asVectors(Array.from(data, (entry: JsonObject | undefined) => entry?.["embedding"]));
  if (embeddings === undefined) return unusableAnswer("the answer has no embeddings");
  return {
    id: asText(answer["id"]),
    model: asText(answer["model"]),
    content: "",
    finishReason: "stop",
    usage: asObject(answer["usage"]) === undefined ? undefined : usageIn(answer),
    embeddings,
    native: { json: { ...answer, data }, content: "", toolCalls: undefined, alternatives: undefined },
  };
}
