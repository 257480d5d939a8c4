/**
 * The schema of a test file: it validates the YAML, is printed for editors, and is the reference in docs/testing.md.
 * Data only; what a key does is in the file that is named after its section.
 */
import { integer, list, mapOf, name, section, text } from "../../config/schema/keywords.ts";
import { callKeys, callSchema, httpSchema, providerSchema, upstreamSchema } from "./call.ts";
import { expectSchema } from "./expect.ts";
import { acceptPlaceholders, anything, duration } from "./forms.ts";
import { givenSchema } from "./given.ts";

const callable = {
  call: callSchema,
  http: httpSchema,
  provider: providerSchema,
  upstream: upstreamSchema,
  expect: expectSchema,
} as const;

const stepSchema = section("One step: a call, or time that passes.", {
  ...callable,
  repeat: integer("How often the call is made; each must be as expected.", 1, 10_000, { examples: [2] }),
  advance: duration("Time that passes.", ["61s"]),
  save: mapOf(
    "Names for later placeholders, each with what of the answer it holds: `session_id`, `content`, `headers.NAME`, `body.PATH`.",
    name("What is saved.", { examples: ["session_id"] }),
    { examples: [{ session: "session_id" }] },
  ),
});

export const caseSchema = acceptPlaceholders(
  section(
    "One case.",
    {
      name: name("What the case shows.", { examples: ["an e-mail address never reaches the model"] }),
      each: list(
        "Rows; each makes a case of its own, with the row's values for `{{key}}`.",
        mapOf("A row.", anything("A value.")),
        {
          minItems: 1,
          maxItems: 10_000,
          examples: [[{ text: "hi", status: 200 }]],
        },
      ),
      given: givenSchema,
      ...callable,
      steps: list("Several calls that share their state, in order.", stepSchema, {
        minItems: 1,
        maxItems: 1000,
        examples: [[{ call: { endpoint: "triage", message: "hi" } }, { advance: "61s" }]],
      }),
    },
    { required: ["name"] },
  ),
);

export const testFileSchema = section(
  "Test cases of a Sluice configuration.",
  {
    config: name(
      "The configuration, relative to this file. Default: the nearest gateway.config.yaml above.",
      {
        examples: ["./gateway.config.yaml"],
      },
    ),
    overlays: list(
      "Overlays, relative to this file.",
      name("A file.", { examples: ["overlays/prod.yaml"] }),
      {
        maxItems: 100,
        examples: [["overlays/prod.yaml"]],
      },
    ),
    clock: text("When the cases begin. Default: noon (UTC) of the 15th of the current month.", {
      pattern:
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$",
      patternErrorMessage: "must be an ISO 8601 moment, such as 2026-11-22T10:00:00Z",
      examples: ["2026-11-22T10:00:00Z"],
    }),
    env: mapOf(
      "Values for `${env:…}`; any other variable gets a dummy.",
      { type: ["string", "number", "boolean"], description: "A value." },
      { examples: [{ OPENAI_API_KEY: "any" }] },
    ),
    defaults: section("For calls that do not say otherwise.", {
      project: callKeys.project,
      token: name("Name or id of a token.", { examples: ["web"] }),
    }),
    tests: list("The cases.", caseSchema, { maxItems: 100_000, examples: [[{ name: "answers" }]] }),
  },
  { required: ["tests"] },
);
