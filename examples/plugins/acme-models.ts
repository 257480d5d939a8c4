/**
 * A custom provider. Acme speaks OpenAI's format, as most vendors do, so the plugin only says where it is, and
 * what it does its own way. In the config:
 *
 *     plugins: [./plugins/acme-models.ts]
 *     …
 *     credentials:
 *       - { name: acme, provider: acme-models, api_key: "${env:ACME_KEY}", options: { region: eu } }
 */
import { defineProvider, openAiChat } from "sluice/provider";

export default defineProvider({
  name: "acme-models",
  label: "Acme",
  description: "Acme's hosted models.",
  defaultBaseUrl: "https://models.acme.example/v1",
  needsApiKey: true,
  // Checked when the config is loaded: a mistake is shown with its line, and `setup` need not look again.
  schema: {
    type: "object",
    additionalProperties: false,
    properties: { region: { enum: ["eu", "us"], default: "eu", description: "Where calls are answered." } },
  },
  examples: [{}, { region: "us" }],
  // Endpoints may ask for more; the gateway brings it into the range and says so, here and in `sluice validate`.
  constraints: [{ setting: "temperature", range: { min: 0, max: 1 }, reason: "Acme takes 0 to 1" }],
  setup: ({ region }, host) => openAiChat(host, { headers: { "x-acme-region": region } }),
});
