/** Reads Google's errors: in answers with an error status, and in those of 200. Some of its servers put them in a list. */
import type { ProviderFailure } from "sluice/provider";
import {
  errorCode,
  errorWithin,
  firstOf,
  isPresent,
  type Json,
  parsedValue,
  record,
  records,
  retryAfter,
  shortReason,
  statusFailed,
  statusWithin,
  textOf,
  wholeSeconds,
} from "sluice/provider";

/** HTTP statuses by the names that Google gives them. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ["INVALID_ARGUMENT", 400],
  ["FAILED_PRECONDITION", 400],
  ["OUT_OF_RANGE", 400],
  ["UNAUTHENTICATED", 401],
  ["PERMISSION_DENIED", 403],
  ["NOT_FOUND", 404],
  ["ABORTED", 409],
  ["ALREADY_EXISTS", 409],
  ["RESOURCE_EXHAUSTED", 429],
  ["CANCELLED", 499],
  ["INTERNAL", 500],
  ["UNKNOWN", 500],
  ["DATA_LOSS", 500],
  ["UNIMPLEMENTED", 501],
  ["UNAVAILABLE", 503],
  ["DEADLINE_EXCEEDED", 504],
]);

/** The error that stands where an answer or event should; undefined where none does. */
export function errorIn(answer: unknown): ProviderFailure | undefined {
  const error = errorOf(answer);
  if (!isPresent(error)) return undefined;
  const about = record(error);
  const name = textOf(about?.["status"]) || textOf(about?.["code"]);
  return errorWithin(shortReason(error), statusWithin(error) ?? STATUSES.get(name), errorCode(error));
}

/** An answer with an error status. A bad key is a 400 like any other bad request: it does not move on. */
export function googleFailure(
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): ProviderFailure {
  const answer = parsedValue(text);
  const details = records(record(errorOf(answer))?.["details"]);
  const hint = perDay(details) ? undefined : (retryDelay(details) ?? retryAfter(headers));
  return statusFailed(status, shortReason(answer), { retryAfterSeconds: hint, code: errorCode(answer) });
}

function errorOf(answer: unknown): unknown {
  return (record(answer) ?? firstOf(answer))?.["error"];
}

/** `34.4s`, in the one place where Google says how long to wait. */
function retryDelay(details: readonly Json[]): number | undefined {
  const delay = details.map((detail) => textOf(detail["retryDelay"])).find((text) => text !== "") ?? "";
  return delay.endsWith("s") ? wholeSeconds(Number(delay.slice(0, -1))) : undefined;
}

/** Of a quota for the day the delay is beside the point. */
function perDay(details: readonly Json[]): boolean {
  return details
    .flatMap((detail) => records(detail["violations"]))
    .some((violation) => textOf(violation["quotaId"]).includes("PerDay"));
}
