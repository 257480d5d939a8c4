/**
 * A plan as one comment on a pull request, in GitHub's and GitLab's markdown: counts, a table of everything above safe,
 * and all changes with their texts in a fold. What is cut to fit is the least dangerous, and it is said.
 */
import {
  type DocumentChange,
  objectName,
  type Plan,
  type PlanDocument,
  type PlanSide,
  summaryLine,
} from "../document.ts";
import type { Risk } from "../rules.ts";
import { kindText, placeText, reachText, riskCounts, shortRevision } from "./groups.ts";
import { codeSpan, fenced, inline } from "./markdown-text.ts";
import { type ChangedLine, textChange } from "./text-changes.ts";

/** Comments may have 65,536. */
export const MARKDOWN_CHARACTERS_MAX = 65_000;
/** Of what says what was cut. */
const NOTE_CHARACTERS = 400;
const DIFF_LINES_MAX = 40;
const DIFF_CHARACTERS_MAX = 6_000;

const MARKS: Readonly<Record<Risk, string>> = {
  breaking: "🔴",
  weakens: "🟠",
  money: "🟡",
  behavior: "🔵",
  safe: "⚪",
};

export function planMarkdown({ document }: Plan, notes: readonly string[]): string {
  const head = headOf(document, notes);
  const { changes } = document;
  const rows = changes.filter(({ risk }) => risk !== "safe").map(rowOf);
  const details = changes.map(detailOf);
  let room = MARKDOWN_CHARACTERS_MAX - head.length - FRAME.length - NOTE_CHARACTERS;
  const keptRows = fitting(rows, room);
  room -= lengthOf(rows.slice(0, keptRows));
  const keptDetails = keptRows < rows.length ? 0 : fitting(details, room);
  const cut = [
    cutNote(changes.filter(isRow).slice(keptRows), "the table"),
    cutNote(changes.slice(keptDetails), "the details"),
  ];
  const parts = [head];
  if (rows.length > 0) parts.push(`${TABLE}${rows.slice(0, keptRows).join("")}\n`);
  if (keptDetails > 0) parts.push(`${FOLD}${details.slice(0, keptDetails).join("")}</details>\n`);
  for (const note of cut) if (note !== undefined) parts.push(`\n${note}\n`);
  return parts.join("");
}

const isRow = ({ risk }: DocumentChange): boolean => risk !== "safe";

const TABLE = "| Risk | Rule | Object | Change | Place |\n|---|---|---|---|---|\n";
const FOLD = "<details>\n<summary>All changes</summary>\n\n";
const FRAME = `${TABLE}${FOLD}</details>\n\n\n`;

/** How many of the first ones fit; they are in order of their risk. */
function fitting(parts: readonly string[], room: number): number {
  let left = room;
  for (const [index, part] of parts.entries()) {
    left -= part.length;
    if (left < 0) return index;
  }
  return parts.length;
}

const lengthOf = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + part.length, 0);

function cutNote(left: readonly DocumentChange[], where: string): string | undefined {
  if (left.length === 0) return undefined;
  return `_${left.length} changes are cut from ${where} (${riskCounts(left)}): a comment holds ${MARKDOWN_CHARACTERS_MAX} characters. \`sluice plan --all\` lists them._`;
}

function headOf(document: PlanDocument, notes: readonly string[]): string {
  const { from, to } = document;
  const lines = [
    `<!-- sluice-plan:${markerText(to.side)} -->`,
    "### Sluice plan",
    "",
    `**${inline(summaryLine(document))}**`,
    "",
    `${sideText(from)} → ${sideText(to)}`,
    "",
  ];
  for (const note of [...notes, ...usageNotes(document)]) lines.push(`- ${inline(note)}`);
  return `${lines.join("\n")}${notes.length > 0 ? "\n" : ""}\n`;
}

function usageNotes({ overrides, drift, usage }: PlanDocument): readonly string[] {
  const ending = overrides.filter(({ ends }) => ends);
  const notes = ending.map(
    ({ object, change, actor }) =>
      `Ends a change made at run time: ${objectName(object)} ${change} by ${actor}.`,
  );
  const calls = usage?.objects.reduce((sum, object) => sum + object.calls, 0) ?? 0;
  if (usage !== undefined)
    notes.push(`${usage.objects.length} of the changed objects had ${calls} calls since ${usage.since}.`);
  if (drift.length > 0)
    notes.push(
      `The gateway runs another configuration than the plan begins with: ${drift.length} objects differ.`,
    );
  return notes;
}

/** A comment of HTML ends at `-->`, and must hold no `--`. */
function markerText(side: string): string {
  return encodeURI(side).replaceAll("--", "-%2D").replaceAll(">", "%3E");
}

function sideText({ side, revision }: PlanSide): string {
  const short = shortRevision(revision);
  return short === undefined || side.includes(short)
    ? codeSpan(side)
    : `${codeSpan(side)} (${codeSpan(short)})`;
}

function rowOf(change: DocumentChange): string {
  const { risk, rule, object, message, accepted } = change;
  const reach = reachText(change);
  const text = [
    inline(message),
    ...(reach === undefined ? [] : [`Reaches ${inline(reach)}.`]),
    ...(accepted === null ? [] : [acceptedText(accepted)]),
  ].join("<br>");
  const state = accepted === null ? `${MARKS[risk]} **${risk}**` : `✅ ${risk}`;
  const name = `${kindText(object.kind)} ${codeSpan(objectName(object))}`;
  return `| ${[state, rule, name, text, codeSpan(placeText(change))].join(" | ")} |\n`;
}

function acceptedText({ reason, until }: NonNullable<DocumentChange["accepted"]>): string {
  return `Accepted${until === null ? "" : ` until ${until}`}: ${inline(reason)}`;
}

function detailOf(change: DocumentChange): string {
  const { risk, rule, object, message, accepted } = change;
  const state = `${accepted === null ? MARKS[risk] : "✅"} ${risk} ${rule}`;
  const lines = [
    `- ${state} ${codeSpan(objectName(object))}: ${inline(message)} ${codeSpan(placeText(change))}`,
  ];
  if (accepted !== null) lines.push(`  ${acceptedText(accepted)}`);
  const diff = diffOf(change);
  return `${lines.join("\n")}\n${diff === "" ? "" : `\n${diff}\n`}`;
}

function diffOf(change: DocumentChange): string {
  const diff = textChange(change, DIFF_LINES_MAX);
  if (diff === undefined) return "";
  const lines = diff.lines.flatMap(({ pieces, isAfterGap }) => [
    ...(isAfterGap ? ["  …"] : []),
    ...sideLines(pieces, "removed", "-"),
    ...sideLines(pieces, "added", "+"),
  ]);
  if (diff.omitted > 0) lines.push(`  … ${diff.omitted} more changed lines`);
  const text = lines.join("\n");
  const cut = text.length > DIFF_CHARACTERS_MAX ? `${text.slice(0, DIFF_CHARACTERS_MAX)}\n  … cut` : text;
  return fenced(cut, "diff", "  ");
}

/** A line as one side has it; nothing when only the other side has it. */
function sideLines(
  pieces: ChangedLine["pieces"],
  kind: "removed" | "added",
  sign: string,
): readonly string[] {
  const own = pieces.filter((piece) => piece.kind === kind || piece.kind === "same");
  const hasSame = own.some((piece) => piece.kind === "same");
  if (!hasSame && own.length === 0) return [];
  return [`${sign} ${own.map(({ text }) => text).join("")}`];
}
