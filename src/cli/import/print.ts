/** Findings of an import for people, for scripts and for code scanning. */
import { VERSION } from "../../base/version.ts";
import type { CliIo } from "../command.ts";
import { columnsOf, printable, type Style, styleOf, table, wrap } from "../terminal.ts";
import { type Finding, needsPerson } from "./findings.ts";
import { LEVEL_MEANING, LEVELS, type Level } from "./mapping.ts";

export interface Report {
  /** Of the source. */
  readonly label: string;
  readonly findings: readonly Finding[];
  /** Written files, as they are shown. */
  readonly files: readonly string[];
  readonly aliases: number;
  readonly projectUuid: string;
}

/** From this width on findings are rows of one table; below it the message is on its own line. */
const WIDE = 160;
/** Of one level; JSON and SARIF have all. */
const ROWS_MAX = 200;

interface Group {
  readonly finding: Finding;
  count: number;
}

export function renderText(report: Report, io: CliIo): string {
  const style = styleOf(io, "stdout");
  const columns = columnsOf(io);
  const blocks = LEVELS.flatMap((level) => {
    const groups = grouped(report.findings.filter((finding) => finding.level === level));
    if (groups.length === 0) return [];
    const count = groups.reduce((sum, group) => sum + group.count, 0);
    const title = style.bold(paintOf(style, level)(headline(level, count, report.label)));
    const more = groups.slice(ROWS_MAX).reduce((sum, group) => sum + group.count, 0);
    const rest = more === 0 ? "" : `  and ${more} more keys; --output json lists all\n`;
    return [
      `${wrap(title, columns)}\n${rowsOf(groups.slice(0, ROWS_MAX), { level, columns, style })}\n${rest}`,
    ];
  });
  const written = report.files.map((file) => `wrote ${file}\n`).join("");
  return `${[...blocks, written].join("\n")}${wrap(summary(report, style), columns)}\n`;
}

function headline(level: Level, count: number, label: string): string {
  const keys = count === 1 ? "key" : "keys";
  switch (level) {
    case "no effect":
      return `No effect: ${count === 1 ? "this key" : `these ${count} keys`} never had an effect in ${label}.`;
    case "manual":
      return `Manual: a person has to act on ${count} ${keys}.`;
    case "unsupported":
      return `Unsupported: ${count} ${keys} without a counterpart in Sluice.`;
    case "approximate":
      return `Approximate: ${count} ${keys} carried over with a difference.`;
    case "exact":
      return `Exact: ${count} ${keys} carried over as they are, or not needed.`;
  }
}

function paintOf(style: Style, level: Level): (text: string) => string {
  const paints = {
    ...{ "no effect": style.magenta, manual: style.red, unsupported: style.yellow },
    ...{ approximate: style.blue, exact: style.green },
  };
  return paints[level];
}

/** The same key of several entries, with the same outcome, is one row. */
function grouped(findings: readonly Finding[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const finding of findings) {
    const { pattern, target, message } = finding;
    const key = JSON.stringify([pattern, target, message]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { finding, count: 1 });
    else known.count += 1;
  }
  return [...groups.values()];
}

interface Layout {
  readonly level: Level;
  readonly columns: number;
  readonly style: Style;
}

function rowsOf(groups: readonly Group[], { level, columns, style }: Layout): string {
  const rows = groups.map(({ finding, count }) => {
    const { source, pattern, target, message, column } = finding;
    const times = count === 1 ? "" : style.dim(` (${count} times)`);
    return {
      place: style.dim(`${printable(source.file)}:${source.line}:${column}`),
      key: `${printable(count === 1 ? source.key : pattern)}${times}`,
      goal: target === null ? "" : style.cyan(`-> ${target}`),
      text: printable(message),
    };
  });
  if (columns >= WIDE) {
    const cells = rows.map(({ place, key, goal, text }) => [place, key, goal, text]);
    return table(cells, { indent: 2, max: columns });
  }
  // Where a key went says most of one that means the same there.
  const said = ({ goal, text }: (typeof rows)[number]) => (level === "exact" && goal !== "" ? goal : text);
  return rows
    .map((row) => `${wrap(`${row.place}  ${row.key}`, columns, 2)}\n${wrap(said(row), columns, 6)}`)
    .join("\n");
}

function summary({ findings, aliases, files, projectUuid }: Report, style: Style): string {
  const counts = [...LEVELS].reverse().flatMap((level) => {
    const count = findings.filter((finding) => finding.level === level).length;
    return count === 0 ? [] : [level === "no effect" ? `${count} without effect` : `${count} ${level}`];
  });
  const open = findings.filter(needsPerson).length;
  const [config = "", tests = ""] = files;
  const first =
    open === 0 ? "" : `act on the ${open} manual and unsupported ${open === 1 ? "key" : "keys"}, `;
  const names = aliases === 1 ? "1 model name" : `${aliases} model names`;
  const base = `Clients use http://HOST:PORT/api/${projectUuid}/v1 as their base URL.`;
  const next = `Next: ${first}make a token (sluice token new), then sluice validate ${config} and sluice test ${tests}.`;
  return `\n${base}\n${style.bold(`Imported ${names}: ${counts.join(", ")}.`)} ${next}`;
}

export function renderJson({ findings, files }: Report): string {
  const plain = findings.map(({ level, source, target, message }) => ({ level, source, target, message }));
  return `${JSON.stringify({ findings: plain, files }, null, 2)}\n`;
}

const SARIF_LEVEL: Readonly<Record<Level, "error" | "warning" | "note" | "none">> = {
  ...{ "no effect": "warning", manual: "warning", unsupported: "warning" },
  ...{ approximate: "note", exact: "none" },
};

/** SARIF 2.1.0, with one rule for each level. */
export function renderSarif({ findings }: Report): string {
  const rules = LEVELS.filter((level) => findings.some((finding) => finding.level === level)).map(
    (level) => ({
      id: ruleOf(level),
      shortDescription: { text: level },
      fullDescription: { text: LEVEL_MEANING[level] },
      helpUri: `urn:sluice:${ruleOf(level)}`,
    }),
  );
  const results = findings.map(({ level, source, target, message, column }) => ({
    ruleId: ruleOf(level),
    level: SARIF_LEVEL[level],
    // SARIF wants results without a level to be of another kind than a failure.
    kind: level === "exact" ? "pass" : "fail",
    message: { text: `${source.key}: ${message}${target === null ? "" : ` (${target})`}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodeURI(source.file.replaceAll("\\", "/")) },
          region: { startLine: source.line, startColumn: column },
        },
      },
    ],
  }));
  const driver = { name: "sluice", version: VERSION, semanticVersion: VERSION, rules };
  const log = {
    version: "2.1.0",
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    runs: [{ tool: { driver }, results }],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

function ruleOf(level: Level): string {
  return `import-${level.replace(" ", "-")}`;
}
