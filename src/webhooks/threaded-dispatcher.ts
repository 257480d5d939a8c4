/**
 * Runs the dispatcher in a thread of its own, so that deliveries do not delay calls: this side only matches records with
 * subscriptions and transfers them in batches. The thread exists while a webhook is configured. A thread that dies is
 * replaced: what it had not delivered is counted as dropped, and its delivery records are passed to the next.
 */
import type { Worker } from "node:worker_threads";
import { queueLimit } from "../base/audit-bytes.ts";
import { startThread } from "../base/thread.ts";
import type { Timer } from "../plugin/host.ts";
import { type AuditRecord, auditKindOf } from "../plugin/store.ts";
import {
  DeliveryBatches,
  type DeliveryFilter,
  DeliveryLog,
  type DeliveryRecord,
  readDeliveries,
} from "./deliveries.ts";
import { Subscriptions, type WebhookProject } from "./delivery-queue.ts";
import {
  DELIVERY_TIMEOUT_MS,
  type Dispatcher,
  type DispatcherOptions,
  type TestRequester,
} from "./dispatcher.ts";
import { DispatcherThread, type Report } from "./dispatcher-thread.ts";

/** Records that the thread has not queued yet; further ones are dropped, those of traffic at half of it. */
export const UNTAKEN_MAX = 10_000;
/** Records are collected for this long: a message costs ten times as much as a record in it. */
const TRANSFER_MS = 10;
/** Records in one message, some 3 us each, so that calls run in between. */
const BATCH_MAX = 200;
/** Delay of the first restart; doubled with each death until a thread reports again. */
const RESTART_MS = 50;
const RESTART_MAX_MS = 10_000;

export interface ThreadedDispatcherOptions extends DispatcherOptions {
  /** Starts the thread. Default: dispatcher-worker.ts. */
  readonly start?: () => Worker;
}

/** What this side tracks for a webhook. */
interface Account {
  readonly projectUuid: string;
  readonly name: string;
  /** Deliveries transferred and not yet reported. */
  open: number;
}

export class ThreadedDispatcher implements Dispatcher {
  readonly #options: ThreadedDispatcherOptions;
  #projects: readonly WebhookProject[] = [];
  #allow: readonly string[] = [];
  #accounts = new Subscriptions<Account>([], undefined, newAccount);
  readonly #delivered = new DeliveryBatches();
  #thread: DispatcherThread | undefined;
  #restart: Timer | undefined;
  /** Deaths since the latest report. */
  #deaths = 0;
  /** Records not transferred yet. */
  #queue: AuditRecord[] = [];
  #transferring = false;
  /** Records transferred and not queued by the thread yet. */
  #transferred = 0;
  #waiting = 0;
  /** Records were dropped since the latest report; logged once. */
  #isFull = false;
  #closed = false;

  constructor(options: ThreadedDispatcherOptions) {
    this.#options = options;
  }

  /** As the thread has last reported. */
  get waiting(): number {
    return this.#waiting;
  }

  configure(projects: readonly WebhookProject[], allow: readonly string[]): void {
    if (this.#closed) return;
    this.#transferAll();
    this.#allow = allow;
    this.#projects = projects
      .filter(({ webhooks }) => webhooks.length > 0)
      .map(({ id, name, uuid, webhooks }) => ({ id, name, uuid, webhooks }));
    this.#accounts = new Subscriptions(this.#projects, this.#accounts, newAccount);
    if (this.#thread !== undefined) {
      this.#tellConfiguration(this.#thread);
      if (this.#projects.length === 0) this.#retire(this.#thread);
    } else if (this.#accounts.size === 0) this.#cancelRestart();
    else if (this.#restart === undefined) this.#begin();
  }

  notify(record: AuditRecord): void {
    const accounts = this.#accounts.subscribersOf(record);
    if (accounts.length === 0 || this.#closed) return;
    if (this.#queue.length + this.#transferred >= queueLimit(auditKindOf(record.event), UNTAKEN_MAX))
      return this.#drop(accounts);
    for (const account of accounts) account.open++;
    this.#queue.push(record);
    this.#transferSoon();
  }

  sendTest(projectUuid: string, name: string, requester: TestRequester): ReturnType<Dispatcher["sendTest"]> {
    const found = this.#accounts.find(projectUuid, name);
    return typeof found === "string" ? found : this.#requestTest(found.entry, requester);
  }

  async query(filter: DeliveryFilter): Promise<readonly DeliveryRecord[]> {
    this.#transferAll();
    const asked = this.#thread?.ask({ query: filter });
    return asked === undefined ? this.#restored().query(filter) : ((await asked) ?? []);
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#closed = true;
    this.#cancelRestart();
    this.#transferAll();
    const thread = this.#thread;
    await thread?.end(timeoutMs);
    this.#thread = undefined;
    this.#loseOpen("the gateway has stopped");
  }

  #begin(): void {
    const { clock, log, start = startDispatcherThread } = this.#options;
    const thread: DispatcherThread = new DispatcherThread({
      ...{ worker: start(), clock, log },
      reported: (report) => this.#reported(thread, report),
      died: (reason) => this.#died(thread, reason),
    });
    this.#thread = thread;
    this.#restart = undefined;
    thread.tell({ restore: this.#delivered.all });
    this.#tellConfiguration(thread);
    this.#transferSoon();
  }

  #cancelRestart(): void {
    this.#restart?.cancel();
    this.#restart = undefined;
  }

  #tellConfiguration(thread: DispatcherThread): void {
    thread.tell({ configure: this.#projects, allow: this.#allow });
  }

  /** No webhook is left. Deliveries in flight may finish; their records are not visible until they are reported. */
  #retire(thread: DispatcherThread): void {
    this.#thread = undefined;
    this.#transferred = 0;
    this.#waiting = 0;
    void thread.end(DELIVERY_TIMEOUT_MS);
  }

  #transferSoon(): void {
    if (this.#transferring || this.#queue.length === 0 || this.#thread === undefined) return;
    this.#transferring = true;
    // In real time, as the thread works, whatever clock the calls use. `drain` transfers what is left.
    setTimeout(() => {
      this.#transferring = false;
      this.#transfer();
      this.#transferSoon();
    }, TRANSFER_MS).unref();
  }

  #transfer(): void {
    if (this.#thread === undefined || this.#queue.length === 0) return;
    const batch = this.#queue.splice(0, BATCH_MAX);
    this.#transferred += batch.length;
    this.#thread.tell({ records: JSON.stringify(batch) });
  }

  /** Before any message that depends on them. */
  #transferAll(): void {
    while (this.#thread !== undefined && this.#queue.length > 0) this.#transfer();
  }

  async #requestTest(account: Account, requester: TestRequester): Promise<DeliveryRecord> {
    const { projectUuid, name } = account;
    this.#transferAll();
    const [record] = (await this.#thread?.ask({ test: name, projectUuid, requester })) ?? [];
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
      error: "not sent: the webhook dispatcher is not running",
    };
  }

  /** The log that a thread would have. */
  #restored(): DeliveryLog {
    const log = new DeliveryLog();
    for (const record of readDeliveries(this.#delivered.all)) log.add(record);
    return log;
  }

  #reported(thread: DispatcherThread, { taken, waiting, counts, deliveries }: Report): void {
    this.#delivered.add(deliveries);
    if (thread === this.#thread) {
      this.#deaths = 0;
      this.#isFull = false;
      this.#transferred -= taken;
      this.#waiting = waiting;
    } else if (deliveries !== "") this.#thread?.tell({ restore: [deliveries] });
    for (const [projectUuid, name, outcome, deliveries] of counts) {
      this.#options.count(projectUuid, name, outcome, deliveries);
      const account = this.#accounts.get(projectUuid, name);
      if (account !== undefined) account.open = Math.max(0, account.open - deliveries);
    }
  }

  #died(thread: DispatcherThread, reason: string): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#deaths++;
    this.#options.log.error({ reason }, "webhook dispatcher thread died and is restarted");
    this.#loseOpen("the dispatcher thread died");
    const delayMs = Math.min(RESTART_MAX_MS, RESTART_MS * 2 ** (this.#deaths - 1));
    this.#restart = this.#options.clock.after(delayMs, () => this.#begin());
  }

  #drop(accounts: readonly Account[]): void {
    if (!this.#isFull)
      this.#options.log.error({}, "webhook deliveries are dropped: the dispatcher thread has fallen behind");
    this.#isFull = true;
    for (const { projectUuid, name } of accounts) this.#options.count(projectUuid, name, "dropped", 1);
  }

  /** Counts what was transferred and not reported as dropped: its outcome is unknown. */
  #loseOpen(why: string): void {
    let deliveries = 0;
    for (const account of this.#accounts.entries) {
      const { projectUuid, name, open } = account;
      if (open === 0) continue;
      this.#options.count(projectUuid, name, "dropped", open);
      deliveries += open;
      account.open = 0;
    }
    this.#queue = [];
    this.#transferred = 0;
    this.#waiting = 0;
    if (deliveries > 0) this.#options.log.error({ deliveries }, `webhook deliveries were lost: ${why}`);
  }
}

function newAccount(known: Account | undefined, projectUuid: string, { name }: { name: string }): Account {
  return known ?? { projectUuid, name, open: 0 };
}

/** Without the environment, which holds secrets that it does not need. */
function startDispatcherThread(): Worker {
  return startThread(new URL("./dispatcher-worker.ts", import.meta.url), { env: {} });
}
