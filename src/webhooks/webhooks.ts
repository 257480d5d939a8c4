/**
 * Delivers audit records to the webhooks that ask for them: one attempt each, in order per webhook, concurrent over
 * webhooks, everything bounded. Hearing of a record only queues it; what is sent is sent in later turns of the loop.
 */

import { GATEWAY_WIDE } from "../audit/audit.ts";
import { queueLimit } from "../base/audit-bytes.ts";
import type { Random } from "../plugin/host.ts";
import type { Clock, Logger } from "../plugin/index.ts";
import type { AuditRecord } from "../plugin/store.ts";
import { auditKindOf } from "../plugin/store.ts";
import type { DeliveryKeeper, DeliveryRecord } from "./deliveries.ts";
import { Lane, Notice, type Waiting, type WebhookProject } from "./lane.ts";
import type { CountDeliveries } from "./metrics.ts";

/** Specification, "Delivery behaviour". */
export const DELIVERY_TIMEOUT_MS = 10_000;
/** What is read of a receiver's answer, and recorded. */
export const ANSWER_BYTES_MAX = 16_384;
const LIMITS = { timeoutMs: DELIVERY_TIMEOUT_MS, maxBytes: ANSWER_BYTES_MAX };
/** Deliveries that may wait, all webhooks together; each has an equal share, within the two bounds below. */
export const WAITING_MAX = 100_000;
export const WAITING_PER_WEBHOOK_MAX = 10_000;
const WAITING_PER_WEBHOOK_MIN = 100;
/** Bytes of deliveries that may wait, about; each webhook has an equal share. */
export const WAITING_BYTES_MAX = 64 << 20;
/** Deliveries under way. More than this many dead receivers hold the others back, ten seconds at a time. */
const IN_FLIGHT_MAX = 256;
/** Signing and sending takes some 50 us: calls get their turn in between. */
const STARTS_PER_TURN = 8;

export interface PostOutcome {
  /** undefined: no answer came. */
  readonly status: number | undefined;
  /** As far as it came, `maxBytes` at most. */
  readonly body: string;
  /** Why none, or only a part of it, came; in short, without secrets. */
  readonly error: string | undefined;
}

/**
 * Sends one POST, past the SSRF guard, and follows no redirect; reads no more than `maxBytes` of the answer's body.
 * Never rejects. Handed in by the gateway, since sockets are not this layer's.
 */
export type PostWebhook = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  limits: { readonly timeoutMs: number; readonly maxBytes: number },
) => Promise<PostOutcome>;

export interface WebhooksOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly count: CountDeliveries;
  readonly deliveries: Pick<DeliveryKeeper, "add">;
  readonly post: PostWebhook;
}

/** Who asked for a test delivery. */
export interface Asker {
  /** Name of the control-plane token. */
  readonly actor: string;
  readonly ipAddress: string;
}

export class Webhooks {
  readonly #options: WebhooksOptions;
  /** Active webhooks by project and name. */
  #lanes = new Map<string, Lane>();
  /** By project and event: what a record is matched with. */
  #subscribed = new Map<string, Lane[]>();
  #projects: readonly WebhookProject[] = [];
  #waitingMax = WAITING_PER_WEBHOOK_MAX;
  /** Those that have something to send and nothing under way; each is in here once. */
  readonly #ready: Lane[] = [];
  #starting = false;
  #waiting = 0;
  #inFlight = 0;
  #closed = false;
  #drained: (() => void) | undefined;

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  /** Deliveries that wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Takes the configuration in use, at each reload before its events are recorded. What waits for a webhook that is
   * still there is sent as that now says; what waits for one that is gone or switched off is dropped.
   */
  configure(projects: readonly WebhookProject[]): void {
    const lanes = new Map<string, Lane>();
    const subscribed = new Map<string, Lane[]>();
    for (const { uuid, webhooks } of projects) {
      for (const settings of webhooks) {
        if (!settings.active) continue;
        const key = `${uuid}/${settings.name}`;
        const lane = this.#lanes.get(key) ?? new Lane(uuid, settings);
        if (lane.settings !== settings) lane.change(settings);
        lanes.set(key, lane);
        for (const event of new Set(settings.events)) {
          const known = subscribed.get(`${uuid}/${event}`);
          if (known === undefined) subscribed.set(`${uuid}/${event}`, [lane]);
          else known.push(lane);
        }
      }
    }
    for (const [key, lane] of this.#lanes) {
      if (!lanes.has(key)) this.#empty(lane, "the webhook is gone or switched off");
    }
    this.#projects = projects;
    this.#lanes = lanes;
    this.#subscribed = subscribed;
    const share = Math.floor(WAITING_MAX / Math.max(1, lanes.size));
    this.#waitingMax = Math.min(WAITING_PER_WEBHOOK_MAX, Math.max(WAITING_PER_WEBHOOK_MIN, share));
  }

  /** Queues a record for each webhook that asks for it. */
  notify(record: AuditRecord): void {
    const lanes = this.#subscribers(record);
    if (this.#closed || lanes.length === 0) return;
    const notice = new Notice(record);
    for (const lane of lanes) {
      if (this.#isFull(lane, record.event)) {
        this.#drop(lane, { notice, done: undefined }, `${lane.waiting.length} deliveries were waiting`);
      } else {
        lane.waiting.push({ notice, done: undefined });
        this.#queued(lane, notice);
      }
    }
  }

  /**
   * Sends a made-up `webhook.test` ahead of what waits, whether the webhook asks for that event or not. Answers with
   * the record of the delivery.
   */
  sendTest(
    projectUuid: string,
    name: string,
    asker: Asker,
  ): Promise<DeliveryRecord> | "unknown" | "inactive" {
    const project = this.#projects.find(({ uuid }) => uuid === projectUuid);
    const settings = project?.webhooks.find((webhook) => webhook.name === name);
    if (project === undefined || settings === undefined) return "unknown";
    const lane = this.#lanes.get(`${projectUuid}/${name}`);
    if (lane === undefined) return "inactive";
    const { clock, random } = this.#options;
    const { id, uuid } = project;
    const notice = new Notice({
      id: random.uuid(),
      event: "webhook.test",
      severity: "info",
      actor: asker.actor,
      project: { id, name: project.name, uuid },
      target: name,
      metadata: { test: true },
      ipAddress: asker.ipAddress,
      occurredAtMs: clock.nowMs(),
    });
    return new Promise((done) => {
      if (this.#closed || this.#isFull(lane, notice.record.event)) {
        return this.#drop(lane, { notice, done }, "the queue takes no more");
      }
      lane.waiting.unshift({ notice, done });
      this.#queued(lane, notice);
    });
  }

  /**
   * Resolves when all that waits is sent; after `timeoutMs` what is left is dropped, and what is under way is left to
   * whoever owns its connection. Nothing is sent after it.
   */
  async drain(timeoutMs: number): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
    const giveUp = (): void => {
      for (const lane of this.#lanes.values()) this.#empty(lane, "the gateway has stopped");
      this.#closed = true;
      this.#drained?.();
    };
    this.#settleDrain();
    if (timeoutMs <= 0) return giveUp();
    const deadline = this.#options.clock.after(timeoutMs, giveUp);
    await drained;
    deadline.cancel();
    this.#closed = true;
  }

  /** Events that concern the whole gateway are everybody's: each webhook that names them hears of them. */
  #subscribers({ event, project }: AuditRecord): readonly Lane[] {
    if (project.uuid !== GATEWAY_WIDE.uuid) return this.#subscribed.get(`${project.uuid}/${event}`) ?? [];
    return [...this.#lanes.values()].filter(({ settings }) => settings.events.includes(event));
  }

  /** Traffic leaves room for changes and sign-ins; see `queueLimit`. */
  #isFull(lane: Lane, event: string): boolean {
    const kind = auditKindOf(event);
    if (lane.waiting.length >= queueLimit(kind, this.#waitingMax)) return true;
    return lane.waitingBytes >= queueLimit(kind, WAITING_BYTES_MAX / Math.max(1, this.#lanes.size));
  }

  #queued(lane: Lane, notice: Notice): void {
    lane.waitingBytes += notice.bytes;
    this.#waiting++;
    this.#list(lane);
  }

  #list(lane: Lane): void {
    if (lane.busy || lane.listed || lane.waiting.length === 0) return;
    lane.listed = true;
    this.#ready.push(lane);
    this.#startSoon();
  }

  #startSoon(): void {
    if (this.#starting || this.#ready.length === 0 || this.#inFlight >= IN_FLIGHT_MAX) return;
    this.#starting = true;
    setImmediate(() => {
      this.#starting = false;
      for (let n = 0; n < STARTS_PER_TURN && this.#inFlight < IN_FLIGHT_MAX; n++) {
        const lane = this.#ready.shift();
        if (lane === undefined) return;
        lane.listed = false;
        const next = lane.waiting.shift();
        if (next !== undefined) this.#deliver(lane, next);
      }
      this.#startSoon();
    });
  }

  #deliver(lane: Lane, next: Waiting): void {
    const { clock, post } = this.#options;
    const { record, body } = next.notice;
    lane.waitingBytes -= next.notice.bytes;
    this.#waiting--;
    this.#inFlight++;
    lane.busy = true;
    const sentAtMs = clock.nowMs();
    const startedMs = clock.monotonicMs();
    const headers = lane.sign({ id: record.id, event: record.event, body, sentAtMs });
    post(lane.settings.url, headers, body, LIMITS).then((outcome) => {
      lane.busy = false;
      this.#inFlight--;
      const durationMs = clock.monotonicMs() - startedMs;
      this.#keep(lane, next, { outcome, sentAtMs, durationMs, dropped: false });
      this.#list(lane);
      this.#startSoon();
      this.#settleDrain();
    });
  }

  #keep(lane: Lane, { notice, done }: Waiting, attempt: Attempt): void {
    const { count, deliveries, random } = this.#options;
    const { outcome, sentAtMs, durationMs } = attempt;
    const { status, error } = outcome;
    const { name, secret } = lane.settings;
    // A receiver that says its secret, in an error page say, must not bring it here.
    const answer = secret.reduce((text, one) => text.replaceAll(one, "***"), outcome.body);
    const record: DeliveryRecord = {
      id: random.uuid(),
      event: notice.record.event,
      webhook: name,
      project_uuid: lane.projectUuid,
      message_id: notice.record.id,
      attempted_at: new Date(sentAtMs).toISOString(),
      duration_ms: Math.round(durationMs),
      request_body: notice.body,
      response_status: status ?? null,
      response_body: status === undefined ? null : answer,
      success: status !== undefined && status >= 200 && status < 300,
      error: error ?? null,
    };
    deliveries.add(record);
    const became = attempt.dropped ? "dropped" : record.success ? "delivered" : "failed";
    count(lane.projectUuid, name, became, 1);
    this.#logTurn(lane, record);
    done?.(record);
  }

  /** Never sent; the record says why. */
  #drop(lane: Lane, one: Waiting, why: string): void {
    const outcome = { status: undefined, body: "", error: `not sent: ${why}` };
    const sentAtMs = this.#options.clock.nowMs();
    this.#keep(lane, one, { outcome, sentAtMs, durationMs: 0, dropped: true });
  }

  /** What nobody waits for has one line for all: there may be too many for a record each. */
  #empty(lane: Lane, why: string): void {
    const dropped = lane.waiting.splice(0);
    lane.waitingBytes = 0;
    if (dropped.length === 0) return;
    this.#waiting -= dropped.length;
    const events = dropped.filter(({ done }) => done === undefined).length;
    const where = { project: lane.projectUuid, webhook: lane.settings.name };
    this.#options.count(where.project, where.webhook, "dropped", events);
    this.#options.log.warn({ ...where, events }, `webhook deliveries were not sent: ${why}`);
    for (const one of dropped) if (one.done !== undefined) this.#drop(lane, one, why);
  }

  /** A line when a webhook starts to fail, and one when it is well again. */
  #logTurn(lane: Lane, { success, event, response_status, error }: DeliveryRecord): void {
    if (success === !lane.failing) return;
    lane.failing = !success;
    const where = { project: lane.projectUuid, webhook: lane.settings.name };
    const { log } = this.#options;
    if (success) log.info(where, "webhook deliveries succeed again");
    else log.warn({ ...where, event, status: response_status, error }, "a webhook delivery failed");
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
