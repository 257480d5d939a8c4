/** Mistral: OpenAI's format with names and ids of its own; members it does not know are refused. */
import { createHash } from "node:crypto";
import { defineProvider, openAiChat } from "sluice/provider";

/** Whatever it does not know, Mistral refuses. */
const TAKEN = new Set([
  "input",
  "dimensions",
  "n",
  "stop",
  "seed",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "frequency_penalty",
  "presence_penalty",
  "input_audio",
  // Of messages and of the body, as they are.
  "prefix",
  "metadata",
  "prediction",
  "prompt_cache_key",
  "prompt_mode",
  "reasoning_effort",
  "safe_prompt",
]);

const OWN_ID = /^[A-Za-z0-9]{9}$/;
const ID_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Ids of tool calls have nine letters and digits: others are hashed, so that call and result still agree. */
function toolCallId(id: string): string {
  if (OWN_ID.test(id)) return id;
  const hash = createHash("sha256").update(id).digest().subarray(0, 9);
  return Array.from(hash, (byte) => ID_CHARACTERS.charAt(byte % ID_CHARACTERS.length)).join("");
}

export const mistral = defineProvider({
  name: "mistral",
  label: "Mistral",
  description: "Mistral's chat completions.",
  defaultBaseUrl: "https://api.mistral.ai/v1",
  needsApiKey: true,
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      safe_prompt: {
        type: "boolean",
        description: "Mistral puts its own safety prompt before the messages.",
      },
    },
  },
  examples: [{}, { safe_prompt: true }],
  constraints: [{ setting: "temperature", range: { min: 0, max: 1 }, reason: "Mistral takes 0 to 1" }],
  setup: ({ safe_prompt }, host) =>
    openAiChat(host, {
      fields: { safe_prompt },
      // Usage comes unasked.
      streamFields: { stream: true },
      seedField: "random_seed",
      requiredToolChoice: "any",
      toolCallId,
      supported: TAKEN,
      embeddings: { dimensionsField: "output_dimension" },
    }),
});

export default mistral;
