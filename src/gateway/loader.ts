/**
 * Loads configurations beside the calls: parsing YAML and compiling schemas is synchronous work of up to seconds, so
 * reloads run in a worker thread. The thread is started when it is needed and ended when it has been idle.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "../base/thread.ts";
import { loadRegistry } from "../compile/registry.ts";
import type { LoadOutcome, LoadRequest } from "../config/load.ts";
import type { Clock, Timer } from "../plugin/index.ts";
import type { Loaded } from "./load.ts";

/** An idle thread costs 30 MB: it is kept only while reloads follow each other. */
const IDLE_MS = 5_000;
/** A load that takes longer is given up; the last good configuration goes on. */
const LOAD_TIMEOUT_MS = 60_000;

/** What the worker sends back; `error` when it could not even try. */
export type WorkerAnswer = { readonly outcome: LoadOutcome } | { readonly error: string };

export class Loader {
  readonly #clock: Clock;
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One at a time: the caller waits for each load before the next. Rejects when the thread dies or takes too long. */
  async load(request: LoadRequest): Promise<Loaded> {
    this.#idle?.cancel();
    const worker = (this.#worker ??= startThread(new URL("./loader-worker.ts", import.meta.url)));
    try {
      const answer = await this.#ask(worker, request);
      if ("error" in answer) throw new Error(answer.error);
      const { outcome } = answer;
      return { ...outcome, registry: await loadRegistry(outcome.config?.plugins ?? []) };
    } catch (error) {
      this.#end(worker);
      throw error;
    } finally {
      if (!this.#closed) this.#idle = this.#clock.after(IDLE_MS, () => this.#end(worker));
    }
  }

  close(): void {
    this.#closed = true;
    this.#idle?.cancel();
    if (this.#worker !== undefined) this.#end(this.#worker);
  }

  #ask(worker: Worker, request: LoadRequest): Promise<WorkerAnswer> {
    return new Promise((resolve, fail) => {
      const timer = this.#clock.after(LOAD_TIMEOUT_MS, () => fail(new Error("loading took too long")));
      const settled = (then: () => void): void => {
        timer.cancel();
        worker.removeAllListeners("message");
        worker.removeAllListeners("error");
        worker.removeAllListeners("exit");
        then();
      };
      worker.once("message", (answer: WorkerAnswer) => settled(() => resolve(answer)));
      worker.once("error", (error) => settled(() => fail(error)));
      worker.once("exit", () => settled(() => fail(new Error("the loading thread ended"))));
      worker.postMessage(request);
    });
  }

  #end(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined;
    // A dying thread's last error has nobody left to hear it.
    worker.on("error", () => undefined);
    void worker.terminate();
  }
}
