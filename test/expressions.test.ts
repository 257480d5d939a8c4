/**
 * No regular expression of the product takes longer than its text is long. Those whose form or a proof by automata does
 * not say so stand in a table here with the texts that are worst for them; a new one fails until it is put there.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { TIMESTAMP } from "../src/base/timestamp.ts";
import { schemaWith } from "../src/config/schema/config.ts";
import { Registry } from "../src/plugins-host/registry.ts";
import {
  builtExpressions,
  type Expression,
  expressionsOf,
  isLinearByForm,
  isProvablyLinear,
} from "./tidy/expressions.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["src", "plugins", "providers"];

/** Worst texts: repeated, they keep the expression busy without a match. */
interface WorstText {
  readonly units: readonly string[];
  /** Longest text that the expression is ever given. Default: any. */
  readonly charactersMax?: number;
}

const PACKAGE_NAME =
  "/^(?:@[a-z0-9~-][a-z0-9._~-]*\\/)?[a-z0-9~-][a-z0-9._~-]*(?:\\/(?!\\.{1,2}(?:\\/|$))[\\w.~-]+)*$/i";

/** By literal. */
const WORST: Readonly<Record<string, WorstText>> = {
  // config/mask: keys of secrets in a line.
  [String.raw`/(["']?)(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)\1[ \t]*:(?=[ \t"'{[]|$)[ \t]*/g`]: {
    units: ["a", "a ", "'a", "a:", "a\t", '"', "a: a", "-", ":"],
  },
  // config/plugins: names of packages.
  [PACKAGE_NAME]: { units: ["a", "a/", "@a/", "/", "a.", "-"] },
  // base/without-address: the last 60 characters of a refusal.
  ["/ is (an? [a-z- ]+ address)$/i"]: {
    units: [" is a ", " is an address", "a"],
    charactersMax: 60,
  },
  // config/plugin-files: what a plugin's file imports.
  [String.raw`/\b(?:from|import|require|URL)\s*(?:\(\s*)?(["'@])(\.{1,2}(?:\/[^"'@\n]*)?)\1/g`.replaceAll(
    "@",
    "`",
  )]: {
    units: ["import ", "import", 'import"./a', 'import "./a\n', "import ( ", 'from"../'],
  },
  // record/otlp: an answer of the collector.
  [String.raw`/"rejectedSpans"\s*:\s*"?(\d{1,9})/`]: {
    units: ['"rejectedSpans"', '"rejectedSpans" : ', " ", '"rejectedSpans":'],
  },
  // state/redis: the server's description of itself.
  [String.raw`/^maxmemory_policy:(\S+)/m`]: { units: ["maxmemory_policy:\n", "\n", "maxmemory_policy:"] },
  // upstream/scrub: credentials in words of a provider.
  [String.raw`/\bBearer\s+[^\s"'\\,;]{6,}|\b(?:(?:sk|gsk|xai)[-_]|AIza)[\w*.-]{8,}/gi`]: {
    units: ["Bearer ", "Bearer  a", " ", "sk-", "sk-a,", "AIza", "sk-sk"],
  },
  // plugins/pii-phone: the end of a telephone number, of at most 15 digits with three separators each.
  [String.raw`/[ .()/-]*\d+$/`]: { units: ["1", " ", "1 ", "(1"], charactersMax: 64 },
  // plugins/pii-phone: a number with its calling code, from each place of a run of digits.
  [String.raw`/(?:\+\(?|00[ .-]?(?=\d+[ .-]))[1-9](?:[ .()/-]{0,3}\d){6,14}/y`]: {
    units: ["+1", "00 1", "00", "+1 2(3)4"],
  },
  // plugins/pii-phone: digits that words announce, from each place of a run of digits.
  [String.raw`/\(?\d(?:[ .()/-]{0,3}\d){6,12}(?!\d)/y`]: { units: ["1", "1 ", "(1", "1 - 2", "1)( "] },
  // providers/anthropic: names of models.
  [String.raw`/claude-[a-z]+-(?:4-[6-9]|[5-9]|[1-9]\d)(?!\d)/`]: {
    units: ["claude-", "claude-a", "a", "claude-a-4-"],
  },
  [String.raw`/claude-(?:opus-4-[7-9]|[a-z]+-(?:[5-9]|[1-9]\d))(?!\d)/`]: {
    units: ["claude-", "claude-a", "a"],
  },
  [String.raw`/claude-[a-z]+-(?:4-[5-9]|[5-9]|[1-9]\d)(?!\d)/`]: { units: ["claude-", "claude-a", "a"] },
};

const configSchema = schemaWith(new Registry([]).stageKeys);

/**
 * Expressions that are put together when the gateway runs: how many a file has, and what holds them to linear time: a
 * test by its file and name, or a reason.
 */
const BUILT: Readonly<
  Record<string, readonly [count: number, why: string | { readonly file: string; readonly name: string }]>
> = {
  "src/base/json-schema-shape.ts": [1, "compiled to see whether it can be, and never run"],
  "src/base/linear-pattern.ts": [1, "compiled to see whether it can be, and never run"],
  "src/guardrails/masks.ts": [1, "a choice of plain texts"],
  "src/config/report/mask.ts": [1, "the beginning of an expression of the table, from one place"],
  "src/config/schema/rules.ts": [
    1,
    "patterns of the configuration's own schema, which the test below takes from it",
  ],
  "src/surfaces/control/tokens.ts": [1, "a schema's pattern, which the test below takes from it"],
  "plugins/keyword-blocklist/index.ts": [
    2,
    { file: "plugins/keyword-blocklist.test.ts", name: "time grows with" },
  ],
  "plugins/pii/address.ts": [1, { file: "plugins/pii.test.ts", name: "time grows with" }],
  "plugins/pii/kinds.ts": [1, { file: "plugins/pii.test.ts", name: "time grows with" }],
  "plugins/pii/phone-regions.ts": [2, "tables of libphonenumber, on at most 15 digits"],
  "plugins/pii/scan.ts": [1, { file: "plugins/pii.test.ts", name: "time grows with" }],
  "plugins/prompt-injection/index.ts": [
    1,
    { file: "plugins/prompt-injection.test.ts", name: "time grows with" },
  ],
};

function sourcesIn(folder: string): readonly (readonly [path: string, text: string])[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".ts"))
    .map((name) => [`${folder}/${name}`, readFileSync(join(ROOT, folder, name), "utf8")]);
}

const sources = FOLDERS.flatMap(sourcesIn);
const expressions = sources.flatMap(([path, text]) =>
  expressionsOf(text).map((expression) => ({ ...expression, path })),
);

/** Literals that recheck has proved to be linear. A proof is found once: all of them take a minute. */
const proved: ReadonlySet<string> = new Set(
  readFileSync(join(ROOT, "test/tidy/proved-expressions.txt"), "utf8").split("\n"),
);

function isLinear(expression: Expression): boolean {
  const { literal, source, flags } = expression;
  if (WORST[literal] !== undefined || isLinearByForm(source, flags)) return true;
  return process.env["PROVE"] === undefined && proved.has(literal) ? true : isProvablyLinear(expression);
}

// `PROVE=1 npm test -- test/expressions.test.ts` proves them all again.
test("every regular expression is linear by construction, or its worst texts are in the table", () => {
  assert.ok(expressions.length > 200, "they are found");
  const undecided = expressions
    .filter((expression) => !isLinear(expression))
    .map(({ path, line, literal }) => `${path}:${line} ${literal}`);
  assert.deepEqual(undecided, [], "make them linear, or add them with their worst texts to WORST");
});

test("the table has no expression that is gone", () => {
  const known = new Set(expressions.map(({ literal }) => literal));
  assert.deepEqual(
    Object.keys(WORST).filter((literal) => !known.has(literal)),
    [],
  );
});

/** Linear work on it takes milliseconds. Work in its square takes longer than the runner lets a test file take. */
const LONG_CHARACTERS = 1 << 20;

for (const [literal, { units, charactersMax }] of Object.entries(WORST)) {
  test(`${literal} ends on long texts of its worst units`, () => {
    const close = literal.lastIndexOf("/");
    const expression = new RegExp(literal.slice(1, close), literal.slice(close + 1));
    for (const unit of units) {
      const run = (text: string): unknown =>
        expression.global || expression.sticky ? text.replace(expression, "") : expression.test(text);
      for (const worst of [unit, `${unit}\u0000`]) {
        run(worst.repeat(charactersMax ?? LONG_CHARACTERS).slice(0, charactersMax ?? LONG_CHARACTERS));
      }
    }
  });
}

test("every expression that is built from texts is known", () => {
  const built = sources.flatMap(([path, text]) => {
    const count = builtExpressions(text);
    return count === 0 ? [] : [[path, count]];
  });
  assert.deepEqual(
    Object.fromEntries(built),
    Object.fromEntries(Object.entries(BUILT).map(([path, [count]]) => [path, count])),
    "say in BUILT what holds them to linear time",
  );
  for (const [, why] of Object.values(BUILT)) {
    if (typeof why === "string") continue;
    const text = readFileSync(join(ROOT, "test", why.file), "utf8");
    assert.ok(text.includes(`test("${why.name}`) && text.includes("growth("), `${why.file}: ${why.name}`);
  }
});

test("the patterns of the configuration's own schema and of the control plane's tools are linear", () => {
  const patterns = new Set([TIMESTAMP, ...patternsIn(configSchema)]);
  assert.ok(patterns.size > 3);
  const undecided = [...patterns].filter((source) => {
    const [literal, flags] = [`/${source}/u`, "u"];
    return WORST[literal] === undefined && !isLinear({ literal, source, flags, line: 0 });
  });
  assert.deepEqual(undecided, []);
});

function patternsIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    key === "pattern" && typeof child === "string" ? [child] : patternsIn(child),
  );
}

test("the check sees expressions that are not linear", () => {
  const slow = [
    "^(a+)+$",
    "(a|a)*$",
    "\\s+$",
    "^(a|ab)*c",
    "[ \\t]*(.*?)[ \\t]*$",
    "(?:a{0,30}){30}b",
    "^a*a*b",
  ];
  for (const source of slow) assert.equal(isLinearByForm(source, ""), false, source);
  assert.equal(isProvablyLinear({ source: "^(a+)+$", flags: "" }), false);
  for (const source of ["^[a-z]+$", "[0-9]{1,9}", "^\\S+@", "a|b"]) {
    assert.ok(isLinearByForm(source, ""), source);
  }
  const [found] = expressionsOf(
    'const a = b / c / d; // /x/\nconst e = "/y/", f = /[/"]+/gi;',
  ) as readonly Expression[];
  assert.deepEqual([found?.literal, found?.line], ['/[/"]+/gi', 2]);
});
