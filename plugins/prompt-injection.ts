/**
 * Guardrail `prompt_injection`: refuses text that tries to take the model over. It adds up the weights of the phrases
 * it knows (prompt-injection-rules.ts) and refuses at a threshold; it asks no model and no network.
 */
import { block, defineGuardrail, reject } from "sluice/plugin";
import { hiddenTexts } from "./encoded-text.ts";
import { foldedText, isAscii } from "./plain-text.ts";
import { type Family, RULES } from "./prompt-injection-rules.ts";
import { WordGate } from "./word-gate.ts";
import { WordTree } from "./word-tree.ts";

interface Options {
  readonly threshold?: number;
}

/** A rule, ready to be looked for. */
interface Step {
  /** Place of the rule in RULES. */
  readonly rule: number;
  readonly family: Family;
  readonly weight: number;
  readonly before: Condition | undefined;
  readonly tail: Condition | undefined;
}

/** Whether what must stand right before a head, or right behind it, does. */
type Condition = (text: string, at: number) => boolean;

/**
 * Signs count together when they stand within so many characters: an attack is one paragraph or page, while a long
 * document holds a little of everything. On a stream so much text is held back.
 */
const REACH_CHARACTERS = 1024;
/** Judged in at most 5 ms: characters that NFKC expands to 18 take 0.5 us each. */
const SLICE_CHARACTERS = 8192;

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
    const signsOf = (signFinder ??= compileRules());
    return {
      window: REACH_CHARACTERS,
      slice: SLICE_CHARACTERS,
      judge(text, about) {
        let families = signsOf(foldedText(text), threshold);
        // What somebody took the trouble to hide is judged like what stands there openly.
        for (const hidden of hiddenTexts(text)) families ??= signsOf(hidden.toLowerCase(), threshold);
        if (families === undefined) return undefined;
        const code = about.side === "input" ? "injection_blocked" : "answer_injection_blocked";
        return block(reject(code, {}), [...families].join(", "));
      },
    };
  },
});

/** The families of the signs that reach the threshold together; undefined when none do. */
type SignFinder = (text: string, threshold: number) => ReadonlySet<Family> | undefined;

/** Holds nothing of any call: all instances share it. */
let signFinder: SignFinder | undefined;

function compileRules(): SignFinder {
  const stepsOf = stepsByHead();
  const heads = [...stepsOf.keys()];
  const tree = new WordTree(stepsOf);
  const asciiGate = new WordGate(heads.filter(isAscii), false);
  let gate: WordGate | undefined;

  return (text, threshold) => {
    let signs: Signs | undefined;
    let head = 0;
    const take = (steps: readonly Step[], end: number): void => {
      signs ??= new Signs();
      signs.forgetBefore(head - REACH_CHARACTERS);
      for (const step of steps) {
        if (!signs.has(step) && holds(step, text, head, end)) signs.add(step, head);
      }
    };
    const places = isAscii(text) ? asciiGate : (gate ??= new WordGate(heads, false));
    places.scan(text, (at) => {
      head = at;
      tree.visit(text, at, take);
      return signs?.reach(threshold) === true;
    });
    return signs?.reach(threshold) ? signs.families() : undefined;
  };
}

/** The rules that held lately, each once. */
class Signs {
  readonly #held = new Map<number, { readonly at: number; readonly step: Step }>();
  #weight = 0;

  reach(threshold: number): boolean {
    // Sums of tenths are not exact in binary.
    return this.#weight >= threshold - 1e-9;
  }

  has(step: Step): boolean {
    return this.#held.has(step.rule);
  }

  add(step: Step, at: number): void {
    this.#held.set(step.rule, { at, step });
    this.#weight += step.weight;
  }

  forgetBefore(place: number): void {
    // A map keeps the order in which it was filled: the oldest come first.
    for (const [rule, { at, step }] of this.#held) {
      if (at >= place) return;
      this.#held.delete(rule);
      this.#weight -= step.weight;
    }
  }

  families(): ReadonlySet<Family> {
    return new Set([...this.#held.values()].map(({ step }) => step.family));
  }
}

function stepsByHead(): ReadonlyMap<string, readonly Step[]> {
  const all = new Map<string, Step[]>();
  RULES.forEach(({ family, weight, heads, before, tail }, rule) => {
    const step: Step = {
      rule,
      family,
      weight,
      before: before === undefined ? undefined : condition(`(?<=${before})`),
      tail: tail === "" ? undefined : condition(tail),
    };
    for (const head of foldedText(heads).split("|")) {
      const others = all.get(head);
      if (others === undefined) all.set(head, [step]);
      else others.push(step);
    }
  });
  return all;
}

/** Compiled when it is first asked, as most never are. */
function condition(source: string): Condition {
  let sticky: RegExp | undefined;
  return (text, at) => {
    sticky ??= new RegExp(foldedText(source), "y");
    sticky.lastIndex = at;
    return sticky.test(text);
  };
}

/** `head` and `end`: where a head of the rule begins and ends. */
function holds({ before, tail }: Step, text: string, head: number, end: number): boolean {
  return (before === undefined || before(text, head)) && (tail === undefined || tail(text, end));
}
