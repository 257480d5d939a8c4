/** One answer that is wanted whole: gathers its body and settles with what the wire format makes of it. */
import { processInBatch } from "../base/batching.ts";
import type { AnswerHeaders, HttpCall, HttpError, HttpHandler } from "../net/http-client.ts";
import { ANSWER_BYTES_MAX, AnswerBody, ERROR_BYTES_MAX } from "../net/http1/answer-body.ts";
import { coreExchange } from "../plugin/exchange.ts";
import type { ChatResult, Exchange } from "../plugin/index.ts";
import type { ProviderFailure, WireFormat } from "../provider-kit/index.ts";
import { failure, isFailure } from "../provider-kit/index.ts";
import type { Scrub } from "./scrub.ts";
import { isSuccess, lostFailure, statusFailure, takenFailure } from "./wire-failure.ts";

export class WholeAnswer implements HttpHandler {
  readonly #format: WireFormat;
  readonly #scrub: Scrub;
  readonly #x: Exchange;
  readonly #settle: (result: ChatResult | ProviderFailure) => void;
  readonly #body = new AnswerBody();
  /** Called with the number of bytes that are kept until the call ends. */
  received: ((x: Exchange, bytes: number) => void) | undefined;
  #status = 0;
  /** Of an error answer only. */
  #headers: Readonly<Record<string, string>> = {};
  #over = false;

  constructor(
    format: WireFormat,
    scrub: Scrub,
    x: Exchange,
    settle: (result: ChatResult | ProviderFailure) => void,
  ) {
    this.#format = format;
    this.#scrub = scrub;
    this.#x = x;
    this.#settle = settle;
  }

  onHead(status: number, headers: AnswerHeaders): void {
    this.#status = status;
    if (!isSuccess(status)) this.#headers = headers.record();
  }

  onChunk(bytes: Buffer): void {
    this.received?.(this.#x, bytes.length);
    this.#body.add(bytes, isSuccess(this.#status) ? ANSWER_BYTES_MAX : ERROR_BYTES_MAX);
  }

  onEnd(): void {
    const work = (): void => {
      if (!this.#over) this.#read();
    };
    processInBatch(work, this, WholeAnswer.#readFailed);
  }

  static #readFailed(answer: WholeAnswer, cause: unknown): void {
    answer.onError({ kind: "fault", reason: "internal error", cause });
  }

  #read(): void {
    const text = this.#body.text();
    if (isSuccess(this.#status)) {
      const result = this.#format.decode(text, this.#x.options);
      this.#done(isFailure(result) ? takenFailure(result, this.#scrub, this.#status) : result);
    } else {
      const answer = { status: this.#status, headers: this.#headers, text };
      this.#done(statusFailure(this.#format, this.#scrub, answer));
    }
  }

  onError(error: HttpError): void {
    this.#done(lostFailure(error, this.#status));
  }

  /** Nothing waits for the answer anymore. Its result is not used, and must not cause a failover. */
  cancel(call: HttpCall): void {
    this.#over = true;
    call.cancel();
    const accepted = isSuccess(this.#status);
    this.#settle(failure({ status: undefined, reason: "cancelled", retryable: false, accepted }));
  }

  #done(result: ChatResult | ProviderFailure): void {
    coreExchange(this.#x).onCancel(undefined);
    this.#settle(result);
  }
}
