/**
 * Trains the model of guardrail `prompt_injection` from labeled texts outside the repository and prints how it does on
 * sources that it has not seen, then writes plugins/prompt-injection/weights.ts.
 *   node --conditions=sluice-source --import tsx scripts/train-injection.ts FOLDER…
 * Every .jsonl file in the folders is read, one `{text, label, set}` a line (label 1: an attack); the texts of
 * injection-texts.json, written for this, are added.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FIRST_LOOK_BITS, firstLookWindows } from "../plugins/prompt-injection/first-look.ts";
import {
  BLOCKING_SCORE,
  combinedScore,
  type Detector,
  modelLogit,
  ruleWeight,
} from "../plugins/prompt-injection/index.ts";
import {
  BUCKET_BITS,
  featuresOf,
  type InjectionModel,
  readBlocks,
  windowScore,
} from "../plugins/prompt-injection/model.ts";
import { foldedText } from "../plugins/text/plain-text.ts";
import { type LabeledText, ownTexts } from "./injection-texts.ts";

const EPOCHS = 14;
const LEARNING_RATE = 0.15;
const L2 = 2e-6;
interface TrainingOptions {
  readonly bits: number;
  /** A false alarm weighs this much more than a miss. */
  readonly falseAlarmWeight: number;
}

const MODEL_TRAINING: TrainingOptions = { bits: BUCKET_BITS, falseAlarmWeight: 1.3 };
const FIRST_LOOK_TRAINING: TrainingOptions = { bits: FIRST_LOOK_BITS, falseAlarmWeight: 0.5 };
/** Sources with more texts than this count less for each text, so that no source rules the others. */
const SOURCE_TEXTS = 300;
/** What modelLogit answers where the first look sees nothing. */
const LOGIT_FLOOR = -2.5;
/** Longer texts are cut: the beginning of a document is like the rest of it. */
const TEXT_CHARACTERS_MAX = 8000;
/**
 * Longer harmless texts are learned from as they are and with that number of characters cut off: where windows begin depends on
 * what stands before, and no alignment may score high. A long text that repeats itself is seen in all of them.
 */
const HARMLESS_CUTS = [0, 80];
const CUT_TEXT_CHARACTERS_MIN = 350;

interface Sample extends LabeledText {
  readonly source: string;
  readonly half: number;
  /** Buckets of each window, as the model and as the first look sees it. */
  readonly windows: readonly Uint32Array[];
  readonly lookWindows: readonly Uint32Array[];
  readonly ruleWeight: number;
}

function samplesOf(folders: readonly string[]): Sample[] {
  const texts = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl"))
      .flatMap((name) => labeledTexts(readFileSync(join(folder, name), "utf8"))),
  );
  return [...texts, ...ownTexts()].map((item) => {
    const text = foldedText(item.text.slice(0, TEXT_CHARACTERS_MAX));
    const isCut = item.label === 0 && text.length > CUT_TEXT_CHARACTERS_MIN;
    const parts = isCut ? HARMLESS_CUTS.map((cut) => text.slice(cut)) : [text];
    return {
      ...item,
      text,
      source: sourceOf(item.set),
      half: (createHash("sha1").update(text).digest()[0] ?? 0) % 2,
      windows: parts.flatMap(windowsOf),
      lookWindows: parts.flatMap(firstLookWindows),
      ruleWeight: ruleWeight(text),
    };
  });
}

function labeledTexts(lines: string): LabeledText[] {
  return (
    lines
      .split("\n")
      .filter((line) => line !== "")
      // Files that the operator chose; what is not of this shape is skipped.
      .map((line) => JSON.parse(line) as Partial<LabeledText>)
      .filter((item): item is LabeledText => typeof item.text === "string" && typeof item.set === "string")
  );
}

/** `deepset/train` and `deepset/test` are one source; so are a project's documents of several packages. */
function sourceOf(set: string): string {
  const [first = "", second = ""] = set.split("/");
  if (first === "own") return `own/${second.replace(/-[a-z]{2}$/, "-languages")}`;
  return first === "cyberseceval" ? set : first;
}

function windowsOf(text: string): Uint32Array[] {
  const windows: Uint32Array[] = [];
  let before: Uint32Array = new Uint32Array(0);
  readBlocks(text, (block, isFirst) => {
    if (isFirst) before = new Uint32Array(0);
    const own = featuresOf(block);
    windows.push(Uint32Array.from([...before, ...own]));
    before = own;
  });
  return windows;
}

/** Logistic regression with AdaGrad; of a text with several windows the one that scores highest is learned from. */
function train(
  samples: readonly Sample[],
  windowsOf: (sample: Sample) => readonly Uint32Array[],
  { bits, falseAlarmWeight }: TrainingOptions,
): InjectionModel {
  const weights = new Float32Array(1 << bits);
  const squares = new Float32Array(1 << bits).fill(1e-3);
  const perSource = new Map<string, number>();
  for (const { source } of samples) perSource.set(source, (perSource.get(source) ?? 0) + 1);
  let bias = -1;
  const random = seeded(1);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (const sample of shuffled(samples, random)) {
      const [window, logit] = strongest(windowsOf(sample), weights, bias);
      const share = Math.min(2, Math.sqrt(SOURCE_TEXTS / (perSource.get(sample.source) ?? 1)));
      const error = (sigmoid(logit) - sample.label) * (sample.label === 1 ? 1 : falseAlarmWeight) * share;
      const step = error / Math.sqrt(Math.max(1, window.length));
      for (const bucket of window) {
        const weight = weights[bucket] ?? 0;
        const gradient = step + L2 * weight;
        const square = (squares[bucket] = (squares[bucket] ?? 0) + gradient * gradient);
        weights[bucket] = weight - (LEARNING_RATE * gradient) / Math.sqrt(square);
      }
      bias -= 0.01 * error;
    }
  }
  return quantized({ weights, bias });
}

function trainDetector(samples: readonly Sample[]): Detector {
  return {
    look: train(samples, ({ lookWindows }) => lookWindows, FIRST_LOOK_TRAINING),
    model: train(samples, ({ windows }) => windows, MODEL_TRAINING),
  };
}

function strongest(
  windows: readonly Uint32Array[],
  weights: Float32Array,
  bias: number,
): [Uint32Array, number] {
  let best: [Uint32Array, number] = [new Uint32Array(0), Number.NEGATIVE_INFINITY];
  for (const window of windows) {
    let sum = 0;
    for (const bucket of window) sum += weights[bucket] ?? 0;
    const logit = windowScore(bias, sum, window.length);
    if (logit > best[1]) best = [window, logit];
  }
  return best;
}

/** Weights as whole numbers from -127 to 127; the rare larger ones are clipped. */
function quantized({
  weights,
  bias,
}: {
  readonly weights: Float32Array;
  readonly bias: number;
}): InjectionModel {
  const sizes = weights
    .map(Math.abs)
    .filter((size) => size > 0)
    .sort();
  const largest = sizes[Math.floor(sizes.length * 0.9995)] ?? 1;
  const scale = largest / 127;
  const whole = Int8Array.from(weights, (weight) =>
    Math.max(-127, Math.min(127, Math.round(weight / scale))),
  );
  return { weights: whole, scale, bias };
}

interface Row {
  readonly shares: number[];
  texts: number;
}

class Shares {
  readonly #rows = new Map<string, Row>();

  add({ label, source, text, ruleWeight }: Sample, detector: Detector): void {
    const name = `${label === 1 ? "attacks caught" : "false alarms"}: ${source}`;
    const row = this.#rows.get(name) ?? { shares: [0, 0, 0], texts: 0 };
    const alone = modelLogit(detector, text, 0);
    const scores = [
      combinedScore(modelLogit(detector, text, ruleWeight), ruleWeight),
      combinedScore(alone, 0),
      // Any text that the first look leaves in doubt.
      alone > LOGIT_FLOOR ? BLOCKING_SCORE : 0,
    ];
    row.texts++;
    for (const [n, score] of scores.entries())
      if (score >= BLOCKING_SCORE) row.shares[n] = (row.shares[n] ?? 0) + 1;
    this.#rows.set(name, row);
  }

  print(title: string): void {
    console.log(`\n${title.padEnd(58)}   with rules   model alone   looked at`);
    for (const [name, { shares, texts }] of [...this.#rows].sort(([a], [b]) => a.localeCompare(b))) {
      const cells = shares.map((count) => `${((100 * count) / texts).toFixed(1)} %`.padStart(12));
      console.log(`  ${name.padEnd(46)}${String(texts).padStart(6)}${cells.join("")}`);
    }
  }
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 4_294_967_296;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

function write({ look, model }: Detector, samples: readonly Sample[]): void {
  const sources = [...new Set(samples.map(({ source }) => source))].sort().join(", ");
  const text = `/**
 * Weights of guardrail \`prompt_injection\`, written by scripts/train-injection.ts: do not edit.
 * Trained on ${samples.length} texts of: ${sources}.
 * Weights are one signed byte for each bucket, in Base64.
 */
export const FIRST_LOOK = ${stored(look)};
export const MODEL = ${stored(model)};
`;
  writeFileSync(fileURLToPath(new URL("../plugins/prompt-injection/weights.ts", import.meta.url)), text);
}

function stored({ weights, scale, bias }: InjectionModel): string {
  const base64 = Buffer.from(weights.buffer).toString("base64");
  return `{\n  scale: ${scale},\n  bias: ${bias},\n  base64:\n    "${base64}",\n}`;
}

const samples = samplesOf(process.argv.slice(2));
console.log(`${samples.length} texts`);

const halves = new Shares();
for (const half of [0, 1]) {
  const detector = trainDetector(samples.filter((sample) => sample.half !== half));
  for (const sample of samples) if (sample.half === half) halves.add(sample, detector);
}
halves.print("each half judged by a model trained on the other");

write(trainDetector(samples), samples);

const leftOut = new Shares();
for (const source of new Set(samples.map((sample) => sample.source))) {
  const detector = trainDetector(samples.filter((sample) => sample.source !== source));
  for (const sample of samples) if (sample.source === source) leftOut.add(sample, detector);
}
leftOut.print("each source left out of training");
