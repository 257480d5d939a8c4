/** One running call of the upstream client: its time limits, its size limit, and what its errors mean. */
import type { Client, Dispatcher } from "undici";
import type { Clock, Timer } from "../plugin/index.ts";
import type { UpstreamCall, UpstreamError, UpstreamHandler, UpstreamLimits } from "./client.ts";
import type { Origin } from "./origin.ts";

/**
 * undici's older handler shape, since its newer one makes an object of the headers of every answer
 * (6 us with the two dozen that a large vendor sends) whether anybody wants it or not.
 */
export class OpenCall implements Dispatcher.DispatchHandler, UpstreamCall {
  readonly #clock: Clock;
  /** Until it is sent: a stream that lasts for minutes must not keep its prompt a second time. */
  #options: Dispatcher.DispatchOptions | undefined;
  readonly #handler: UpstreamHandler;
  readonly #limits: UpstreamLimits;
  readonly #origin: Origin | undefined;
  readonly #startedMs: number;
  /** Its connection, once it has one of its own. */
  #client: Client | undefined;
  #heardMs: number;
  #timer: Timer | undefined;
  #abort: (() => void) | undefined;
  #resume: (() => void) | undefined;
  #headSeen = false;
  #paused = false;
  #over = false;
  #bodyBytes = 0;

  constructor(
    clock: Clock,
    options: Dispatcher.DispatchOptions,
    handler: UpstreamHandler,
    bounds: { readonly limits: UpstreamLimits; readonly origin: Origin | undefined },
  ) {
    this.#clock = clock;
    this.#options = options;
    this.#handler = handler;
    this.#limits = bounds.limits;
    this.#origin = bounds.origin;
    this.#startedMs = clock.monotonicMs();
    this.#heardMs = this.#startedMs;
    this.#watch(Math.min(this.#limits.firstByteTimeoutMs, this.#limits.totalTimeoutMs));
  }

  /** Its turn has come. */
  runOn(client: Client): void {
    const options = this.#options;
    if (options === undefined) return;
    this.#options = undefined;
    this.#client = client;
    client.dispatch(options, this);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#over) return;
    this.#heardMs = this.#clock.monotonicMs();
    this.#resume?.();
  }

  cancel(): void {
    if (!this.#over) this.#drop();
  }

  onConnect(abort: () => void): void {
    this.#abort = abort;
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    if (this.#over || status < 200) return true;
    this.#headSeen = true;
    this.#heardMs = this.#clock.monotonicMs();
    this.#resume = resume;
    this.#handler.onHead(status, rawHeaders);
    return !this.#paused;
  }

  onData(bytes: Buffer): boolean {
    if (this.#over) return true;
    this.#heardMs = this.#clock.monotonicMs();
    this.#bodyBytes += bytes.length;
    if (this.#bodyBytes > this.#limits.bodyBytesMax) {
      this.#drop();
      const reason = `the answer exceeds ${this.#limits.bodyBytesMax} bytes`;
      this.#handler.onError({ kind: "protocol", reason, cause: undefined });
      return true;
    }
    this.#handler.onChunk(bytes);
    return !this.#paused;
  }

  onComplete(): void {
    if (this.#finish()) this.#handler.onEnd();
  }

  onError(cause: Error): void {
    if (this.#finish()) this.#handler.onError(describe(cause, this.#headSeen));
  }

  /** False when the call was over already. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#timer?.cancel();
    if (this.#client !== undefined) this.#origin?.release(this.#client);
    return true;
  }

  /** Ends the call at once, in whatever state it is. */
  #drop(): void {
    this.#over = true;
    this.#timer?.cancel();
    if (this.#client === undefined) {
      this.#origin?.withdraw(this);
    } else if (this.#abort === undefined) {
      this.#origin?.discard(this.#client);
    } else {
      this.#abort();
      this.#origin?.release(this.#client);
    }
  }

  /** One timer a call: what comes meanwhile only moves the time it finds when it fires. */
  #watch(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => this.#check());
  }

  #check(): void {
    const nowMs = this.#clock.monotonicMs();
    const { totalTimeoutMs, idleTimeoutMs, firstByteTimeoutMs } = this.#limits;
    const silenceMaxMs = this.#headSeen ? idleTimeoutMs : firstByteTimeoutMs;
    const silentMs = this.#paused ? 0 : nowMs - this.#heardMs;
    const leftMs = totalTimeoutMs - (nowMs - this.#startedMs);
    if (leftMs > 0 && silentMs < silenceMaxMs) {
      this.#watch(Math.min(leftMs, silenceMaxMs - silentMs));
      return;
    }
    this.#drop();
    const ms = leftMs > 0 ? silenceMaxMs : totalTimeoutMs;
    this.#handler.onError({ kind: "timeout", reason: `timed out after ${ms} ms`, cause: undefined });
  }
}

/** Sorts what undici and the system say into what a caller can act on. */
function describe(cause: Error, headSeen: boolean): UpstreamError {
  const code = "code" in cause ? String(cause.code) : "";
  if (code === "UND_ERR_INVALID_ARG") {
    return { kind: "protocol", reason: `could not be asked: ${cause.message}`, cause };
  }
  if (cause.name === "HTTPParserError" || code === "UND_ERR_HEADERS_OVERFLOW") {
    return { kind: "protocol", reason: "answered with malformed HTTP", cause };
  }
  if (headSeen) return { kind: "reset", reason: "connection lost before the answer was complete", cause };
  const reset = code === "ECONNRESET" || code === "EPIPE" || code === "UND_ERR_SOCKET";
  return { kind: reset ? "reset" : "unreachable", reason: "unreachable", cause };
}
