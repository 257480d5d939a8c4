/**
 * The calls that have arrived and not ended, and who watches their deadlines and silences: one look at all of them now and then costs
 * less than a timer for each. An array with each call's place kept on the call: a Set that every call is added to and
 * deleted from keeps growing new tables, whose garbage drags finished calls into V8's old space.
 */

import type { Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { Reservation } from "../plugin/store.ts";
import type { Call } from "./call.ts";
import { abandonCall, failCall } from "./fault.ts";

export class OpenCalls {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #calls: Call[] = [];
  #look: Timer | undefined;
  #emptied: (() => void) | undefined;

  /** `periodMs`: how late a call may be given up. */
  constructor(clock: Clock, periodMs: number) {
    this.#clock = clock;
    this.#periodMs = periodMs;
  }

  get size(): number {
    return this.#calls.length;
  }

  add(call: Call): void {
    call.openIndex = this.#calls.length;
    this.#calls.push(call);
    this.#look ??= this.#clock.after(this.#periodMs, () => this.#lookAround());
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

  /** Money held for calls under way. */
  reservations(): readonly Reservation[] {
    return this.#calls.flatMap(({ reservation }) => reservation ?? []);
  }

  giveUpAll(): void {
    for (const call of [...this.#calls]) cancelCall(call, "shutdown");
  }

  #lookAround(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const call of this.#calls.filter(({ deadlineMs }) => deadlineMs <= nowMs)) this.#expire(call);
    for (const call of this.#calls.filter(({ silence }) => silence !== undefined)) {
      try {
        call.silence?.look(nowMs);
      } catch (thrown) {
        failCall(call, thrown);
      }
    }
    this.#look = undefined;
    if (this.size > 0) this.#look = this.#clock.after(this.#periodMs, () => this.#lookAround());
  }

  /** A call that has been given up and yet not ended waits for something that does not come: a store, a plugin. */
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
