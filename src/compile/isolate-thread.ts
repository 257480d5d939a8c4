/**
 * One thread of an isolated guardrail, from its start to its end: messages in and out, memory watched from outside.
 * Knows no queue and no deadline: those are isolate.ts's.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "../base/thread.ts";
import type { Host } from "../plugin/index.ts";
import {
  ASKS_MAX,
  type Asked,
  type FromThread,
  type Measurement,
  type ThreadStart,
  type ToThread,
} from "./isolate-messages.ts";

const MEGABYTE = 1_048_576;
/** What a guardrail may hold on to. Its thread looks after each judgement, and once a second. */
export const HELD_BYTES_MAX = 128 * MEGABYTE;
/** How much the process may grow while one judgement blocks the thread. */
const BURST_BYTES_MAX = 256 * MEGABYTE;
const WATCH_MS = 20;
/**
 * V8 ends the whole process, not the thread, when one allocation alone goes beyond the limit. No allocation is over
 * 1 GiB, so the engine's limit stands that far above ours, which hold before it is reached.
 */
const ENGINE_LIMITS = { maxOldGenerationSizeMb: 1280, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };
const CLOSE_MS = 1000;

/** What comes of a thread. After `died` nothing more comes. */
export interface ThreadEvents {
  heard(message: FromThread): void;
  died(reason: string): void;
}

export class GuardThread {
  readonly #worker: Worker;
  readonly #begun: Int32Array;
  readonly #host: Host;
  readonly #events: ThreadEvents;
  #watch: NodeJS.Timeout | undefined;
  #asks = 0;
  #over = false;

  constructor(start: Omit<ThreadStart, "begun" | "heldBytesMax">, host: Host, events: ThreadEvents) {
    const begun = new SharedArrayBuffer(4);
    this.#begun = new Int32Array(begun);
    this.#host = host;
    this.#events = events;
    const workerData: ThreadStart = { ...start, begun, heldBytesMax: HELD_BYTES_MAX };
    this.#worker = startThread(new URL("./isolate-worker.ts", import.meta.url), {
      workerData,
      // The environment holds secrets of others.
      env: {},
      resourceLimits: ENGINE_LIMITS,
    });
    this.#worker.on("message", (message: FromThread) => this.#heard(message));
    this.#worker.on("error", (error: Error) => this.#die(error.message));
    this.#worker.on("exit", () => this.#die("its thread ended"));
  }

  /** The number of the judgement that was begun last; those after it wait. */
  get begun(): number {
    return Atomics.load(this.#begun, 0);
  }

  post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  /** Watches the process's memory while judgements are open. */
  watch(hasOpen: boolean): void {
    if (!hasOpen) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    } else if (this.#watch === undefined && !this.#over) {
      let seen = this.begun;
      let bytes = process.memoryUsage.rss();
      // Memory grows in real time, whatever clock the calls run on.
      this.#watch = setInterval(() => {
        const now = process.memoryUsage.rss();
        if (this.begun !== seen) {
          seen = this.begun;
          bytes = now;
        } else if (now - bytes > BURST_BYTES_MAX) this.#die("it takes too much memory");
      }, WATCH_MS).unref();
    }
  }

  /** Ends it at once, whatever it does. No event comes. */
  kill(): void {
    this.#over = true;
    this.watch(false);
    // A dying thread's last error has nobody left to hear it.
    this.#worker.removeAllListeners().on("error", () => undefined);
    void this.#worker.terminate();
  }

  /** Lets the guardrail close itself, for a second at most. */
  async close(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.watch(false);
    this.#worker.removeAllListeners("error").on("error", () => undefined);
    const ended = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    this.post({ close: true });
    const late = setTimeout(() => void this.#worker.terminate(), CLOSE_MS);
    await ended;
    clearTimeout(late);
  }

  #heard(message: FromThread): void {
    if (this.#over) return;
    try {
      if ("ask" in message) this.#ask(message);
      else if ("tell" in message) this.#tell(message);
      else this.#events.heard(message);
    } catch {
      // A plugin can write to the gateway itself; what it writes must not end more than its thread.
      this.#die("it sent what is no message");
    }
  }

  #die(reason: string): void {
    if (this.#over) return;
    this.kill();
    this.#events.died(reason);
  }

  #ask({ ask, what, args }: Extract<FromThread, { ask: number }>): void {
    // The thread keeps to it by itself; this holds a plugin to it that writes messages of its own.
    if (this.#asks >= ASKS_MAX) return;
    this.#asks++;
    // In a promise, where a throw of what is asked with the wrong things is the asker's affair.
    Promise.resolve()
      .then(() => this.#answer(what, args))
      .then(
        (value) => this.#reply(ask, value),
        () => this.#reply(ask, undefined),
      );
  }

  #answer(what: Asked, args: readonly unknown[]): unknown {
    const { fetch, store } = this.#host;
    // As isolate-host.ts sends them, or wrong: see above.
    const [first, second, third] = args as [string, never, never];
    if (what === "fetch") return fetch(first, second);
    if (what === "set" || what === "increment") return store[what](first, second, third);
    return store[what](first);
  }

  #reply(reply: number, value: unknown): void {
    this.#asks--;
    if (!this.#over) this.post({ reply, value });
  }

  #tell({ tell, args }: Extract<FromThread, { tell: string }>): void {
    if (tell === "counter" || tell === "histogram" || tell === "gauge") return this.#measure(tell, args);
    // As isolate-host.ts sends them.
    const [fields, message] = args as [Readonly<Record<string, unknown>>, string];
    this.#host.log[tell](fields, message);
  }

  #measure(kind: "counter" | "histogram" | "gauge", args: readonly unknown[]): void {
    // As isolate-host.ts sends them.
    const [name, help, labels, buckets, values, value] = args as Measurement;
    const { metrics } = this.#host;
    const family =
      kind === "histogram"
        ? metrics.histogram(name, help, labels, buckets)
        : metrics[kind](name, help, labels);
    family.series(...values)(value);
  }
}
