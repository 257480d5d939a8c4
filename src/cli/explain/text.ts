/** An explanation as text: one line a stage, what decided it below, and a last line that says it all. */
import type {
  Detail,
  Explanation,
  StageExplanation,
  StageOutcome,
} from "../../offline/explain/explanation.ts";
import { padStart, printable, type Style, table, visibleWidth, wrap } from "../terminal.ts";

export interface TextOptions {
  readonly style: Style;
  readonly columns: number;
}

const INDENT = 2;
const DETAIL_INDENT = 6;
const BODY_INDENT = 10;
/** Lines of a message that are shown; JSON has all of them. */
const BODY_LINES_MAX = 12;
/** Lines are no longer, however wide the terminal is: an eye loses the line on its way to the right edge. */
const EDGE_MAX = 120;

export function explanationText(explanation: Explanation, options: TextOptions): string {
  const { request, stages, answer, outcome, notes } = explanation;
  const { style, columns } = options;
  const { method, path, stream, at } = request;
  const head = [
    at === null ? style.bold(request.object) : withPlace(style.bold(request.object), style.dim(at), columns),
    `${method} ${path}${stream ? ", streamed" : ""}`,
  ];
  const parts = [head.join("\n"), stagesText(stages, options)];
  if (answer.length > 0)
    parts.push(`${style.bold("The answer, on its way back")}\n${stagesText(answer, options)}`);
  const last = outcome.error === null ? style.green(outcome.summary) : style.red(outcome.summary);
  const where = outcome.at === null ? "" : `\n${style.dim(`decided at ${outcome.at}`)}`;
  const below = notes.map((note) => style.dim(wrap(note, Math.min(columns, EDGE_MAX))));
  parts.push(
    [...below, ...(below.length > 0 ? [""] : []), wrap(last, Math.min(columns, EDGE_MAX)) + where].join("\n"),
  );
  return `${parts.join("\n\n")}\n`;
}

/** The stages alone, for the output of other commands: what happened to the call of a failed test. */
export function stageLines(
  { stages, answer, outcome }: Explanation,
  options: TextOptions,
): readonly string[] {
  const last = outcome.at === null ? outcome.summary : `${outcome.summary} (${outcome.at})`;
  const parts = [
    stagesText(stages, options),
    ...(answer.length > 0 ? [stagesText(answer, options)] : []),
    last,
  ];
  return parts.join("\n").split("\n");
}

function stagesText(stages: readonly StageExplanation[], options: TextOptions): string {
  const width = Math.max(...stages.map(({ stage }) => visibleWidth(stage)));
  return stages
    .map((stage) => {
      const line = stageLine(stage, width, options);
      const details = detailsText(stage.details, options);
      return details === "" ? line : `${line}\n${details}`;
    })
    .join("\n");
}

const OUTCOMES: Readonly<Record<StageOutcome, string>> = {
  ok: "ok",
  acted: "acted",
  refused: "REFUSED",
  none: "-",
  "not reached": "not reached",
};

function stageLine(
  { stage, outcome, summary, ms }: StageExplanation,
  width: number,
  { style, columns }: TextOptions,
): string {
  const name = stage.padEnd(width);
  if (outcome === "not reached") return `${" ".repeat(INDENT)}${style.dim(`${name}  not reached`)}`;
  const took = ms === undefined ? "" : `  (${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms)`;
  const cells = [style.bold(name), painted(outcome, style), printable(summary) + took];
  return table([cells], { indent: INDENT, max: Math.min(columns, EDGE_MAX) });
}

function painted(outcome: StageOutcome, style: Style): string {
  const word = OUTCOMES[outcome].padEnd(7);
  if (outcome === "ok") return style.green(word);
  if (outcome === "acted") return style.yellow(word);
  return outcome === "refused" ? style.red(word) : style.dim(word);
}

const VERDICT_PAINTS: Readonly<Record<string, keyof Style>> = {
  pass: "green",
  ok: "green",
  first: "green",
  mask: "yellow",
  shadow: "cyan",
  block: "red",
  error: "red",
  failed: "red",
};

/** The place of each detail stands at the right edge: behind its text where it fits, else below it. */
function detailsText(details: readonly Detail[], options: TextOptions): string {
  if (details.length === 0) return "";
  const { style, columns } = options;
  const hasVerdicts = details.some(({ verdict }) => verdict !== undefined);
  const rows = details.map(({ name, verdict = "", text }) => {
    const paint = style[VERDICT_PAINTS[verdict] ?? "dim"];
    return [printable(name), ...(hasVerdicts ? [paint(verdict)] : []), printable(text)];
  });
  const lines = linesOf(rows, Math.min(columns, EDGE_MAX));
  return details
    .map(({ body, at }, n) => {
      const line = at === null ? (lines[n] ?? "") : withPlace(lines[n] ?? "", style.dim(at), columns);
      return body === undefined ? line : `${line}\n${bodyText(body, options)}`;
    })
    .join("\n");
}

function withPlace(line: string, place: string, columns: number): string {
  const edge = Math.min(columns, EDGE_MAX);
  const last = line.slice(line.lastIndexOf("\n") + 1);
  const gap = edge - visibleWidth(last) - visibleWidth(place);
  return gap >= 2 ? line + " ".repeat(gap) + place : `${line}\n${padStart(place, edge)}`;
}

/** Each row of the table apart, aligned with the others. */
function linesOf(rows: readonly (readonly string[])[], columns: number): readonly string[] {
  const options = { indent: DETAIL_INDENT, max: columns };
  const whole = table(rows, options).split("\n");
  let at = 0;
  return rows.map((row) => {
    // A row's text may be wrapped: its further lines begin with the table's indentation and no name.
    const from = at++;
    const name = row[0] ?? "";
    while (at < whole.length && isContinued(whole[at] ?? "", name)) at++;
    return whole.slice(from, at).join("\n");
  });
}

function isContinued(line: string, name: string): boolean {
  return name !== "" && line.slice(DETAIL_INDENT, DETAIL_INDENT + 1) === " ";
}

function bodyText(body: string, { style, columns }: TextOptions): string {
  const lines = wrap(body, Math.min(columns, EDGE_MAX), BODY_INDENT).split("\n");
  const shown = lines.slice(0, BODY_LINES_MAX).map((line) => printable(line));
  const more = lines.length - shown.length;
  if (more > 0)
    shown.push(" ".repeat(BODY_INDENT) + style.dim(`… ${more} more lines; --output json has them`));
  return shown.join("\n");
}
