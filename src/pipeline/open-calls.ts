/**
 * The open calls, with one timer for all deadlines and keep-alives, since a timer per call costs more than the rest of the
 * chain. An array with each call's index kept on the call: a Set that every call is added to and deleted from keeps
 * growing new tables, whose garbage moves finished calls into V8's old space.
 */

import type { Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { Reservation } from "../plugin/store.ts";
import type { Call } from "./call.ts";
import { abandonCall, failCall } from "./end.ts";

export class OpenCalls {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #calls: Call[] = [];
  #timer: Timer | undefined;
  #emptied: (() => void) | undefined;

  /** `periodMs`: how late a call may be cancelled. */
  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  get size(): number {
    return this.#calls.length;
  }

  /** Of the open calls, those that are answered as a stream. */
  get streams(): number {
    return this.#calls.filter(({ stream }) => stream).length;
  }

  add(call: Call): void {
    call.openIndex = this.#calls.length;
    this.#calls.push(call);
    this.#timer ??= this.#clock.after(this.#periodMs, () => this.#checkAll());
  }

  delete(call: Call): void {
    const index = call.openIndex;
    const last = this.#calls.pop();
    if (last !== undefined && last !== call) {
      last.openIndex = index;
      this.#calls[index] = last;
    }
    if (this.size === 0) this.#emptied?.();
  }

  /** Resolves when the last call has ended. */
  empty(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }

  /** Of all open calls. */
  reservations(): readonly Reservation[] {
    return this.#calls.flatMap(({ reservation }) => reservation ?? []);
  }

  cancelAll(): void {
    for (const call of [...this.#calls]) cancelCall(call, "shutdown");
  }

  #checkAll(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const call of this.#calls.filter(({ deadlineMs }) => deadlineMs <= nowMs)) this.#expire(call);
    for (const call of this.#calls.filter(({ owner }) => owner?.tick !== undefined)) {
      try {
        call.owner?.tick?.(nowMs);
      } catch (thrown) {
        failCall(call, thrown);
      }
    }
    this.#timer = undefined;
    if (this.size > 0) this.#timer = this.#clock.after(this.#periodMs, () => this.#checkAll());
  }

  /** A cancelled call that has not ended is blocked by a store or plugin that does not answer. */
  #expire(call: Call): void {
    if (call.ended) {
      call.deadlineMs = Number.POSITIVE_INFINITY;
      return;
    }
    if (call.cancelled !== undefined) return abandonCall(call);
    logWait(call);
    cancelCall(call, "timeout");
  }
}

function cancelCall(call: Call, reason: "timeout" | "shutdown"): void {
  try {
    call.cancel(reason);
  } catch (thrown) {
    failCall(call, thrown);
  }
}

function logWait({ rt, requestId, waitsFor, attempts, startedMonotonicMs }: Call): void {
  if (waitsFor === undefined) return;
  const { stage } = waitsFor;
  // The gateway's own stage call waits for a provider, whose plugin is named by the provider's key.
  const plugin =
    waitsFor.plugin === "call" ? (attempts.at(-1)?.provider ?? waitsFor.plugin) : waitsFor.plugin;
  const duration_ms = Math.round(rt.clock.monotonicMs() - startedMonotonicMs);
  rt.log.warn(
    { request_id: requestId, plugin, stage: STAGES[stage] ?? "", duration_ms },
    "a call timed out while it waited for a plugin",
  );
}
