/**
 * Guardrail `prompt_injection`: blocks text that tries to take the model over. Two judges are added up: phrases with
 * weights (rules.ts) and a linear model of how attacks read (model.ts), which is shown only what a quick first look
 * (first-look.ts) finds suspicious. No network, no language model; linear in the length of the text.
 */
import { block, defineGuardrail, reject } from "sluice/plugin";
import { hiddenTexts } from "../text/encoded-text.ts";
import { foldedText, isAscii } from "../text/plain-text.ts";
import { WordGate } from "../text/word-gate.ts";
import { WordTree } from "../text/word-tree.ts";
import { type FirstLook, suspiciousRanges } from "./first-look.ts";
import { type InjectionModel, injectionLogit } from "./model.ts";
import { type Family, RULES } from "./rules.ts";
import { FIRST_LOOK, MODEL } from "./weights.ts";

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
 * Signs count together when they are within this many characters: an attack is one paragraph or page, while a long
 * document holds a little of everything. On a stream so much text is held back.
 */
const REACH_CHARACTERS = 1024;
/** Judged in at most 5 ms: characters that NFKC expands to 18 take 0.7 us each, ASCII 0.06 us. */
const SLICE_CHARACTERS = 4096;
const ASCII_SLICE_CHARACTERS = 49_152;

export default defineGuardrail({
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
        description:
          "Score that blocks. 1 is balanced; plain attacks score well above it. Higher lets more through, lower blocks more.",
      },
    },
  },
  examples: [{}, { threshold: 1.5 }],
  strength: { threshold: "less" },
  setup({ threshold }) {
    // Here rather than in the first call, which would wait for it.
    prepared();
    return {
      window: REACH_CHARACTERS,
      joinsTexts: true,
      slice: (text) => (isAscii(text) ? ASCII_SLICE_CHARACTERS : SLICE_CHARACTERS),
      judge(text, about) {
        let found = judged(text, threshold);
        // Text that somebody took the trouble to hide is judged like text in the open.
        for (const hidden of hiddenTexts(text)) found ??= judged(hidden, threshold);
        if (found === undefined) return undefined;
        const code = about.side === "input" ? "injection_blocked" : "answer_injection_blocked";
        return block(reject(code, {}), found.join(", "));
      },
    };
  },
});

/** The default threshold. */
export const BLOCKING_SCORE = 1;
/** What the log says where no known phrase, but the model decided. */
const BY_MODEL = "wording";

/** Log-odds that one unit of rule weight adds. */
const LOGIT_PER_RULE_WEIGHT = 2;
/** Log-odds at which a text scores 1; measured so that false alarms stay rare (see README.md). */
const BLOCKING_LOGIT = 0.4;
/** Rules beyond this weight add nothing, and a model that sees no attack subtracts no more than the floor. */
const RULE_WEIGHT_MAX = 1.5;
const LOGIT_FLOOR = -2.5;

/** The score that is compared with `threshold`, from what the model and the rules found. */
export function combinedScore(logit: number, weight: number): number {
  const rules = LOGIT_PER_RULE_WEIGHT * Math.min(weight, RULE_WEIGHT_MAX);
  return BLOCKING_SCORE + (Math.max(logit, LOGIT_FLOOR) + rules - BLOCKING_LOGIT) / LOGIT_PER_RULE_WEIGHT;
}

/** The largest weight of rules that hold close together in a folded text. */
export function ruleWeight(folded: string): number {
  return prepared().findSigns(folded).weight;
}

/** Letters of other scripts than Latin: their words may have no blanks between them. */
const OTHER_SCRIPTS = /[\u0370-\u1dff\u2c00-\ud7ff\uf900-\uffdc]/;
/** Score of the first look from which on the model is asked: of unseen attacks that it finds, one of 100 scores less. */
const FIRST_LOOK_SCORE_MIN = -1.5;

/** Log-odds by the model, which is shown no more of a folded text than the first look and the rules leave in doubt. */
export function modelLogit(
  { look, model }: Detector,
  folded: string,
  weight: number,
  threshold = BLOCKING_SCORE,
): number {
  if (weight > 0 || (!isAscii(folded) && OTHER_SCRIPTS.test(folded))) return injectionLogit(model, folded);
  const scoreMin = FIRST_LOOK_SCORE_MIN + LOGIT_PER_RULE_WEIGHT * Math.min(0, threshold - BLOCKING_SCORE);
  let logit = LOGIT_FLOOR;
  for (const { from, to } of suspiciousRanges(look, folded, scoreMin))
    logit = Math.max(logit, injectionLogit(model, folded.slice(from, to)));
  return logit;
}

export interface Detector {
  readonly look: FirstLook;
  readonly model: InjectionModel;
}

/** What the text is blocked for; undefined when it passes. */
function judged(text: string, threshold: number): readonly string[] | undefined {
  const folded = foldedText(text);
  const { findSigns, detector } = prepared();
  const signs = findSigns(folded);
  const logit = modelLogit(detector, folded, signs.weight, threshold);
  // Sums of tenths are not exact in binary.
  if (combinedScore(logit, signs.weight) < threshold - 1e-9) return undefined;
  return signs.families.size > 0 ? [...signs.families] : [BY_MODEL];
}

interface Judges {
  readonly findSigns: SignFinder;
  readonly detector: Detector;
}

/** Holds nothing of any call: all instances share it. */
let judges: Judges | undefined;

function prepared(): Judges {
  return (judges ??= {
    findSigns: compileRules(),
    detector: { look: withBytes(FIRST_LOOK), model: withBytes(MODEL) },
  });
}

function withBytes(stored: typeof MODEL): InjectionModel {
  const { buffer, byteOffset, length } = Buffer.from(stored.base64, "base64");
  return { scale: stored.scale, bias: stored.bias, weights: new Int8Array(buffer, byteOffset, length) };
}

/** The strongest signs of a text that stand within reach of each other. */
interface Found {
  readonly weight: number;
  readonly families: ReadonlySet<Family>;
}

type SignFinder = (text: string) => Found;

const NOTHING: Found = { weight: 0, families: new Set() };

function compileRules(): SignFinder {
  const stepsOf = stepsByHead();
  const heads = [...stepsOf.keys()];
  const tree = new WordTree(stepsOf);
  const asciiGate = new WordGate(heads.filter(isAscii), false);
  let gate: WordGate | undefined;
  // Needed for text beyond ASCII only, and too long a work to do all at once while the gateway starts.
  setImmediate(() => (gate ??= new WordGate(heads, false))).unref();

  return (text) => {
    let signs: Signs | undefined;
    let strongest = NOTHING;
    let head = 0;
    const take = (steps: readonly Step[], end: number): void => {
      signs ??= new Signs();
      signs.forgetBefore(head - REACH_CHARACTERS);
      for (const step of steps) {
        if (!signs.has(step) && holds(step, text, head, end)) signs.add(step, head);
      }
      if (signs.weight > strongest.weight) strongest = { weight: signs.weight, families: signs.families() };
    };
    const places = isAscii(text) ? asciiGate : (gate ??= new WordGate(heads, false));
    places.scan(text, (at) => {
      head = at;
      tree.visit(text, at, take);
      return strongest.weight >= RULE_WEIGHT_MAX;
    });
    return strongest;
  };
}

/** The rules that held lately, each once. */
class Signs {
  readonly #held = new Map<number, { readonly at: number; readonly step: Step }>();
  #weight = 0;

  get weight(): number {
    return this.#weight;
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
