/** One streamed answer: bytes in, chunks out, all chunks of one network read in one batch. */

import type { AnswerHeaders, HttpCall, HttpError, HttpHandler } from "../net/http-client.ts";
import { AnswerBody, ERROR_BYTES_MAX } from "../net/http1/answer-body.ts";
import type { ChatChunk } from "../plugin/index.ts";
import type {
  ProviderFailure,
  ProviderSink,
  StreamControl,
  StreamDecoder,
  WireFormat,
} from "../provider-kit/index.ts";
import { failure } from "../provider-kit/index.ts";
import { type Framing, framing } from "./framing.ts";
import type { Scrub } from "./scrub.ts";
import { isSuccess, lostFailure, statusFailure, takenFailure } from "./wire-failure.ts";

const TOO_LARGE = "an event of the answer is too large";

/** The first bytes of gzip data. */
const GZIP = [0x1f, 0x8b] as const;
/** What a body is that begins so. */
const KINDS: Readonly<Record<string, string>> = { "<": "HTML", "{": "JSON", "[": "JSON" };

export class StreamedAnswer implements HttpHandler, StreamControl {
  /** Set when `send` has returned; events may arrive earlier. */
  call: HttpCall | undefined;
  readonly #format: WireFormat;
  readonly #scrub: Scrub;
  readonly #sink: ProviderSink;
  readonly #decoder: StreamDecoder;
  readonly #framing: Framing;
  /** Of an error answer only. */
  #errorBody: AnswerBody | undefined;
  #errorHeaders: Readonly<Record<string, string>> | undefined;
  #status = 0;
  #chunks: ChatChunk[] = [];
  #begun = false;
  /** The first two bytes of the body, which identify it where there was no event; -1: none. */
  #firstByte = -1;
  #secondByte = -1;
  /** The model has begun to answer, or to think. */
  #contentSeen = false;
  /** An event has arrived. */
  #framed = false;
  #over = false;

  constructor(format: WireFormat, decoder: StreamDecoder, scrub: Scrub, sink: ProviderSink) {
    this.#format = format;
    this.#scrub = scrub;
    this.#sink = sink;
    this.#decoder = decoder;
    this.#framing = framing(format.framing, (name, text) => this.#event(name, text));
  }

  pause(): void {
    this.call?.pause();
  }

  resume(): void {
    this.call?.resume();
  }

  cancel(): void {
    this.#over = true;
    this.call?.cancel();
  }

  onHead(status: number, headers: AnswerHeaders): void {
    this.#status = status;
    if (isSuccess(status)) return;
    this.#errorHeaders = headers.record();
    this.#errorBody = new AnswerBody();
  }

  onChunk(bytes: Buffer): void {
    if (this.#errorBody !== undefined) this.#errorBody.add(bytes, ERROR_BYTES_MAX);
    else if (this.#over) return;
    else if (this.#firstByte < 0) this.#firstBytes(bytes);
    else if (this.#framing.push(bytes)) this.#flush();
    else this.#broken(TOO_LARGE);
  }

  #firstBytes(bytes: Buffer): void {
    this.#firstByte = bytes[0] ?? -1;
    this.#secondByte = bytes[1] ?? -1;
    this.onChunk(bytes);
  }

  onEnd(): void {
    if (this.#errorBody !== undefined) {
      this.#refused(this.#errorBody.text());
      return;
    }
    if (!this.#over && !this.#framing.end()) this.#broken(TOO_LARGE);
    this.#close();
  }

  onError(error: HttpError): void {
    // Everything but the end of the connection had arrived: the answer is complete.
    if (this.#decoder.complete) this.#close();
    else this.#fail(lostFailure(error, this.#status));
  }

  #event(name: string, text: string): void {
    if (this.#over) return;
    this.#framed = true;
    // Ends the answer of every provider that sends it; whatever follows is noise, and is not waited for.
    if (text.startsWith("[DONE]")) {
      this.#close();
      return;
    }
    const before = this.#chunks.length;
    const failed = this.#decoder.event(name, text, this.#chunks);
    if (!this.#contentSeen) this.#lookForContent(before);
    if (failed === undefined) return;
    this.#fail(takenFailure(failed, this.#scrub, this.#status));
    this.call?.cancel();
  }

  #refused(text: string): void {
    const answer = { status: this.#status, headers: this.#errorHeaders ?? {}, text };
    this.#fail(statusFailure(this.#format, this.#scrub, answer));
  }

  /** A clean end alone is not a success: the provider must have signaled completion. */
  #close(): void {
    if (this.#over) return;
    const failed = this.#decoder.end?.(this.#chunks);
    if (failed !== undefined) {
      this.#fail(takenFailure(failed, this.#scrub, this.#status));
      return;
    }
    if (!this.#decoder.complete) {
      this.#broken(this.#framed ? "the answer broke off" : this.#foreign());
      return;
    }
    this.#flush();
    if (this.#over) return;
    this.#over = true;
    this.#sink.end();
  }

  #lookForContent(from: number): void {
    const chunks = this.#chunks;
    let isContent = this.#decoder.thinking === true;
    for (let n = from; n < chunks.length && !isContent; n++) isContent = hasContent(chunks[n]);
    if (!isContent) return;
    this.#contentSeen = true;
    // Undefined only while `send` has not returned: no time has passed by then.
    this.call?.contentBegun();
  }

  /** Describes a body without events. */
  #foreign(): string {
    if (this.#firstByte < 0) return "an empty answer came in place of a stream";
    if (this.#firstByte === GZIP[0] && this.#secondByte === GZIP[1])
      return "compressed data (gzip) came in place of a stream";
    const kind = KINDS[String.fromCharCode(this.#firstByte)];
    return kind === undefined ? "the answer broke off" : `${kind} came in place of a stream`;
  }

  #broken(reason: string): void {
    this.#fail(failure({ status: this.#status, reason, retryable: true, accepted: true }));
    this.call?.cancel();
  }

  #fail(failed: ProviderFailure): void {
    this.#flush();
    if (this.#over) return;
    this.#over = true;
    this.#sink.fail(failed);
  }

  #flush(): void {
    if (this.#over || this.#chunks.length === 0) return;
    const chunks = this.#chunks;
    this.#chunks = [];
    if (!this.#begun) {
      this.#begun = true;
      this.#sink.begin(this.#decoder.id, this.#decoder.model);
    }
    this.#sink.batch(chunks);
  }
}

/** An event that only opens the answer, or only counts tokens, has none. */
function hasContent(chunk: ChatChunk | undefined): boolean {
  if (chunk === undefined) return false;
  if (chunk.text !== "" || chunk.toolCalls !== undefined || chunk.nativeOnly === true) return true;
  return chunk.finishReason !== undefined;
}
