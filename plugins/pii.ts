/** Guardrail `pii`: refuses text with personal data in it, or puts masks such as `[EMAIL]` in its place. */
import { block, defineGuardrail, reject, replace } from "sluice/plugin";
import { KIND_WORDS, PII_KINDS, type PiiKind } from "./pii-kinds.ts";
import { findPii } from "./pii-scan.ts";

interface Options {
  readonly mode?: "block" | "mask";
  readonly kinds?: readonly PiiKind[];
  readonly restore?: false;
}

/** Characters after a match in which it may yet grow: a separator and another group, ` ext. 12`. */
const GROWTH_CHARACTERS = 12;

export default defineGuardrail<Options>({
  name: "pii",
  description:
    "Blocks or masks e-mail addresses, phone, card and social security numbers, IBANs and IP addresses.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: {
        enum: ["block", "mask"],
        default: "block",
        description: "block: refuse the call. mask: put [EMAIL], [PHONE], … in its place and go on.",
      },
      kinds: {
        type: "array",
        minItems: 1,
        uniqueItems: true,
        items: { enum: PII_KINDS },
        default: PII_KINDS,
        description: "What to look for.",
      },
      restore: {
        const: false,
        default: false,
        description: "Putting what was masked back into the answer is not offered yet: false only.",
      },
    },
  },
  examples: [{}, { mode: "mask", kinds: ["email", "credit_card"] }],
  setup({ mode = "block", kinds = PII_KINDS }) {
    const wanted = new Set(kinds);
    const longest = Math.max(...kinds.map((kind) => KIND_WORDS[kind].charactersMax));
    return {
      window: longest + GROWTH_CHARACTERS,
      judge(text, about) {
        const found = findPii(text, wanted);
        // On a stream what stands at the very end may still grow; the window keeps it back until it cannot.
        const settled = about.partial ? text.length - GROWTH_CHARACTERS : text.length;
        const certain = found.filter(({ end }) => end <= settled);
        const first = certain[0];
        if (first === undefined) return undefined;
        if (mode === "block") {
          const code = about.side === "input" ? "pii_blocked" : "answer_pii_blocked";
          return block(reject(code, { kind: KIND_WORDS[first.kind].label }), first.kind);
        }
        return replace(
          certain.map(({ kind, start, end }) => ({ start, end, text: KIND_WORDS[kind].mask })),
          [...new Set(certain.map(({ kind }) => kind))].join(", "),
        );
      },
    };
  },
});
