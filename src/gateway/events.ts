/**
 * What happens in a gateway and who is told: the audit trail, the webhooks that hear of it, and the record of their
 * deliveries. Lives as long as the gateway; configurations come and go.
 */
import { diffConfigs } from "../config/diff.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Clock, Random } from "../plugin/index.ts";
import { type AuditTrail, createAuditTrail } from "../record/audit.ts";
import { DeliveryLog } from "../record/deliveries.ts";
import type { Log } from "../record/log.ts";
import type { GatewayMetrics } from "../record/metrics.ts";
import { Webhooks } from "../record/webhooks.ts";
import type { StateStore } from "../state/store.ts";
import { type GuardedPost, guardedPost } from "../upstream/guarded-post.ts";

export interface EventsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly store: StateStore;
}

export class GatewayEvents {
  readonly trail: AuditTrail;
  readonly deliveries = new DeliveryLog();
  readonly webhooks: Webhooks;
  readonly #post: GuardedPost;

  constructor({ clock, random, log, metrics, store }: EventsOptions) {
    this.#post = guardedPost({ clock, allow: [] });
    const { deliveries } = this;
    const { post } = this.#post;
    this.trail = createAuditTrail({ store, clock, random, log });
    this.webhooks = new Webhooks({ clock, random, log, metrics, deliveries, post });
    this.trail.onRecord((record) => this.webhooks.notify(record));
  }

  /** `after` is in use from now on. Its webhooks hear of what it changes; the first one, without a `before`, changes nothing. */
  follow(before: ResolvedConfig | undefined, after: ResolvedConfig): void {
    this.#post.allow(after.network.allow);
    this.webhooks.configure(after.projects);
    if (before === undefined) return;
    for (const change of diffConfigs(before, after)) {
      void this.trail.record({ ...change, actor: "config", ipAddress: "" });
    }
  }

  /** Has everything stored, and sent as far as it can be within `timeoutMs`. After the last call, before the store closes. */
  async close(timeoutMs: number): Promise<void> {
    await this.trail.flush();
    await this.webhooks.drain(timeoutMs);
    this.#post.close();
  }
}
