/**
 * The calls that have arrived and not ended. An array with each call's place kept on the call: a Set that is added to
 * and deleted from by every call keeps growing new tables, whose garbage drags finished calls into V8's old space.
 */
import type { Call } from "./call.ts";

export class OpenCalls {
  readonly #calls: Call[] = [];

  get size(): number {
    return this.#calls.length;
  }

  add(call: Call): void {
    call.openIndex = this.#calls.length;
    this.#calls.push(call);
  }

  delete(call: Call): void {
    const index = call.openIndex;
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    last.openIndex = index;
    this.#calls[index] = last;
  }

  /** A copy, since giving calls up ends them. */
  all(): readonly Call[] {
    return [...this.#calls];
  }
}
