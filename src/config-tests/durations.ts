/** Durations of test files: `500ms`, `61s`, `5m`, `2h`, `32d`. */

const DURATION = /^([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds; undefined when the text is no duration. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit = ""] = DURATION.exec(text) ?? [];
  return amount === undefined ? undefined : Math.round(Number(amount) * (UNITS[unit] ?? 0));
}
