/** What providers' errors come to, whichever wire format they were told in. */
import type { ProviderFailure } from "sluice/plugin";
import { failure } from "sluice/plugin";
import { record, textOf } from "./json.ts";

const REASON_CHARACTERS_MAX = 200;
const RETRY_AFTER_SECONDS_MAX = 86_400;

/** A 2xx answer that is not what was asked for: another target may do better. */
export function unusable(reason: string): ProviderFailure {
  return failure({ status: undefined, reason, movesOn: true, accepted: true });
}

/** An error told inside a 2xx answer. Moves on whatever it is (CONTRACT section 5). */
export function errorWithin(reason: string, status?: number): ProviderFailure {
  return failure({ status, reason: reason || "no reason given", movesOn: true, accepted: true });
}

/** An answer with an error status. */
export function statusFailed(
  status: number,
  reason: string,
  hints: { readonly movesOn?: boolean; readonly retryAfterSeconds?: number | undefined } = {},
): ProviderFailure {
  const { movesOn = mayMoveOn(status), retryAfterSeconds } = hints;
  return failure({
    status,
    reason: reason || "no reason given",
    movesOn,
    accepted: false,
    retryAfterSeconds,
  });
}

/** 408, 429 and every 5xx (CONTRACT section 5). */
export function mayMoveOn(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** `message` of an error object, or the error itself where it is a text: its first line. */
export function shortReason(error: unknown): string {
  const message = textOf(error) || textOf(record(error)?.["message"]);
  const line = message.trim().split(/[\r\n]/, 1)[0] ?? "";
  return line.length > REASON_CHARACTERS_MAX ? `${line.slice(0, REASON_CHARACTERS_MAX - 1)}…` : line;
}

/** `retry-after-ms`, or `retry-after` in seconds. */
export function retryAfter(headers: Readonly<Record<string, string>>): number | undefined {
  const seconds =
    headers["retry-after-ms"] === undefined
      ? Number(headers["retry-after"])
      : Number(headers["retry-after-ms"]) / 1000;
  return wholeSeconds(seconds);
}

/** undefined: no hint that makes sense. */
export function wholeSeconds(seconds: number): number | undefined {
  return seconds > 0 && seconds <= RETRY_AFTER_SECONDS_MAX ? Math.ceil(seconds) : undefined;
}
