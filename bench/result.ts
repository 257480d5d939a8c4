/** What a scenario hands back, and how it is shown: rows with a value, the spread over the rounds, a goal, a verdict. */

export interface Goal {
  readonly is: ">=" | "<=";
  readonly bound: number;
}

export interface Row {
  /** What was measured, in words. */
  readonly what: string;
  readonly unit: string;
  /** One value a round. */
  readonly samples: readonly number[];
  readonly value: number;
  /** Absent: shown for reference only. */
  readonly goal?: Goal;
  readonly verdict?: "met" | "missed";
}

export interface Scenario {
  readonly name: string;
  /** One sentence, shown above the rows. */
  readonly title: string;
  readonly rows: readonly Row[];
  /** What could not be measured, and why. */
  readonly failures: readonly string[];
  /** The highest share of its core that the load and the mock upstream took in a window. */
  readonly driverShare: number;
  /** The most that processes other than ours took in a window, in cores. */
  readonly foreignCores: number;
}

export function atLeast(bound: number): Goal {
  return { is: ">=", bound };
}

export function atMost(bound: number): Goal {
  return { is: "<=", bound };
}

/** One figure of every sample. */
export function column<Key extends string>(samples: readonly Record<Key, number>[], key: Key): number[] {
  return samples.map((sample) => sample[key]);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** A row whose value is the median over the rounds. */
export function figure(what: string, unit: string, samples: readonly number[], goal?: Goal): Row {
  return { what, unit, samples, value: median(samples), ...judged(median(samples), goal) };
}

/** A row that divides two medians. Its spread is that of the rounds' own ratios. */
export function ratio(what: string, above: readonly number[], below: readonly number[], goal?: Goal): Row {
  const samples = above.slice(0, below.length).map((value, round) => value / (below[round] ?? Number.NaN));
  const value = median(above) / median(below);
  return { what, unit: "x", samples, value, ...judged(value, goal) };
}

function judged(value: number, goal: Goal | undefined): Pick<Row, "goal" | "verdict"> {
  if (goal === undefined) return {};
  const met = goal.is === ">=" ? value >= goal.bound : value <= goal.bound;
  return { goal, verdict: met ? "met" : "missed" };
}

/** All scenarios as one text table. */
export function table(scenarios: readonly Scenario[]): string {
  const header = ["", "median", "min .. max", "goal", ""];
  const all = [header, ...scenarios.flatMap(({ rows }) => rows.map(cells))];
  const widths = header.map((_, n) => Math.max(...all.map((row) => row[n]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `  ${row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join("  ")}`.trimEnd();
  const blocks = scenarios.map((scenario) =>
    [
      `${scenario.name}: ${scenario.title}`,
      ...scenario.rows.map((row) => line(cells(row))),
      ...remarks(scenario),
    ].join("\n"),
  );
  return `${[line(header), ...blocks].join("\n\n")}\n`;
}

function cells(row: Row): string[] {
  return [
    row.what,
    `${shown(row.value)} ${row.unit}`,
    `${shown(Math.min(...row.samples))} .. ${shown(Math.max(...row.samples))}`,
    row.goal === undefined ? "" : `${row.goal.is} ${shown(row.goal.bound)}`,
    row.verdict ?? "",
  ];
}

/** What a reader must know before trusting the rows. */
function remarks({ failures, driverShare, foreignCores }: Scenario): string[] {
  const remarks = failures.map((reason) => `NOT MEASURED: ${reason.replaceAll("\n", "\n    ")}`);
  if (driverShare > 0.95)
    remarks.push("the load was at its limit: calls/s are a lower bound, CPU figures hold");
  if (foreignCores > 0.1)
    remarks.push(`other processes took up to ${foreignCores.toFixed(1)} cores: measure again`);
  return remarks.map((text) => `  ! ${text}`);
}

/** Three digits that matter, thousands apart. */
function shown(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
