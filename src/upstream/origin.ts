/**
 * The connections to one origin, one call on each at a time. Free ones are a stack: the next call gets the warmest
 * in constant time, where undici's Pool looks through all that are busy. Bounded, and so is who waits.
 */
import type { Client } from "undici";
import type { OpenCall } from "./open-call.ts";

export class Origin {
  readonly #connect: () => Client;
  readonly #connectionsMax: number;
  readonly #free: Client[] = [];
  readonly #waiting: OpenCall[] = [];
  #connections = 0;
  #closed: (() => void) | undefined;

  /** `connectionsMax` calls run at a time, and as many may wait. */
  constructor(connect: () => Client, connectionsMax: number) {
    this.#connect = connect;
    this.#connectionsMax = connectionsMax;
  }

  start(call: OpenCall): void {
    const client = this.#free.pop() ?? this.#another();
    if (client !== undefined) call.runOn(client);
    else if (this.#waiting.length < this.#connectionsMax) this.#waiting.push(call);
    else call.onError(new Error("too many calls wait for this origin"));
  }

  /** The call is over and its connection, or the one it would have opened next, can be used again. */
  release(client: Client): void {
    const next = this.#waiting.shift();
    if (next !== undefined) next.runOn(client);
    else this.#free.push(client);
    this.#closeWhenIdle();
  }

  /** The call was given up while its connection was being opened, which may take for ever. */
  discard(client: Client): void {
    this.#connections--;
    void client.destroy();
    const next = this.#waiting.shift();
    if (next !== undefined) this.start(next);
    this.#closeWhenIdle();
  }

  /** The call was given up before its turn came. */
  withdraw(call: OpenCall): void {
    const at = this.#waiting.indexOf(call);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  /** Resolves when all calls are over and all connections closed. */
  close(): Promise<void> {
    return new Promise((closed) => {
      this.#closed = closed;
      this.#closeWhenIdle();
    });
  }

  #another(): Client | undefined {
    if (this.#connections >= this.#connectionsMax) return undefined;
    this.#connections++;
    return this.#connect();
  }

  #closeWhenIdle(): void {
    const closed = this.#closed;
    if (closed === undefined || this.#free.length < this.#connections) return;
    this.#closed = undefined;
    this.#connections = 0;
    Promise.all(this.#free.splice(0).map((client) => client.close())).then(() => closed());
  }
}
