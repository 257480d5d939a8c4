/**
 * What a client for outbound HTTP does, whichever carries it: one request out, its answer in callbacks, limits on time
 * and bytes. `http1/` is the lean implementation for provider calls, `request.ts` the one on undici for all else.
 */

/** `headers` must not frame the message: the client does. */
export interface OutboundRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Why no answer, or only part of one, came. */
export interface HttpError {
  /** `exhausted`: all connections are in use, and nothing was sent. `fault`: a callback of the handler has thrown. */
  readonly kind: "timeout" | "unreachable" | "reset" | "protocol" | "exhausted" | "fault";
  /** In short, for people: `timed out after 30000 ms`, `unreachable`. */
  readonly reason: string;
  /** For the log only. */
  readonly cause: unknown;
}

/** The headers of an answer, converted to text only on request. */
export interface AnswerHeaders {
  /** Names in lower case; a repeated header is joined with a comma. */
  record(): Record<string, string>;
}

/** Receives an answer. `onEnd` or `onError` comes once, last; neither after `cancel`. */
export interface HttpHandler {
  /** `headers` can be read only until this returns. */
  onHead(status: number, headers: AnswerHeaders): void;
  /** What one network read brought. The bytes are overwritten after this returns: copy what must be kept. */
  onChunk(bytes: Buffer): void;
  onEnd(): void;
  onError(error: HttpError): void;
}

export interface HttpLimits {
  /** From the call to the head of the answer, or with `awaitsContent` to its first content. */
  readonly firstByteTimeoutMs: number;
  /** The handler reports by `HttpCall.contentBegun` when the answer has begun. Default: with its head. */
  readonly awaitsContent?: boolean;
  /** Between two reads of the body; time on pause does not count. */
  readonly idleTimeoutMs: number;
  /** The whole call; Infinity: no limit. */
  readonly totalTimeoutMs: number;
  readonly bodyBytesMax: number;
  /** Connections to the host beyond which the call fails at once as `exhausted`. Default: it waits, see `PoolOptions`. */
  readonly connectionsMax?: number;
  /** The request may be sent once more when it crossed the close of an idle connection. Default: false. */
  readonly isRepeatable?: boolean;
  /** W3C trace context, sent along. */
  readonly traceparent?: string;
}

/** Controls a running call. All harmless after its end. */
export interface HttpCall {
  pause(): void;
  resume(): void;
  cancel(): void;
  /** The answer has content: from now on `idleTimeoutMs` applies. */
  contentBegun(): void;
}

export interface HttpClient {
  send(request: OutboundRequest, handler: HttpHandler, limits: HttpLimits): HttpCall;
  /** Of each host that has been called, at most 256. */
  connections(): readonly HostConnections[];
  /** Waits for running calls, then closes all connections. */
  close(): Promise<void>;
}

export interface HostConnections {
  /** With its port where it is not the default one. */
  readonly host: string;
  readonly inUse: number;
  readonly idle: number;
  /** Calls that failed as `exhausted`. */
  readonly exhausted: number;
}

/** An error with a code, like those of sockets. */
export function codedError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
