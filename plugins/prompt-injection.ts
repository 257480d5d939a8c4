/**
 * Guardrail `prompt_injection`: refuses text that tries to take the model over. It adds up the weights of the phrases
 * it knows (prompt-injection-rules.ts) and refuses at a threshold; it asks no model and no network.
 */
import { block, defineGuardrail, reject } from "sluice/plugin";
import { hiddenTexts } from "./encoded-text.ts";
import { foldedText, isAscii } from "./plain-text.ts";
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
  description:
    "Blocks text that tries to override instructions, free the model of its rules or draw out secrets.",
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
    weigher ??= compileRules();
    const { weigh } = weigher;
    return {
      window: WINDOW_CHARACTERS,
      judge(text, about) {
        const families = new Set<Family>();
        let total = weigh(foldedText(text), threshold, families);
        // What somebody took the trouble to hide counts as well as what stands there openly.
        for (const hidden of hiddenTexts(text)) total += weigh(hidden.toLowerCase(), threshold, families);
        // Sums of tenths are not exact in binary.
        if (total < threshold - 1e-9) return undefined;
        const code = about.side === "input" ? "injection_blocked" : "answer_injection_blocked";
        return block(reject(code, {}), [...families].join(", "));
      },
    };
  },
});

interface Weigher {
  /** Adds up the weights of the rules that hold, each once, until `enough`; puts their families into `families`. */
  weigh(text: string, enough: number, families: Set<Family>): number;
}

/** Holds nothing of any call: all instances share it. */
let weigher: Weigher | undefined;

function compileRules(): Weigher {
  const stepsOf = new Map<string, Step[]>();
  RULES.forEach(({ family, weight, heads, tail }, index) => {
    const sticky = tail === "" ? undefined : new RegExp(foldedText(tail), "y");
    for (const head of foldedText(heads).split("|")) {
      stepsOf.set(head, [...(stepsOf.get(head) ?? []), { index, family, weight, tail: sticky }]);
    }
  });
  const heads = [...stepsOf.keys()];
  const inAscii = headFinder(heads.filter(isAscii));
  let inAnyText: HeadFinder | undefined;

  return {
    weigh(text, enough, families) {
      const counted = new Uint8Array(RULES.length);
      let total = 0;
      const { gate, sticky } = isAscii(text) ? inAscii : (inAnyText ??= headFinder(heads));
      gate.scan(text, (at) => {
        sticky.lastIndex = at;
        if (!sticky.test(text)) return false;
        const head = text.slice(at, sticky.lastIndex);
        for (const { index, family, weight, tail } of stepsOf.get(head.replace(/\s+/g, " ")) ?? []) {
          if (counted[index] === 1 || !holdsAt(tail, text, at + head.length)) continue;
          counted[index] = 1;
          families.add(family);
          total += weight;
        }
        return total >= enough;
      });
      return total;
    },
  };
}

interface HeadFinder {
  readonly gate: WordGate;
  readonly sticky: RegExp;
}

function headFinder(heads: readonly string[]): HeadFinder {
  return { gate: new WordGate(heads, false), sticky: new RegExp(trieSource(heads), "y") };
}

function holdsAt(tail: RegExp | undefined, text: string, at: number): boolean {
  if (tail === undefined) return true;
  tail.lastIndex = at;
  return tail.test(text);
}
