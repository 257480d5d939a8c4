/**
 * One thread that delivers webhooks, from its start to its end, seen from the gateway's: messages in and out, and that
 * its death is heard of once. What it is told, and when there is another, is threaded-courier.ts's.
 */
import type { Worker } from "node:worker_threads";
import type { Clock, Logger } from "../plugin/index.ts";
import type { FromCourier, Question, Report, ToCourier } from "./courier-messages.ts";
import type { DeliveryRecord } from "./deliveries.ts";

/** Questions that may be open; a query carries up to a thousand records. */
const ASKS_MAX = 100;
/** For its last message, when its time to drain is over. */
const GRACE_MS = 1000;

export interface CourierThreadOptions {
  readonly worker: Worker;
  readonly clock: Clock;
  readonly log: Logger;
  reported(report: Report): void;
  /** Nothing more comes of it. Not called when it was ended by `end`. */
  died(reason: string): void;
}

export class CourierThread {
  readonly #options: CourierThreadOptions;
  readonly #worker: Worker;
  readonly #open = new Map<number, (records: readonly DeliveryRecord[] | undefined) => void>();
  #asked = 0;
  #isOver = false;
  #isEnding = false;

  constructor(options: CourierThreadOptions) {
    this.#options = options;
    this.#worker = options.worker;
    this.#worker.on("message", (message: FromCourier) => this.#heard(message));
    this.#worker.on("error", (error: Error) => this.#die(error.message));
    this.#worker.on("exit", (code: number) => this.#die(`it ended with ${code}`));
  }

  tell(message: ToCourier): void {
    if (!this.#isOver) this.#worker.postMessage(message);
  }

  /** undefined: the thread has ended, or too much is asked of it at once. */
  ask(question: Question): Promise<readonly DeliveryRecord[] | undefined> {
    if (this.#isOver || this.#open.size >= ASKS_MAX) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const ask = ++this.#asked;
      this.#open.set(ask, resolve);
      this.tell({ ask, question });
    });
  }

  /** Lets it send what waits, and ends it. The process goes on so long. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    this.#worker.ref();
    const late = this.#options.clock.after(Math.max(0, timeoutMs) + GRACE_MS, () => this.#die("it hangs"));
    await this.ask({ drain: timeoutMs });
    late.cancel();
    this.#die("it has been ended");
  }

  #heard(message: FromCourier): void {
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
    // A dying thread's last error has nobody left to hear it.
    this.#worker.removeAllListeners().on("error", () => undefined);
    void this.#worker.terminate();
    for (const resolve of this.#open.values()) resolve(undefined);
    this.#open.clear();
    if (!this.#isEnding) this.#options.died(reason);
  }
}
