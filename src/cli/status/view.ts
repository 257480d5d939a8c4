/** The overview of a gateway as text: what needs attention first, then what runs, what it does and what it costs. */
import type { Overview } from "../../gateway/overview.ts";
import { padEnd, printable, type Style, table, wrap } from "../terminal.ts";
import {
  agoText,
  bytesText,
  counted,
  countText,
  durationText,
  momentText,
  rateText,
  usdText,
} from "../units.ts";
import { type Attention, attentionOf, type FrameStyle } from "./attention.ts";

export interface ViewOptions {
  readonly url: string;
  readonly style: Style;
  readonly frames: FrameStyle;
  readonly columns: number;
}

/** Wider lines are harder to read, not easier. */
const COLUMNS_MAX = 110;
/** The first of these are where all sections' values begin. */
const LABEL_WIDTH = 12;
const OVERRIDES_MAX = 10;
/** From which on it is worth a look; a gateway that cannot keep up sheds calls, which is told first. */
const LOOP_DELAY_MS = 250;

export function statusText(seen: Overview, options: ViewOptions): string {
  const attention = attentionOf(seen, options.frames);
  const width = Math.min(options.columns, COLUMNS_MAX);
  const sections = [
    attentionSection(attention, options.style, width),
    section("Configuration", configRows(seen, options.style), options.style, width),
    section("Traffic", trafficRows(seen, options.style), options.style, width),
    totalsSection(seen, options.style),
    overridesSection(seen, options.style, width),
  ];
  return `${[head(seen, options), ...sections.filter((text) => text !== "")].join("\n\n")}\n\n${lastLine(seen, attention, options.style)}\n`;
}

/** For scripts and pipes that watch: everything on one line. */
export function statusLine(seen: Overview): string {
  const { config, traffic, calls } = seen;
  const attention = attentionOf(seen, { isColored: false, cwd: "/" });
  const fields = [
    ["generation", config.generation],
    ["hash", config.hash.slice(0, HASH_CHARACTERS)],
    ["calls_per_second", rateText(traffic.calls_per_second)],
    ["errors_per_second", rateText(traffic.errors_per_second)],
    ["open_calls", calls.open],
    ["attention", attention.length],
  ] as const;
  const state = stateOf(seen);
  return `${seen.at} ${state.replace(" ", "_")} ${fields.map(([name, value]) => `${name}=${value}`).join(" ")}\n`;
}

function stateOf({ ready, draining }: Overview): "ready" | "not ready" | "draining" {
  return draining ? "draining" : ready ? "ready" : "not ready";
}

function head(seen: Overview, { url, style }: ViewOptions): string {
  const state = stateOf(seen);
  const paint = state === "ready" ? style.green : style.red;
  const up = `for ${durationText(seen.uptime_seconds)}`;
  return `${paint("●")} ${style.bold(paint(state))} ${up}  ${style.dim(`Sluice ${seen.version} at ${url}`)}`;
}

function attentionSection(attention: readonly Attention[], style: Style, width: number): string {
  if (attention.length === 0) return "";
  const blocks = attention.map(({ level, message, detail }) => {
    const mark = level === "error" ? style.red("✗") : style.yellow("!");
    const text = wrap(message, width, 4).trimStart();
    const frames = detail === undefined ? "" : `\n${indented(detail.trimEnd(), 4)}`;
    return `  ${mark} ${text}${frames}`;
  });
  return `${style.bold("Needs attention")}\n${blocks.join("\n")}`;
}

function indented(text: string, spaces: number): string {
  return text.replace(/^(?=.)/gm, " ".repeat(spaces));
}

type Row = readonly [label: string, value: string];

function section(title: string, rows: readonly Row[], style: Style, width: number): string {
  const shown = rows.map(([label, value]) => [padEnd(style.dim(label), LABEL_WIDTH), value]);
  return `${style.bold(title)}\n${table(shown, { indent: 2, max: width })}`;
}

/** Enough to tell configurations apart; `--output json` has all. */
const HASH_CHARACTERS = 12;

function configRows(seen: Overview, style: Style): readonly Row[] {
  const { config, last_reload: last, store, at } = seen;
  const revision = config.revision === "" ? style.dim("not known") : revisionText(config.revision, style);
  const when = `${agoText(Date.parse(last.at), Date.parse(at))} ${style.dim(`(${momentText(Date.parse(last.at))})`)}`;
  const warnings = last.warnings.length + last.omitted.warnings;
  const noted = warnings === 0 ? "" : `, ${style.yellow(counted(warnings, "warning"))}`;
  return [
    ["generation", String(config.generation)],
    ["hash", config.hash.slice(0, HASH_CHARACTERS)],
    ["revision", revision],
    ["last load", `${last.ok ? style.green("applied") : style.red("rejected")} ${when}${noted}`],
    ["state", store.ok ? storeText(store) : style.red(storeText(store))],
  ];
}

/** Most details name the driver themselves: `in memory`. */
function storeText({ driver, detail }: Overview["store"]): string {
  return printable(detail.includes(driver) ? detail : `${driver}: ${detail}`);
}

/** Uncommitted changes are worth seeing. */
function revisionText(revision: string, style: Style): string {
  const [, commit = "", dirty = ""] = /^([0-9a-f]{40,64})(-dirty)?$/.exec(revision) ?? [];
  if (commit === "") return printable(revision);
  return `${commit.slice(0, HASH_CHARACTERS)}${dirty === "" ? "" : style.yellow(" with uncommitted changes")}`;
}

function trafficRows(seen: Overview, style: Style): readonly Row[] {
  const { traffic, calls, event_loop_delay_ms: delayMs, resident_memory_bytes: memory } = seen;
  const errors = `${rateText(traffic.errors_per_second)}/s`;
  const delay = `${rateText(delayMs)} ms`;
  const shownDelay = delayMs >= LOOP_DELAY_MS ? style.yellow(delay) : delay;
  const shownErrors = traffic.errors_per_second > 0 ? style.red(errors) : errors;
  return [
    ["calls", `${rateText(traffic.calls_per_second)}/s ${style.dim(`over ${traffic.window_seconds} s`)}`],
    [
      "errors",
      `${shownErrors} ${style.dim("5xx")}, ${rateText(traffic.refusals_per_second)}/s ${style.dim("4xx")}`,
    ],
    [
      "open",
      `${counted(calls.open, "call")}${calls.streams === 0 ? "" : `, ${countText(calls.streams)} streamed`}`,
    ],
    ["event loop", `${shownDelay} late ${style.dim("(p99, worst of the last minute)")}`],
    ["memory", bytesText(memory)],
  ];
}

function totalsSection({ today, month, started_at }: Overview, style: Style): string {
  const row = (label: string, one: Overview["today"]): readonly string[] => [
    style.dim(label),
    ...[one.calls, one.errors, one.refusals, one.tokens].map(countText),
    usdText(one.cost_usd),
  ];
  const titles = ["", "calls", "errors", "refusals", "tokens", "cost"].map((title) => style.dim(title));
  const rows = [titles, row(padEnd("today", LABEL_WIDTH), today), row(month.name, month)];
  const sums = `${usdText(month.settled_usd)} settled, ${usdText(month.reserved_usd)} reserved`;
  const isPartial = month.since === started_at;
  const whose = isPartial ? `this process, since ${momentText(Date.parse(started_at))}` : "this process";
  return [
    `${style.bold("Totals")} ${style.dim(`of ${whose}`)}`,
    table(rows, { indent: 2, gap: 3, right: [1, 2, 3, 4, 5] }),
    `  ${style.dim(padEnd("store", LABEL_WIDTH))}   ${sums} ${style.dim("this month, of all processes")}`,
  ].join("\n");
}

function overridesSection(
  { overrides, overrides_total: total, at }: Overview,
  style: Style,
  width: number,
): string {
  if (overrides.length === 0) return "";
  const rows = overrides.slice(0, OVERRIDES_MAX).map(({ kind, project, name, change, actor, set_at }) => {
    const what = `${kind === "endpoint" ? "" : "token "}${printable(`${project.name || project.uuid}/${name}`)}`;
    const when = agoText(Date.parse(set_at), Date.parse(at));
    return [what, style.yellow(change), style.dim(`by ${printable(actor)}, ${when}`)];
  });
  const more = total - rows.length;
  const lines = [
    `${style.bold("Overrides")} ${style.dim("(made at run time, not in git)")}`,
    table(rows, { indent: 2, max: width }),
    ...(more > 0 ? [style.dim(`  and ${countText(more)} more`)] : []),
  ];
  return lines.join("\n");
}

function lastLine(seen: Overview, attention: readonly Attention[], style: Style): string {
  const errors = attention.filter(({ level }) => level === "error").length;
  const warnings = attention.length - errors;
  const parts = [
    ...(errors > 0 ? [style.red(counted(errors, "error"))] : []),
    ...(warnings > 0 ? [style.yellow(counted(warnings, "warning"))] : []),
  ];
  const what = parts.length === 0 ? style.green("nothing needs attention") : parts.join(", ");
  return `Status: ${stateOf(seen)}, ${what}.`;
}
