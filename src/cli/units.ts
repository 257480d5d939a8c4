/** Numbers, times and amounts as commands print them. */

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

/** `45 s`, `12 min`, `4 h 12 min`, `3 d 4 h`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE_S) return `${whole} s`;
  if (whole < HOUR_S) return `${Math.floor(whole / MINUTE_S)} min`;
  if (whole < DAY_S) return pair(whole, [HOUR_S, "h"], [MINUTE_S, "min"]);
  return pair(whole, [DAY_S, "d"], [HOUR_S, "h"]);
}

type Unit = readonly [seconds: number, name: string];

function pair(seconds: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((seconds % large) / small);
  const first = `${Math.floor(seconds / large)} ${largeName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

/** `12 s ago`. Both are Unix milliseconds. */
export function agoText(atMs: number, nowMs: number): string {
  const seconds = (nowMs - atMs) / 1000;
  return seconds < 1 ? "just now" : `${durationText(seconds)} ago`;
}

/** `2026-11-22 17:20:03 UTC`. */
export function momentText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `12,345`. */
export function countText(number: number): string {
  return whole.format(number);
}

/** `1 error`, `2 errors`. */
export function counted(number: number, noun: string, plural = `${noun}s`): string {
  return `${countText(number)} ${number === 1 ? noun : plural}`;
}

/** Three digits that count: `0.012`, `1.25`, `12.5`, `1,250`. */
export function rateText(perSecond: number): string {
  if (perSecond >= 100) return countText(perSecond);
  const digits = perSecond >= 10 ? 1 : perSecond >= 1 ? 2 : 3;
  return String(Number(perSecond.toFixed(digits)));
}

/** `$12.30`, `$0.0012`: cents from a dollar on, four digits below. */
export function usdText(usd: number): string {
  const digits = usd >= 1 || usd === 0 ? 2 : 4;
  const amount = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return usd > 0 && usd < 0.0001 ? "<$0.0001" : `$${amount.format(usd)}`;
}

const SIZES = ["B", "KB", "MB", "GB", "TB"] as const;

/** `142 MB`; a thousand bytes are a kilobyte. */
export function bytesText(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < SIZES.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${size >= 10 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${SIZES[unit]}`;
}
