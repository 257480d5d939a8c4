/**
 * The gateway's end of one dispatcher thread: messages in both directions, and one notification of its death. Secrets go
 * one way only. What the thread is told, and when it is replaced, is decided by threaded-dispatcher.ts.
 */
import type { Worker } from "node:worker_threads";
import type { Logger } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import type { CountDeliveries, DeliveryFilter, DeliveryRecord } from "./deliveries.ts";
import type { WebhookProject } from "./delivery-queue.ts";
import type { TestRequester } from "./dispatcher.ts";

export type ToDispatcher =
  | { readonly configure: readonly WebhookProject[]; readonly allow: readonly string[] }
  /** A list of audit records as JSON: one string is transferred far faster than the objects. */
  | { readonly records: string }
  /** Batches of delivery records that an earlier thread has reported. */
  | { readonly restore: readonly string[] }
  | { readonly ask: number; readonly question: Question };

export type Question =
  | { readonly query: DeliveryFilter }
  | { readonly test: string; readonly projectUuid: string; readonly requester: TestRequester }
  /** Milliseconds. */
  | { readonly drain: number };

export type FromDispatcher =
  | { readonly report: Report }
  | {
      readonly log: keyof Logger;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string;
    }
  /** To a test its one record, to a drain none. */
  | { readonly answer: number; readonly records: readonly DeliveryRecord[] };

/** Changes since the previous report. */
export interface Report {
  /** Audit records queued. */
  readonly taken: number;
  /** Deliveries queued now. */
  readonly waiting: number;
  readonly counts: readonly Parameters<CountDeliveries>[];
  /** Delivery records as JSON, parsed only after the thread has died; "": none. */
  readonly deliveries: string;
}

/** Open questions; the answer to a query carries up to a thousand records. */
const ASKS_MAX = 100;
/** For the last message, after the time to drain. */
const GRACE_MS = 1000;

export interface DispatcherThreadOptions {
  readonly worker: Worker;
  readonly clock: Clock;
  readonly log: Logger;
  reported(report: Report): void;
  /** The last call for this thread. Not called after `end`. */
  died(reason: string): void;
}

export class DispatcherThread {
  readonly #options: DispatcherThreadOptions;
  readonly #worker: Worker;
  readonly #open = new Map<number, (records: readonly DeliveryRecord[] | undefined) => void>();
  #asked = 0;
  #isOver = false;
  #isEnding = false;

  constructor(options: DispatcherThreadOptions) {
    this.#options = options;
    this.#worker = options.worker;
    this.#worker.on("message", (message: FromDispatcher) => this.#receive(message));
    this.#worker.on("error", (error: Error) => this.#die(error.message));
    this.#worker.on("exit", (code: number) => this.#die(`it exited with code ${code}`));
  }

  tell(message: ToDispatcher): void {
    if (!this.#isOver) this.#worker.postMessage(message);
  }

  /** undefined: the thread has ended, or too many questions are open. */
  ask(question: Question): Promise<readonly DeliveryRecord[] | undefined> {
    if (this.#isOver || this.#open.size >= ASKS_MAX) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const ask = ++this.#asked;
      this.#open.set(ask, resolve);
      this.tell({ ask, question });
    });
  }

  /** Drains the thread and ends it. The process stays alive until then. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    this.#worker.ref();
    const late = this.#options.clock.after(Math.max(0, timeoutMs) + GRACE_MS, () =>
      this.#die("it does not answer"),
    );
    await this.ask({ drain: timeoutMs });
    late.cancel();
    this.#die("it has been ended");
  }

  #receive(message: FromDispatcher): void {
    if (this.#isOver) return;
    const { log, reported } = this.#options;
    if ("report" in message) reported(message.report);
    else if ("log" in message) log[message.log](message.fields, message.message);
    else {
      this.#open.get(message.answer)?.(message.records);
      this.#open.delete(message.answer);
    }
  }

  #die(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // Without a listener, the last error of a dying thread would be uncaught.
    this.#worker.removeAllListeners().on("error", () => undefined);
    void this.#worker.terminate();
    for (const resolve of this.#open.values()) resolve(undefined);
    this.#open.clear();
    if (!this.#isEnding) this.#options.died(reason);
  }
}
