/**
 * The configurations that the gateway is measured with, and the requests that fit them. Everything is on, with limits
 * so high that no call of a bench meets them.
 */
import { createHash } from "node:crypto";
import { keywords, systemPrompt } from "./texts.ts";

type Json = Record<string, unknown>;

export const projectUuid = "3d0f5a3e-52a7-4f0a-9c1b-6a2f1f0c7b11";
/** Public, as all of the bench: the gateway it opens lives for seconds on loopback. */
export const token = `gw_live_${"bench0".repeat(6)}`;

/** Where an endpoint's calls go, and how it is told apart. */
export interface EndpointPlace {
  readonly slug: string;
  readonly credential: string;
  /** Default: OpenAI. */
  readonly provider?: Provider;
}

/** Whose wire format is spoken. */
export type Provider = "openai" | "anthropic";

/** Where a provider is. */
export interface Credential {
  readonly url: string;
  readonly provider: Provider;
}

const inputSchema = {
  type: "object",
  required: ["message"],
  properties: {
    message: { type: "string", minLength: 1, maxLength: 100_000 },
    stream: { type: "boolean" },
  },
};

const outputSchema = {
  type: "object",
  required: ["summary", "mood", "urgent"],
  properties: {
    summary: { type: "string" },
    mood: { type: "string", enum: ["calm", "annoyed", "angry"] },
    urgent: { type: "boolean" },
    next_steps: { type: "array", items: { type: "string" }, maxItems: 10 },
  },
};

/** All four built-in guardrails, none of which finds anything in the bench's messages. */
export function guardrails(keywordCount: number): Json[] {
  return [
    { use: "content_length", max: 100_000 },
    { use: "keyword_blocklist", keywords: keywords(keywordCount) },
    { use: "pii", mode: "block" },
    { use: "prompt_injection" },
  ];
}

/** Limits, budget and prompt: what every endpoint of the bench has. */
export function limitedEndpoint({ slug, credential, provider = "openai" }: EndpointPlace): Json {
  return {
    name: slug,
    slug,
    provider,
    model: provider === "openai" ? "gpt-4.1-mini" : "claude-haiku-4-5",
    credential,
    temperature: 0.7,
    max_output_tokens: 512,
    usage_hard_limit_tokens: 100_000,
    rate_limit_per_minute: 10_000_000,
    rate_limit_per_hour: 100_000_000,
    monthly_budget_usd: 1_000_000,
    estimated_cost_per_1k_tokens_usd: 0.001,
    prompt: systemPrompt,
    user_prompt_template: "A customer wrote:\n\n{{input}}",
  };
}

/** Those, four guardrails and the input schema. */
export function guardedEndpoint(place: EndpointPlace, keywordCount: number): Json {
  return { ...limitedEndpoint(place), guardrails: guardrails(keywordCount), input_schema: inputSchema };
}

/** Everything on, the output schema too: for JSON answers. */
export function fullEndpoint(place: EndpointPlace): Json {
  return { ...guardedEndpoint(place, 20), output_schema: outputSchema };
}

interface Parts {
  readonly endpoints: readonly Json[];
  readonly state?: Json;
  readonly webhooks?: readonly Json[];
}

/** A whole configuration. `credentials`: name to place, or to the base URL of an OpenAI. JSON is YAML, so this is written to a file as it is. */
export function gatewayConfig(
  port: number,
  credentials: Record<string, string | Credential>,
  { endpoints, state = {}, webhooks = [] }: Parts,
): Json {
  return {
    version: 1,
    state,
    // Every connection comes from one address.
    server: { host: "127.0.0.1", port, max_connections_per_address: 65_535 },
    admin: { port: 0 },
    network: { allow: ["127.0.0.0/8"] },
    projects: [
      {
        uuid: projectUuid,
        name: "Bench",
        type: "ai_gateway",
        credentials: Object.entries(credentials).map(([name, place]) => ({
          name,
          provider: typeof place === "string" ? "openai" : place.provider,
          api_key: "sk-bench",
          base_url: typeof place === "string" ? place : place.url,
        })),
        tokens: [
          {
            id: 1,
            name: "bench",
            hash: `sha256:${createHash("sha256").update(token).digest("hex")}`,
            scopes: ["chat"],
            monthly_budget_usd_cap: 1_000_000,
          },
        ],
        endpoints,
        webhooks,
      },
    ],
  };
}
