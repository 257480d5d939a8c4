/**
 * Circuit breakers, one for each model of each credential: a target that keeps failing is left alone for a while, so
 * that calls with another entry do not wait for it (CONTRACT section 5). Knows targets and time, nothing of calls.
 */
import type { Clock, Host, Logger, MetricFamily, Target } from "sluice/plugin";

/** Failures in a row, of the kind that moves on, after which a target is skipped. */
const FAILURES_MAX = 5;
const OPEN_MS = 30_000;
/** Of one credential. Names come from the configuration; old ones are forgotten when reloads have brought too many. */
const MODELS_MAX = 1000;

interface Circuit {
  failures: number;
  /** Monotonic time until which it is open; 0: it is closed. */
  openUntilMs: number;
  /** Who is finding out whether the target is back. */
  trial: Trial | undefined;
}

/** A call that asks a target whose circuit was open. */
export interface Trial {
  /** True once the call has ended: it may have done so without an answer of the target. */
  readonly ended: boolean;
}

export class Circuits {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #open: MetricFamily;
  /** A credential's provider object stands for it, over all endpoints and reloads that leave it as it is. */
  readonly #ofClient = new WeakMap<Target["client"], Map<string, Circuit>>();

  constructor({ clock, log, metrics }: Pick<Host, "clock" | "log" | "metrics">) {
    this.#clock = clock;
    this.#log = log;
    this.#open = metrics.gauge("sluice_circuit_open", "1 while a target is left out", [
      "provider",
      "model",
      "credential",
    ]);
  }

  /** False: leave it out, if there is another. True may make `who` the trial, who then says how it went. */
  admits(target: Target, who: Trial): boolean {
    const circuit = this.#find(target);
    if (circuit === undefined || circuit.openUntilMs === 0) return true;
    const isTried = circuit.trial !== undefined && !circuit.trial.ended;
    if (isTried || this.#clock.monotonicMs() < circuit.openUntilMs) return false;
    circuit.trial = who;
    return true;
  }

  /** It answered, or has begun to. */
  succeeded(target: Target): void {
    const circuit = this.#find(target);
    if (circuit === undefined) return;
    if (circuit.openUntilMs !== 0) {
      this.#tell(target, "a target answers again");
      this.#show(target, 0);
    }
    circuit.failures = 0;
    circuit.openUntilMs = 0;
    circuit.trial = undefined;
  }

  /** It failed in a way that would move on. */
  failed(target: Target, who: Trial): void {
    const circuit = this.#find(target) ?? this.#add(target);
    circuit.failures += 1;
    const nowMs = this.#clock.monotonicMs();
    const opens = circuit.openUntilMs === 0 && circuit.failures >= FAILURES_MAX;
    if (opens) this.#tell(target, "a target is left out for 30 s: it failed five times in a row");
    // Calls that were under way when it opened say nothing new; the trial does, and so does a call that had no choice.
    if (opens || (circuit.openUntilMs !== 0 && circuit.openUntilMs <= nowMs)) {
      circuit.openUntilMs = nowMs + OPEN_MS;
      this.#show(target, 1);
      // Whoever comes next may try it, also when nobody does, or a reload has put another credential in its place.
      this.#clock.after(OPEN_MS, () => {
        if (circuit.openUntilMs <= this.#clock.monotonicMs()) this.#show(target, 0);
      });
    }
    if (circuit.trial === who) circuit.trial = undefined;
  }

  /** `who` gave up before it was known: the next may be the trial. */
  abandoned(target: Target, who: Trial): void {
    const circuit = this.#find(target);
    if (circuit?.trial === who) circuit.trial = undefined;
  }

  #find(target: Target): Circuit | undefined {
    return this.#ofClient.get(target.client)?.get(target.model);
  }

  #add(target: Target): Circuit {
    let models = this.#ofClient.get(target.client);
    if (models === undefined || models.size >= MODELS_MAX) {
      models = new Map();
      this.#ofClient.set(target.client, models);
    }
    const circuit: Circuit = { failures: 0, openUntilMs: 0, trial: undefined };
    models.set(target.model, circuit);
    return circuit;
  }

  #show({ provider, model, credential }: Target, open: 0 | 1): void {
    this.#open.series(provider, model, credential)(open);
  }

  #tell({ provider, model, credential }: Target, message: string): void {
    this.#log.warn({ provider, model, credential }, message);
  }
}
