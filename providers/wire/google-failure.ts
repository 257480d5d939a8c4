/** Reads Google's errors: in answers with an error status, and in those of 200. Some of its servers put them in a list. */
import type { ProviderFailure } from "sluice/provider";
import {
  asObject,
  asObjects,
  asText,
  embeddedError,
  firstObject,
  isPresent,
  type JsonObject,
  parseRetryAfter,
  parseValue,
  readErrorCode,
  readErrorReason,
  readErrorStatus,
  statusFailure,
  toWholeSeconds,
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
  const about = asObject(error);
  const name = asText(about?.["status"]) || asText(about?.["code"]);
  return embeddedError(
    readErrorReason(error),
    readErrorStatus(error) ?? STATUSES.get(name),
    readErrorCode(error),
  );
}

/** An answer with an error status. A bad key is a 400 like any other bad request: it does not move on. */
export function googleFailure(
  status: number,
  headers: Readonly<Record<string, string>>,
  text: string,
): ProviderFailure {
  const answer = parseValue(text);
  const details = asObjects(asObject(errorOf(answer))?.["details"]);
  const hint = perDay(details) ? undefined : (retryDelay(details) ?? parseRetryAfter(headers));
  return statusFailure(status, readErrorReason(answer), {
    retryAfterSeconds: hint,
    code: readErrorCode(answer),
  });
}

function errorOf(answer: unknown): unknown {
  return (asObject(answer) ?? firstObject(answer))?.["error"];
}

/** `34.4s`, in the one place where Google says how long to wait. */
function retryDelay(details: readonly JsonObject[]): number | undefined {
  const delay = details.map((detail) => asText(detail["retryDelay"])).find((text) => text !== "") ?? "";
  return delay.endsWith("s") ? toWholeSeconds(Number(delay.slice(0, -1))) : undefined;
}

/** Of a quota for the day the delay is beside the point. */
function perDay(details: readonly JsonObject[]): boolean {
  return details
    .flatMap((detail) => asObjects(detail["violations"]))
    .some((violation) => asText(violation["quotaId"]).includes("PerDay"));
}
