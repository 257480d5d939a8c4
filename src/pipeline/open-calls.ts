/**
 * The calls that have arrived and not ended, and who watches their deadlines and silences: one look at all of them now and then costs
 * less than a timer for each. An array with each call's place kept on the call: a Set that every call is added to and
 * deleted from keeps growing new tables, whose garbage drags finished calls into V8's old space.
 */
import type { Clock, Reservation, Timer } from "../plugin/index.ts";
import type { Call } from "./call.ts";

export class OpenCalls {
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #calls: Call[] = [];
  #look: Timer | undefined;

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
    if (last === undefined || last === call) return;
    last.openIndex = index;
    this.#calls[index] = last;
  }

  /** Money held for calls under way. */
  reservations(): readonly Reservation[] {
    return this.#calls.flatMap(({ reservation }) => reservation ?? []);
  }

  giveUpAll(): void {
    for (const call of [...this.#calls]) call.cancel("shutdown");
  }

  #lookAround(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const call of this.#calls.filter(({ deadlineMs }) => deadlineMs <= nowMs)) call.cancel("timeout");
    for (const { silence } of this.#calls.filter((call) => call.silence !== undefined)) silence?.look(nowMs);
    this.#look = undefined;
    if (this.size > 0) this.#look = this.#clock.after(this.#periodMs, () => this.#lookAround());
  }
}
