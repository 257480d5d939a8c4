/**
 * Results of webhook deliveries: records, kept in memory and bounded in number and size, and metrics. A full log drops
 * records of the project with the most, so that a noisy webhook displaces only its own project's. Survives reloads, not
 * the process.
 */
import { FairShares, type Measure, type Share } from "../base/fair-shares.ts";
import type { MaybePromise } from "../plugin/index.ts";
import type { GatewayMetrics } from "../telemetry/metrics.ts";

/** One attempt, with the field names of the admin API and the control plane. */
export interface DeliveryRecord {
  /** UUID. */
  readonly id: string;
  /** Event key. */
  readonly event: string;
  /** Name of the webhook, unique within its project. */
  readonly webhook: string;
  readonly project_uuid: string;
  /** Id of the audit record, sent as `webhook-id`. */
  readonly message_id: string;
  /** ISO 8601, UTC. */
  readonly attempted_at: string;
  readonly duration_ms: number;
  readonly request_body: string;
  /** null: there was no answer. */
  readonly response_status: number | null;
  /** Its first 16 KiB. null: there was no answer. */
  readonly response_body: string | null;
  /** The receiver answered 2xx. */
  readonly success: boolean;
  /** Why there is no complete answer: timed out, unreachable, cut off, not sent. null: there is one. */
  readonly error: string | null;
}

export interface DeliveryFilter {
  readonly projectUuid?: string;
  readonly webhook?: string;
  readonly event?: string;
  readonly success?: boolean;
  /** Records at most. */
  readonly limit: number;
  /** Only records older than this id's, for the next page; none when that record no longer exists. */
  readonly before?: string;
}

/** Read access to delivery records, on whichever thread they are kept. */
export interface Deliveries {
  /** Newest first. */
  query(filter: DeliveryFilter): MaybePromise<readonly DeliveryRecord[]>;
}

/** Records kept of one webhook. */
export const DELIVERIES_PER_WEBHOOK_MAX = 1000;
const DELIVERIES_MAX = 50_000;
/** UTF-16 code units of all bodies together. */
export const DELIVERY_CHARACTERS_MAX = 16 * 1024 * 1024;

export class DeliveryLog implements Deliveries {
  /** Oldest first. */
  readonly #records = new Map<string, DeliveryRecord>();
  /** Ids of each webhook's records, oldest first. */
  readonly #idsOf = new Map<string, string[]>();
  readonly #shareOf = new Map<string, Share<Set<string>>>();
  /** Ids of each project's records, oldest first; shares are measured in characters. */
  readonly #projects = new FairShares(() => new Set<string>());

  add(record: DeliveryRecord): void {
    const key = keyOf(record);
    const share = this.#projects.add(record.project_uuid, sizeOf(record));
    share.items.add(record.id);
    this.#shareOf.set(record.id, share);
    let ids = this.#idsOf.get(key);
    if (ids === undefined) this.#idsOf.set(key, (ids = []));
    this.#records.set(record.id, record);
    ids.push(record.id);
    if (ids.length > DELIVERIES_PER_WEBHOOK_MAX) this.#forget(ids[0]);
    while (this.#records.size > DELIVERIES_MAX) this.#forgetOf("count");
    while (this.#projects.bytes > DELIVERY_CHARACTERS_MAX) this.#forgetOf("bytes");
  }

  /** Removes the oldest record of the project with the most. */
  #forgetOf(measure: Measure): void {
    const share = this.#projects.largest(measure, ({ count }) => count > 0);
    this.#forget(share?.items.values().next().value);
  }

  /** Newest first. */
  query({ projectUuid, webhook, event, success, limit, before }: DeliveryFilter): readonly DeliveryRecord[] {
    const found: DeliveryRecord[] = [];
    const newestFirst = [...this.#records.values()].reverse();
    const start = before === undefined ? 0 : newestFirst.findIndex(({ id }) => id === before) + 1;
    if (before !== undefined && start === 0) return found;
    for (let i = start; i < newestFirst.length && found.length < limit; i++) {
      const record = newestFirst[i];
      if (record === undefined) break;
      if (projectUuid !== undefined && record.project_uuid !== projectUuid) continue;
      if (webhook !== undefined && record.webhook !== webhook) continue;
      if (event !== undefined && record.event !== event) continue;
      if (success !== undefined && record.success !== success) continue;
      found.push(record);
    }
    return found;
  }

  /** A project's oldest record is also the oldest of its webhook, so ids leave at the front. */
  #forget(id: string | undefined): void {
    const record = id === undefined ? undefined : this.#records.get(id);
    if (record === undefined) return;
    this.#records.delete(record.id);
    const share = this.#shareOf.get(record.id);
    this.#shareOf.delete(record.id);
    if (share !== undefined) {
      share.items.delete(record.id);
      this.#projects.remove(share, sizeOf(record));
    }
    const key = keyOf(record);
    const ids = this.#idsOf.get(key);
    ids?.shift();
    if (ids?.length === 0) this.#idsOf.delete(key);
  }
}

function keyOf({ project_uuid, webhook }: DeliveryRecord): string {
  return `${project_uuid}/${webhook}`;
}

function sizeOf({ request_body, response_body }: DeliveryRecord): number {
  return request_body.length + (response_body?.length ?? 0);
}

/**
 * Delivery records as the dispatcher's thread reports them: batches of JSON, parsed only after that thread has died.
 * Bounded: the oldest batches are dropped, regardless of project.
 */
export class DeliveryBatches {
  /** Oldest first. */
  #batches: string[] = [];
  #characters = 0;

  get all(): readonly string[] {
    return this.#batches;
  }

  add(batch: string): void {
    if (batch === "") return;
    this.#batches.push(batch);
    this.#characters += batch.length;
    while (this.#characters > DELIVERY_CHARACTERS_MAX)
      this.#characters -= this.#batches.shift()?.length ?? this.#characters;
  }
}

/** Oldest first. */
export function readDeliveries(batches: readonly string[]): readonly DeliveryRecord[] {
  // As dispatcher-worker.ts has written them.
  return batches.flatMap((batch) => JSON.parse(batch) as readonly DeliveryRecord[]);
}

/** `delivered`: the receiver answered 2xx; `failed`: it did not; `dropped`: nothing was sent. */
export type DeliveryOutcome = "delivered" | "failed" | "dropped";

/** Adds to a webhook's deliveries with this outcome. */
export type CountDeliveries = (
  projectUuid: string,
  webhook: string,
  outcome: DeliveryOutcome,
  deliveries: number,
) => void;

/** `waiting`: queued deliveries, read at each scrape. */
export function deliveryMetrics(
  metrics: Pick<GatewayMetrics, "counter" | "gauge">,
  waiting: () => number,
): CountDeliveries {
  const total = metrics.counter("sluice_webhook_deliveries_total", "Webhook deliveries by outcome", [
    "project",
    "webhook",
    "outcome",
  ]);
  metrics.gauge("sluice_webhook_queue", "Webhook deliveries in queues", waiting);
  return (projectUuid, webhook, outcome, deliveries) =>
    total.series(projectUuid, webhook, outcome)(deliveries);
}
