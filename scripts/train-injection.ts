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
import promptInjection, {
  BLOCKING_SCORE,
  combinedScore,
  ruleWeight,
} from "../plugins/prompt-injection/index.ts";
import {
  BUCKET_BITS,
  featuresOf,
  type InjectionModel,
  readBlocks,
  windowScore,
} from "../plugins/prompt-injection/model.ts";
import { type LabeledText, ownTexts } from "./injection-texts.ts";

const EPOCHS = 14;
const LEARNING_RATE = 0.15;
const L2 = 2e-6;
/** A false alarm weighs this much more than a miss. */
const FALSE_ALARM_WEIGHT = 1.5;
/** Sources with more texts than this count less for each text, so that no source rules the others. */
const SOURCE_TEXTS = 300;
/** Longer texts are cut: the beginning of a document is like the rest of it. */
const TEXT_CHARACTERS_MAX = 8000;

interface Sample extends LabeledText {
  readonly source: string;
  readonly half: number;
  /** Buckets of each window. */
  readonly windows: readonly Uint32Array[];
  readonly ruleWeight: number;
}

interface Trained {
  readonly weights: Float32Array;
  readonly bias: number;
}

function samplesOf(folders: readonly string[]): Sample[] {
  const texts = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl"))
      .flatMap((name) => labeledTexts(readFileSync(join(folder, name), "utf8"))),
  );
  return [...texts, ...ownTexts()].map((item) => {
    const text = item.text.slice(0, TEXT_CHARACTERS_MAX);
    return {
      ...item,
      text,
      source: sourceOf(item.set),
      half: (createHash("sha1").update(text).digest()[0] ?? 0) % 2,
      windows: windowsOf(text),
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
function train(samples: readonly Sample[]): Trained {
  const weights = new Float32Array(1 << BUCKET_BITS);
  const squares = new Float32Array(1 << BUCKET_BITS).fill(1e-3);
  const perSource = new Map<string, number>();
  for (const { source } of samples) perSource.set(source, (perSource.get(source) ?? 0) + 1);
  let bias = -1;
  const random = seeded(1);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (const sample of shuffled(samples, random)) {
      const [window, logit] = strongest(sample.windows, weights, bias);
      const share = Math.min(2, Math.sqrt(SOURCE_TEXTS / (perSource.get(sample.source) ?? 1)));
      const error = (sigmoid(logit) - sample.label) * (sample.label === 1 ? 1 : FALSE_ALARM_WEIGHT) * share;
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
  return { weights, bias };
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
function quantized({ weights, bias }: Trained): InjectionModel {
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

class Shares {
  readonly #rows = new Map<string, { flagged: number; byModel: number; texts: number }>();

  add(sample: Sample, model: Trained): void {
    const name = `${sample.label === 1 ? "attacks caught" : "false alarms"}: ${sample.source}`;
    const row = this.#rows.get(name) ?? { flagged: 0, byModel: 0, texts: 0 };
    const [, logit] = strongest(sample.windows, model.weights, model.bias);
    row.texts++;
    if (combinedScore(logit, sample.ruleWeight) >= BLOCKING_SCORE) row.flagged++;
    if (combinedScore(logit, 0) >= BLOCKING_SCORE) row.byModel++;
    this.#rows.set(name, row);
  }

  print(title: string): void {
    console.log(`\n${title.padEnd(58)}   with rules   model alone`);
    for (const [name, { flagged, byModel, texts }] of [...this.#rows].sort(([a], [b]) =>
      a.localeCompare(b),
    )) {
      const share = (count: number): string => `${((100 * count) / texts).toFixed(1)} %`.padStart(12);
      console.log(`  ${name.padEnd(46)}${String(texts).padStart(6)}${share(flagged)}${share(byModel)}`);
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

function write({ weights, scale, bias }: InjectionModel, samples: readonly Sample[]): void {
  const sources = [...new Set(samples.map(({ source }) => source))].sort().join(", ");
  const base64 = Buffer.from(weights.buffer).toString("base64");
  const text = `/**
 * Weights of guardrail \`prompt_injection\`, written by scripts/train-injection.ts: do not edit.
 * Trained on ${samples.length} texts of: ${sources}.
 */
export const SCALE = ${scale};
export const BIAS = ${bias};
/** One signed byte for each bucket, in Base64. */
export const WEIGHTS =
  "${base64}";
`;
  writeFileSync(fileURLToPath(new URL("../plugins/prompt-injection/weights.ts", import.meta.url)), text);
}

const samples = samplesOf(process.argv.slice(2));
console.log(`${samples.length} texts, ${promptInjection.name}`);

const leftOut = new Shares();
for (const source of new Set(samples.map((sample) => sample.source))) {
  const model = train(samples.filter((sample) => sample.source !== source));
  for (const sample of samples) if (sample.source === source) leftOut.add(sample, model);
}
leftOut.print("each source left out of training");

const halves = new Shares();
for (const half of [0, 1]) {
  const model = train(samples.filter((sample) => sample.half !== half));
  for (const sample of samples) if (sample.half === half) halves.add(sample, model);
}
halves.print("each half judged by a model trained on the other");

write(quantized(train(samples)), samples);
