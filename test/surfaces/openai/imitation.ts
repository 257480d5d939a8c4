/**
 * An imitation of the providers that is not ours, and the credentials and aliases for it. What it answers is said here;
 * whether that comes through is not asserted here.
 */
import { json } from "node:stream/consumers";
import { LLMock, type Mountable } from "@copilotkit/aimock";
import { at } from "../../spec/kit/at.ts";
import type { Closer } from "../../spec/kit/gateway.ts";

/** Providers, with what comes between the imitation's address and the paths that an adapter adds. */
export const UNDER = {
  openai: "/v1",
  anthropic: "",
  google: "",
  mistral: "/v1",
  groq: "/v1",
  together: "/v1",
  ollama: "",
  cohere: "",
} as const;

export type Imitated = keyof typeof UNDER;

/** Answers every question that has no other answer below. */
export const KETTLE = "The kettle is on, and the tea is nearly ready.";
export const TIDE = { name: "get_tide", arguments: '{"port":"Brest"}' };
export const PORT = { name: "get_wind", arguments: '{"port":"Lorient"}' };
export const STOVE = { kettle: true, pans: 2 };
/** Every vector. */
export const VECTOR = [0.5, -0.25, 1];
/** Tokens of every call. */
export const USED = 14;

/** Between chunks of a stream that breaks off, so that it has begun before it does. */
const CHUNK_LATENCY_MS = 20;
/** Chunks of `KETTLE` before a stream of "break off" ends without its end. */
const CHUNKS_BEFORE_BREAK = 5;
const usage = { prompt_tokens: 5, completion_tokens: 9, total_tokens: USED };
const said = { content: KETTLE, usage };
const stove = JSON.stringify(STOVE);

/** Starts it; returns its address. */
export async function startImitation(closer: Closer): Promise<string> {
  const mock = new LLMock({ port: 0, chunkSize: 7 });
  mock.on({ hasToolResult: true }, said);
  addStructured(mock);
  addFailures(mock);
  mock.onMessage(/tide and wind/, { toolCalls: [TIDE, PORT], usage });
  mock.onMessage(/tide/, { toolCalls: [TIDE], usage });
  mock.on({ userMessage: /all turns/, predicate: hasAllTurns }, said);
  mock.onMessage(/all turns/, { content: "A turn or the system text is missing.", usage });
  mock.on(
    { userMessage: /the picture/, predicate: ({ messages }) => /image/.test(JSON.stringify(messages)) },
    said,
  );
  mock.onMessage(/.*/, said);
  mock.onEmbedding(/.*/, { embedding: VECTOR });
  // The imitation does not know these two forms of today; they are answered as the vendors' references say.
  const google = `/v1beta/models/${aliasFor("google").model}:batchEmbedContents`;
  mock.mount(
    google,
    vectorsOf("requests", (count) => ({ embeddings: all(count, { values: VECTOR }) })),
  );
  mock.mount(
    "/api/embed",
    vectorsOf("input", (count) => ({ embeddings: all(count, VECTOR), prompt_eval_count: 2 })),
  );
  const url = await mock.start();
  closer.after(() => mock.stop());
  return url;
}

/** Objects as JSON, and as the arguments of the tools that clients and the gateway force. */
function addStructured(mock: LLMock): void {
  for (const name of ["gateway_json_answer", "final_result", "Stove", "extract", "json"])
    mock.onToolCall(name, { toolCalls: [{ name, arguments: stove }], usage });
  mock.onMessage(/as JSON/, { content: stove, usage });
}

/** A request that cannot work, one that may work later, and a stream that breaks off. */
function addFailures(mock: LLMock): void {
  const message = "This model's maximum context length is 8192 tokens.";
  const wrong = { message, type: "invalid_request_error", code: "context_length_exceeded" };
  mock.onMessage(/refuse this/, { error: wrong, status: 400 });
  mock.onMessage(/fail here/, { error: { message: "Out of order.", type: "server_error" }, status: 500 });
  mock.onMessage(/break off/, said, {
    truncateAfterChunks: CHUNKS_BEFORE_BREAK,
    latency: CHUNK_LATENCY_MS,
  });
}

const all = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

/** Answers with a vector for each entry of the body's `list`. */
function vectorsOf(list: string, answerFor: (count: number) => object): Mountable {
  return {
    handleRequest: async (req, res) => {
      const texts = at(await json(req), list);
      const answer = answerFor(Array.isArray(texts) ? texts.length : 0);
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
      return true;
    },
  };
}

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

function hasAllTurns({ messages }: Asked): boolean {
  const turns = messages.map(({ role, content }) => [role, JSON.stringify(content)] as const);
  return (
    turns.some(([role, text]) => role === "system" && text.includes("Be brief.")) &&
    turns.some(([role, text]) => role === "assistant" && text.includes("Tea or coffee?"))
  );
}

/** Credentials for each provider, by its name. `url`: the imitation's. */
export function credentialsFor(
  providers: readonly Imitated[],
  url: string,
): Readonly<Record<string, string>>[] {
  return providers.map((provider) => ({
    name: provider,
    provider,
    api_key: "key-of-the-imitation",
    base_url: url + UNDER[provider],
  }));
}

/** An alias on `provider`, of a model that takes a schema, tools and settings. */
export function aliasFor(provider: Imitated): { readonly provider: string; readonly model: string } {
  const models: Partial<Record<Imitated, string>> = {
    anthropic: "claude-haiku-4-5",
    google: "gemini-3-flash",
    groq: "openai/gpt-oss-20b",
  };
  return { provider, model: models[provider] ?? "model-1" };
}
