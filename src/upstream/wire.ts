/**
 * Turns a WireFormat (pure translation) into a Provider that asks over HTTP: sockets, timeouts, framing, and what
 * counts as a failure, once for all formats. Nothing here knows a vendor.
 */
import { passthrough } from "../base/trace-context.ts";
import type { HttpClient, HttpLimits } from "../net/http-client.ts";
import { ANSWER_BYTES_MAX } from "../net/http1/answer-body.ts";
import { coreExchange } from "../plugin/exchange.ts";
import type { Exchange } from "../plugin/index.ts";
import type { Credential, Provider, WireFormat } from "../provider-kit/index.ts";
import { scrubber } from "./scrub.ts";
import { StreamedAnswer } from "./streamed-answer.ts";
import { WholeAnswer } from "./whole-answer.ts";

export interface WireSettings {
  /** An answer that is not streamed, its body included. */
  readonly timeoutMs: number;
  /** To the first content of a stream. */
  readonly firstByteTimeoutMs: number;
  /** Between two reads of a stream that has begun. */
  readonly idleTimeoutMs: number;
  /** Connections to the provider's host. */
  readonly connectionsMax: number;
  /** The `traceparent` to send. Default: the client's own is passed on (`http.traceparent`). */
  readonly traceparent?: (x: Exchange) => string | undefined;
  /** Called with the bytes of an answer that is kept whole until its call ends. */
  readonly received?: ((x: Exchange, bytes: number) => void) | undefined;
}

const STREAM_BYTES_MAX = 256 * 1024 * 1024;

/** `format` spoken with `credential` over `client`. */
export function wireProvider(
  format: WireFormat,
  credential: Credential,
  client: HttpClient,
  settings: WireSettings,
): Provider {
  const { timeoutMs, firstByteTimeoutMs, idleTimeoutMs, connectionsMax } = settings;
  const whole: HttpLimits = {
    // Models send the head of a whole answer when it is finished.
    ...{ firstByteTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs, totalTimeoutMs: timeoutMs },
    ...{ connectionsMax, isRepeatable: true, bodyBytesMax: ANSWER_BYTES_MAX },
  };
  const streamed: HttpLimits = {
    // A healthy stream may last for hours: its silences are limited, it is not.
    ...{ firstByteTimeoutMs, idleTimeoutMs, totalTimeoutMs: Number.POSITIVE_INFINITY, awaitsContent: true },
    ...{ connectionsMax, isRepeatable: true, bodyBytesMax: STREAM_BYTES_MAX },
  };
  const { traceparent = passthrough } = settings;
  const traced = (limits: HttpLimits, x: Exchange): HttpLimits => {
    const trace = traceparent(x);
    return trace === undefined ? limits : { ...limits, traceparent: trace };
  };
  const scrub = scrubber(credential.apiKey);
  return {
    complete: (request, x) =>
      new Promise((settle) => {
        const answer = new WholeAnswer(format, scrub, x, settle);
        answer.received = settings.received;
        const call = client.send(format.encode(request, credential, false), answer, traced(whole, x));
        coreExchange(x).onCancel(() => answer.cancel(call));
      }),
    stream: (request, x, sink) => {
      const answer = new StreamedAnswer(format, format.decoder(request.options), scrub, sink);
      answer.call = client.send(format.encode(request, credential, true), answer, traced(streamed, x));
      return answer;
    },
    ...(format.unsupported !== undefined && { unsupported: format.unsupported.bind(format) }),
    ...(format.dropped !== undefined && { dropped: format.dropped.bind(format) }),
  };
}
