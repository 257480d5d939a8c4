/**
 * A guardrail as a stranger would write it: keeps rude words out of what goes to a model and what comes back.
 * It imports `sluice/plugin` and nothing else. In the config:
 *
 *     plugins: [./plugins/acme-tone.ts]
 *     …
 *     guardrails:
 *       - { use: acme-tone, on: [input, output], options: { strictness: high } }
 */
import { block, defineGuardrail, refuse } from "sluice/plugin";

const INSULTS = ["blockhead", "dimwit", "halfwit", "idiot", "moron", "nitwit", "numbskull"];
const GRUMBLES = ["bloody", "crap", "damn", "heck", "rubbish", "sucks"];

export default defineGuardrail({
  name: "acme-tone",
  description: "Blocks rude words.",
  // Checked when the config is loaded: a mistake is shown with its line, and `setup` need not look again.
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      strictness: {
        enum: ["low", "high"],
        default: "low",
        description: "low: insults only. high: grumbling as well.",
      },
    },
  },
  examples: [{ strictness: "high" }],
  // Called once per different options: build here whatever a call would otherwise build again and again.
  setup({ strictness }) {
    const words = strictness === "high" ? [...INSULTS, ...GRUMBLES] : INSULTS;
    const rude = new RegExp(`\\b(?:${words.join("|")})s?\\b`, "i");
    return {
      // The longest match, its plural and the letter after it: so much of a stream is held back, so that no half of
      // a word gets out.
      window: Math.max(...words.map((word) => word.length)) + 2,
      // Input, whole answers and streams all come here. undefined lets the text pass.
      judge(text, about) {
        const found = rude.exec(text);
        if (found === null) return undefined;
        // At the end of what has come of a stream, an "idiot" may still become "idiotic": the window keeps it until then.
        if (about.partial && found.index + found[0].length === text.length) return undefined;
        const what = about.side === "input" ? "Request" : "Response";
        // What the client gets, and what the log says: the log must hold none of the text.
        return block(
          refuse(422, "tone_blocked", `${what} blocked: please mind the tone.`),
          `${strictness} strictness`,
        );
      },
    };
  },
});
