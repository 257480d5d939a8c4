/**
 * The events of a gateway: the audit trail, and the webhooks that receive its records. Lives as long as the gateway, across
 * configurations.
 */

import { type AuditTrail, createAuditTrail } from "../audit/audit.ts";
import type { ConfigChange } from "../config/diff.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Random } from "../plugin/host.ts";
import type { Clock, StateStore } from "../plugin/index.ts";
import type { Log } from "../telemetry/log.ts";
import type { GatewayMetrics } from "../telemetry/metrics.ts";
import { type Deliveries, deliveryMetrics } from "../webhooks/deliveries.ts";
import { type Dispatcher, WebhookDispatcher } from "../webhooks/dispatcher.ts";
import { ThreadedDispatcher } from "../webhooks/threaded-dispatcher.ts";
import { type LoadedRef, ReloadEvents } from "./reload-events.ts";

export interface EventsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly store: StateStore;
  /** Deliver webhooks in a thread of its own, by the system clock. Default: in this thread, by `clock`. */
  readonly onThread?: boolean;
}

export class GatewayEvents {
  readonly trail: AuditTrail;
  readonly webhooks: Dispatcher;
  readonly #reloads: ReloadEvents;
  /** Of the configuration in use. */
  #hash = "";

  constructor({ clock, random, log, metrics, store, onThread = false }: EventsOptions) {
    const count = deliveryMetrics(metrics, () => dispatcher.waiting);
    const dispatcher = new (onThread ? ThreadedDispatcher : WebhookDispatcher)({ clock, random, log, count });
    this.webhooks = dispatcher;
    this.trail = createAuditTrail({ store, clock, random, log });
    this.trail.onRecord((record) => dispatcher.notify(record));
    this.#reloads = new ReloadEvents({ store, trail: this.trail, monotonicMs: () => clock.monotonicMs() });
  }

  get deliveries(): Deliveries {
    return this.webhooks;
  }

  /**
   * Applies the webhooks of `after` and then records `changes`, which are none for the first configuration. `hash` in `to`
   * is the same on every replica that has loaded the same texts.
   */
  follow(after: ResolvedConfig, to: LoadedRef, changes: readonly ConfigChange[]): void {
    const from = this.#hash;
    this.#hash = to.hash;
    this.webhooks.configure(after.projects, after.network.allow);
    this.#reloads.record(from, to, changes);
  }

  /** Stores everything, and delivers what it can within `timeoutMs`. After the last call, before the store closes. */
  async close(timeoutMs: number): Promise<void> {
    await this.#reloads.flush();
    await this.trail.flush();
    await this.webhooks.drain(timeoutMs);
  }
}
