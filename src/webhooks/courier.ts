/**
 * Who brings audit records to webhooks and keeps the records of their deliveries. This one works on the thread and by
 * the clock that it is handed; threaded-courier.ts has one work on a thread of its own, so that calls feel nothing of it.
 */

import { type GuardedPost, guardedPost } from "../net/guarded-post.ts";
import type { AuditRecord } from "../plugin/store.ts";
import {
  type Deliveries,
  type DeliveryFilter,
  type DeliveryKeeper,
  DeliveryLog,
  type DeliveryRecord,
} from "./deliveries.ts";
import type { WebhookProject } from "./lane.ts";
import { type Asker, Webhooks, type WebhooksOptions } from "./webhooks.ts";

/** As `Webhooks` has it, with the addresses that may be sent to. Delivery records last as long as it does. */
export interface Courier extends Deliveries {
  /** `allow`: `network.allow`. */
  configure(projects: readonly WebhookProject[], allow: readonly string[]): void;
  notify(record: AuditRecord): void;
  sendTest(projectUuid: string, name: string, asker: Asker): Promise<DeliveryRecord> | "unknown" | "inactive";
  /** Sends what waits, as far as it can within `timeoutMs`. Nothing is sent after it. */
  drain(timeoutMs: number): Promise<void>;
}

export type CourierOptions = Pick<WebhooksOptions, "clock" | "random" | "log" | "count">;

export class LocalCourier implements Courier {
  readonly #deliveries: DeliveryKeeper;
  readonly #post: GuardedPost;
  readonly #webhooks: Webhooks;

  constructor(options: CourierOptions, deliveries: DeliveryKeeper = new DeliveryLog()) {
    this.#deliveries = deliveries;
    this.#post = guardedPost({ clock: options.clock, allow: [] });
    this.#webhooks = new Webhooks({ ...options, deliveries, post: this.#post.post });
  }

  /** Deliveries that wait for their turn. */
  get waiting(): number {
    return this.#webhooks.waiting;
  }

  configure(projects: readonly WebhookProject[], allow: readonly string[]): void {
    this.#post.allow(allow);
    this.#webhooks.configure(projects);
  }

  notify(record: AuditRecord): void {
    this.#webhooks.notify(record);
  }

  sendTest(projectUuid: string, name: string, asker: Asker): ReturnType<Courier["sendTest"]> {
    return this.#webhooks.sendTest(projectUuid, name, asker);
  }

  query(filter: DeliveryFilter): readonly DeliveryRecord[] {
    return this.#deliveries.query(filter);
  }

  async drain(timeoutMs: number): Promise<void> {
    await this.#webhooks.drain(timeoutMs);
    this.#post.close();
  }
}
