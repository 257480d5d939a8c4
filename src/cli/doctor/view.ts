/** Findings as text, grouped by check, and as JSON. */
import { padEnd, printable, type Style, visibleWidth, wrap } from "../terminal.ts";
import { counted } from "../units.ts";
import { CHECKS, type Check, type Finding } from "./finding.ts";

const COLUMNS_MAX = 110;
/** Longer subjects, such as paths, have their message on the next line. */
const SUBJECT_WIDTH_MAX = 30;

export function doctorText(found: readonly Finding[], style: Style, columns: number): string {
  const width = Math.min(columns, COLUMNS_MAX);
  const subjects = found
    .map(({ subject }) => visibleWidth(subject))
    .filter((one) => one <= SUBJECT_WIDTH_MAX);
  const layout = { width, subject: Math.max(0, ...subjects), style };
  const sections = Object.entries(CHECKS).flatMap(([check, title]) => {
    const mine = found.filter((one) => one.check === check);
    return mine.length === 0
      ? []
      : [`${style.bold(title)}\n${mine.map((one) => row(one, layout)).join("\n")}`];
  });
  return `${sections.join("\n\n")}\n\n${lastLine(found, style)}\n`;
}

interface Layout {
  readonly width: number;
  readonly subject: number;
  readonly style: Style;
}

function row(
  { level, subject, message, advice }: Finding,
  { width, subject: column, style }: Layout,
): string {
  const { mark, paint } = {
    ok: { mark: style.green("✓"), paint: (text: string) => text },
    warning: { mark: style.yellow("!"), paint: style.yellow },
    error: { mark: style.red("✗"), paint: style.red },
    skipped: { mark: style.dim("-"), paint: style.dim },
  }[level];
  const name = printable(subject);
  const indent = name === "" ? 4 : column + 6;
  const text = wrap(paint(printable(message)), width, indent);
  const isLong = visibleWidth(name) > column;
  const first =
    name === ""
      ? text.trimStart()
      : isLong
        ? `${name}\n${text}`
        : `${padEnd(name, column)}  ${text.trimStart()}`;
  const advised = advice === undefined ? "" : `\n${wrap(style.dim(`→ ${printable(advice)}`), width, indent)}`;
  return `  ${mark} ${first}${advised}`;
}

function lastLine(found: readonly Finding[], style: Style): string {
  const count = (level: Finding["level"]): number => found.filter((one) => one.level === level).length;
  const [errors, warnings] = [count("error"), count("warning")];
  const noted = warnings === 0 ? "" : `, ${style.yellow(counted(warnings, "warning"))}`;
  return errors > 0
    ? `Doctor: ${style.red(counted(errors, "error"))}${noted}. This gateway would not serve.`
    : `Doctor: ${style.green("nothing would keep this gateway from serving")}${noted}.`;
}

export function doctorJson(found: readonly Finding[]): string {
  const order = Object.keys(CHECKS);
  const rank = ({ check }: { readonly check: Check }): number => order.indexOf(check);
  const checks = [...found]
    .sort((a, b) => rank(a) - rank(b))
    .map(({ check, level, subject, message, advice = null }) => ({ check, level, subject, message, advice }));
  const ok = found.every(({ level }) => level !== "error");
  return `${JSON.stringify({ ok, checks }, null, 2)}\n`;
}
