/**
 * Google's Gemini API: where its models are asked, and what they take. wire/google-*.ts write the calls and read what
 * comes back.
 */
import {
  type Credential,
  defineProvider,
  type SettingConstraint,
  toolCallIds,
  type WireFormat,
} from "sluice/provider";
import { decodeGoogle, decodeGoogleVectors } from "./wire/google-answer.ts";
import { GoogleBody } from "./wire/google-body.ts";
import { GoogleDecoder } from "./wire/google-events.ts";
import { googleFailure } from "./wire/google-failure.ts";
import { Memory } from "./wire/memory.ts";

const IGNORES_SAMPLING = /gemini-(?:[4-9]|[1-9]\d)(?!\d)/;
const reason = "the model ignores it";

const CONSTRAINTS: readonly SettingConstraint[] = [
  { models: IGNORES_SAMPLING, setting: "temperature", reason },
  { models: IGNORES_SAMPLING, setting: "top_p", reason },
  outputMax(/gemini-(?:1\.|2\.0)/, 8192),
  // Later ones take any number, and end an answer that is longer than they write at once with CONTINUATION.
  outputMax(/gemini-(?:2\.5|3)(?!\d)/, 65_536),
];

function outputMax(models: RegExp, max: number): SettingConstraint {
  return {
    models,
    setting: "max_output_tokens",
    range: { min: 1, max },
    reason: "the model writes no more",
  };
}

const CATEGORIES = [
  "HARM_CATEGORY_HARASSMENT",
  "HARM_CATEGORY_HATE_SPEECH",
  "HARM_CATEGORY_SEXUALLY_EXPLICIT",
  "HARM_CATEGORY_DANGEROUS_CONTENT",
  "HARM_CATEGORY_CIVIC_INTEGRITY",
];
const THRESHOLDS = ["OFF", "BLOCK_NONE", "BLOCK_ONLY_HIGH", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_LOW_AND_ABOVE"];

export const google = defineProvider({
  name: "google",
  label: "Google",
  description: "Google's Gemini API.",
  defaultBaseUrl: "https://generativelanguage.googleapis.com",
  needsApiKey: true,
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      safety_settings: {
        type: "array",
        description: "From which probability of harm on Google blocks, for each category.",
        items: {
          type: "object",
          additionalProperties: false,
          required: ["category", "threshold"],
          properties: { category: { enum: CATEGORIES }, threshold: { enum: THRESHOLDS } },
        },
      },
      thinking_budget: {
        type: "integer",
        minimum: -1,
        description:
          "Sent to Gemini 2.5: tokens to think with before the answer, a part of max_output_tokens. 0: none. -1: the model decides.",
      },
      thinking_level: {
        enum: ["minimal", "low", "medium", "high"],
        description: "Sent to Gemini 3 and later: how hard the model thinks. Nobody sees its thoughts.",
      },
    },
  },
  examples: [
    {},
    { thinking_budget: 0, thinking_level: "low" },
    { safety_settings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_ONLY_HIGH" }] },
  ],
  constraints: CONSTRAINTS,
  setup(settings, host): WireFormat {
    const newId = toolCallIds(host);
    const body = new GoogleBody(settings);
    const addresses = new WeakMap<Credential, Address>();
    const addressOf = (credential: Credential): Address => {
      let address = addresses.get(credential);
      if (address === undefined) {
        const { baseUrl, apiKey } = credential;
        const headers = { "content-type": "application/json", "x-goog-api-key": apiKey };
        address = { headers, models: new Memory((name) => `${baseUrl}/v1beta/${pathOf(name)}`) };
        addresses.set(credential, address);
      }
      return address;
    };
    return {
      framing: "sse",
      encode(request, credential, stream) {
        const { headers, models } = addressOf(credential);
        if (request.options?.embed !== undefined) {
          const url = `${models.of(request.model)}:batchEmbedContents`;
          return { method: "POST", url, headers, body: body.embed(request, pathOf(request.model)) };
        }
        const verb = stream ? ":streamGenerateContent?alt=sse" : ":generateContent";
        return { method: "POST", url: models.of(request.model) + verb, headers, body: body.encode(request) };
      },
      decode: (text, options) =>
        options?.embed === undefined ? decodeGoogle(text, newId) : decodeGoogleVectors(text),
      failure: googleFailure,
      decoder: () => new GoogleDecoder(newId),
      unsupported: (request) => body.unsupported(request),
      dropped: (request) => body.dropped(request),
    };
  },
});

export default google;

interface Address {
  readonly headers: Readonly<Record<string, string>>;
  /** URLs by the model's name, without the verb. */
  readonly models: Memory<string>;
}

/** `models/x`, where a name does not say more itself, such as `tunedModels/x`. */
function pathOf(name: string): string {
  const path = name.includes("/") ? name : `models/${name}`;
  return path.split("/").map(encodeURIComponent).join("/");
}
