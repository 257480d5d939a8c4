/**
 * Delivers audit records to the webhooks that subscribe to them: one attempt each, in order per webhook, concurrently
 * across webhooks, everything bounded. Runs on the thread and by the clock that it is given: in the gateway's thread, or
 * in a thread of its own (threaded-dispatcher.ts). Queues only; sends in later iterations of the event loop.
 */
import { queueLimit } from "../base/audit-bytes.ts";
import { type GuardedPost, guardedPost, type PostOutcome } from "../net/guarded.ts";
import type { Logger, Random } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { type AuditRecord, auditKindOf } from "../plugin/store.ts";
import {
  type CountDeliveries,
  type Deliveries,
  type DeliveryFilter,
  DeliveryLog,
  type DeliveryRecord,
} from "./deliveries.ts";
import {
  DeliveryQueue,
  Notice,
  type QueuedDelivery,
  Subscriptions,
  type WebhookProject,
} from "./delivery-queue.ts";

/** A receiver has this long to answer in full. */
export const DELIVERY_TIMEOUT_MS = 10_000;
/** Bytes of a receiver's answer that are read and recorded. */
const ANSWER_BYTES_MAX = 16_384;
const LIMITS = { timeoutMs: DELIVERY_TIMEOUT_MS, maxBytes: ANSWER_BYTES_MAX };
/** Queued deliveries of all webhooks together; each has an equal share, within the two bounds below. */
export const WAITING_MAX = 100_000;
export const WAITING_PER_WEBHOOK_MAX = 10_000;
const WAITING_PER_WEBHOOK_MIN = 100;
/** Approximate bytes of queued deliveries; each webhook has an equal share. */
export const WAITING_BYTES_MAX = 64 << 20;
/** Concurrent deliveries. More dead receivers than this delay the others, ten seconds at a time. */
const IN_FLIGHT_MAX = 256;
/** Signing and sending takes some 50 us, so calls run in between. */
const STARTS_PER_BATCH = 8;

/** Who requested a test delivery. */
export interface TestRequester {
  /** Name of the control-plane token. */
  readonly actor: string;
  readonly ipAddress: string;
}

export interface Dispatcher extends Deliveries {
  /** Queued deliveries. */
  readonly waiting: number;
  /**
   * Applies a configuration, at each reload before its events are recorded. Deliveries queued for a webhook that still
   * exists use its new settings; those for one that is removed or inactive are dropped. `allow`: `network.allow`.
   */
  configure(projects: readonly WebhookProject[], allow: readonly string[]): void;
  /** Queues a record for each webhook that subscribes to it. */
  notify(record: AuditRecord): void;
  /** Sends a synthetic `webhook.test` ahead of what is queued, whether or not the webhook subscribes to that event. */
  sendTest(
    projectUuid: string,
    name: string,
    requester: TestRequester,
  ): Promise<DeliveryRecord> | "unknown" | "inactive";
  /** Resolves when the queues are empty; drops the rest after `timeoutMs`. Nothing is sent after it. */
  drain(timeoutMs: number): Promise<void>;
}

export interface DispatcherOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly count: CountDeliveries;
}

export class WebhookDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #onRecord: ((record: DeliveryRecord) => void) | undefined;
  readonly #deliveries = new DeliveryLog();
  readonly #post: GuardedPost;
  #queues = new Subscriptions<DeliveryQueue>([], undefined, () => {
    throw new Error("there are no webhooks yet");
  });
  #waitingMax = WAITING_PER_WEBHOOK_MAX;
  /** Queues with something to send and nothing in flight, each once. */
  readonly #ready: DeliveryQueue[] = [];
  #starting = false;
  #waiting = 0;
  #inFlight = 0;
  #closed = false;
  #drained: (() => void) | undefined;

  /** `onRecord`: receives each delivery record as it is added. */
  constructor(options: DispatcherOptions, onRecord?: (record: DeliveryRecord) => void) {
    this.#options = options;
    this.#onRecord = onRecord;
    this.#post = guardedPost({ clock: options.clock, allow: [] });
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Adds records of an earlier dispatcher, oldest first. */
  restore(records: readonly DeliveryRecord[]): void {
    for (const record of records) this.#deliveries.add(record);
  }

  query(filter: DeliveryFilter): readonly DeliveryRecord[] {
    return this.#deliveries.query(filter);
  }

  configure(projects: readonly WebhookProject[], allow: readonly string[]): void {
    this.#post.allow(allow);
    const previous = this.#queues;
    this.#queues = new Subscriptions(projects, previous, (known, projectUuid, settings) => {
      const queue = known ?? new DeliveryQueue(projectUuid, settings);
      queue.change(settings);
      return queue;
    });
    for (const queue of previous.entries) {
      const isKept = this.#queues.get(queue.projectUuid, queue.settings.name) === queue;
      if (!isKept) this.#empty(queue, "the webhook was removed or is inactive");
    }
    const share = Math.floor(WAITING_MAX / Math.max(1, this.#queues.size));
    this.#waitingMax = Math.min(WAITING_PER_WEBHOOK_MAX, Math.max(WAITING_PER_WEBHOOK_MIN, share));
  }

  notify(record: AuditRecord): void {
    const queues = this.#queues.subscribersOf(record);
    if (this.#closed || queues.length === 0) return;
    const notice = new Notice(record);
    for (const queue of queues) {
      if (this.#isFull(queue, record.event)) {
        this.#drop(queue, { notice, done: undefined }, `${queue.waiting.length} deliveries were queued`);
      } else {
        queue.waiting.push({ notice, done: undefined });
        this.#queued(queue, notice);
      }
    }
  }

  sendTest(projectUuid: string, name: string, requester: TestRequester): ReturnType<Dispatcher["sendTest"]> {
    const found = this.#queues.find(projectUuid, name);
    if (typeof found === "string") return found;
    const { project, entry: queue } = found;
    const { clock, random } = this.#options;
    const notice = new Notice({
      id: random.uuid(),
      event: "webhook.test",
      severity: "info",
      actor: requester.actor,
      project: { id: project.id, name: project.name, uuid: project.uuid },
      target: name,
      metadata: { test: true },
      ipAddress: requester.ipAddress,
      occurredAtMs: clock.nowMs(),
    });
    return new Promise((done) => {
      if (this.#closed || this.#isFull(queue, notice.record.event)) {
        return this.#drop(queue, { notice, done }, "the queue is full or closed");
      }
      queue.waiting.unshift({ notice, done });
      this.#queued(queue, notice);
    });
  }

  async drain(timeoutMs: number): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    const stop = (): void => {
      for (const queue of this.#queues.entries) this.#empty(queue, "the gateway has stopped");
      this.#closed = true;
      this.#drained?.();
    };
    const deadline = timeoutMs > 0 ? this.#options.clock.after(timeoutMs, stop) : undefined;
    if (deadline === undefined) stop();
    else this.#settleDrain();
    await drained;
    deadline?.cancel();
    this.#closed = true;
    this.#post.close();
  }

  /** Traffic leaves space for changes and sign-ins; see `queueLimit`. */
  #isFull(queue: DeliveryQueue, event: string): boolean {
    const kind = auditKindOf(event);
    if (queue.waiting.length >= queueLimit(kind, this.#waitingMax)) return true;
    return queue.waitingBytes >= queueLimit(kind, WAITING_BYTES_MAX / Math.max(1, this.#queues.size));
  }

  #queued(queue: DeliveryQueue, notice: Notice): void {
    queue.waitingBytes += notice.bytes;
    this.#waiting++;
    this.#list(queue);
  }

  #list(queue: DeliveryQueue): void {
    if (queue.busy || queue.listed || queue.waiting.length === 0) return;
    queue.listed = true;
    this.#ready.push(queue);
    this.#startSoon();
  }

  #startSoon(): void {
    if (this.#starting || this.#ready.length === 0 || this.#inFlight >= IN_FLIGHT_MAX) return;
    this.#starting = true;
    setImmediate(() => {
      this.#starting = false;
      for (let n = 0; n < STARTS_PER_BATCH && this.#inFlight < IN_FLIGHT_MAX; n++) {
        const queue = this.#ready.shift();
        if (queue === undefined) return;
        queue.listed = false;
        const next = queue.waiting.shift();
        if (next !== undefined) this.#deliver(queue, next);
      }
      this.#startSoon();
    });
  }

  #deliver(queue: DeliveryQueue, next: QueuedDelivery): void {
    const { clock } = this.#options;
    const { record, body } = next.notice;
    queue.waitingBytes -= next.notice.bytes;
    this.#waiting--;
    this.#inFlight++;
    queue.busy = true;
    const sentAtMs = clock.nowMs();
    const startedMs = clock.monotonicMs();
    const headers = queue.sign({ id: record.id, event: record.event, body, sentAtMs });
    this.#post.post(queue.settings.url, headers, body, LIMITS).then((outcome) => {
      queue.busy = false;
      this.#inFlight--;
      const durationMs = clock.monotonicMs() - startedMs;
      this.#keep(queue, next, { outcome, sentAtMs, durationMs, dropped: false });
      this.#list(queue);
      this.#startSoon();
      this.#settleDrain();
    });
  }

  #keep(queue: DeliveryQueue, { notice, done }: QueuedDelivery, attempt: Attempt): void {
    const { count, random } = this.#options;
    const { outcome, sentAtMs, durationMs } = attempt;
    const { status, error } = outcome;
    const { name, secret } = queue.settings;
    // A receiver that echoes its secret, in an error page for example, must not get it recorded.
    const answer = secret.reduce((text, one) => text.replaceAll(one, "***"), outcome.body);
    const record: DeliveryRecord = {
      id: random.uuid(),
      event: notice.record.event,
      webhook: name,
      project_uuid: queue.projectUuid,
      message_id: notice.record.id,
      attempted_at: new Date(sentAtMs).toISOString(),
      duration_ms: Math.round(durationMs),
      request_body: notice.body,
      response_status: status ?? null,
      response_body: status === undefined ? null : answer,
      success: status !== undefined && status >= 200 && status < 300,
      error: error ?? null,
    };
    this.#deliveries.add(record);
    this.#onRecord?.(record);
    const result = attempt.dropped ? "dropped" : record.success ? "delivered" : "failed";
    count(queue.projectUuid, name, result, 1);
    this.#logChange(queue, record);
    done?.(record);
  }

  /** Records a delivery that is not sent, with the reason. */
  #drop(queue: DeliveryQueue, one: QueuedDelivery, why: string): void {
    const outcome = { status: undefined, body: "", error: `not sent: ${why}` };
    const sentAtMs = this.#options.clock.nowMs();
    this.#keep(queue, one, { outcome, sentAtMs, durationMs: 0, dropped: true });
  }

  /** Events are logged in one line, since there may be too many for a record each; test deliveries get their record. */
  #empty(queue: DeliveryQueue, why: string): void {
    const dropped = queue.waiting.splice(0);
    queue.waitingBytes = 0;
    if (dropped.length === 0) return;
    this.#waiting -= dropped.length;
    const events = dropped.filter(({ done }) => done === undefined).length;
    const where = { project: queue.projectUuid, webhook: queue.settings.name };
    this.#options.count(where.project, where.webhook, "dropped", events);
    this.#options.log.warn({ ...where, events }, `webhook deliveries were not sent: ${why}`);
    for (const one of dropped) if (one.done !== undefined) this.#drop(queue, one, why);
  }

  /** One line when a webhook starts to fail, and one when it recovers. */
  #logChange(queue: DeliveryQueue, { success, event, response_status, error }: DeliveryRecord): void {
    if (success === !queue.failing) return;
    queue.failing = !success;
    const where = { project: queue.projectUuid, webhook: queue.settings.name };
    const { log } = this.#options;
    if (success) log.info(where, "webhook deliveries succeed again");
    else log.warn({ ...where, event, status: response_status, error }, "webhook delivery failed");
  }

  #settleDrain(): void {
    if (this.#waiting === 0 && this.#inFlight === 0) this.#drained?.();
  }
}

interface Attempt {
  readonly outcome: PostOutcome;
  readonly sentAtMs: number;
  readonly durationMs: number;
  readonly dropped: boolean;
}
