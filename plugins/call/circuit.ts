/**
 * Circuit breakers, one for each model of each credential: a target that keeps failing is skipped for a while, so
 * that calls with another entry do not wait for it (`provider.breaker.open`). Knows targets and time, nothing of calls.
 */

import type { Clock, Host, MetricFamily, Target } from "sluice/plugin";

/** Failures in a row, of the kind that moves on, after which a target is skipped. */
const FAILURES_MAX = 5;
const OPEN_MS = 30_000;
/** A provider that says when to come again is left out until then, but no longer than this. */
const HINT_MS_MAX = 300_000;
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
  readonly #log: Host["log"];
  readonly #open: MetricFamily;
  /** A credential's provider object stands for it, over all endpoints and reloads that leave it as it is. */
  readonly #ofClient = new WeakMap<Target["client"], Map<string, Circuit>>();

  constructor({ clock, log, metrics }: Pick<Host, "clock" | "log" | "metrics">) {
    this.#clock = clock;
    this.#log = log;
    this.#open = metrics.gauge("sluice_circuit_open", "1 while a target is skipped", [
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
      this.#tell(target, "circuit closed: the target answers again");
      this.#show(target, 0);
    }
    circuit.failures = 0;
    circuit.openUntilMs = 0;
    circuit.trial = undefined;
  }

  /** It failed in a way that would move on. `retryAfterSeconds`: the provider's hint when to ask again. */
  failed(target: Target, who: Trial, retryAfterSeconds = 0): void {
    const circuit = this.#find(target) ?? this.#add(target);
    circuit.failures += 1;
    if (circuit.trial === who) circuit.trial = undefined;
    const nowMs = this.#clock.monotonicMs();
    const wasOpen = circuit.openUntilMs > nowMs;
    // Calls that were under way when it opened say nothing new, unless the provider asks for more time.
    const isDue = circuit.failures >= FAILURES_MAX && !wasOpen;
    const waitMs = Math.max(isDue ? OPEN_MS : 0, Math.min(retryAfterSeconds * 1000, HINT_MS_MAX));
    if (waitMs === 0) {
      // The trial after a provider's hint failed without another one: it counts like any failure.
      if (!wasOpen && circuit.openUntilMs !== 0) this.#close(target, circuit);
      return;
    }
    if (nowMs + waitMs <= circuit.openUntilMs) return;
    if (circuit.openUntilMs === 0) this.#tellOpen(target, circuit, waitMs);
    circuit.openUntilMs = nowMs + waitMs;
    this.#show(target, 1);
    // The next call may try it, also when none comes, or a reload has put another credential in its place.
    this.#clock.after(waitMs, () => {
      if (circuit.openUntilMs <= this.#clock.monotonicMs()) this.#show(target, 0);
    });
  }

  #close(target: Target, circuit: Circuit): void {
    circuit.openUntilMs = 0;
    this.#show(target, 0);
  }

  #tellOpen(target: Target, { failures }: Circuit, waitMs: number): void {
    const span = `circuit opened for ${Math.ceil(waitMs / 1000)} s`;
    const reason =
      failures >= FAILURES_MAX
        ? `after ${failures} consecutive failures`
        : "because the provider asks to wait (Retry-After)";
    this.#tell(target, `${span} ${reason}`);
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
