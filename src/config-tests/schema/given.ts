/** `given` of a case. */
import { choice, flag, integer, list, name, section, text } from "../../config/schema/keywords.ts";
import { callKeys } from "./call.ts";
import { duration, PLACEHOLDER } from "./forms.ts";

export const subject = {
  endpoint: callKeys.endpoint,
  alias: callKeys.alias,
  proxy: callKeys.proxy,
  project: callKeys.project,
} as const;

export const givenSchema = section("What was before the first call.", {
  spent_usd: list(
    "Money spent in this month.",
    section(
      "Money spent on an endpoint, an alias or by a token.",
      {
        endpoint: subject.endpoint,
        alias: subject.alias,
        project: subject.project,
        token: name("Name or id of a token.", { examples: ["web"] }),
        amount: {
          type: ["number", "string"],
          description: "Amount in USD.",
          minimum: 0,
          maximum: 9_000_000,
          pattern: `^(?:[0-9]{1,6}(?:\\.[0-9]+)?|${PLACEHOLDER})$`,
          patternErrorMessage: "must be a plain decimal, such as 12 or 0.002",
          examples: [199.99],
        },
      },
      { required: ["amount"] },
    ),
    { maxItems: 1000, examples: [[{ endpoint: "summarise", amount: 199.99 }]] },
  ),
  calls: list(
    "Earlier calls that rate windows still count.",
    section(
      "Calls of an endpoint, an alias or a proxy endpoint.",
      {
        ...subject,
        count: integer("How many.", 1, 100_000, { examples: [10] }),
        ago: duration("How long before the first call they came.", ["30s"]),
      },
      { required: ["count"] },
    ),
    { maxItems: 1000, examples: [[{ endpoint: "triage", count: 2, ago: "30s" }]] },
  ),
  tokens: section("State of tokens.", {
    revoked: list("Tokens that the control plane has revoked.", name("Name or id.", { examples: ["web"] }), {
      examples: [["web"]],
    }),
  }),
  overrides: list(
    "Endpoints that the control plane has switched on or off.",
    section(
      "One override.",
      {
        endpoint: subject.endpoint,
        proxy: subject.proxy,
        project: subject.project,
        is_active: flag("Whether it answers.", false),
      },
      { required: ["is_active"] },
    ),
    { maxItems: 1000, examples: [[{ endpoint: "triage", is_active: false }]] },
  ),
  circuits: section("State of circuit breakers.", {
    open: list(
      "Targets that are skipped.",
      name("credential/model.", { examples: ["openai-main/gpt-5-mini"] }),
      {
        examples: [["openai-main/gpt-5-mini"]],
      },
    ),
  }),
  session: section(
    "A conversation that `{{session}}` names.",
    {
      endpoint: subject.endpoint,
      project: subject.project,
      token: name("Name or id of the token that it belongs to.", { examples: ["web"] }),
      messages: list(
        "What was said so far.",
        section(
          "One message.",
          {
            role: choice("Who said it.", ["user", "assistant"]),
            content: text("Its text.", { examples: ["hi"] }),
          },
          { required: ["role", "content"] },
        ),
        { minItems: 1, maxItems: 500, examples: [[{ role: "user", content: "hi" }]] },
      ),
    },
    { required: ["endpoint", "messages"] },
  ),
});
