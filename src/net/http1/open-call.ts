/** One running call of the upstream client: its limits on time and size, and that it hears of its end once. */
import type { UpstreamCall, UpstreamError, UpstreamHandler, UpstreamLimits } from "./client.ts";
import type { Connection } from "./connection.ts";
import type { Dated } from "./deadlines.ts";
import type { Origin } from "./origin.ts";
import type { Outgoing } from "./outgoing.ts";
import type { ResponseHead } from "./response-head.ts";

export class OpenCall implements UpstreamCall, Dated {
  watchIndex = 0;
  readonly #origin: Origin;
  /** Until it cannot be sent again: a stream that lasts for minutes must not keep its prompt a second time. */
  #request: Outgoing | undefined;
  readonly #handler: UpstreamHandler;
  readonly #limits: UpstreamLimits;
  readonly #startedMs: number;
  /** Its own, from when its turn has come. */
  #connection: Connection | undefined;
  #heardMs: number;
  /** Until then `firstByteTimeoutMs` holds, from the start of the call. */
  #begun = false;
  #paused = false;
  #over = false;
  #bodyBytes = 0;

  constructor(origin: Origin, request: Outgoing, handler: UpstreamHandler, limits: UpstreamLimits) {
    this.#origin = origin;
    this.#request = request;
    this.#handler = handler;
    this.#limits = limits;
    this.#startedMs = origin.deadlines.clock.monotonicMs();
    this.#heardMs = this.#startedMs;
    origin.deadlines.add(this);
  }

  /** Its turn has come. */
  attach(connection: Connection): void {
    this.#connection = connection;
    if (this.#paused) connection.pause();
  }

  get connectionsMax(): number | undefined {
    return this.#limits.connectionsMax;
  }

  get isRepeatable(): boolean {
    return this.#limits.isRepeatable === true;
  }

  /** `isLast`: it will not be asked for again. */
  takeRequest(isLast: boolean): Outgoing | undefined {
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
    this.#connection?.pause();
  }

  resume(): void {
    if (this.#over || !this.#paused) return;
    this.#paused = false;
    this.#heardNow();
    this.#connection?.resume();
  }

  cancel(): void {
    if (this.#finish()) this.#letGo();
  }

  contentBegun(): void {
    if (this.#over || this.#begun) return;
    this.#begun = true;
    this.#heardNow();
  }

  onHead(head: ResponseHead): void {
    if (this.#limits.awaitsContent !== true) {
      this.#begun = true;
      this.#heardNow();
    }
    try {
      this.#handler.onHead(head.status, head);
    } catch (thrown) {
      this.#fault(thrown);
    }
  }

  onBody(bytes: Buffer): void {
    this.#heardMs = this.#origin.deadlines.clock.monotonicMs();
    const { bodyBytesMax } = this.#limits;
    const room = bodyBytesMax - this.#bodyBytes;
    this.#bodyBytes += bytes.length;
    try {
      if (bytes.length <= room) return this.#handler.onChunk(bytes);
      if (room > 0) this.#handler.onChunk(bytes.subarray(0, room));
    } catch (thrown) {
      return this.#fault(thrown);
    }
    this.#giveUp({ kind: "protocol", reason: `the answer exceeds ${bodyBytesMax} bytes`, cause: undefined });
  }

  /** Its connection is no longer its own. */
  onComplete(): void {
    if (!this.#finish()) return;
    try {
      this.#handler.onEnd();
    } catch (thrown) {
      this.#handler.onError(faultOf(thrown));
    }
  }

  /** Nor here, if it had one at all. */
  onLost(error: UpstreamError): void {
    if (this.#finish()) this.#handler.onError(error);
  }

  dueMs(): number {
    const wholeMs = this.#startedMs + this.#limits.totalTimeoutMs;
    return this.#paused ? wholeMs : Math.min(wholeMs, this.#silenceDueMs());
  }

  expire(): void {
    const nowMs = this.#origin.deadlines.clock.monotonicMs();
    if (nowMs < this.dueMs()) return;
    const { totalTimeoutMs } = this.#limits;
    const { firstByteTimeoutMs, idleTimeoutMs } = this.#limits;
    const silenceMs = this.#begun ? idleTimeoutMs : firstByteTimeoutMs;
    const ms = nowMs - this.#startedMs < totalTimeoutMs ? silenceMs : totalTimeoutMs;
    this.#giveUp({ kind: "timeout", reason: `timed out after ${ms} ms`, cause: undefined });
  }

  /** Code that works for this call has thrown in a callback of the network: it costs the call and nothing else. */
  #fault(thrown: unknown): void {
    this.#giveUp(faultOf(thrown));
  }

  #silenceDueMs(): number {
    const { idleTimeoutMs, firstByteTimeoutMs } = this.#limits;
    return this.#begun ? this.#heardMs + idleTimeoutMs : this.#startedMs + firstByteTimeoutMs;
  }

  /** Another limit counts from here, which may be the nearer one. */
  #heardNow(): void {
    this.#heardMs = this.#origin.deadlines.clock.monotonicMs();
    this.#origin.deadlines.noLaterThan(this.dueMs());
  }

  #giveUp(error: UpstreamError): void {
    if (!this.#finish()) return;
    this.#letGo();
    this.#handler.onError(error);
  }

  #letGo(): void {
    if (this.#connection === undefined) this.#origin.withdraw(this);
    else this.#connection.drop();
  }

  /** False when the call was over already. */
  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#request = undefined;
    this.#origin.deadlines.delete(this);
    return true;
  }
}

function faultOf(cause: unknown): UpstreamError {
  return { kind: "fault", reason: "internal error", cause };
}
