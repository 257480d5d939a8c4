/** OpenAI: its address, its account headers, and which of its models refuse which settings. */
import { defineProvider } from "sluice/plugin";
import { type ModelRules, openAiChat } from "./wire/openai-chat.ts";

interface OpenAiOptions {
  readonly organization?: string;
  readonly project?: string;
}

const SAMPLING: ModelRules = {
  maxTokensField: "max_tokens",
  temperature: true,
  topP: true,
  responseSchema: true,
};
const REASONING: ModelRules = {
  maxTokensField: "max_completion_tokens",
  temperature: false,
  topP: false,
  responseSchema: true,
};

/**
 * First match counts. Sampling settings are refused by reasoning models unless an effort of `none` is asked for,
 * which endpoints cannot. Names that match nothing belong to servers that only speak OpenAI's format.
 */
const MODELS: readonly (readonly [name: RegExp, rules: ModelRules])[] = [
  [/^gpt-(?:3\.?5|4(?!o|\.))/, { ...SAMPLING, responseSchema: false }],
  [/^gpt-4o.*-search-preview/, { ...SAMPLING, temperature: false }],
  [/^gpt-5-chat/, { ...SAMPLING, maxTokensField: "max_completion_tokens" }],
  [/^o\d|^gpt-(?:[5-9]|\d\d)/, REASONING],
];

export function openAiModel(name: string): ModelRules {
  const base = name.replace(/^ft:/, "");
  return MODELS.find(([pattern]) => pattern.test(base))?.[1] ?? SAMPLING;
}

export const openai = defineProvider<OpenAiOptions>({
  name: "openai",
  label: "OpenAI",
  description: "OpenAI's chat completions, and servers that speak the same format under another base URL.",
  defaultBaseUrl: "https://api.openai.com/v1",
  needsApiKey: true,
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      organization: { type: "string", description: "Sent as OpenAI-Organization." },
      project: { type: "string", description: "Sent as OpenAI-Project." },
    },
  },
  examples: [{}, { organization: "org-example", project: "proj-example" }],
  setup({ organization, project }, host) {
    const headers: Record<string, string> = {};
    if (organization !== undefined) headers["openai-organization"] = organization;
    if (project !== undefined) headers["openai-project"] = project;
    return openAiChat(
      {
        path: "/chat/completions",
        headers,
        model: openAiModel,
        // Without these there is no usage, and every event is padded with random text.
        streamMembers: '"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}',
      },
      host.log,
    );
  },
});

export default openai;
