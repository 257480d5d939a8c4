/** `expect` of a step. */
import { mapOf, name, section, text } from "../../config/schema/keywords.ts";
import { anything, expected, expectedMap, matcherKeys } from "./forms.ts";

export const sentSchema = {
  ...section("What the provider that answered was asked, in the chain's own terms.", {
    // `any` and `none` are matchers for the whole of it.
    any: matcherKeys.any,
    none: matcherKeys.none,
    target: expected("string", "credential/model.", { examples: ["openai-main/gpt-5-mini"] }),
    messages: anything("The messages, the system message first.", {
      examples: [[{ role: "user", content: { contains: "[EMAIL]" } }]],
    }),
    temperature: expected("number", "Temperature that was sent."),
    top_p: expected("number", "`top_p` that was sent."),
    max_output_tokens: expected("integer", "Cap of the answer that was sent."),
    stream: { type: ["boolean", "string", "object"], description: "Whether events were asked for." },
    options: anything("What the client asked for beside the endpoint's settings, such as tools."),
    method: expected("string", "Method of a proxied call."),
    path: expected("string", "Path of the request, with its query."),
    headers: expectedMap("Headers of a proxied call."),
    body: anything("The body as JSON, in the provider's own format."),
    excludes: {
      type: ["string", "array"],
      description: "Texts that are nowhere in the bytes sent, of any attempt.",
      items: text("A text.", { examples: ["ann@example.org"] }),
      examples: [["ann@example.org"]],
    },
  }),
};

export const expectKeys = {
  status: expected("integer", "HTTP status of the answer.", { minimum: 100, maximum: 599, examples: [200] }),
  error: expected("string", "The error's text.", { examples: [{ contains: "monthly budget" }] }),
  detail: anything("The error's `detail`.", { examples: [{ contains: "timed out" }] }),
  scope: expected("string", "Which window refused: minute or hour.", { examples: ["minute"] }),
  retry_after: expected("number", "Seconds of Retry-After.", { minimum: 0, examples: [{ max: 60 }] }),
  headers: expectedMap("Headers of the answer, in any case.", {
    examples: [{ "x-request-id": { any: true } }],
  }),
  content: expected("string", "The answer's text, of a stream all of it.", { examples: ["Done."] }),
  body: anything("The body: JSON, else its text.", { examples: [{ ok: true }] }),
  finish_reason: expected("string", "Why the answer ended.", { examples: ["stop"] }),
  tool_calls: anything("Tool calls of the answer.", { examples: [{ length: 1 }] }),
  usage: expectedMap("Tokens: `prompt`, `completion`, `total`.", { examples: [{ prompt: 40 }] }),
  cost_usd: expected("number", "What the call cost.", { minimum: 0, examples: [{ max: 0.001 }] }),
  stage: expected("string", "The stage that refused it.", { examples: ["budget"] }),
  sent: sentSchema,
  attempts: {
    type: ["array", "object"],
    description: "The attempts in order, each as `credential/model: outcome`; a matcher for the whole list.",
    items: mapOf(
      "One attempt: a status, `ok`, `timeout`, `disconnect` or `skipped`.",
      anything("An outcome."),
      {
        minProperties: 1,
        maxProperties: 1,
      },
    ),
    examples: [[{ "openai-main/gpt-5-mini": 503 }, { "openai-spare/gpt-5-nano": "ok" }]],
  },
  guardrails: mapOf(
    "Verdicts by the guardrail's name in `use`; `pii[2]` is the second of the same name.",
    {
      type: ["string", "object"],
      description: "pass, mask, block, error, shadow or skipped.",
      additionalProperties: anything("A matcher."),
    },
    { examples: [{ pii: "mask", prompt_injection: "pass" }] },
  ),
  events: {
    type: ["array", "object"],
    description: "Audit events of the call, in order: keys of events, or maps that they match.",
    items: {
      type: ["string", "object"],
      description: "An event.",
      additionalProperties: anything("A value."),
    },
    examples: [["guardrail.blocked"]],
  },
  snapshot: name("A file that holds the expected body; `--update` writes it.", {
    examples: ["./cases/openai.answer.json"],
  }),
} as const;

export const expectSchema = section("What must be true afterwards.", expectKeys, {
  examples: [{ status: 200, content: "Done." }],
});
