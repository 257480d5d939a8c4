/** How a plan, or the mistakes that prevent one, is printed in each format. */
import { diagnosticJson, type Findings, renderGithub, renderText } from "../../config/report/render.ts";
import type { AcceptanceWarning } from "../../plan/acceptance.ts";
import { type DocumentChange, PLAN_VERSION, type Plan, shownFile } from "../../plan/document.ts";
import { planGithub } from "../../plan/report/github.ts";
import { planMarkdown } from "../../plan/report/markdown.ts";
import { fenced } from "../../plan/report/markdown-text.ts";
import { type CliIo, hasColors } from "../command.ts";
import { columnsOf, styleOf } from "../terminal.ts";
import type { SideOutcome } from "./side-outcome.ts";
import { planText } from "./text.ts";

export const FORMATS = ["text", "json", "markdown", "github"] as const;
export type Format = (typeof FORMATS)[number];

export interface RenderOptions {
  readonly all: boolean;
  fails(change: DocumentChange): boolean;
  readonly warnings: readonly AcceptanceWarning[];
  readonly skippedPlugins: number;
  /** False: nobody was asked who is affected. */
  readonly asksUsage: boolean;
  readonly io: CliIo;
}

export function renderPlan(format: Format, plan: Plan, options: RenderOptions): string {
  const { all, fails, warnings, io } = options;
  const { cwd } = io;
  if (format === "json") return `${JSON.stringify(plan.document, null, 2)}\n`;
  if (format === "github") return planGithub(plan, { all, fails, warnings, cwd });
  const notes = notesOf(plan, options);
  if (format === "markdown") return planMarkdown(plan, notes);
  return planText(plan, { style: styleOf(io, "stdout"), columns: columnsOf(io), all, notes });
}

function notesOf(
  { document: { changes } }: Plan,
  { warnings, skippedPlugins, asksUsage, io: { cwd } }: RenderOptions,
): readonly string[] {
  const notes = warnings.map(
    ({ at, message }) => `Warning: ${shownFile(at.file, cwd)}:${at.line}:${at.column} ${message}.`,
  );
  if (skippedPlugins > 0)
    notes.push(
      "No code of plugins was executed: their options are compared as data, their files by content.",
    );
  if (!asksUsage && changes.some(({ risk }) => risk !== "safe"))
    notes.push("Who is affected is not known: --usage URL asks a running gateway.");
  return notes;
}

interface Outcomes {
  readonly from: SideOutcome;
  readonly to: SideOutcome;
}

/** At least one side is no valid configuration. */
export function renderInvalid(format: Format, { from, to }: Outcomes, io: CliIo): string {
  const [fromFindings, toFindings] = [from, to].map(findingsOf);
  if (fromFindings === undefined || toFindings === undefined) return "";
  if (format === "json") {
    const json = ({ errors }: Findings): readonly object[] =>
      errors.map((error) => diagnosticJson(error, io.cwd));
    const errors = { from: json(fromFindings), to: json(toFindings) };
    return `${JSON.stringify({ plan_version: PLAN_VERSION, errors }, null, 2)}\n`;
  }
  if (format === "github")
    return renderGithub({ errors: [...fromFindings.errors, ...toFindings.errors], warnings: [] }, io.cwd);
  const text = (color: boolean): string =>
    [sideText("--from", fromFindings, color, io), sideText("--to", toFindings, color, io)]
      .filter((block) => block !== "")
      .join("\n");
  if (format === "text") return text(hasColors(io, "stdout"));
  return `### Sluice plan\n\n**A configuration is invalid, so there is no plan.**\n\n${fenced(text(false).trimEnd(), "text", "")}\n`;
}

function findingsOf(outcome: SideOutcome): Findings {
  return "findings" in outcome ? outcome.findings : { errors: [], warnings: [] };
}

function sideText(side: string, { errors, omitted }: Findings, color: boolean, io: CliIo): string {
  if (errors.length === 0) return "";
  return `${side} is not a valid configuration:\n\n${renderText(errors, color, io.cwd, omitted)}`;
}
