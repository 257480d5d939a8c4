/** Endpoints of gateway projects and aliases of wrapper projects: what a call is answered with, and what it may cost. */
import type { FilledOf } from "../../plugin/schema-type.ts";
import { SLUG_PATTERN } from "../slug.ts";
import {
  choice,
  decimal,
  flag,
  integer,
  list,
  mapOf,
  name,
  orNull,
  type SchemaNode,
  section,
  text,
  usd,
} from "./keywords.ts";

export const slugForm = {
  maxLength: 200,
  pattern: SLUG_PATTERN,
  patternErrorMessage: "must be lower-case letters and digits, in words joined by single hyphens",
  examples: ["summarise"],
};

export const uuidForm = {
  pattern: "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
  patternErrorMessage: "must be a UUID",
  examples: ["6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11"],
};

/** How a key that names where an object was moved from is described; `form`: of the names of its kind. */
export const movedFrom = <const M extends SchemaNode>(what: string, form: M) =>
  orNull({
    ...form,
    description: `The ${what} that it had before it was renamed. Spend, rate windows, sessions and overrides move to the new one once, and calls of the old one are answered as long as this stands.`,
  });

/** Keys of a guardrail's entry that are the gateway's own; all others are options of the plugin. */
export const guardrailKeys = {
  use: name("Name of the guardrail.", { examples: ["content_length"] }),
  on: list("Which texts it judges.", choice("A side.", ["input", "output"]), {
    default: ["input"],
    minItems: 1,
    uniqueItems: true,
  }),
  roles: list(
    "Whose texts of a request it judges. `user`: everything that the client writes, with the assistant's earlier answers and tool definitions; `tool`: results of tools; `system`: system and developer messages.",
    choice("A role.", ["user", "tool", "system"]),
    { default: ["user", "tool"], minItems: 1, uniqueItems: true },
  ),
  on_error: choice(
    "What a crash, a time-out or an invalid verdict of the guardrail means.",
    ["block", "allow"],
    {
      default: "block",
    },
  ),
  timeout_ms: integer("Longest judgement.", 1, 600_000, { default: 1000 }),
  isolate: flag("Whether it runs in a process of its own, which contains its faults.", false),
  shadow: flag("true: judged and recorded, never acted on.", false),
  options: mapOf("Options of the plugin; they may as well stand beside `use`.", true),
};

export const guardrailUse = {
  ...section("A guardrail in use.", guardrailKeys, { required: ["use"] }),
  additionalProperties: true,
  examples: [{ use: "content_length", max: 8000 }],
} as const;

export const GUARDRAIL_KEYS: ReadonlySet<string> = new Set(Object.keys(guardrailKeys));

export const stageUse = section(
  "A third party's stage in use.",
  {
    use: name("Name of the stage plugin.", { examples: ["acme-audit"] }),
    options: mapOf("Options of the plugin.", true),
  },
  { required: ["use"] },
);

const failoverEntry = section(
  "What is tried when the entry before it failed.",
  {
    credential: name("Name of a credential; the provider follows from it.", { examples: ["anthropic-main"] }),
    model: name("Model, as that provider names it.", { examples: ["claude-haiku-4-5"] }),
  },
  { required: ["credential", "model"] },
);

const OUTPUT_TOKENS_MAX = 200_000;

const callSettings = <const M extends SchemaNode>(maxOutputTokens: M) => ({
  provider: orNull(name("Provider key; together with model and credential.", { examples: ["openai"] })),
  model: orNull(name("Model, as the provider names it.", { examples: ["gpt-5-mini"] })),
  credential: orNull(name("Name of a credential of that provider.", { examples: ["openai-main"] })),
  provider_template: orNull(
    name("Name of a provider template, instead of the three.", { examples: ["fast"] }),
  ),
  failover: list("Tried in order when the call fails.", failoverEntry, { maxItems: 16 }),
  temperature: orNull(decimal("0 is deterministic; null: not sent.", 0, 2, { examples: [0.2] })),
  top_p: orNull(
    decimal("Nucleus sampling; null: not sent. Tune it or temperature, not both.", 0, 1, { examples: [0.9] }),
  ),
  max_output_tokens: maxOutputTokens,
  monthly_budget_usd: orNull(usd("Ceiling per calendar month (UTC); null: unlimited.", { examples: [25.5] })),
  estimated_cost_per_1k_tokens_usd: orNull(
    usd("Used to compute spend; a budget needs it.", { examples: [0.002] }),
  ),
  guardrails: list("Judge texts, in this order.", guardrailUse, { maxItems: 64 }),
});

const jsonSchema = (description: string) =>
  ({
    type: ["object", "boolean", "null"],
    description: `${description} Draft 2020-12, or draft-07 by \`$schema\`; \`{$ref: ./file.json}\` reads a file.`,
    default: null,
    examples: [{ type: "object", required: ["message"] }, { $ref: "./schemas/order.json" }],
  }) as const;

/** Everything of an endpoint but what tells it from others: what `endpoint_defaults` may hold. */
const sharedByEndpoints = {
  description: text("What it is for; shown to MCP clients.", {
    default: "",
    examples: ["Sums up a ticket."],
  }),
  is_active: flag("false: calls get 404.", true),
  expose_as_mcp_tool: flag("Whether the project's MCP bridge offers it.", false),
  ...callSettings(integer("Hard cap per answer.", 1, OUTPUT_TOKENS_MAX, { default: 4096 })),
  stages: list("Third parties' stages, after those of the project.", stageUse, { maxItems: 64 }),
  streaming_enabled: flag("false: `stream` in a request is ignored.", true),
  prompt: text("System message put before every request.", {
    default: "",
    examples: ["You sum up tickets."],
  }),
  user_prompt_template: text("Wraps the user's message; empty: passed as it is.", {
    default: "",
    examples: ["Sum this up: {{input}}"],
  }),
  input_schema: jsonSchema("Validates the request's body."),
  output_schema: jsonSchema("Validates the answer's text."),
};

export const endpointDefaults = section(
  "Values for all endpoints; an endpoint's own value wins.",
  sharedByEndpoints,
);

export const endpoint = section(
  "An AI endpoint.",
  {
    name: name("Shown in consoles and logs.", { examples: ["Summarise"] }),
    uuid: orNull(text("Else derived from the project's uuid and the slug.", uuidForm)),
    slug: orNull(text("URL path segment; else made from the name.", slugForm)),
    moved_from: movedFrom("slug", text("", { ...slugForm, examples: ["summarize-v1"] })),
    ...sharedByEndpoints,
  },
  { required: ["name"] },
);

export const alias = section(
  "A model name that clients of a wrapper project may ask for.",
  {
    alias: name("What a client names as `model`.", { examples: ["default"] }),
    moved_from: movedFrom("alias", name("", { examples: ["gpt-4"] })),
    is_active: flag("false: calls get 404, and lists of models leave it out.", true),
    allowed_fields: {
      ...orNull(
        list(
          "Members of a request that clients may send beyond those that the gateway reads itself; others are refused. null: all pass but those that cost beyond what is reserved, such as `web_search_options` and `best_of`.",
          name("Name of a member.", { examples: ["service_tier"] }),
          { maxItems: 100 },
        ),
      ),
      default: null,
    },
    ...callSettings(
      orNull(
        integer(
          "Hard cap per answer. null: what the client asks for, up to the most that the model writes; a client that asks for nothing gets the provider's own limit. Budgets reserve as much.",
          1,
          OUTPUT_TOKENS_MAX,
          { examples: [8192] },
        ),
      ),
    ),
  },
  { required: ["alias"] },
);

export type FilledEndpoint = FilledOf<typeof endpoint>;
export type FilledAlias = FilledOf<typeof alias>;
/** What endpoints and aliases share. */
export type FilledCallSettings = Pick<FilledAlias, keyof ReturnType<typeof callSettings>>;
export type FilledGuardrailUse = FilledOf<typeof guardrailUse>;
export type FilledStageUse = FilledOf<typeof stageUse>;
