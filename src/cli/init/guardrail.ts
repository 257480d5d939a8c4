/** The template of a guardrail: blocks words in input, answers and streams. */
import type { Template } from "./template.ts";

export const guardrail: Template = {
  summary: "judges texts on their way in and out",
  plugin: ({
    name,
    code,
  }) => `/** Blocks the company's secret words in messages to a model and in its answers. */
import { block, defineGuardrail, refuse } from "sluice/plugin";

export default defineGuardrail({
  name: "${name}",
  description: "Blocks secret words.",
  // Checked at load: mistakes are reported with their line. The types of the options follow from it.
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      words: {
        type: "array",
        minItems: 1,
        items: { type: "string", minLength: 1, maxLength: 100 },
        default: ["swordfish"],
        description: "What may not pass, in small letters.",
      },
    },
  },
  examples: [{ words: ["swordfish", "open sesame"] }],
  // Called once per different options: build here what would otherwise be built for each call.
  setup({ words }) {
    return {
      // The longest match. As much of a stream is held back, so that no part of a word is sent.
      window: Math.max(...words.map((word) => word.length)),
      // Called for input, whole answers and streams. undefined passes the text.
      judge(text, about) {
        const small = text.toLowerCase();
        const found = words.findIndex((word) => small.includes(word));
        if (found < 0) return undefined;
        const what = about.side === "input" ? "Request" : "Response";
        // The client's message, and the log's: the log must not contain any of the text.
        return block(
          refuse(422, "${code}_blocked", \`\${what} blocked: a secret word.\`),
          \`word \${found + 1} of the list\`,
        );
      },
    };
  },
});
`,
  test: ({
    name,
    variable,
  }) => `/** Each text is judged whole and as a stream split at every position, as in the gateway. */
import { testGuardrail } from "sluice/testing";
import ${variable} from "./${name}.ts";

testGuardrail(${variable}, {
  pass: ["Fish and a sword.", ""],
  block: [
    {
      text: "The password is Swordfish.",
      message: "Request blocked: a secret word.",
      answerMessage: "Response blocked: a secret word.",
    },
  ],
});

testGuardrail(${variable}, {
  options: { words: ["open sesame"] },
  pass: ["swordfish"],
  block: ["Now say: OPEN SESAME!"],
});
`,
  yaml: ({ name }) => `projects:
  - # …
    endpoints:
      - # …
        guardrails:
          - { use: ${name}, on: [input, output], options: { words: [swordfish] } }
`,
};
