/** What providers' errors come to, whichever wire format they were told in. */
import { failure, type ProviderFailure } from "../../plugin/provider.ts";
import { asCount, asObject, JSON_DEPTH_MAX, nestsTooDeep, parseValue } from "./json.ts";

const REASON_CHARACTERS_MAX = 200;
/** Where vendors say what went wrong: the best words first. */
const REASON_KEYS = ["message", "error", "detail", "msg"] as const;
/** Deepest seen: `message.detail[0].msg`. */
const REASON_DEPTH_MAX = 4;
const RETRY_AFTER_SECONDS_MAX = 86_400;

/** A 2xx answer that is not what was asked for: another target may do better. @since 0.2.0 */
export function unusableAnswer(reason: string): ProviderFailure {
  return failure({ status: undefined, reason, retryable: true, accepted: true });
}

/** `what`, which is not the JSON that was expected: `the answer`, `an event of the answer`. @since 0.2.0 */
export function invalidJson(what: string, text: string): ProviderFailure {
  return unusableAnswer(
    `${what} ${nestsTooDeep(text) ? `nests deeper than ${JSON_DEPTH_MAX} levels` : "is not JSON"}`,
  );
}

/** An error told inside a 2xx answer. Moves on whatever it is (`failover.on.failure`). @since 0.2.0 */
export function embeddedError(reason: string, status?: number, code?: string): ProviderFailure {
  return failure({ status, reason: reason || "no reason given", retryable: true, accepted: true, code });
}

/** An answer with an error status. @since 0.2.0 */
export function statusFailure(status: number, reason: string, hints: StatusHints = {}): ProviderFailure {
  const { retryable = isRetryable(status), retryAfterSeconds, code } = hints;
  return failure({
    status,
    reason: reason || "no reason given",
    retryable,
    accepted: false,
    retryAfterSeconds,
    code,
  });
}

/** What an answer with an error status says beside its reason. */
export interface StatusHints {
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number | undefined;
  /** The vendor's own error code. @since 0.2.0 */
  readonly code?: string | undefined;
}

/**
 * An answer with an error status, of a vendor whose errors are JSON and its hints in the usual headers.
 * @since 0.1.0
 */
export function jsonFailure(
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
  retryable = isRetryable(status),
): ProviderFailure {
  const error = parseValue(text);
  const hints = { retryable, retryAfterSeconds: parseRetryAfter(headers), code: readErrorCode(error) };
  return statusFailure(status, readErrorReason(error), hints);
}

/** Statuses below 500 after which another target may succeed: a timeout, a lock, a full queue, a closed request. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429, 499]);

/** 408, 409, 425, 429, 499 and every 5xx (`failover.statuses`). */
export function isRetryable(status: number): boolean {
  return status >= 500 || PASSING_STATUSES.has(status);
}

/** Where vendors name the kind of an error: the most exact name first. */
const CODE_KEYS = ["code", "type", "status"] as const;
/** Names, not sentences; a number is a status and says nothing more. */
const CODE = /^[A-Za-z][\w.-]{1,63}$/;

/**
 * The vendor's own code of an error, such as `context_length_exceeded` or `insufficient_quota`, given an error object or a
 * body that holds one; undefined where it has none. @since 0.2.0
 */
export function readErrorCode(error: unknown): string | undefined {
  const about = asObject(Array.isArray(error) ? error[0] : error);
  if (about === undefined) return undefined;
  const inner = asObject(about["error"]);
  if (inner !== undefined) return readErrorCode(inner);
  for (const key of CODE_KEYS) {
    const code = about[key];
    // `type: error` marks a whole body as an error and names no kind.
    if (typeof code === "string" && code !== "error" && CODE.test(code)) return code;
  }
  return undefined;
}

/**
 * First line of what an error says, given as a text, an object, or a body that holds one somewhere: vendors nest
 * `error`, `message` and `detail` in every order. "" when it says nothing.
 * @since 0.2.0
 */
export function readErrorReason(error: unknown): string {
  const line =
    said(error, REASON_DEPTH_MAX)
      .trim()
      .split(/[\r\n]/, 1)[0] ?? "";
  return line.length > REASON_CHARACTERS_MAX ? `${line.slice(0, REASON_CHARACTERS_MAX - 1)}…` : line;
}

function said(error: unknown, depthLeft: number): string {
  if (typeof error === "string") return error;
  const about = asObject(Array.isArray(error) ? error[0] : error);
  if (about === undefined || depthLeft === 0) return "";
  for (const key of REASON_KEYS) {
    const reason = said(about[key], depthLeft - 1);
    if (reason !== "") return key === "msg" ? placeOf(about["loc"]) + reason : reason;
  }
  return "";
}

/** Validation errors name the field apart from the reason, the innermost last. */
function placeOf(path: unknown): string {
  const field: unknown = Array.isArray(path) ? path.at(-1) : undefined;
  return typeof field === "string" ? `${field}: ` : "";
}

/**
 * `retry-after-ms`, or `retry-after` in seconds or as the time of a server whose `date` says what time it has.
 * @since 0.2.0
 */
export function parseRetryAfter(headers: Readonly<Record<string, string>>): number | undefined {
  const { "retry-after-ms": milliseconds, "retry-after": wait = "", date = "" } = headers;
  if (milliseconds !== undefined) return toWholeSeconds(Number(milliseconds) / 1000);
  const seconds = Number(wait);
  return toWholeSeconds(Number.isNaN(seconds) ? (Date.parse(wait) - Date.parse(date)) / 1000 : seconds);
}

/** undefined: no hint that makes sense. @since 0.2.0 */
export function toWholeSeconds(seconds: number): number | undefined {
  return seconds > 0 && seconds <= RETRY_AFTER_SECONDS_MAX ? Math.ceil(seconds) : undefined;
}

/** The HTTP status that an error object inside an answer names, if it names one. @since 0.2.0 */
export function readErrorStatus(error: unknown): number | undefined {
  const about = asObject(error);
  const status = asCount(about?.["status_code"]) || asCount(about?.["code"]);
  return status >= 400 && status <= 599 ? status : undefined;
}
