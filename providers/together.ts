/** Together: OpenAI's format for many open models. */
import { defineProvider, openAiChat } from "sluice/provider";

/** Its log probabilities are asked for, and told, in another shape. */
const REFUSED = new Set(["logprobs", "top_logprobs", "dimensions", "input_audio", "file", "custom_tools"]);

export const together = defineProvider({
  name: "together",
  label: "Together",
  description: "Together's chat completions.",
  defaultBaseUrl: "https://api.together.ai/v1",
  needsApiKey: true,
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      safety_model: { type: "string", description: "A model that judges the answer at Together." },
      context_length_exceeded_behavior: {
        enum: ["error", "truncate"],
        description: "What becomes of a prompt that is too long. Together's default: error.",
      },
    },
  },
  examples: [{}, { context_length_exceeded_behavior: "truncate" }],
  constraints: [{ setting: "temperature", range: { min: 0, max: 1 }, reason: "Together takes 0 to 1" }],
  setup: (members, host) =>
    // Usage comes unasked.
    openAiChat(host, {
      fields: { ...members },
      streamFields: { stream: true },
      supported: { has: (field) => !REFUSED.has(field) },
      embeddings: {},
    }),
});

export default together;
