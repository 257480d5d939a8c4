/** The template of a guardrail: words that may not pass, judged on input, answers and streams. */
import type { Template } from "./template.ts";

export const guardrail: Template = {
  summary: "judges texts on their way in and out",
  plugin: ({
    name,
    code,
  }) => `/** Keeps the company's secret words out of what goes to a model, and out of what comes back. */
import { block, defineGuardrail, refuse } from "sluice/plugin";

interface Options {
  readonly words?: readonly string[];
}

export default defineGuardrail<Options>({
  name: "${name}",
  description: "Blocks secret words.",
  // Checked when the configuration is loaded: a mistake is shown with its line, and setup need not look again.
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
  // Once per different options: build here what a call would otherwise build again and again.
  setup({ words = ["swordfish"] }) {
    return {
      // The longest match: so much of a stream is held back, so that no half of a word gets out.
      window: Math.max(...words.map((word) => word.length)),
      // Input, whole answers and streams all come here. undefined lets the text pass.
      judge(text, about) {
        const small = text.toLowerCase();
        const found = words.findIndex((word) => small.includes(word));
        if (found < 0) return undefined;
        const what = about.side === "input" ? "Request" : "Response";
        // What the client gets, and what the log says: the log must hold none of the text.
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
  }) => `/** Each text is judged whole and as streams cut at every position, as the gateway will do it. */
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
