/**
 * The events of a gateway: the audit trail, and the webhooks that receive its records. Lives as long as the gateway, across
 * configurations.
 */

import { type AuditTrail, createAuditTrail } from "../audit/audit.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { ConfigChange } from "../plan/audit-events.ts";
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
  /** Changes that are not known yet. */
  #pending: Promise<void> = Promise.resolve();
  readonly #clock: Clock;
  readonly #log: Log;

  constructor({ clock, random, log, metrics, store, onThread = false }: EventsOptions) {
    this.#clock = clock;
    this.#log = log;
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
   * Applies the webhooks of `after` and then records `changes` once they are known; undefined: the first configuration
   * has none. `hash` in `to` is the same on every replica that has loaded the same texts.
   */
  follow(after: ResolvedConfig, to: LoadedRef, changes?: Promise<readonly ConfigChange[]>): void {
    const from = this.#hash;
    this.#hash = to.hash;
    this.webhooks.configure(after.projects, after.network.allow);
    if (changes === undefined) return;
    const recorded = changes.then(
      (known) => this.#reloads.record(from, to, known),
      (thrown: unknown) =>
        this.#log.error(
          { err: thrown, hash: to.hash },
          "audit events of a reload are lost: its changes are not known",
        ),
    );
    this.#pending = Promise.all([this.#pending, recorded]).then(() => undefined);
  }

  /** Stores everything, and delivers what it can within `timeoutMs`. After the last call, before the store closes. */
  async close(timeoutMs: number): Promise<void> {
    await this.#known(timeoutMs);
    await this.#reloads.flush();
    await this.trail.flush();
    await this.webhooks.drain(timeoutMs);
  }

  /** A thread that does not answer holds nobody up for longer than that. */
  #known(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(Math.max(0, timeoutMs), resolve);
      void this.#pending.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
