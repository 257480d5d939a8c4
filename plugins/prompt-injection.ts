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

/** One rule under one of its heads. */
interface Step {
  readonly head: string;
  /** Place of the rule in RULES. */
  readonly rule: number;
  readonly family: Family;
  readonly weight: number;
  /** What must stand before the head; sticky. undefined: nothing. */
  readonly before: RegExp | undefined;
  /** What must follow the head; sticky. undefined: nothing. */
  readonly tail: RegExp | undefined;
}

/**
 * Signs count together when they stand within so many characters: an attack is one paragraph or page, while a long
 * document holds a little of everything. On a stream so much text is held back.
 */
const REACH_CHARACTERS = 1024;

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
  const inAscii = headFinder(heads.filter(isAscii));
  let inAnyText: HeadFinder | undefined;

  return (text, threshold) => {
    let signs: Signs | undefined;
    const { gate, sticky } = isAscii(text) ? inAscii : (inAnyText ??= headFinder(heads));
    gate.scan(text, (at) => {
      sticky.lastIndex = at;
      if (!sticky.test(text)) return false;
      signs ??= new Signs();
      signs.forgetBefore(at - REACH_CHARACTERS);
      const found = text.slice(at, sticky.lastIndex).replace(/\s+/g, " ");
      for (const step of stepsOf.get(found) ?? []) {
        if (!signs.has(step) && holds(step, text, at)) signs.add(step, at);
      }
      return signs.reach(threshold);
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

/** The steps to take where a head is found: its own, and those of the heads that it begins with. */
function stepsByHead(): ReadonlyMap<string, readonly Step[]> {
  const own = new Map<string, Step[]>();
  RULES.forEach(({ family, weight, heads, ...rest }, rule) => {
    const before = rest.before === undefined ? undefined : new RegExp(foldedText(`(?<=${rest.before})`), "y");
    const tail = rest.tail === "" ? undefined : new RegExp(foldedText(rest.tail), "y");
    for (const head of foldedText(heads).split("|")) {
      own.set(head, [...(own.get(head) ?? []), { head, rule, family, weight, before, tail }]);
    }
  });
  const all = new Map<string, Step[]>();
  for (const head of own.keys()) {
    const steps: Step[] = [];
    for (let length = 1; length <= head.length; length++)
      steps.push(...(own.get(head.slice(0, length)) ?? []));
    all.set(head, steps);
  }
  return all;
}

/** Where a head that begins at `at` ends: a blank of it may be a row of them in the text. */
function endOf(head: string, text: string, at: number): number {
  if (!head.includes(" ")) return at + head.length;
  let end = at;
  for (const part of head.split(" ")) {
    while (end > at && /\s/.test(text.charAt(end))) end++;
    end += part.length;
  }
  return end;
}

interface HeadFinder {
  readonly gate: WordGate;
  readonly sticky: RegExp;
}

function headFinder(heads: readonly string[]): HeadFinder {
  return { gate: new WordGate(heads, false), sticky: new RegExp(trieSource(heads), "y") };
}

function holds({ head, before, tail }: Step, text: string, at: number): boolean {
  return holdsAt(before, text, at) && (tail === undefined || holdsAt(tail, text, endOf(head, text, at)));
}

function holdsAt(pattern: RegExp | undefined, text: string, at: number): boolean {
  if (pattern === undefined) return true;
  pattern.lastIndex = at;
  return pattern.test(text);
}
