/**
 * Loads configurations beside the calls: parsing YAML and compiling schemas is synchronous work of up to seconds, so
 * reloads run in a worker thread. The thread is started when it is needed and ended when it has been idle.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "../base/thread.ts";
import type { LoadOutcome, LoadRequest } from "../config/load.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { ConfigChange } from "../plan/audit-events.ts";
import type { KeptSide } from "../plan/kept-side.ts";
import type { Logger, Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { loadRegistry } from "../plugins-host/registry.ts";
import type { Comparison, ReloadChanges } from "./compared.ts";
import { type ConfigOutline, ConfigReceiver, type SentEntry } from "./config-transfer.ts";
import type { Loaded } from "./load.ts";
import type { LoadProgress } from "./steady-load.ts";

/** An idle thread costs 30 MB: it is kept only while reloads follow each other. */
const IDLE_MS = 5_000;
/** A thread that has sent nothing for longer is stuck: it is terminated, and the load fails. */
const LOAD_TIMEOUT_MS = 10_000;

/** A load, or the request for the next piece of what the latest load sends. */
export type WorkerRequest =
  | { readonly load: LoadRequest; readonly known: readonly string[]; readonly digestInUse: string }
  | { readonly next: true }
  /** What the latest load changes. `inUse`: what was kept of the configuration in use. `packs`: for the admin API. */
  | {
      readonly compare: true;
      readonly inUse: KeptSide | undefined;
      readonly nowMs: number;
      readonly packs: boolean;
    }
  | { readonly nextEvents: true };

/** What the worker sends: any number of steps, then the outcome, or an `error` when it could not even try. */
export type WorkerAnswer = { readonly progress: LoadProgress } | FinalAnswer;

type FinalAnswer =
  | { readonly outcome: SentOutcome }
  /** undefined: there are no more. */
  | { readonly entries: readonly SentEntry[] | undefined }
  | { readonly comparison: Comparison }
  /** undefined: there are no more. */
  | { readonly events: readonly ConfigChange[] | undefined }
  | { readonly error: string };

interface SentOutcome extends Omit<LoadOutcome, "config" | "shown"> {
  readonly isValid: boolean;
  /** undefined: there is no configuration, or it is the one in use. */
  readonly outline: ConfigOutline | undefined;
}

/** What calls run on: it need not be sent again. */
export interface InUse {
  readonly config: ResolvedConfig;
  readonly digest: string;
  /** undefined: nothing is known of it. */
  readonly kept: KeptSide | undefined;
  /** Whether the admin API shows configurations. */
  readonly packs: boolean;
}

export class Loader {
  readonly #clock: Clock;
  readonly #log: Logger;
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  /** Fails the load that is under way. */
  #abort: ((cause: Error) => void) | undefined;
  /** The comparison that is under way: the thread does one thing at a time. */
  #comparing: Promise<unknown> = Promise.resolve();
  #isComparing = false;
  /** The wait for git is logged once. */
  #isWaiting = false;
  #closed = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** One at a time: the caller waits for each load before the next. Rejects when the thread dies or is stuck. */
  async load(request: LoadRequest, inUse: InUse): Promise<Loaded> {
    if (this.#closed) throw new Error("the loader is closed");
    await this.#comparing;
    if (this.#closed) throw new Error("the loader is closed");
    this.#idle?.cancel();
    const worker = (this.#worker ??= startThread(new URL("./loader-worker.ts", import.meta.url)));
    try {
      const receiver = new ConfigReceiver(inUse.config);
      const answer = await this.#ask(worker, {
        load: request,
        known: receiver.known,
        digestInUse: inUse.digest,
      });
      if (!("outcome" in answer)) throw new Error("error" in answer ? answer.error : "no outcome");
      const { isValid, outline, ...outcome } = answer.outcome;
      let config = isValid ? inUse.config : undefined;
      if (outline !== undefined) {
        await this.#receive(worker, receiver);
        config = receiver.config(outline);
      }
      const registry = await loadRegistry(config?.plugins ?? []);
      const [failure] = registry.failures;
      // The loader thread has loaded it: what fails only here changed meanwhile, or depends on the thread.
      if (failure !== undefined)
        throw new Error(`plugin ${failure.module.specifier} could not be loaded: ${failure.message}`);
      if (outline === undefined || config === undefined) return { ...outcome, config, registry };
      const changes = this.#compare(worker, inUse);
      // A configuration that is refused needs no list of its changes.
      this.#comparing = changes.catch(() => undefined);
      return { ...outcome, config, registry, changes };
    } catch (error) {
      this.#end(worker);
      throw error;
    } finally {
      void this.#comparing.then(() => this.#endWhenIdle(worker));
    }
  }

  /** Runs while the configuration is compiled. */
  async #compare(worker: Worker, { kept: inUse, packs }: InUse): Promise<ReloadChanges> {
    this.#isComparing = true;
    try {
      const answer = await this.#ask(worker, { compare: true, inUse, packs, nowMs: this.#clock.nowMs() });
      if (!("comparison" in answer)) throw new Error("error" in answer ? answer.error : "no comparison");
      const events: ConfigChange[] = [];
      for (;;) {
        const piece = await this.#ask(worker, { nextEvents: true });
        if (!("events" in piece)) throw new Error("error" in piece ? piece.error : "no events");
        if (piece.events === undefined) return { ...answer.comparison, events };
        events.push(...piece.events);
      }
    } catch (error) {
      this.#end(worker);
      throw error;
    } finally {
      this.#isComparing = false;
    }
  }

  #endWhenIdle(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#idle?.cancel();
    if (this.#closed) this.#end(worker);
    else this.#idle = this.#clock.after(IDLE_MS, () => this.#end(worker));
  }

  /** Each piece is a message, requested when the previous one has been processed, so that calls run in between. */
  async #receive(worker: Worker, receiver: ConfigReceiver): Promise<void> {
    for (;;) {
      const answer = await this.#ask(worker, { next: true });
      if (!("entries" in answer)) throw new Error("error" in answer ? answer.error : "no entries");
      if (answer.entries === undefined) return;
      receiver.take(answer.entries);
    }
  }

  /**
   * Fails the load that is under way. Does not wait for the thread, which may be stuck. A comparison ends in its time: the
   * configuration is in use, and audit events come of it.
   */
  close(): void {
    this.#closed = true;
    this.#idle?.cancel();
    if (this.#isComparing) return;
    this.#abort?.(new Error("the loader is closed"));
    if (this.#worker !== undefined) this.#end(this.#worker);
  }

  #ask(worker: Worker, request: WorkerRequest): Promise<FinalAnswer> {
    return new Promise((resolve, reject) => {
      const settled = (then: () => void): void => {
        timer.cancel();
        this.#abort = undefined;
        worker.removeAllListeners("message");
        worker.removeAllListeners("error");
        worker.removeAllListeners("exit");
        then();
      };
      const fail = (error: Error): void => settled(() => reject(error));
      const armed = (): Timer =>
        this.#clock.after(LOAD_TIMEOUT_MS, () =>
          fail(new Error(`the loader thread was stuck for ${LOAD_TIMEOUT_MS / 1000} s and was terminated`)),
        );
      let timer = armed();
      this.#abort = fail;
      worker.on("message", (answer: WorkerAnswer) => {
        if (!("progress" in answer)) return settled(() => resolve(answer));
        timer.cancel();
        timer = armed();
        this.#tell(answer.progress);
      });
      worker.once("error", fail);
      worker.once("exit", () => fail(new Error("the loader thread ended")));
      worker.postMessage(request);
    });
  }

  #tell(progress: LoadProgress): void {
    if (progress === "alive") return;
    if ("waitingFor" in progress) {
      const first = !this.#isWaiting;
      this.#isWaiting = true;
      if (first)
        this.#log.info({ locks: progress.waitingFor }, "reload waits until git has released its lock");
      return;
    }
    this.#isWaiting = false;
    if (progress.attempt > 1)
      this.#log.info({ attempt: progress.attempt }, "files changed while they were read, reading them again");
  }

  #end(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined;
    // The last error of a thread that is being terminated is ignored.
    worker.on("error", () => undefined);
    void worker.terminate();
  }
}
