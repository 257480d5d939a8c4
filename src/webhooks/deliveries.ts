/**
 * What became of webhook deliveries: one record an attempt, kept in memory and bounded in number and size. When it is
 * full, the project with most records gives way, so that one noisy webhook pushes out only records of its own project. Survives reloads, not the process.
 */
import { FairShares, type Measure, type Share } from "../base/fair-shares.ts";
import type { MaybePromise } from "../plugin/index.ts";

/** One attempt (CONTRACT section 11), in the names that the admin API and the control plane show. */
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
  /** What went wrong on the way: timed out, unreachable, cut off, never sent. null: nothing. */
  readonly error: string | null;
}

export interface DeliveryFilter {
  readonly projectUuid?: string;
  readonly webhook?: string;
  readonly event?: string;
  readonly success?: boolean;
  /** Records at most. */
  readonly limit: number;
  /** Only records older than the one of this id: for the next page. One that is gone: none are. */
  readonly before?: string;
}

/** Where delivery records are read, on whichever thread they are kept. */
export interface Deliveries {
  /** Newest first. */
  query(filter: DeliveryFilter): MaybePromise<readonly DeliveryRecord[]>;
}

/** Records kept of one webhook. */
export const DELIVERIES_PER_WEBHOOK_MAX = 1000;
export const DELIVERIES_MAX = 50_000;
/** UTF-16 code units of all bodies together. */
export const DELIVERY_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Where delivery records are kept. */
export interface DeliveryKeeper {
  add(record: DeliveryRecord): void;
  query(filter: DeliveryFilter): readonly DeliveryRecord[];
}

export class DeliveryLog implements DeliveryKeeper, Deliveries {
  /** Oldest first. */
  readonly #records = new Map<string, DeliveryRecord>();
  /** Ids of each webhook's records, oldest first. */
  readonly #idsOf = new Map<string, string[]>();
  readonly #shareOf = new Map<string, Share<Set<string>>>();
  /** Ids of each project's records, oldest first; what it uses is counted in characters. */
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

  /** The oldest record of the project that has most. */
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

  /** The oldest record of its project, or webhook, is the oldest of its webhook as well, so ids leave at the front. */
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
