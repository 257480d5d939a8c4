/** Renews the leases of open calls periodically, so that their reservations outlive LEASE_MS. */
import type { OpenCalls } from "../pipeline/open-calls.ts";
import type { Logger, Timer } from "../plugin/host.ts";
import type { Clock, StateStore } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import { LEASE_MS } from "../plugin/store.ts";

const PERIOD_MS = LEASE_MS / 3;

export class Leases {
  readonly #open: OpenCalls;
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  #timer: Timer | undefined;

  constructor(open: OpenCalls, { store, clock, log }: { store: StateStore; clock: Clock; log: Logger }) {
    this.#open = open;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#arm();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#clock.after(PERIOD_MS, () => {
      this.#renew();
      this.#arm();
    });
  }

  #renew(): void {
    const held = this.#open.reservations();
    if (held.length === 0) return;
    // Should a driver fail, its leases end and are settled, which is what they are for.
    const failed = (thrown: unknown): void => this.#log.error({ err: thrown }, "leases could not be renewed");
    try {
      const renewed = this.#store.renew(held);
      if (isPromise(renewed)) renewed.catch(failed);
    } catch (thrown) {
      failed(thrown);
    }
  }
}
