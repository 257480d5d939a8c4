/**
 * What happens in a gateway and who is told: the audit trail, the webhooks that hear of it, and the record of their
 * deliveries. Lives as long as the gateway; configurations come and go.
 */

import { type AuditTrail, createAuditTrail } from "../audit/audit.ts";
import type { ConfigChange } from "../config/diff.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Random } from "../plugin/host.ts";
import type { Clock, StateStore } from "../plugin/index.ts";
import type { Log } from "../telemetry/log.ts";
import type { GatewayMetrics } from "../telemetry/metrics.ts";
import { type Courier, LocalCourier } from "../webhooks/courier.ts";
import type { Deliveries } from "../webhooks/deliveries.ts";
import { deliveryMetrics } from "../webhooks/metrics.ts";
import { ThreadedCourier } from "../webhooks/threaded-courier.ts";
import { type LoadedRef, ReloadEvents } from "./reload-events.ts";

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
