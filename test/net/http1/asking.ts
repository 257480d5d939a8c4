/** A call of the upstream client as a test sees it: what was heard so far, and promises for what comes. */

import type {
  HttpCall,
  HttpClient,
  HttpError,
  HttpLimits,
  OutboundRequest,
} from "../../../src/net/http-client.ts";

export const LIMITS: HttpLimits = {
  firstByteTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  totalTimeoutMs: 300_000,
  bodyBytesMax: 100_000_000,
  isRepeatable: true,
};

export interface Heard {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Of each piece of the body. */
  readonly pieceBytes: number[];
  error: HttpError | undefined;
}

export interface Asked {
  readonly call: HttpCall;
  readonly heard: Heard;
  readonly over: Promise<Heard>;
  /** Resolves when the head or more of the body comes. */
  next(): Promise<void>;
}

/** Asks for `url`; `more` stands in place of the rest of the request. */
export function ask(client: HttpClient, url: string, more: Partial<OutboundRequest> = {}): Asked {
  const heard: Heard = { status: 0, headers: {}, body: "", pieceBytes: [], error: undefined };
  let settle: (heard: Heard) => void = () => {};
  let progress: () => void = () => {};
  const over = new Promise<Heard>((resolve) => (settle = resolve));
  const call = client.send(
    { method: "POST", url, headers: { "content-type": "application/json" }, body: "{}", ...more },
    {
      onHead(status, headers) {
        heard.status = status;
        heard.headers = headers.record();
        progress();
      },
      onChunk(bytes) {
        heard.body += bytes.toString();
        heard.pieceBytes.push(bytes.length);
        progress();
      },
      onEnd: () => settle(heard),
      onError(error) {
        heard.error = error;
        settle(heard);
      },
    },
    LIMITS,
  );
  return { call, heard, over, next: () => new Promise((resolve) => (progress = resolve)) };
}

/** How the call failed, without its cause. */
export async function failureOf({ over }: Asked): Promise<readonly (string | undefined)[]> {
  const { error } = await over;
  return [error?.kind, error?.reason];
}

export const BROKEN_OFF = ["reset", "connection lost before the answer was complete"];
export const NO_ANSWER = ["reset", "unreachable"];
export const MALFORMED_ANSWER = ["protocol", "answered with malformed HTTP"];
