/**
 * Texts written for training guardrail `prompt_injection`: templates of attacks and of harmless sentences with the same
 * words, in English and twelve other languages, and disguised copies (leetspeak, hidden in mails, code and pages).
 */
import { readFileSync } from "node:fs";

export interface LabeledText {
  readonly text: string;
  /** 1: an attack. */
  readonly label: 0 | 1;
  readonly set: string;
}

interface TextSet {
  readonly set: string;
  readonly label: 0 | 1;
  readonly count: number;
  readonly templates: readonly string[];
  readonly slots: Readonly<Record<string, readonly string[]>>;
}

interface Source {
  readonly disguises: { readonly carriers: readonly string[] };
  readonly sets: readonly TextSet[];
}

/** Disguised copies of English attacks. */
const LEET_COUNT = 120;
const SPACED_COUNT = 40;
const CARRIED_COUNT = 350;

export function ownTexts(): LabeledText[] {
  // Our own file beside this one, of this shape.
  const source = JSON.parse(readFileSync(new URL("injection-texts.json", import.meta.url), "utf8")) as Source;
  const random = seeded(7);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const expanded = source.sets.flatMap((set) =>
    Array.from({ length: set.count }, () => ({
      text: filled(pick(set.templates), set.slots, pick),
      label: set.label,
      set: set.set,
    })),
  );
  const attacks = expanded.filter(({ set }) => set === "own/attack-en").map(({ text }) => text);
  const disguised = (name: string, count: number, disguise: (text: string) => string): LabeledText[] =>
    Array.from({ length: count }, () => ({
      text: disguise(pick(attacks)),
      label: 1,
      set: `own/attack-${name}`,
    }));
  const all = [
    ...expanded,
    ...disguised("leet", LEET_COUNT, (text) => text.replace(/[ieoast]/g, (letter) => LEET[letter] ?? letter)),
    ...disguised("spaced", SPACED_COUNT, (text) => [...text.slice(0, 120)].join(" ")),
    ...disguised("indirect", CARRIED_COUNT, (text) => pick(source.disguises.carriers).replace("{x}", text)),
  ];
  const seen = new Set<string>();
  return all.filter(({ text }) => !seen.has(text) && seen.add(text) !== undefined);
}

const LEET: Readonly<Record<string, string>> = { i: "1", e: "3", o: "0", a: "4", s: "5", t: "7" };

/** Fills `{slot}` with one of its texts, again and again, since they may hold slots themselves. */
function filled(
  template: string,
  slots: TextSet["slots"],
  pick: (items: readonly string[]) => string,
): string {
  let text = template;
  for (let open = text.indexOf("{"); open >= 0; open = text.indexOf("{", open)) {
    const end = text.indexOf("}", open);
    const options = slots[text.slice(open + 1, end)];
    if (options === undefined) open = end + 1;
    else text = text.slice(0, open) + pick(options) + text.slice(end + 1);
  }
  return text;
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 4_294_967_296;
}
