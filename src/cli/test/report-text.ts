/** A run of test files for people: failures with expected and actual next to each other, then one line that says it all. */
import type { SourcePlace } from "../../config/model.ts";
import { placeText, shortPath } from "../../config-tests/reports/paths.ts";
import {
  type CaseResult,
  type Coverage,
  counts,
  type Failure,
  type Mutations,
  type RunResults,
  summaryText,
  survivorText,
} from "../../config-tests/results.ts";
import type { CliIo } from "../command.ts";
import {
  columnsOf,
  padEnd,
  padStart,
  printable,
  type Style,
  styleOf,
  table,
  visibleWidth,
  wrap,
} from "../terminal.ts";

interface Page {
  readonly style: Style;
  readonly columns: number;
  readonly cwd: string;
}

export function renderTextReport(results: RunResults, io: CliIo, thresholdPercent?: number): string {
  const page = { style: styleOf(io, "stdout"), columns: columnsOf(io), cwd: io.cwd };
  const failed = results.cases.filter(({ failures }) => failures.length > 0);
  const blocks = failed.map((result) => failedCase(result, page));
  const files = filesTable(results, page);
  if (files !== "") blocks.push(files);
  for (const path of results.written)
    blocks.push(page.style.dim(`snapshot written: ${shortPath(page.cwd, path)}`));
  if (results.coverage !== undefined) blocks.push(coverageText(results.coverage, page, thresholdPercent));
  if (results.mutations !== undefined) blocks.push(mutationsText(results.mutations, page));
  const { failed: count } = counts(results);
  const summary = summaryText(results);
  blocks.push(page.style.bold(count > 0 ? page.style.red(summary) : page.style.green(summary)));
  return `${blocks.join("\n\n")}\n`;
}

/** A line for each test file. */
function filesTable(results: RunResults, { style, columns, cwd }: Page): string {
  const byFile = new Map<string, CaseResult[]>();
  for (const one of results.cases) byFile.set(one.file, [...(byFile.get(one.file) ?? []), one]);
  const rows = [...byFile].map(([file, cases]) => {
    const failed = cases.filter(({ failures }) => failures.length > 0).length;
    const ms = cases.reduce((sum, { durationMs }) => sum + durationMs, 0);
    const passed = `${cases.length - failed} passed`;
    return [
      failed === 0 ? style.green("ok") : style.red("FAILED"),
      printable(shortPath(cwd, file)),
      failed === 0 ? passed : `${passed}, ${style.red(`${failed} failed`)}`,
      style.dim(durationText(ms)),
    ];
  });
  return table(rows, { max: columns });
}

function durationText(ms: number): string {
  return ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function failedCase({ name, place, failures, trace }: CaseResult, page: Page): string {
  const { style, cwd } = page;
  const head = `${style.bold(style.red("FAILED"))} ${style.bold(printable(name))}\n${style.blue("  -->")} ${placeText(cwd, place)}`;
  const compared = failures.filter(({ message }) => message === undefined);
  const told = failures.filter(({ message }) => message !== undefined);
  const parts = [head];
  if (compared.length > 0) parts.push(comparison(compared, page));
  if (told.length > 0) parts.push(told.map((failure) => toldText(failure, page)).join("\n"));
  if (trace.length > 0) parts.push(trace.map((line) => (line === "" ? "" : `  ${line}`)).join("\n"));
  return parts.join("\n\n");
}

function toldText({ path, message = "", place }: Failure, { style, columns, cwd }: Page): string {
  const subject = path === "" ? "" : `${style.bold(printable(path))}: `;
  return wrap(`${subject}${printable(message)} ${style.dim(`(${placeText(cwd, place)})`)}`, columns, 2);
}

const INDENT = 2;
const GAP = 2;
/** Of the terminal, for the column of paths; both values share the rest. */
const PATH_SHARE_MAX = 0.3;
const VALUE_COLUMNS_MIN = 16;

/** A row for each value: its line, what it is, and what was expected and what came in columns of the same width. */
function comparison(failures: readonly Failure[], { style, columns }: Page): string {
  const rows = failures.map(({ path, place, expected = "", actual = "" }) => ({
    line: place.file === "" ? "" : String(place.line),
    path: printable(path),
    values: [printable(expected), printable(actual)] as const,
  }));
  const lineWidth = Math.max("line".length, ...rows.map(({ line }) => line.length));
  const pathWidth = Math.min(
    Math.floor(columns * PATH_SHARE_MAX),
    Math.max(...rows.map(({ path }) => visibleWidth(path))),
  );
  const room = Math.floor((columns - INDENT - lineWidth - pathWidth - 3 * GAP) / 2);
  const longest = Math.max("expected".length, ...rows.flatMap(({ values }) => values.map(visibleWidth)));
  const width = Math.max(VALUE_COLUMNS_MIN, Math.min(room, longest));
  const gap = " ".repeat(GAP);
  const drawn = ([line, path, expected, actual]: readonly string[]): string => {
    const cells = [
      padStart(line ?? "", lineWidth),
      padEnd(path ?? "", pathWidth),
      padEnd(expected ?? "", width),
      actual ?? "",
    ];
    return `${" ".repeat(INDENT)}${cells.join(gap)}`.trimEnd();
  };
  const lines = [drawn([style.dim("line"), "", style.dim("expected"), style.dim("actual")])];
  for (const { line, path, values } of rows) {
    const cells = [pieces(path, pathWidth), pieces(values[0], width), pieces(values[1], width)] as const;
    for (let row = 0; row < Math.max(...cells.map(({ length }) => length)); row++) {
      const [name = "", expected = "", actual = ""] = cells.map((cell) => cell[row] ?? "");
      const first = row === 0 ? style.blue(line) : "";
      lines.push(drawn([first, style.bold(name), style.green(expected), style.red(actual)]));
    }
  }
  return lines.join("\n");
}

/** Between words where there are some, else anywhere. */
function pieces(text: string, width: number): readonly string[] {
  return wrap(text, width)
    .split("\n")
    .flatMap((line) => {
      if (visibleWidth(line) <= width) return [line];
      const parts: string[] = [];
      for (let at = 0; at < line.length; at += width) parts.push(line.slice(at, at + width));
      return parts;
    });
}

function coverageText(coverage: Coverage, page: Page, thresholdPercent: number | undefined): string {
  const { style, columns, cwd } = page;
  const { covered, all, percent, uncovered } = coverage;
  const isLow = thresholdPercent !== undefined && percent < thresholdPercent;
  const wanted = thresholdPercent === undefined ? "" : ` (at least ${thresholdPercent} % wanted)`;
  const paint = isLow ? style.red : uncovered.length === 0 ? style.green : style.yellow;
  const head = `${style.bold("Coverage")}  ${paint(`${percent} %`)}: ${covered} of ${all} protections${wanted}`;
  if (uncovered.length === 0) return head;
  const rows = uncovered.map(({ protection, place, missing }) => [
    at(cwd, place, style),
    printable(protection),
    style.dim(`needs ${missing.join(" and ")}`),
  ]);
  return `${head}\n${table(rows, { indent: 2, max: columns })}`;
}

function mutationsText(mutations: Mutations | "skipped", page: Page): string {
  if (mutations === "skipped") return `${page.style.bold("Mutations")}  not run, since cases fail`;
  const { all, survived } = mutations;
  const { style, columns, cwd } = page;
  const missed = all - survived.length;
  const paint = survived.length === 0 ? style.green : style.red;
  const head = `${style.bold("Mutations")}  ${paint(`${missed} of ${all}`)} protections are missed when they are taken out`;
  if (survived.length === 0) return head;
  const rows = survived.map((one) => [
    at(cwd, one.place, style),
    `${printable(survivorText(one))}${one.isTouched ? "" : style.dim(" (no case calls it)")}`,
  ]);
  return `${head}\n${table(rows, { indent: 2, max: columns })}`;
}

function at(cwd: string, place: SourcePlace, style: Style): string {
  const { file, line } = place;
  return style.blue(file === "" ? "-" : `${shortPath(cwd, file)}:${line}`);
}
