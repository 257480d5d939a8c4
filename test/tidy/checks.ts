/**
 * The house rules that a machine can hold, each as a function of one file: its path from the root and its text in,
 * what is wrong out, one sentence each. Reads no file itself.
 */
import { codeOf, lineOf } from "./code.ts";
import { functionsOf } from "./functions.ts";

export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export type Check = (file: SourceFile) => string[];

export const LINES_MAX = 400;
export const TEST_LINES_MAX = 600;
export const FUNCTION_LINES_MAX = 70;
export const PARAMETERS_MAX = 4;
/** Words that say nothing of what they name. */
const ALLOWED: ReadonlySet<string> = new Set(["COMMON_FIELDS"]);
const BANNED = /^(?:util|helper|common|misc|manager|service|impl|data|info)s?$/;

/** Schemas and tables may be long. */
const TABLES = [
  /^src\/config\/schema\//,
  /^test\/spec\/requirements\//,
  /(?:^|[/-])(?:rules|table|words)\.ts$/,
];

export const fileLength: Check = ({ path, text }) => {
  if (TABLES.some((table) => table.test(path))) return [];
  const lines = text.trimEnd().split("\n").length;
  const max = path.startsWith("test/") ? TEST_LINES_MAX : LINES_MAX;
  return lines > max ? [`${path} has ${lines} lines, more than ${max}.`] : [];
};

export const functionSize: Check = ({ path, text }) =>
  functionsOf(text).flatMap(({ line, lines, parameters }) => [
    ...(lines > FUNCTION_LINES_MAX
      ? [`${path}:${line} is a function of ${lines} lines, more than ${FUNCTION_LINES_MAX}.`]
      : []),
    ...(parameters > PARAMETERS_MAX
      ? [`${path}:${line} has ${parameters} parameters, more than ${PARAMETERS_MAX}.`]
      : []),
  ]);

export const fileName: Check = ({ path }) => {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const wrong = [];
  if (!/^(?:[a-z0-9]+(?:[-.][a-z0-9]+)*|[A-Z]+\.md)$/.test(name))
    wrong.push(`${path} is not named in kebab-case.`);
  for (const word of name.split(/[-.]/)) {
    if (BANNED.test(word)) wrong.push(`${path} has the banned word "${word}" in its name.`);
  }
  return wrong;
};

const EXPORTED =
  /\bexport\s+(?:default\s+)?(?:abstract\s+|async\s+)*(?:const|let|function|class|interface|type)\s+(\w+)/g;

export const exportedNames: Check = ({ path, text }) =>
  [...codeOf(text).matchAll(EXPORTED)].flatMap(([, name = ""]) =>
    wordsOf(name)
      .filter((word) => BANNED.test(word) && !ALLOWED.has(name))
      .map((word) => `${path} exports ${name}, with the banned word "${word}".`),
  );

/** `fooBar` and `FOO_BAR` alike: foo, bar. The data plane is a term of the field, as its opposite is. */
function wordsOf(name: string): string[] {
  return name
    .replace(/data(?=Plane)/i, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[\s_]+/)
    .map((word) => word.toLowerCase());
}

export const opensWithComment: Check = ({ path, text }) =>
  /^(?:#!.*\n)?\s*(?:\/\*\*?|\/\/)/.test(text) ? [] : [`${path} does not open by saying what it is for.`];

const RENAMES = /\b(?:import|export)\b[^;"'`()]*?(?=\bfrom\b|;|$)/g;

/** `as` and `any` want a reason in a comment, on their line or on one of the five above. */
export const castsWithReason: Check = ({ path, text }) => {
  const code = codeOf(text).replace(RENAMES, (names) => names.replace(/[^\n]/g, " "));
  const lines = text.split("\n");
  const wrong = [];
  for (const match of code.matchAll(/\bas\b(?!\s+const\b)\s*[\w({[]|[:<|&,]\s*any\b/g)) {
    const line = lineOf(code, match.index);
    const near = lines.slice(Math.max(0, line - 6), line).join("\n");
    if (!/\/\/|\*\/|^\s*\*/m.test(near))
      wrong.push(`${path}:${line} has an "as" or "any" without a reason beside it.`);
  }
  return wrong;
};

/** In two pieces, so that this file does not find itself. */
const LEFT = new RegExp("\\b(?:TO" + "DO|FIX" + "ME)\\b");

export const noLeftovers: Check = ({ path, text }) =>
  text.split("\n").flatMap((line, n) => [
    ...(LEFT.test(line) ? [`${path}:${n + 1} leaves something to do.`] : []),
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    ...(/[\u0000-\u0008\u000b-\u001f\u007f\u200b\u2028\u2029\ufeff]/.test(line)
      ? [`${path}:${n + 1} has a control character.`]
      : []),
  ]);

/** Paths of one machine and addresses of one network belong into no file. */
export const noMachine: Check = ({ path, text }) =>
  text
    .split("\n")
    .flatMap((line, n) =>
      /(?<![\w.}])\/(?:work|root|home)\/[a-z]|\b10\.\d+\.\d+\.\d+:\d{2,5}\b/.test(line)
        ? [`${path}:${n + 1} names a machine.`]
        : [],
    );

/** Words that make a reader stop, and what does not exist in this repository. In pieces, so that this file does not find itself. */
const BOOKISH = new RegExp(
  `\\b(?:${[
    ...[
      "for ev" + "er",
      "all the sa" + "me",
      "of one" + "'s own",
      "who" + "ever",
      "where" + "of",
      "so ma" + "ny",
    ],
    ...[
      "reck" + "on(?:s|ed|ing)?",
      "wa" + "ry",
      "dear" + "est",
      "cour" + "iers?",
      "dee" + "ds",
      "the pap" + "ers",
    ],
    ...["let g" + "o", "let i" + "n", "given u" + "p"],
  ].join("|")})\\b`,
  "i",
);
/** Texts that guardrails are trained on and tested with, and words of languages. */
const SAMPLES = /^(?:plugins\/(?:prompt-injection|pii)|scripts\/(?:train-)?injection|test\/plugins)\//;
const PAPERS = new RegExp("\\b(?:CONT" + "RACT|SPECIFI" + "CATION)(?:\\.md)?\\b");

/** Plain words, and no citation of a document that readers do not have. */
export const plainWords: Check = ({ path, text }) =>
  SAMPLES.test(path)
    ? []
    : text.split("\n").flatMap((line, n) => {
        const word = BOOKISH.exec(line)?.[0] ?? PAPERS.exec(line)?.[0];
        return word === undefined ? [] : [`${path}:${n + 1} has "${word}".`];
      });

/** Where JSON of clients, providers and other servers is read. */
const READS_OUTSIDE = /^(?:providers|plugins|src\/(?:plugin|upstream|surfaces))\//;
/** The one that checks the depth, and one that keeps nothing but a string. */
const PARSES_JSON = ["src/provider-kit/wire/json.ts", "src/provider-kit/wire/plain-events.ts"];

/** Node before 20.20.2, 22.22.2 and 24.14.1 throws in these getters on a header named `__proto__` (CVE-2026-21710). */
export const headersSafe: Check = ({ path, text }) =>
  /^(?:providers|plugins|src)\//.test(path) && /\.(?:headers|trailers)Distinct\b/.test(codeOf(text))
    ? [`${path} reads headersDistinct or trailersDistinct, which a header can make throw: read rawHeaders.`]
    : [];

/** JSON from outside is parsed by `parseJson`, which refuses what nests too deep to be written again. */
export const depthChecked: Check = ({ path, text }) =>
  READS_OUTSIDE.test(path) && !PARSES_JSON.includes(path) && codeOf(text).includes("JSON.parse(")
    ? [`${path} parses JSON without a check of its depth: use parseJson or parsed.`]
    : [];
