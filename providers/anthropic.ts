/**
 * Anthropic's messages: where they go and under which version. wire/anthropic-*.ts write them, read what comes back, and
 * know how the models differ.
 */
import { type Credential, defineProvider, jsonFailure, toolCallIds, type WireFormat } from "sluice/provider";
import { decodeAnthropic } from "./wire/anthropic-answer.ts";
import { AnthropicBody } from "./wire/anthropic-body.ts";
import { AnthropicDecoder } from "./wire/anthropic-events.ts";
import { anthropicConstraints, OUTPUT_TOKENS_DEFAULT } from "./wire/anthropic-models.ts";

const VERSION = "2023-06-01";

export const anthropic = defineProvider({
  name: "anthropic",
  label: "Anthropic",
  description: "Anthropic's messages.",
  defaultBaseUrl: "https://api.anthropic.com",
  needsApiKey: true,
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      anthropic_version: {
        type: "string",
        pattern: "^\\d{4}-\\d{2}-\\d{2}$",
        default: VERSION,
        description: "Version of the API. From 2026-10-21 on it takes no temperature and no top_p.",
      },
      anthropic_beta: {
        type: "array",
        items: { type: "string", pattern: "^[\\w.-]+$" },
        description: "Features that are not for everybody yet. Sent as anthropic-beta.",
      },
      prompt_cache: {
        enum: ["5m", "1h"],
        description:
          "Lets Anthropic keep prompts for that long: kept they cost more, read again a fraction. Default: not kept.",
      },
    },
  },
  examples: [{}, { anthropic_version: "2026-10-21", prompt_cache: "5m" }],
  outputTokensDefault: OUTPUT_TOKENS_DEFAULT,
  constraints: ({ anthropic_version }) => anthropicConstraints(anthropic_version),
  setup({ anthropic_version, anthropic_beta = [], prompt_cache }, host): WireFormat {
    const newId = toolCallIds(host);
    const body = new AnthropicBody(prompt_cache);
    const versions = {
      "content-type": "application/json",
      "anthropic-version": anthropic_version,
      ...(anthropic_beta.length > 0 && { "anthropic-beta": anthropic_beta.join(",") }),
    };
    const addresses = new WeakMap<Credential, Address>();
    const addressOf = (credential: Credential): Address => {
      let address = addresses.get(credential);
      if (address === undefined) {
        const { baseUrl, apiKey } = credential;
        address = { url: `${baseUrl}/v1/messages`, headers: { ...versions, "x-api-key": apiKey } };
        addresses.set(credential, address);
      }
      return address;
    };
    return {
      framing: "sse",
      encode(request, credential, stream) {
        const { url, headers } = addressOf(credential);
        return { method: "POST", url, headers, body: body.encode(request, stream) };
      },
      decode: (text) => decodeAnthropic(text, newId),
      failure: jsonFailure,
      decoder: () => new AnthropicDecoder(newId),
      unsupported: (request) => body.unsupported(request),
      dropped: (request) => body.dropped(request),
    };
  },
});

export default anthropic;

interface Address {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}
