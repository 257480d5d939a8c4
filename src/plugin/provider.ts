/**
 * How a model is asked. `Provider` is what stage `call` uses; `WireFormat` is the pure half that most providers need
 * to write: text out, text in, no sockets. The gateway turns a WireFormat into a Provider.
 */
import type { CallOptions, ChatChunk, ChatResult, ProviderRequest } from "./chat.ts";
import type { Exchange } from "./exchange.ts";
import type { MaybePromise } from "./maybe-promise.ts";

/** A failed try. Returned, never thrown. @since 0.1.0 */
export interface ProviderFailure {
  readonly kind: "failure";
  /** The provider's HTTP status; undefined when it did not answer. */
  readonly status: number | undefined;
  /** Without label and status: `invalid model`, `timed out after 60000 ms`, `unreachable`. One line, at most 300 characters. */
  readonly reason: string;
  /** True when another target may do better: network, timeout, 408, 409, 425, 429, 498, 499, 5xx, an answer that is not the provider's. */
  readonly retryable: boolean;
  /** True when the provider took the call on (a 2xx head came), so that it may be billed. */
  readonly accepted: boolean;
  /** The provider's hint, in whole seconds. */
  readonly retryAfterSeconds?: number | undefined;
  /**
   * True when the provider plugin itself has failed: the call is answered 500 and no other target is asked. Set by the
   * gateway where a plugin throws; plugins need not set it.
   * @since 0.2.0
   */
  readonly internal?: true;
  /**
   * The gateway's own limit refused the attempt, and nothing was sent: it says nothing about the provider's health, and the
   * client is answered 503. @since 0.2.0
   */
  readonly isLocal?: boolean;
  /** The provider's own error code, such as `context_length_exceeded`; shown to the client. @since 0.2.0 */
  readonly code?: string | undefined;
  /** Why no connection worked, in short, such as `connection refused`. For log and attempts only. @since 0.2.0 */
  readonly causeText?: string | undefined;
  /** For the log only. */
  readonly cause?: unknown;
}

/**
 * How stage `call` asks models. Made from a `WireFormat`, or written by a plugin that has no wire.
 * @since 0.1.0
 */
export interface Provider {
  /** Asks for a whole answer. */
  complete(request: ProviderRequest, x: Exchange): MaybePromise<ChatResult | ProviderFailure>;
  /** Asks for a streamed answer. Events may come before this returns. */
  stream(request: ProviderRequest, x: Exchange, sink: ProviderSink): StreamControl;
  /** See `WireFormat.unsupported`. */
  unsupported?(request: ProviderRequest, stream: boolean): string | undefined;
  /** See `WireFormat.dropped`. @since 0.2.0 */
  dropped?(request: ProviderRequest): readonly string[];
  close?(): MaybePromise<void>;
}

/** Where a provider puts its events. Exactly one of `end` and `fail` comes, last. @since 0.1.0 */
export interface ProviderSink {
  /** Once, before the first batch. */
  begin(id: string, model: string): void;
  /** All events of one network read. */
  batch(chunks: readonly ChatChunk[]): void;
  end(): void;
  fail(failure: ProviderFailure): void;
}

/** The gateway's hold on a running stream. All calls are harmless after the end. @since 0.1.0 */
export interface StreamControl {
  pause(): void;
  resume(): void;
  cancel(): void;
}

/** Where and with what a wire format is spoken. Handed to `encode`. @since 0.1.0 */
export interface Credential {
  readonly name: string;
  readonly apiKey: string;
  /** No slash at its end. */
  readonly baseUrl: string;
}

/** An encoded call. @since 0.1.0 */
export interface WireRequest {
  readonly method: "POST" | "GET";
  /** Absolute. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A pure translation to and from one vendor's wire format. @since 0.1.0 */
export interface WireFormat {
  encode(request: ProviderRequest, credential: Credential, stream: boolean): WireRequest;
  /** Text of a 2xx answer. A failure when it is not this provider's JSON. */
  decode(text: string, options?: CallOptions): ChatResult | ProviderFailure;
  /** An answer of status 300 or more. `headers`: names in lower case. */
  failure(status: number, headers: Readonly<Record<string, string>>, text: string): ProviderFailure;
  readonly framing: "sse" | "ndjson";
  /** State of one streamed answer. */
  decoder(options?: CallOptions): StreamDecoder;
  /**
   * The field, in OpenAI's words (`seed`, `messages[2].content[0]`), that is asked for and that there is no word for:
   * another target is asked instead, or the call refused. Asked of calls with `options` only; `beyond` finds it.
   * Absent: stops, seed, tools and JSON are taken, and nothing else.
   */
  unsupported?(request: ProviderRequest, stream: boolean): string | undefined;
  /**
   * The hints that are asked for and left out, for the log and for the client (`X-Sluice-Warnings`); `droppedHints` finds
   * them. Asked of calls with `options` only. Absent: none. @since 0.2.0
   */
  dropped?(request: ProviderRequest): readonly string[];
}

/** State of one streamed answer. @since 0.1.0 */
export interface StreamDecoder {
  /** One event: its name ("" when it has none) and its text. Returns chunks to append, or a failure. */
  event(name: string, text: string, out: ChatChunk[]): ProviderFailure | undefined;
  /** The body is over, after its last event: what was kept back until then, before `complete` is asked. */
  end?(out: ChatChunk[]): ProviderFailure | undefined;
  /** Known after the first event. */
  readonly id: string;
  readonly model: string;
  /** True when the provider's completion signal was seen; a stream that ends before is a failure. */
  readonly complete: boolean;
  /**
   * True once the model has begun to think, where its thoughts make no chunks: the wait for the first content
   * (`first_byte_timeout_ms`) is over then. Default: only chunks with content end it. @since 0.2.0
   */
  readonly thinking?: boolean;
}

/**
 * A setting that models refuse. The gateway leaves it out, or brings it into the range, before `encode` sees it, says
 * so once in the log, and warns at `sluice validate`: no call fails of it.
 * @since 0.2.0
 */
export interface SettingConstraint {
  /** Models of this name; absent: all of the provider's. */
  readonly models?: RegExp;
  readonly setting: "temperature" | "top_p" | "max_output_tokens";
  /** What is taken; a value outside is brought to the nearer end. Absent: the setting is not sent. */
  readonly range?: { readonly min: number; readonly max: number };
  /** Refused only where this one is set too. */
  readonly conflictsWith?: "temperature" | "top_p";
  /** For people, after "is not sent: " or "is sent as 1: ", e.g. `reasoning models choose it themselves`. */
  readonly reason: string;
}

/** Makes a failure. @since 0.1.0 */
export function failure(fields: Omit<ProviderFailure, "kind">): ProviderFailure {
  return { kind: "failure", ...fields };
}

/** Whether an answer is a failure. @since 0.1.0 */
export function isFailure(value: ChatResult | ProviderFailure): value is ProviderFailure {
  return "kind" in value && value.kind === "failure";
}
