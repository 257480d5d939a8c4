/** Guardrail `content_length`: refuses a call whose messages, or an answer whose text, is longer than `max`. */
import { block, defineGuardrail, reject } from "sluice/plugin";

export default defineGuardrail({
  name: "content_length",
  description: "Blocks text longer than a maximum, in characters (UTF-16 code units) over all messages.",
  schema: {
    type: "object",
    additionalProperties: false,
    required: ["max"],
    properties: {
      max: { type: "integer", minimum: 1, description: "Longest text that passes, in characters." },
    },
  },
  examples: [{ max: 8000 }],
  strength: { max: "less" },
  setup({ max }) {
    return {
      window: 0,
      subject: "call",
      judge(_text, about) {
        const n = about.totalCharacters;
        if (n <= max) return undefined;
        const code = about.side === "input" ? "length_blocked" : "answer_length_blocked";
        return block(reject(code, { n, max }), "too long");
      },
    };
  },
});
