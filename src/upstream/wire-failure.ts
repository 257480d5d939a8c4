/** Failures of providers over HTTP, with secrets removed from their texts. */

import type { HttpError } from "../net/http-client.ts";
import { connectionCause } from "../net/http1/connection-cause.ts";
import type { ProviderFailure, WireFormat } from "../provider-kit/index.ts";
import { failure } from "../provider-kit/index.ts";
import type { Scrub } from "./scrub.ts";

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** The provider answered, but with an error status. The body is scrubbed first: a format may cut it anywhere. */
export function statusFailure(
  format: WireFormat,
  scrub: Scrub,
  answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly text: string;
  },
): ProviderFailure {
  const failed = format.failure(answer.status, answer.headers, scrub.text(answer.text));
  // Vendors repeat the ends of a key that they reject.
  const reason = scrub.reason(scrub.keyFragments(failed.reason));
  return { ...failed, reason, accepted: false };
}

/** The provider took the call on and then failed at it. */
export function takenFailure(failed: ProviderFailure, scrub: Scrub, status: number): ProviderFailure {
  return { ...failed, status: failed.status ?? status, reason: scrub.reason(failed.reason), accepted: true };
}

/** No answer, or an incomplete one. A lost connection shows the received status, a timeout never does. */
export function lostFailure(error: HttpError, status: number): ProviderFailure {
  const { reason, cause } = error;
  if (error.kind === "fault")
    return failure({ status: undefined, reason, retryable: false, accepted: true, internal: true, cause });
  const shown = error.kind === "timeout" || status === 0 ? undefined : status;
  return failure({
    status: shown,
    reason,
    retryable: true,
    accepted: isSuccess(status),
    ...(error.kind === "exhausted" && { isLocal: true }),
    causeText: error.kind === "unreachable" || error.kind === "reset" ? connectionCause(cause) : undefined,
    cause,
  });
}
