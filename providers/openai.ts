/** OpenAI: its address, its account headers, and what its models take. */
import { type ChatModelRules, defineProvider, openAiChat, type SettingConstraint } from "sluice/provider";

const SEARCH = /^(?:ft:)?gpt-4o.*-search-preview/;
const REASONING = /^(?:ft:)?(?:o\d|gpt-(?!5-chat)(?:[5-9]|[12]\d))/;
/** Those of them that refuse sampling settings at an effort of none too. */
const ALWAYS_REASONING =
  /^(?:ft:)?(?:o\d|gpt-(?!5-chat|5\.[1-6](?!\d)|6-(?:sol|luna)|6\.1-terra)(?:[5-9]|[12]\d))/;

/** First match counts. Names that match nothing belong to servers that only speak OpenAI's format. */
const MODELS: readonly (readonly [name: RegExp, rules: ChatModelRules])[] = [
  [/^(?:ft:)?gpt-(?:3\.?5|4(?!o|\.))/, { responseSchema: false }],
  [/^(?:ft:)?gpt-5-chat/, { maxTokensField: "max_completion_tokens" }],
  [/^(?:ft:)?o1/, { maxTokensField: "max_completion_tokens" }],
  [REASONING, { maxTokensField: "max_completion_tokens", stop: false }],
];

function rulesOf(name: string, effort: string | undefined): ChatModelRules {
  const rules = MODELS.find(([pattern]) => pattern.test(name))?.[1] ?? {};
  if (!REASONING.test(name)) return rules;
  // Beside tools these take an effort of none only, 5.6 wants it said.
  const none = /^(?:ft:)?gpt-5\.6/.test(name) || (effort !== undefined && /^(?:ft:)?gpt-5\.4/.test(name));
  return {
    ...rules,
    fields: { reasoning_effort: effort },
    fieldsWithTools: none ? { reasoning_effort: "none" } : {},
  };
}

function constraints({
  reasoning_effort,
}: {
  readonly reasoning_effort?: string;
}): readonly SettingConstraint[] {
  const reasoning = reasoning_effort === "none" ? ALWAYS_REASONING : REASONING;
  const reason = "reasoning models choose it themselves";
  return [
    { models: SEARCH, setting: "temperature", reason: "search models choose it themselves" },
    { models: reasoning, setting: "temperature", reason },
    { models: reasoning, setting: "top_p", reason },
  ];
}

export const openai = defineProvider({
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
      reasoning_effort: {
        enum: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
        description: "Sent to reasoning models. At none some of them take temperature and top_p.",
      },
    },
  },
  examples: [{}, { organization: "org-example", project: "proj-example" }, { reasoning_effort: "low" }],
  constraints,
  setup({ organization, project, reasoning_effort }, host) {
    const headers: Record<string, string> = {};
    if (organization !== undefined) headers["openai-organization"] = organization;
    if (project !== undefined) headers["openai-project"] = project;
    return openAiChat(host, {
      headers,
      model: (name) => rulesOf(name, reasoning_effort),
      embeddings: {},
      // Without these there is no usage, and every event is padded with random text.
      streamFields: { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
    });
  },
});

export default openai;
