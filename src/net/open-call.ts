/**
 * One running call: its limits on time and size, and that its handler is told of the end exactly once. Whichever client
 * carries the call, these rules are the same.
 */
import type { Dated, Deadlines } from "./deadlines.ts";
import type { AnswerHeaders, HttpCall, HttpError, HttpHandler, HttpLimits } from "./http-client.ts";

/** The connection that a call runs on. */
export interface Carrier {
  pause(): void;
  resume(): void;
  /** Ends it; the call is told nothing more. */
  drop(): void;
}

/** Where a call waits until it has a connection. */
export interface CallQueue<Request> {
  readonly deadlines: Deadlines;
  withdraw(call: OpenCall<Request>): void;
}

export class OpenCall<Request> implements HttpCall, Dated {
  watchIndex = 0;
  readonly #queue: CallQueue<Request>;
  readonly #deadlines: Deadlines;
  /** Kept only while it may be sent again: a stream of minutes must not hold its prompt a second time. */
  #request: Request | undefined;
  readonly #handler: HttpHandler;
  readonly #limits: HttpLimits;
  readonly #startedMs: number;
  /** undefined while it waits for one. */
  #carrier: Carrier | undefined;
  #heardMs: number;
  /** Before it `firstByteTimeoutMs` applies, from the start of the call. */
  #begun = false;
  #paused = false;
  #over = false;
  #bodyBytes = 0;

  constructor(queue: CallQueue<Request>, request: Request, handler: HttpHandler, limits: HttpLimits) {
    this.#queue = queue;
    this.#deadlines = queue.deadlines;
    this.#request = request;
    this.#handler = handler;
    this.#limits = limits;
    this.#startedMs = queue.deadlines.clock.monotonicMs();
    this.#heardMs = this.#startedMs;
    queue.deadlines.add(this);
  }

  attach(carrier: Carrier): void {
    this.#carrier = carrier;
    if (this.#paused) carrier.pause();
  }

  get connectionsMax(): number | undefined {
    return this.#limits.connectionsMax;
  }

  get isRepeatable(): boolean {
    return this.#limits.isRepeatable === true;
  }

  /** `isLast`: it will not be taken again. */
  takeRequest(isLast: boolean): Request | undefined {
    const request = this.#request;
    if (isLast) this.#request = undefined;
    return request;
  }

  /** The provider has begun to answer: the request is not sent again. */
  forgetRequest(): void {
    this.#request = undefined;
  }

  pause(): void {
    if (this.#over || this.#paused) return;
    this.#paused = true;
    this.#carrier?.pause();
  }

  resume(): void {
    if (this.#over || !this.#paused) return;
    this.#paused = false;
    this.#heardNow();
    this.#carrier?.resume();
  }

  cancel(): void {
    if (this.#finish()) this.#release();
  }

  contentBegun(): void {
    if (this.#over || this.#begun) return;
    this.#begun = true;
    this.#heardNow();
  }

  onHead(status: number, headers: AnswerHeaders): void {
    if (this.#limits.awaitsContent !== true) {
      this.#begun = true;
      this.#heardNow();
    }
    try {
      this.#handler.onHead(status, headers);
    } catch (thrown) {
      this.#fault(thrown);
    }
  }

  onBody(bytes: Buffer): void {
    this.#heardMs = this.#deadlines.clock.monotonicMs();
    const { bodyBytesMax } = this.#limits;
    const room = bodyBytesMax - this.#bodyBytes;
    this.#bodyBytes += bytes.length;
    try {
      if (bytes.length <= room) return this.#handler.onChunk(bytes);
      if (room > 0) this.#handler.onChunk(bytes.subarray(0, room));
    } catch (thrown) {
      return this.#fault(thrown);
    }
    this.#fail({ kind: "protocol", reason: `the answer exceeds ${bodyBytesMax} bytes`, cause: undefined });
  }

  /** The answer is complete, and the connection is no longer this call's. */
  onComplete(): void {
    if (!this.#finish()) return;
    try {
      this.#handler.onEnd();
    } catch (thrown) {
      this.#handler.onError(faultOf(thrown));
    }
  }

  /** The connection, if there was one, is gone. */
  onLost(error: HttpError): void {
    if (this.#finish()) this.#handler.onError(error);
  }

  dueMs(): number {
    const wholeMs = this.#startedMs + this.#limits.totalTimeoutMs;
    return this.#paused ? wholeMs : Math.min(wholeMs, this.#silenceDueMs());
  }

  expire(): void {
    const nowMs = this.#deadlines.clock.monotonicMs();
    if (nowMs < this.dueMs()) return;
    const { totalTimeoutMs } = this.#limits;
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#limits;
    const silenceMs = this.#begun ? idleTimeoutMs : firstByteTimeoutMs;
    const ms = nowMs - this.#startedMs < totalTimeoutMs ? silenceMs : totalTimeoutMs;
    this.#fail({ kind: "timeout", reason: `timed out after ${ms} ms`, cause: undefined });
  }

  /** A handler threw in a callback of the network: its call fails and nothing else. */
  #fault(thrown: unknown): void {
    this.#fail(faultOf(thrown));
  }

  #silenceDueMs(): number {
    const { idleTimeoutMs, firstByteTimeoutMs } = this.#limits;
    return this.#begun ? this.#heardMs + idleTimeoutMs : this.#startedMs + firstByteTimeoutMs;
  }

  /** Another limit applies from here, which may end sooner. */
  #heardNow(): void {
    this.#heardMs = this.#deadlines.clock.monotonicMs();
    this.#deadlines.noLaterThan(this.dueMs());
  }

  #fail(error: HttpError): void {
    if (!this.#finish()) return;
    this.#release();
    this.#handler.onError(error);
  }

  #release(): void {
    if (this.#carrier === undefined) this.#queue.withdraw(this);
    else this.#carrier.drop();
  }

  /** False when the call was over already. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#request = undefined;
    this.#deadlines.delete(this);
    return true;
  }
}

function faultOf(cause: unknown): HttpError {
  return { kind: "fault", reason: "internal error", cause };
}
