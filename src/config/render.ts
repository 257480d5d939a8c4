/** Diagnostics as people and machines read them: frames in the manner of rustc, JSON, GitHub's commands, SARIF. */
import { relative, sep } from "node:path";
import { CODES } from "./codes.ts";
import type { Diagnostic } from "./diagnostic.ts";

/** What a check found. */
export interface Findings {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

const PLAIN = { red: "", yellow: "", blue: "", bold: "", off: "" };
const COLOURS = {
  red: "\x1b[1;31m",
  yellow: "\x1b[1;33m",
  blue: "\x1b[1;34m",
  bold: "\x1b[1m",
  off: "\x1b[0m",
};

/** Code frames, errors first. Files under `cwd` are named from there. */
export function renderText(diagnostics: readonly Diagnostic[], colour: boolean, cwd = process.cwd()): string {
  const paint = colour ? COLOURS : PLAIN;
  const blocks = diagnostics.map((diagnostic) => renderBlock(seenFrom(cwd, diagnostic), paint));
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const counts = [count(errors, "error"), count(diagnostics.length - errors, "warning")].filter(
    (text) => text !== "",
  );
  return blocks.length === 0 ? "" : `${blocks.join("\n")}\n${counts.join(", ")}\n`;
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
  const help = helpOf(diagnostic);
  if (path !== "") lines.push(`${paint.blue}${gutter} =${paint.off} at: ${path}`);
  if (help !== undefined) lines.push(`${paint.blue}${gutter} =${paint.off} help: ${help}`);
  return `${lines.join("\n")}\n`;
}

const FRAME_CHARACTERS_MAX = 160;
const FRAME_CHARACTERS_BEFORE = 60;

/** A long line is cut around what is meant. Tabs stay tabs under themselves, so that the marks stand right. */
function cutFrame(frame: { readonly text: string; readonly length: number }, column: number): Frame {
  const isLong = frame.text.length > FRAME_CHARACTERS_MAX;
  const start = isLong ? Math.max(0, column - 1 - FRAME_CHARACTERS_BEFORE) : 0;
  const text = frame.text.slice(start, start + FRAME_CHARACTERS_MAX);
  const before = text.slice(0, column - 1 - start).replace(/[^\t]/g, " ");
  const length = Math.max(1, Math.min(frame.length, text.length - before.length));
  const [head, tail] = [start > 0 ? "…" : "", start + text.length < frame.text.length ? "…" : ""];
  return { text: `${head}${text}${tail}`, marks: `${head === "" ? "" : " "}${before}${"^".repeat(length)}` };
}

interface Frame {
  readonly text: string;
  readonly marks: string;
}

function helpOf({ suggestion, help }: Diagnostic): string | undefined {
  return suggestion === undefined ? help : `did you mean \`${suggestion}\`?`;
}

function count(number: number, noun: string): string {
  return number === 0 ? "" : `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** CONTRACT section 13's shape. */
export function renderJson({ errors, warnings }: Findings, cwd: string): string {
  const plain = (diagnostic: Diagnostic) => {
    const { code, message, file, line, column, path, suggestion, help } = seenFrom(cwd, diagnostic);
    return { code, message, file, line, column, path, suggestion: suggestion ?? help ?? null };
  };
  const report = { ok: errors.length === 0, errors: errors.map(plain), warnings: warnings.map(plain) };
  return `${JSON.stringify(report, null, 2)}\n`;
}

/** Workflow commands: each becomes a remark at its line of a pull request. */
export function renderGithub({ errors, warnings }: Findings, cwd: string): string {
  const lines = [...errors, ...warnings].map((diagnostic) => {
    const { code, severity, message, file, line, column } = seenFrom(cwd, diagnostic);
    const help = helpOf(diagnostic);
    const place = `file=${property(file)},line=${line},col=${column},title=${property(code)}`;
    return `::${severity} ${place}::${escaped(help === undefined ? message : `${message} (${help})`)}`;
  });
  return lines.map((line) => `${line}\n`).join("");
}

function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** SARIF 2.1.0, for code scanning. */
export function renderSarif({ errors, warnings }: Findings, cwd: string): string {
  const all = [...errors, ...warnings].map((diagnostic) => seenFrom(cwd, diagnostic));
  const rules = [...new Set(all.map(({ code }) => code))].map((code) => {
    const { title, explanation } = CODES[code];
    return { id: code, shortDescription: { text: title }, fullDescription: { text: explanation } };
  });
  const results = all.map(({ code, severity, message, file, line, column }) => ({
    ruleId: code,
    level: severity,
    message: { text: message },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: file },
          region: { startLine: line, startColumn: column },
        },
      },
    ],
  }));
  const driver = { name: "sluice", rules };
  const log = {
    version: "2.1.0",
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    runs: [{ tool: { driver }, results }],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

/** Files under `cwd` are named from there, in messages too. */
function seenFrom(cwd: string, diagnostic: Diagnostic): Diagnostic {
  const { file, message } = diagnostic;
  const path = relative(cwd, file);
  const isUnder = path !== "" && !path.startsWith("..");
  const folder = cwd.endsWith(sep) ? cwd : `${cwd}${sep}`;
  const near = folder === sep ? message : message.replaceAll(folder, "");
  return { ...diagnostic, file: isUnder ? path : file, message: near };
}
