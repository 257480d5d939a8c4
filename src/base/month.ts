/** Calendar months in UTC, as budgets count them. */

/** `2026-11` for any moment of that month. */
export function monthOf(unixMs: number): string {
  const date = new Date(unixMs);
  const month = date.getUTCMonth() + 1;
  return `${date.getUTCFullYear()}-${month < 10 ? "0" : ""}${month}`;
}

/** First moment of the month after the one that `unixMs` is in. */
export function nextMonthMs(unixMs: number): number {
  const date = new Date(unixMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
