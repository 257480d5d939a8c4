/** Embeddings in OpenAI's format. The texts are messages of the call, so limits and guardrails apply to each of them. */
import { type JsonBody, refusedByShape } from "../../http/body.ts";
import type { CallOptions, Usage } from "../../plugin/chat.ts";
import type { ChatResult, GatewayError, Message } from "../../plugin/index.ts";
import { asObject, asObjects } from "../../provider-kit/index.ts";
import { type FieldFindings, Fields } from "./fields.ts";

export interface EmbeddingsInput {
  /** The requested alias. */
  readonly model: string;
  /** One for each text. */
  readonly messages: readonly Message[];
  readonly options: CallOptions;
  /** The client requests vectors as base64 of 32-bit floats. */
  readonly base64: boolean;
}

const TEXTS_MAX = 2048;
const DIMENSIONS_MAX = 65_536;

export function readEmbeddingsBody(body: JsonBody): EmbeddingsInput | GatewayError {
  const shape = refusedByShape(body);
  if (shape !== undefined) return shape;
  const findings: FieldFindings = { refusal: undefined };
  const fields = new Fields(body, findings);
  const model = fields.required("model");
  const texts = readTexts(fields);
  const base64 = fields.choice("encoding_format", ["float", "base64"]) === "base64";
  const dimensions = fields.integer("dimensions", 1, DIMENSIONS_MAX);
  const user = fields.text("user");
  const extra = fields.rest();
  if (findings.refusal !== undefined) return findings.refusal;
  const options: CallOptions = {
    embed: dimensions === undefined ? {} : { dimensions },
    // Only input tokens are charged.
    maxOutputTokens: 0,
    ...(user !== undefined && { user }),
    ...(extra !== undefined && { extra }),
  };
  return { model, messages: texts.map((content) => ({ role: "user", content })), options, base64 };
}

/** OpenAI accepts token numbers as well; guardrails could not read them, so they are refused. */
function readTexts(fields: Fields): readonly string[] {
  const input = fields.any("input");
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  const texts = list.filter((text) => typeof text === "string" && text !== "");
  if (texts.length === list.length && texts.length > 0 && texts.length <= TEXTS_MAX) {
    // Checked by the filter.
    return texts as readonly string[];
  }
  fields.wrong("input", `a non-empty string, or an array of up to ${TEXTS_MAX} of them`);
  return [];
}

/** In OpenAI's format. A response of an upstream in that format is kept, except for vectors requested as base64. */
export function embeddingsOf(result: ChatResult, usage: Usage, base64: boolean): string {
  const { embeddings = [], native } = result;
  const from = native?.json ?? {};
  const entries = asObjects(from["data"]);
  return JSON.stringify({
    ...from,
    object: "list",
    data: embeddings.map((vector, index) => ({
      ...entries[index],
      object: "embedding",
      index,
      embedding: base64 ? Buffer.from(new Float32Array(vector).buffer).toString("base64") : vector,
    })),
    model: result.model,
    usage: {
      ...asObject(from["usage"]),
      prompt_tokens: usage.promptTokens,
      total_tokens: usage.totalTokens,
    },
  });
}
