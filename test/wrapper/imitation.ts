/**
 * An imitation of the providers that is not ours, and the credentials and aliases for it. What it answers is said here;
 * whether that comes through is not asserted here.
 */
import { LLMock } from "@copilotkit/aimock";
import type { Closer } from "../spec/kit/gateway.ts";

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

/** Those whose embeddings the imitation has as they have them. */
export const EMBEDDING: readonly Imitated[] = ["openai", "mistral", "cohere"];

/** Said to every question, but those for the tide, the wind, the stove as JSON, and for Instructor. */
export const KETTLE = "The kettle is on, and the tea is nearly ready.";
export const TIDE = { name: "get_tide", arguments: '{"port":"Brest"}' };
export const PORT = { name: "get_wind", arguments: '{"port":"Lorient"}' };
export const STOVE = { kettle: true, pans: 2 };
/** Every vector. */
export const VECTOR = [0.5, -0.25, 1];
/** Tokens of every call. */
export const USED = 14;

/** Starts it; returns its address. */
export async function startImitation(closer: Closer): Promise<string> {
  const mock = new LLMock({ port: 0, chunkSize: 7 });
  const usage = { prompt_tokens: 5, completion_tokens: 9, total_tokens: USED };
  mock.onMessage(/tide and wind/, { toolCalls: [TIDE, PORT], usage });
  mock.onMessage(/tide/, { toolCalls: [TIDE], usage });
  mock.onMessage(/as JSON/, { content: JSON.stringify(STOVE), usage });
  mock.onMessage(/instructor/, { toolCalls: [{ name: "Stove", arguments: JSON.stringify(STOVE) }], usage });
  mock.onMessage(/.*/, { content: KETTLE, usage });
  mock.onEmbedding(/.*/, { embedding: VECTOR });
  const url = await mock.start();
  closer.after(() => mock.stop());
  return url;
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
