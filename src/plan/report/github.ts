/** A plan as GitHub's workflow commands: each change is a remark at its line of a pull request. */
import { githubProperty, githubText } from "../../config/report/render.ts";
import type { AcceptanceWarning } from "../acceptance.ts";
import { type DocumentChange, objectName, type Plan, shownFile, summaryLine } from "../document.ts";
import { RULES } from "../rules.ts";

export interface GithubOptions {
  /** Whether safe changes are remarks too. */
  readonly all: boolean;
  /** Whether a change makes the check fail. */
  fails(change: DocumentChange): boolean;
  readonly warnings: readonly AcceptanceWarning[];
  readonly cwd: string;
}

/** GitHub shows the first ones of a step only, so the most dangerous come first. */
export function planGithub(plan: Plan, { all, fails, warnings, cwd }: GithubOptions): string {
  const { document } = plan;
  const lines = document.changes
    .filter(({ risk }) => all || risk !== "safe")
    .map((change) => {
      const { rule, risk, object, message, accepted } = change;
      const { file, line, column } = plan.newPlaceOf(change);
      const level = fails(change) ? "error" : isCalm(change) ? "notice" : "warning";
      const title = githubProperty(`${risk} ${rule}: ${RULES[rule].title}`);
      const until = accepted?.until === null || accepted === null ? "" : ` until ${accepted.until}`;
      const note = accepted === null ? "" : ` (accepted${until}: ${accepted.reason})`;
      const text = githubText(`${objectName(object)}: ${message}${note}`);
      return `::${level} file=${githubProperty(file)},line=${line},col=${column},title=${title}::${text}`;
    });
  for (const { at, message } of warnings) {
    const file = githubProperty(shownFile(at.file, cwd));
    lines.push(
      `::warning file=${file},line=${at.line},col=${at.column},title=sluice accept::${githubText(message)}`,
    );
  }
  lines.push(`::notice title=sluice plan::${githubText(summaryLine(document))}`);
  return lines.map((line) => `${line}\n`).join("");
}

const isCalm = ({ risk, accepted }: DocumentChange): boolean =>
  accepted !== null || risk === "behavior" || risk === "safe";
