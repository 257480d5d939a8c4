/** Groq: OpenAI's format, with usage in a place of its own and a status of its own for want of capacity. */
import { defineProvider, openAiChat } from "sluice/provider";

/** The others refuse a schema. */
const TAKES_SCHEMA = /gpt-oss|llama-4|kimi-k2/;

const CAPACITY_EXCEEDED = 498;

const REFUSED = new Set([
  "input",
  "custom_tools",
  "n",
  "name",
  "logprobs",
  "top_logprobs",
  "logit_bias",
  "frequency_penalty",
  "presence_penalty",
  "input_audio",
  "file",
]);

export const groq = defineProvider({
  name: "groq",
  label: "Groq",
  description: "Groq's chat completions.",
  defaultBaseUrl: "https://api.groq.com/openai/v1",
  needsApiKey: true,
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      service_tier: {
        enum: ["auto", "on_demand", "flex", "performance"],
        description: "flex: more calls, and status 498 when there is no capacity, which moves on.",
      },
    },
  },
  examples: [{}, { service_tier: "flex" }],
  setup: ({ service_tier }, host) =>
    openAiChat(host, {
      fields: { service_tier },
      // Usage comes unasked, beside the finish reason.
      streamFields: { stream: true },
      model: (name) => ({
        maxTokensField: "max_completion_tokens",
        responseSchema: TAKES_SCHEMA.test(name) ? "alone" : false,
      }),
      retryableStatuses: [CAPACITY_EXCEEDED],
      supported: { has: (field) => !REFUSED.has(field) },
    }),
});

export default groq;
