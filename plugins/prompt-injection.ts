/**
 * Guardrail `prompt_injection`: refuses text that tries to take the model over. It adds up the weights of the phrases
 * it knows (prompt-injection-rules.ts) and refuses at a threshold; it asks no model and no network.
 */
import { block, defineGuardrail, reject } from "sluice/plugin";
import { plainText } from "./plain-text.ts";
import { type Family, RULES } from "./prompt-injection-rules.ts";
import { WordGate } from "./word-gate.ts";
import { trieSource } from "./word-trie.ts";

interface Options {
  readonly threshold?: number;
}

interface Step {
  readonly index: number;
  readonly family: Family;
  readonly weight: number;
  /** What must follow the head. Sticky. */
  readonly tail: RegExp | undefined;
}

/**
 * On a stream an answer is judged in windows of this many characters and what came since: phrases that stand farther
 * apart are not added up.
 */
const WINDOW_CHARACTERS = 2048;

export default defineGuardrail<Options>({
  name: "prompt_injection",
  description: "Blocks text that tries to override instructions, free the model of its rules or draw out secrets.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      threshold: {
        type: "number",
        minimum: 0.1,
        maximum: 10,
        default: 1,
        description: "Sum of weights that blocks. Plain attacks have 1 or more; higher lets more through.",
      },
    },
  },
  examples: [{}, { threshold: 1.5 }],
  setup({ threshold = 1 }) {
    const score = compileRules();
    return {
      window: WINDOW_CHARACTERS,
      judge(text, about) {
        const { total, families } = score(plainText(text), threshold);
        // Sums of tenths are not exact in binary.
        if (total < threshold - 1e-9) return undefined;
        const code = about.side === "input" ? "injection_blocked" : "answer_injection_blocked";
        return block(reject(code, {}), [...families].join(", "));
      },
    };
  },
});

interface Score {
  readonly total: number;
  readonly families: ReadonlySet<Family>;
}

/** Returns a function that adds up the weights of all rules that hold, each once, and stops when `enough` is reached. */
function compileRules(): (text: string, enough: number) => Score {
  const steps = new Map<string, Step[]>();
  RULES.forEach(({ family, weight, heads, tail }, index) => {
    const sticky = tail === "" ? undefined : new RegExp(tail.normalize("NFKC"), "iuy");
    for (const head of heads.normalize("NFKC").split("|")) {
      const key = head.toLowerCase();
      steps.set(key, [...(steps.get(key) ?? []), { index, family, weight, tail: sticky }]);
    }
  });
  const heads = [...steps.keys()];
  const gate = new WordGate(heads, false);
  const anyHead = new RegExp(trieSource(heads.map((word) => ({ word, end: "" }))), "iuy");

  return (text, enough) => {
    const seen = new Uint8Array(RULES.length);
    const families = new Set<Family>();
    let total = 0;
    gate.scan(text, (at) => {
      anyHead.lastIndex = at;
      const head = anyHead.exec(text)?.[0];
      if (head === undefined) return false;
      for (const { index, family, weight, tail } of steps.get(head.toLowerCase().replace(/\s+/g, " ")) ?? []) {
        if (seen[index] === 1) continue;
        if (tail !== undefined) {
          tail.lastIndex = at + head.length;
          if (!tail.test(text)) continue;
        }
        seen[index] = 1;
        families.add(family);
        total += weight;
      }
      return total >= enough;
    });
    return { total, families };
  };
}
