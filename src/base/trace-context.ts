/**
 * W3C trace context: a client's `traceparent`, and the ids of a call's own spans. Those are made of its request
 * id, so that they need not be stored, and a request id alone finds its trace.
 */

import type { Exchange } from "../plugin/index.ts";

/** A valid `traceparent`. */
export interface TraceParent {
  /** Unchanged. */
  readonly text: string;
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Whether the client's side records this trace. */
  readonly sampled: boolean;
}

/** Later versions may append fields after the flags; the known ones are where version 00 has them. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]{0,200})?$/;

/** undefined: there is none, or none that counts. */
export function traceParentOf(header: unknown): TraceParent | undefined {
  if (typeof header !== "string") return undefined;
  const [, version = "", traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(header) ?? [];
  if (traceId === "" || (version === "00" && more !== undefined)) return undefined;
  return { text: header, traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The client's own `traceparent`, passed through unchanged where no trace is recorded. */
export function passthrough({ headers }: Pick<Exchange, "headers">): string | undefined {
  return traceParentOf(headers["traceparent"])?.text;
}

/** Of a call that no client's trace holds. `requestId`: a UUID. */
export function traceIdOf(requestId: string): string {
  // The groups of a UUID, since replacing costs several times as much and this runs on every call.
  return (
    requestId.slice(0, 8) +
    requestId.slice(9, 13) +
    requestId.slice(14, 18) +
    requestId.slice(19, 23) +
    requestId.slice(24)
  );
}

/** Of a call's own span (0), or of its nth try of a target. At most 255 have an id of their own. */
export function spanIdOf(requestId: string, attempt: number): string {
  // Of a random UUID's last 16 digits: 54 random bits, and a variant that keeps them from being all zero.
  const random = requestId.slice(19, 23) + requestId.slice(24, 34);
  return random + (attempt & 0xff).toString(16).padStart(2, "0");
}
