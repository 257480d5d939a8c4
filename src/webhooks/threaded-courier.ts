/**
 * A courier whose work is done on a thread of its own: here a record is only matched with who wants it, and handed over
 * with the others of the same few milliseconds. The thread is there while a webhook is configured; one that dies is
 * replaced, what it had not delivered is counted as dropped, and its delivery records are handed to the next.
 */
import type { Worker } from "node:worker_threads";
import { GATEWAY_WIDE } from "../audit/audit.ts";
import { queueLimit } from "../base/audit-bytes.ts";
import { startThread } from "../base/thread.ts";
import type { Timer } from "../plugin/host.ts";
import type { AuditRecord } from "../plugin/store.ts";
import { auditKindOf } from "../plugin/store.ts";
import type { Courier, CourierOptions } from "./courier.ts";
import type { Report } from "./courier-messages.ts";
import { CourierThread } from "./courier-thread.ts";
import { type DeliveryFilter, DeliveryLog, type DeliveryRecord } from "./deliveries.ts";
import { DeliveryBatches, readDeliveries } from "./delivery-batches.ts";
import type { WebhookProject } from "./lane.ts";
import { type Asker, DELIVERY_TIMEOUT_MS } from "./webhooks.ts";

/** Records that the thread has not taken up yet; further ones are dropped, those of traffic at half of it. */
export const UNTAKEN_MAX = 10_000;
/** Records wait so long for others to be handed over with: a message costs ten times what a record in it does. */
const HAND_OVER_MS = 10;
/** Records in one message: some 3 us each, and calls get their turn in between. */
const BATCH_MAX = 200;
/** Before the first new start; doubled with each death until a thread reports again. */
const RESTART_MS = 50;
const RESTART_MAX_MS = 10_000;

export interface ThreadedCourierOptions extends CourierOptions {
  /** Starts the thread. Default: the gateway's own. */
  readonly start?: () => Worker;
}

/** What this side knows of a webhook. */
interface Account {
  readonly projectUuid: string;
  readonly name: string;
  /** Deliveries asked for and not yet reported. */
  open: number;
}

export class ThreadedCourier implements Courier {
  readonly #options: ThreadedCourierOptions;
  #projects: readonly WebhookProject[] = [];
  #allow: readonly string[] = [];
  /** Of active webhooks, by project and name. */
  #accounts = new Map<string, Account>();
  /** By project and event: what a record is matched with. */
  #subscribed = new Map<string, Account[]>();
  readonly #delivered = new DeliveryBatches();
  #thread: CourierThread | undefined;
  #restart: Timer | undefined;
  /** Deaths since the latest report. */
  #deaths = 0;
  /** Records not handed over yet. */
  #queue: AuditRecord[] = [];
  #handingOver = false;
  /** Records handed over and not taken up yet. */
  #handed = 0;
  #waiting = 0;
  /** Records were dropped since the latest report: said in the log once. */
  #isFull = false;
  #closed = false;

  constructor(options: ThreadedCourierOptions) {
    this.#options = options;
  }

  /** Deliveries that wait for their turn, as the thread has last said. */
  get waiting(): number {
    return this.#waiting;
  }

  configure(projects: readonly WebhookProject[], allow: readonly string[]): void {
    if (this.#closed) return;
    this.#handOverAll();
    this.#allow = allow;
    this.#projects = projects
      .filter(({ webhooks }) => webhooks.length > 0)
      .map(({ id, name, uuid, webhooks }) => ({ id, name, uuid, webhooks }));
    this.#subscribe();
    if (this.#thread !== undefined) {
      this.#tellConfiguration(this.#thread);
      if (this.#projects.length === 0) this.#retire(this.#thread);
    } else if (this.#accounts.size === 0) this.#cancelRestart();
    else if (this.#restart === undefined) this.#begin();
  }

  notify(record: AuditRecord): void {
    const { event, project } = record;
    // An event of the whole gateway is everybody's: those that name it stand under no project's UUID as well.
    const accounts = this.#subscribed.get(`${project.uuid}/${event}`);
    if (accounts === undefined || this.#closed) return;
    if (this.#queue.length + this.#handed >= queueLimit(auditKindOf(event), UNTAKEN_MAX))
      return this.#drop(accounts);
    for (const account of accounts) account.open++;
    this.#queue.push(record);
    this.#handOverSoon();
  }

  sendTest(projectUuid: string, name: string, asker: Asker): ReturnType<Courier["sendTest"]> {
    const project = this.#projects.find(({ uuid }) => uuid === projectUuid);
    if (!project?.webhooks.some((webhook) => webhook.name === name)) return "unknown";
    const account = this.#accounts.get(`${projectUuid}/${name}`);
    return account === undefined ? "inactive" : this.#askForTest(account, asker);
  }

  async query(filter: DeliveryFilter): Promise<readonly DeliveryRecord[]> {
    this.#handOverAll();
    const asked = this.#thread?.ask({ query: filter });
    return asked === undefined ? this.#restored().query(filter) : ((await asked) ?? []);
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#closed = true;
    this.#cancelRestart();
    this.#handOverAll();
    const thread = this.#thread;
    await thread?.end(timeoutMs);
    this.#thread = undefined;
    this.#loseOpen("the gateway has stopped");
  }

  #subscribe(): void {
    const known = this.#accounts;
    this.#accounts = new Map();
    this.#subscribed = new Map();
    for (const { uuid, webhooks } of this.#projects) {
      for (const { name, active, events } of webhooks) {
        if (!active) continue;
        const key = `${uuid}/${name}`;
        const account = known.get(key) ?? { projectUuid: uuid, name, open: 0 };
        this.#accounts.set(key, account);
        for (const event of new Set(events)) {
          for (const wanted of [`${uuid}/${event}`, `${GATEWAY_WIDE.uuid}/${event}`]) {
            const others = this.#subscribed.get(wanted);
            if (others === undefined) this.#subscribed.set(wanted, [account]);
            else others.push(account);
          }
        }
      }
    }
  }

  #begin(): void {
    const { clock, log, start = startCourier } = this.#options;
    const thread: CourierThread = new CourierThread({
      ...{ worker: start(), clock, log },
      reported: (report) => this.#reported(thread, report),
      died: (reason) => this.#died(thread, reason),
    });
    this.#thread = thread;
    this.#restart = undefined;
    thread.tell({ restore: this.#delivered.all });
    this.#tellConfiguration(thread);
    this.#handOverSoon();
  }

  #cancelRestart(): void {
    this.#restart?.cancel();
    this.#restart = undefined;
  }

  #tellConfiguration(thread: CourierThread): void {
    thread.tell({ configure: this.#projects, allow: this.#allow });
  }

  /** No webhook is left. What is under way may end; who asks for records meanwhile finds none. */
  #retire(thread: CourierThread): void {
    this.#thread = undefined;
    this.#handed = 0;
    this.#waiting = 0;
    void thread.end(DELIVERY_TIMEOUT_MS);
  }

  #handOverSoon(): void {
    if (this.#handingOver || this.#queue.length === 0 || this.#thread === undefined) return;
    this.#handingOver = true;
    // In real time, as the thread works, whatever clock the calls run on. What waits at the end is handed over by `drain`.
    setTimeout(() => {
      this.#handingOver = false;
      this.#handOver();
      this.#handOverSoon();
    }, HAND_OVER_MS).unref();
  }

  #handOver(): void {
    if (this.#thread === undefined || this.#queue.length === 0) return;
    const batch = this.#queue.splice(0, BATCH_MAX);
    this.#handed += batch.length;
    this.#thread.tell({ records: JSON.stringify(batch) });
  }

  /** Before anything that must find them there. */
  #handOverAll(): void {
    while (this.#thread !== undefined && this.#queue.length > 0) this.#handOver();
  }

  async #askForTest(account: Account, asker: Asker): Promise<DeliveryRecord> {
    const { projectUuid, name } = account;
    this.#handOverAll();
    const [record] = (await this.#thread?.ask({ test: name, projectUuid, asker })) ?? [];
    return record ?? this.#unsentTest(account);
  }

  #unsentTest({ projectUuid, name }: Account): DeliveryRecord {
    const { clock, random } = this.#options;
    return {
      id: random.uuid(),
      event: "webhook.test",
      webhook: name,
      project_uuid: projectUuid,
      message_id: random.uuid(),
      attempted_at: new Date(clock.nowMs()).toISOString(),
      duration_ms: 0,
      request_body: "",
      response_status: null,
      response_body: null,
      success: false,
      error: "not sent: nobody delivers just now",
    };
  }

  /** What a thread would say if there were one. */
  #restored(): DeliveryLog {
    const log = new DeliveryLog();
    for (const record of readDeliveries(this.#delivered.all)) log.add(record);
    return log;
  }

  #reported(thread: CourierThread, { taken, waiting, counts, deliveries }: Report): void {
    this.#delivered.add(deliveries);
    if (thread === this.#thread) {
      this.#deaths = 0;
      this.#isFull = false;
      this.#handed -= taken;
      this.#waiting = waiting;
    } else if (deliveries !== "") this.#thread?.tell({ restore: [deliveries] });
    for (const [projectUuid, name, outcome, deliveries] of counts) {
      this.#options.count(projectUuid, name, outcome, deliveries);
      const account = this.#accounts.get(`${projectUuid}/${name}`);
      if (account !== undefined) account.open = Math.max(0, account.open - deliveries);
    }
  }

  #died(thread: CourierThread, reason: string): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#deaths++;
    this.#options.log.error({ reason }, "the thread that delivers webhooks has died and is started again");
    this.#loseOpen("their thread has died");
    const delayMs = Math.min(RESTART_MAX_MS, RESTART_MS * 2 ** (this.#deaths - 1));
    this.#restart = this.#options.clock.after(delayMs, () => this.#begin());
  }

  #drop(accounts: readonly Account[]): void {
    if (!this.#isFull)
      this.#options.log.error({}, "webhook deliveries are dropped: their thread is far behind");
    this.#isFull = true;
    for (const { projectUuid, name } of accounts) this.#options.count(projectUuid, name, "dropped", 1);
  }

  /** All that was asked for and not reported: nobody knows what became of it. */
  #loseOpen(why: string): void {
    let deliveries = 0;
    for (const account of this.#accounts.values()) {
      const { projectUuid, name, open } = account;
      if (open === 0) continue;
      this.#options.count(projectUuid, name, "dropped", open);
      deliveries += open;
      account.open = 0;
    }
    this.#queue = [];
    this.#handed = 0;
    this.#waiting = 0;
    if (deliveries > 0) this.#options.log.error({ deliveries }, `webhook deliveries were lost: ${why}`);
  }
}

/** It needs nothing of the environment, which holds secrets of others. */
function startCourier(): Worker {
  return startThread(new URL("./courier-worker.ts", import.meta.url), { env: {} });
}
