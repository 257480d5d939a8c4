/**
 * What the built-in guardrails find and what they cost: shares of labelled texts, set by set, and microseconds by
 * length. Reads the two .jsonl files of the folder it is given; keeps nothing of them.
 *   node --conditions=sluice-source --import tsx bench/guardrails.ts FOLDER [--by-source] [--split]
 * --by-source: one row for each source of texts rather than for each of its sets.
 * --split: two columns, for the two halves that a hash of the text makes, to see whether a rule generalises.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import type { Guardrail, Host, TextContext } from "sluice/plugin";
import contentLength from "../plugins/content-length/index.ts";
import keywordBlocklist from "../plugins/keyword-blocklist/index.ts";
import patterns from "../plugins/patterns/index.ts";
import pii from "../plugins/pii/index.ts";
import promptInjection from "../plugins/prompt-injection/index.ts";
import secrets from "../plugins/secrets/index.ts";
import type { GuardrailPlugin } from "../src/plugin/contract.ts";
import { keywords, message } from "./texts.ts";

const [folder = process.env.SLUICE_DATASETS, ...flags] = process.argv.slice(2);
const split = flags.includes("--split");
const bySource = flags.includes("--by-source");

function setUp<C>(plugin: GuardrailPlugin<C>, options: C): (text: string) => ReturnType<Guardrail["judge"]> {
  // The built-in guardrails ask nothing of the host or the exchange, and answer without a promise.
  const guardrail = plugin.setup(options, {} as Host) as Guardrail;
  const exchange = {} as TextContext["exchange"];
  return (text) =>
    guardrail.judge(text, {
      side: "input",
      role: "user",
      totalCharacters: text.length,
      partial: false,
      exchange,
    });
}

/** Found and looked at, in each half. */
class Tally {
  readonly #found = [0, 0];
  readonly #all = [0, 0];

  count(text: string, found: boolean): void {
    const half = (createHash("sha1").update(text).digest()[0] ?? 0) % 2;
    this.#all[half] = (this.#all[half] ?? 0) + 1;
    if (found) this.#found[half] = (this.#found[half] ?? 0) + 1;
  }

  toString(): string {
    const share = (found: number, all: number): string =>
      `${found}/${all}`.padStart(9) + `${((100 * found) / Math.max(1, all)).toFixed(1)} %`.padStart(9);
    const [a = 0, b = 0] = this.#found;
    const [allA = 0, allB = 0] = this.#all;
    return share(a + b, allA + allB) + (split ? share(a, allA) + share(b, allB) : "");
  }
}

/** Tallies by name, made when first asked for. */
class Table {
  readonly #rows = new Map<string, Tally>();

  row(name: string): Tally {
    const tally = this.#rows.get(name) ?? new Tally();
    this.#rows.set(name, tally);
    return tally;
  }

  print(title: string): void {
    console.log(`\n${title}`);
    for (const [name, tally] of [...this.#rows].sort(([a], [b]) => a.localeCompare(b))) {
      console.log(`  ${name.padEnd(44)}${tally}`);
    }
  }
}

function linesOf(name: string): readonly Record<string, unknown>[] {
  const text = readFileSync(join(folder ?? ".", name), "utf8");
  // What the file holds is checked by use: a missing field counts as nothing found.
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function injection(): void {
  const judge = setUp(promptInjection, {});
  const table = new Table();
  for (const { text, label, set } of linesOf("injection-dev.jsonl")) {
    const source = bySource
      ? (String(set).split("/", 1)[0] ?? "")
      : String(set).replace(/\/(?:train|test|one|two|three)$/, "");
    const name = `${label === 1 ? "attacks caught" : "false alarms"}: ${source}`;
    table.row(name).count(String(text), judge(String(text)) !== undefined);
  }
  table.print("prompt_injection, share flagged");
}

const KINDS: Readonly<Record<string, string>> = {
  EMAIL_ADDRESS: "email",
  PHONE_NUMBER: "phone",
  CREDIT_CARD: "credit_card",
  US_SSN: "ssn",
  IBAN_CODE: "iban",
  IP_ADDRESS: "ip_address",
};

interface Span {
  readonly entity_type: string;
  readonly start_position: number;
  readonly end_position: number;
}

function personal(): void {
  const judge = setUp(pii, { mode: "mask" });
  const table = new Table();
  const edits = (text: string) => {
    const verdict = judge(text);
    return verdict !== undefined && "edits" in verdict ? verdict.edits : [];
  };
  for (const line of linesOf("pii-dev.jsonl")) {
    const text = String(line["full_text"]);
    // The label file's own shape, see its README.
    const spans = (line["spans"] as readonly Span[]).filter(({ entity_type }) => entity_type in KINDS);
    const made = edits(text);
    for (const { entity_type, start_position, end_position } of spans) {
      const found = made.some(({ start, end }) => start <= start_position && end >= end_position);
      table.row(`found: ${KINDS[entity_type]}`).count(text, found);
    }
    if (spans.length === 0) table.row("altered: texts without any").count(text, made.length > 0);
  }
  for (const readme of readmes())
    table.row("altered: READMEs of installed packages").count(readme, edits(readme).length > 0);
  table.print("pii in mask mode");
}

function readmes(): readonly string[] {
  const modules = fileURLToPath(new URL("../node_modules", import.meta.url));
  return readdirSync(modules, { recursive: true, encoding: "utf8" })
    .filter((name) => /(?:^|\/)readme(?:\.md|\.markdown)?$/i.test(name))
    .map((name) => readFileSync(join(modules, name), "utf8"));
}

const TWO_PATTERNS = { "ticket number": "\\bTICKET-\\d{4,8}\\b", "employee id": "\\bE\\d{6}\\b" };

function speed(): void {
  const judges: Readonly<Record<string, (text: string) => unknown>> = {
    content_length: setUp(contentLength, { max: 10_000_000 }),
    "keyword_blocklist, 1,000": setUp(keywordBlocklist, { keywords: keywords(1000) }),
    "patterns, 2": setUp(patterns, { patterns: TWO_PATTERNS }),
    pii: setUp(pii, {}),
    secrets: setUp(secrets, {}),
    prompt_injection: setUp(promptInjection, {}),
  };
  const together = (text: string): void => {
    for (const judge of Object.values(judges)) judge(text);
  };
  console.log("\nmicroseconds for one text that passes, best of 15 rounds");
  console.log(`  ${"".padEnd(44)}${"1 KB".padStart(9)}${"20 KB".padStart(9)}${"1 MB".padStart(9)}`);
  for (const [name, run] of Object.entries({ ...judges, "all of them": together })) {
    const cells = [1024, 20_480, 1_048_576].map((size) => leastUs(run, message(size)).toFixed(1).padStart(9));
    console.log(`  ${name.padEnd(44)}${cells.join("")}`);
  }
}

function leastUs(run: (text: string) => unknown, sliced: string): number {
  // A string as the body parser makes it, flat and in one piece.
  const text = String(JSON.parse(JSON.stringify(sliced)));
  const times = Math.max(3, Math.round(2_000_000 / text.length));
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 15; round++) {
    const begun = performance.now();
    for (let n = 0; n < times; n++) run(text);
    least = Math.min(least, ((performance.now() - begun) * 1000) / times);
  }
  return least;
}

if (folder === undefined)
  console.log("No folder of labelled texts given (argument or SLUICE_DATASETS): speed only.");
else {
  injection();
  personal();
}
speed();
