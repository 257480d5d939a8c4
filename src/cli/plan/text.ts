/** A plan on a terminal: grouped by project and object, with risks in words and colors, and one line that says it all. */
import {
  type DocumentChange,
  objectName,
  type Plan,
  type PlanDocument,
  summaryLine,
  type Verb,
} from "../../plan/document.ts";
import { grouped, objectTitle, placeText, reachText, shortRevision } from "../../plan/report/groups.ts";
import { type ChangedLine, textChange } from "../../plan/report/text-changes.ts";
import type { Risk } from "../../plan/rules.ts";
import { padEnd, printable, type Style, table, visibleWidth, wrap } from "../terminal.ts";
import { usageText } from "./usage-text.ts";

export interface TextOptions {
  readonly style: Style;
  readonly columns: number;
  /** Whether safe changes are listed. */
  readonly all: boolean;
  /** Lines before the last one, such as what was not checked. */
  readonly notes: readonly string[];
}

/** Of the risk, the rule and the spaces around them. */
const MARGIN = 20;
/** From here on places have a column of their own. */
const WIDE_COLUMNS = 120;
const PLACE_COLUMNS_MAX = 44;
/** Places further away from what they belong to are hard to follow. */
const MESSAGE_COLUMNS_MAX = 96;
const LINES_MAX = 8;

export function planText(plan: Plan, options: TextOptions): string {
  const { document } = plan;
  const { all, style, columns, notes } = options;
  const shown = document.changes.filter(({ risk }) => all || risk !== "safe");
  const hidden = document.changes.length - shown.length;
  const blocks = [sidesText(document, style)];
  const layout = layoutOf(shown, columns);
  for (const { project, objects } of grouped(shown)) {
    const lines = [style.bold(printable(project ?? "whole gateway"))];
    for (const { object, changes } of objects) {
      lines.push(`  ${symbol(plan.verbOf(object), style)} ${style.bold(printable(objectTitle(object)))}`);
      for (const change of changes) lines.push(changeText(change, { ...options, ...layout }));
    }
    blocks.push(lines.join("\n"));
  }
  const usage = usageText(document, options);
  if (usage !== "") blocks.push(usage);
  const last = [...notes, ...(hidden > 0 ? [hiddenText(hidden)] : [])];
  if (last.length > 0) blocks.push(last.map((note) => style.dim(wrap(note, columns))).join("\n"));
  return `${[...blocks, lastLine(document, style)].join("\n\n")}\n`;
}

function hiddenText(number: number): string {
  return number === 1
    ? "1 safe change is not listed; --all lists it."
    : `${number} safe changes are not listed; --all lists them.`;
}

function sidesText({ from, to }: PlanDocument, { dim }: Style): string {
  const rows = (
    [
      ["from", from],
      ["to", to],
    ] as const
  ).map(([word, { side, revision }]) => {
    const short = shortRevision(revision);
    return [
      dim(word),
      printable(side),
      short === undefined || side.includes(short) ? "" : dim(printable(short)),
    ];
  });
  return table(rows);
}

function symbol(verb: Verb, { green, red, yellow }: Style): string {
  if (verb === "add") return green("+");
  return verb === "remove" ? red("-") : yellow("~");
}

interface Layout {
  /** Columns of messages. */
  readonly room: number;
  /** Places are in a column of their own. */
  readonly isWide: boolean;
}

function layoutOf(changes: readonly DocumentChange[], columns: number): Layout {
  const places = Math.max(0, ...changes.map((change) => visibleWidth(placeText(change))));
  const isWide = columns >= WIDE_COLUMNS && places <= PLACE_COLUMNS_MAX;
  const longest = Math.max(0, ...changes.map((change) => visibleWidth(messageOf(change))));
  return {
    isWide,
    room: isWide ? Math.min(longest, MESSAGE_COLUMNS_MAX, columns - MARGIN - 2 - places) : columns - MARGIN,
  };
}

function changeText(change: DocumentChange, options: TextOptions & Layout): string {
  const { style, room, isWide } = options;
  const { risk, rule, accepted } = change;
  const paint = accepted === null ? riskPaint(risk, style) : style.dim;
  const head = `    ${paint(padEnd(risk, 8))}  ${style.dim(rule)}  `;
  const place = style.dim(printable(placeText(change)));
  const message = messageOf(change);
  const [first = "", ...more] = wrap(isWide ? message : `${message} ${place}`, room).split("\n");
  const lines = [isWide ? `${head}${padEnd(first, room)}  ${place}` : head + first, ...more.map(indented)];
  // Those of its own project by their names alone, as in the headings.
  const { project } = change.object;
  const reach = reachText(change, (one) => (one.project === project ? one.name : objectName(one)));
  if (reach !== undefined) lines.push(...below(`reaches ${printable(reach)}`, room, style.dim));
  if (accepted !== null) {
    const until = accepted.until === null ? "" : ` until ${accepted.until}`;
    lines.push(...below(`accepted${until}: ${printable(accepted.reason)}`, room, style.green));
  }
  return [...lines, ...diffLines(change, options)].join("\n");
}

const messageOf = ({ message }: DocumentChange): string => printable(message);
const indented = (line: string): string => " ".repeat(MARGIN) + line;

function below(text: string, room: number, paint: (text: string) => string): readonly string[] {
  return wrap(paint(text), room).split("\n").map(indented);
}

function diffLines(change: DocumentChange, { style, columns }: TextOptions): readonly string[] {
  const diff = textChange(change, LINES_MAX);
  if (diff === undefined) return [];
  const bar = style.dim("| ");
  const lines = diff.lines.flatMap(({ pieces }) =>
    wrap(pieceText(pieces, style), columns - MARGIN - 2)
      .split("\n")
      .map((line) => indented(bar + line)),
  );
  if (diff.omitted > 0) lines.push(indented(bar + style.dim(`${diff.omitted} more changed lines`)));
  return lines;
}

/** Marked in words as well as in colors, as `git diff --word-diff` does. */
function pieceText(pieces: ChangedLine["pieces"], { red, green }: Style): string {
  return pieces
    .map(({ kind, text }) => {
      const plain = printable(text);
      if (kind === "removed") return red(`[-${plain}-]`);
      return kind === "added" ? green(`{+${plain}+}`) : plain;
    })
    .join("");
}

export function riskPaint(risk: Risk, style: Style): (text: string) => string {
  const paints = {
    breaking: style.red,
    weakens: style.magenta,
    money: style.yellow,
    behavior: style.cyan,
    safe: style.green,
  };
  return paints[risk];
}

function lastLine(document: PlanDocument, style: Style): string {
  return style.bold(summaryLine(document, (text, risk) => riskPaint(risk, style)(text)));
}
