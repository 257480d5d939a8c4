/**
 * What happens in a gateway and who is told: the audit trail, the webhooks that hear of it, and the record of their
 * deliveries. Lives as long as the gateway; configurations come and go.
 */
import type { ConfigChange } from "../config/diff.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Clock, Random, StateStore } from "../plugin/index.ts";
import { type AuditTrail, createAuditTrail } from "../record/audit.ts";
import type { Deliveries } from "../record/deliveries.ts";
import type { Log } from "../record/log.ts";
import type { GatewayMetrics } from "../record/metrics.ts";
import { deliveryMetrics } from "../record/webhook-metrics.ts";
import { type Courier, LocalCourier } from "./courier.ts";
import { type LoadedRef, ReloadEvents } from "./reload-events.ts";
import { ThreadedCourier } from "./threaded-courier.ts";

export interface EventsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly store: StateStore;
  /** Webhooks are delivered on a thread of their own, by the machine's clock. Default: on this one, by `clock`. */
  readonly onThread?: boolean;
}

export class GatewayEvents {
  readonly trail: AuditTrail;
  readonly webhooks: Courier;
  readonly #reloads: ReloadEvents;
  /** Of the configuration in use. */
  #hash = "";

  constructor({ clock, random, log, metrics, store, onThread = false }: EventsOptions) {
    const count = deliveryMetrics(metrics, () => courier.waiting);
    const courier = new (onThread ? ThreadedCourier : LocalCourier)({ clock, random, log, count });
    this.webhooks = courier;
    this.trail = createAuditTrail({ store, clock, random, log });
    this.trail.onRecord((record) => courier.notify(record));
    this.#reloads = new ReloadEvents({ store, trail: this.trail, monotonicMs: () => clock.monotonicMs() });
  }

  get deliveries(): Deliveries {
    return this.webhooks;
  }

  /**
   * `after` is in use from now on, and its webhooks receive `changes`: what it changes, of the first configuration
   * nothing. `hash` in `to`: the same wherever the same texts were loaded.
   */
  follow(after: ResolvedConfig, to: LoadedRef, changes: readonly ConfigChange[]): void {
    const from = this.#hash;
    this.#hash = to.hash;
    this.webhooks.configure(after.projects, after.network.allow);
    this.#reloads.record(from, to, changes);
  }

  /** Has everything stored, and sent as far as it can within `timeoutMs`. After the last call, before the store closes. */
  async close(timeoutMs: number): Promise<void> {
    await this.#reloads.flush();
    await this.trail.flush();
    await this.webhooks.drain(timeoutMs);
  }
}
