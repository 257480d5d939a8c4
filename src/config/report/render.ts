/** Diagnostics as people and machines read them: frames in the manner of rustc, JSON, GitHub's commands, SARIF. */
import { relative, sep } from "node:path";
import { VERSION } from "../../base/version.ts";
import { CODES } from "./codes.ts";
import type { Diagnostic, Omitted } from "./diagnostic.ts";

/** What a check found. */
export interface Findings {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** How many more there were. */
  readonly omitted?: Readonly<Omitted>;
}

/** Diagnostics printed; the rest is counted. */
const PRINTED_MAX = 200;

interface Printed {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  readonly omitted: Readonly<Omitted>;
}

/** The first of what was found, errors first, and how many more there are. */
function printed({ errors, warnings, omitted = { errors: 0, warnings: 0 } }: Findings): Printed {
  const shownErrors = errors.slice(0, PRINTED_MAX);
  const shownWarnings = warnings.slice(0, PRINTED_MAX - shownErrors.length);
  return {
    errors: shownErrors,
    warnings: shownWarnings,
    omitted: {
      errors: omitted.errors + errors.length - shownErrors.length,
      warnings: omitted.warnings + warnings.length - shownWarnings.length,
    },
  };
}

function omittedText({ errors, warnings }: Readonly<Omitted>): string | undefined {
  const counts = [count(errors, "more error"), count(warnings, "more warning")].filter((text) => text !== "");
  return counts.length === 0 ? undefined : `${counts.join(" and ")} not shown`;
}

const PLAIN = { red: "", yellow: "", blue: "", bold: "", off: "" };
const COLORS = {
  red: "\x1b[1;31m",
  yellow: "\x1b[1;33m",
  blue: "\x1b[1;34m",
  bold: "\x1b[1m",
  off: "\x1b[0m",
};

/** Code frames, errors first. Files under `cwd` are named from there. `omitted`: found in addition to `diagnostics`. */
export function renderText(
  diagnostics: readonly Diagnostic[],
  color: boolean,
  cwd = process.cwd(),
  omitted?: Readonly<Omitted>,
): string {
  const paint = color ? COLORS : PLAIN;
  const all = {
    errors: diagnostics.filter(({ severity }) => severity === "error"),
    warnings: diagnostics.filter(({ severity }) => severity === "warning"),
    ...(omitted === undefined ? {} : { omitted }),
  };
  const { errors, warnings, omitted: rest } = printed(all);
  const unset = errors.filter(({ code, subject }) => code === "E0201" && subject !== undefined);
  const isGrouped = unset.length > 1;
  const single = isGrouped ? errors.filter((error) => !unset.includes(error)) : errors;
  const blocks = [...single, ...warnings].map((diagnostic) => renderBlock(seenFrom(cwd, diagnostic), paint));
  if (isGrouped) blocks.unshift(renderUnset(unset, paint, cwd));
  if (blocks.length === 0) return "";
  const counts = [
    count(errors.length + rest.errors, "error"),
    count(warnings.length + rest.warnings, "warning"),
  ].filter((text) => text !== "");
  const more = omittedText(rest);
  return `${blocks.join("\n")}\n${counts.join(", ")}${more === undefined ? "" : ` (${more})`}\n`;
}

function renderBlock(diagnostic: Diagnostic, paint: typeof PLAIN): string {
  const { code, severity, message, file, line, column, path, frame } = diagnostic;
  const gutter = " ".repeat(String(line).length);
  const bar = `${paint.blue}${gutter} |${paint.off}`;
  const tone = severity === "error" ? paint.red : paint.yellow;
  const lines = [
    `${tone}${severity}[${code}]${paint.off}${paint.bold}: ${message}${paint.off}`,
    `${paint.blue}${gutter}-->${paint.off} ${file}:${line}:${column}`,
  ];
  if (frame !== undefined) {
    const { text, marks } = cutFrame(frame, column);
    lines.push(bar, `${paint.blue}${line} |${paint.off} ${text}`, `${bar} ${tone}${marks}${paint.off}`);
  }
  if (path !== "") lines.push(`${paint.blue}${gutter} =${paint.off} at: ${path}`);
  for (const help of helpOf(diagnostic)) lines.push(`${paint.blue}${gutter} =${paint.off} help: ${help}`);
  return `${lines.join("\n")}\n`;
}

/** All variables that are not set as one list, each with its first place, and what to paste to set them. */
function renderUnset(unset: readonly Diagnostic[], paint: typeof PLAIN, cwd: string): string {
  const places = new Map<string, { readonly first: string; more: number; readonly help: string }>();
  for (const diagnostic of unset) {
    const { subject = "", file, line, column, suggestion } = seenFrom(cwd, diagnostic);
    const known = places.get(subject);
    if (known !== undefined) known.more += 1;
    else {
      const help = suggestion === undefined ? "" : `; did you mean \`${suggestion}\`?`;
      places.set(subject, { first: `${file}:${line}:${column}`, more: 0, help });
    }
  }
  const names = [...places.keys()];
  const width = Math.max(...names.map((name) => name.length));
  const noun = names.length === 1 ? "environment variable is" : "environment variables are";
  return `${[
    `${paint.red}error[E0201]${paint.off}${paint.bold}: ${names.length} ${noun} not set${paint.off}`,
    ...[...places].map(([name, { first, more, help }]) => {
      const others = more === 0 ? "" : ` and ${count(more, "more place")}`;
      return `  ${name.padEnd(width)}  ${paint.blue}-->${paint.off} ${first}${others}${help}`;
    }),
    `  ${paint.blue}=${paint.off} help: set them, give defaults (\`\${env:NAME:-default}\`), or check without them (\`--no-secrets\`):`,
    ...names.map((name) => `      export ${name}=`),
  ].join("\n")}\n`;
}

const FRAME_CHARACTERS_MAX = 160;
const FRAME_CHARACTERS_BEFORE = 60;

/** A long line is cut around the marked part. Tabs stay tabs, so that the marks are aligned. */
function cutFrame(frame: NonNullable<Diagnostic["frame"]>, column: number): Frame {
  const { offset = 0 } = frame;
  const at = column - 1 - offset;
  const isLong = frame.text.length > FRAME_CHARACTERS_MAX;
  const start = isLong ? Math.max(0, at - FRAME_CHARACTERS_BEFORE) : 0;
  const text = frame.text.slice(start, start + FRAME_CHARACTERS_MAX);
  const before = text.slice(0, at - start).replace(/[^\t]/g, " ");
  const length = Math.max(1, Math.min(frame.length, text.length - before.length));
  const [head, tail] = [offset + start > 0 ? "…" : "", start + text.length < frame.text.length ? "…" : ""];
  return { text: `${head}${text}${tail}`, marks: `${head === "" ? "" : " "}${before}${"^".repeat(length)}` };
}

interface Frame {
  readonly text: string;
  readonly marks: string;
}

function helpOf({ suggestion, help }: Diagnostic): readonly string[] {
  const question = suggestion === undefined ? [] : [`did you mean \`${suggestion}\`?`];
  return help === undefined ? question : [...question, help];
}

function count(number: number, noun: string): string {
  return number === 0 ? "" : `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** Every key is always there. A tool writes `suggestion` in place of the text between the two positions. */
export function renderJson(findings: Findings, cwd: string): string {
  const { errors, warnings, omitted } = printed(findings);
  const report = {
    ok: errors.length === 0,
    errors: errors.map((error) => diagnosticJson(error, cwd)),
    warnings: warnings.map((warning) => diagnosticJson(warning, cwd)),
    ...(omittedText(omitted) === undefined ? {} : { omitted }),
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}

/** One diagnostic as data. */
export function diagnosticJson(diagnostic: Diagnostic, cwd: string): object {
  const { code, message, file, line, column, end, path, suggestion, help } = seenFrom(cwd, diagnostic);
  return {
    ...{ code, message, file, line, column },
    ...{ end_line: end?.line ?? null, end_column: end?.column ?? null },
    ...{ path, suggestion: suggestion ?? null, help: help ?? null },
  };
}

/** Workflow commands: each becomes a remark at its line of a pull request. */
export function renderGithub(findings: Findings, cwd: string): string {
  const { errors, warnings, omitted } = printed(findings);
  const lines = [...errors, ...warnings].map((diagnostic) => {
    const { code, severity, message, file, line, column, end } = seenFrom(cwd, diagnostic);
    const help = helpOf(diagnostic);
    // GitHub takes an end column for pieces of one line only.
    const upTo = end?.line === line ? `,endColumn=${end.column}` : "";
    const title = githubProperty(`${code} ${CODES[code].title}`);
    const place = `file=${githubProperty(file)},line=${line},col=${column}${upTo},title=${title}`;
    return `::${severity} ${place}::${githubText(help.length === 0 ? message : `${message} (${help.join(" ")})`)}`;
  });
  const more = omittedText(omitted);
  if (more !== undefined) lines.push(`::notice title=sluice validate::${githubText(more)}`);
  return lines.map((line) => `${line}\n`).join("");
}

/** The text of a workflow command. */
export function githubText(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** The value of a property of a workflow command. */
export function githubProperty(text: string): string {
  return githubText(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** SARIF 2.1.0, for code scanning. */
export function renderSarif(findings: Findings, cwd: string): string {
  const { errors, warnings, omitted } = printed(findings);
  const all = [...errors, ...warnings].map((diagnostic) => seenFrom(cwd, diagnostic));
  const rules = [...new Set(all.map(({ code }) => code))].map((code) => {
    const { title, explanation } = CODES[code];
    const texts = { shortDescription: { text: title }, fullDescription: { text: explanation } };
    // SARIF asks for an absolute URI; the documentation ships with the repository and has no address.
    return { id: code, ...texts, help: { text: explanation }, helpUri: `urn:sluice:diagnostic:${code}` };
  });
  const results = all.map(sarifResult);
  const more = omittedText(omitted);
  const driver = { name: "sluice", version: VERSION, semanticVersion: VERSION, rules };
  const log = {
    version: "2.1.0",
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    runs: [{ tool: { driver }, results, ...(more === undefined ? {} : { properties: { omitted } }) }],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

function sarifResult(diagnostic: Diagnostic): object {
  const { code, severity, message, file, line, column, end, suggestion } = diagnostic;
  const upTo = end === undefined ? {} : { endLine: end.line, endColumn: end.column };
  const artifactLocation = { uri: file };
  const region = { startLine: line, startColumn: column, ...upTo };
  const fix = {
    description: { text: `write \`${suggestion}\`` },
    artifactChanges: [
      { artifactLocation, replacements: [{ deletedRegion: region, insertedContent: { text: suggestion } }] },
    ],
  };
  return {
    ruleId: code,
    level: severity,
    message: { text: [message, ...helpOf(diagnostic)].join("\n") },
    locations: [{ physicalLocation: { artifactLocation, region } }],
    ...(suggestion === undefined || end === undefined ? {} : { fixes: [fix] }),
  };
}

/** Files under `cwd` are named from there, in messages too. */
function seenFrom(cwd: string, diagnostic: Diagnostic): Diagnostic {
  const { file, message, help } = diagnostic;
  const path = relative(cwd, file);
  const isUnder = path !== "" && !path.startsWith("..");
  const folder = cwd.endsWith(sep) ? cwd : `${cwd}${sep}`;
  const near = (text: string): string => (folder === sep ? text : text.replaceAll(folder, ""));
  return {
    ...diagnostic,
    file: isUnder ? path : file,
    message: near(message),
    ...(help === undefined ? {} : { help: near(help) }),
  };
}
