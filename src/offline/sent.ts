/** A request that a provider was sent, beside what the chain had when it was sent. */
import type { OutboundRequest } from "../net/http-client.ts";
import type { Call } from "../pipeline/call.ts";
import type { CallOptions } from "../plugin/chat.ts";
import type { Message, Target } from "../plugin/index.ts";

export interface SentRequest {
  /** See `targetName`. */
  readonly target: string;
  readonly provider: string;
  readonly credential: string;
  readonly model: string;
  /** Index in the attempts of the call. */
  readonly attempt: number;
  readonly method: string;
  /** Without its query, which may hold a key. */
  readonly url: string;
  /** The body's text: the bytes that went out. */
  readonly body: string;
  readonly streamed: boolean;
  /** In the chain's own terms: after guardrails, prompt, history and template. */
  readonly messages: readonly Message[];
  readonly options: CallOptions | undefined;
  /** The target's settings, as its model accepts them. */
  readonly settings: Target["settings"] | undefined;
  /** Hints of the caller that were left out for this provider. */
  readonly dropped: readonly string[];
}

/** `<credential>/<model>`, as configurations and tests name a target; of a provider without credentials its key. */
export function targetName(target: Pick<Target, "provider" | "credential" | "model">): string {
  return `${target.credential || target.provider}/${target.model}`;
}

export function sentRequest(request: OutboundRequest, streamed: boolean, call: Call): SentRequest {
  const attempt = call.attempts.length - 1;
  const { provider = "", credential = "", model = "", dropped = [] } = call.attempts[attempt] ?? {};
  const target = call.targets.find((one) => one.credential === credential && one.model === model);
  const [url = ""] = request.url.split("?", 1);
  return {
    ...{ target: targetName({ provider, credential, model }), provider, credential, model, attempt },
    ...{ method: request.method, url, body: request.body, streamed },
    messages: call.messages,
    options: call.options,
    settings: target?.settings,
    dropped,
  };
}
