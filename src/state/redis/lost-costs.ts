/** Counts, in dollars, the costs of calls that could not be kept, and logs them added up by sum. */
import type { Clock, Logger } from "../../plugin/index.ts";
import type { End } from "./ends.ts";

/** Between two log lines. */
const LOG_EVERY_MS = 10_000;
/** Sums named by one log line: those that lost most. */
const NAMED_MAX = 20;
/** Sums told apart between two log lines. */
const SUMS_MAX = 10_000;

export class LostCosts {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #count: (usd: number) => void;
  readonly #bySum = new Map<string, number>();
  #calls = 0;
  #nanoUsd = 0;
  #waiting = false;

  /** `count`: adds to the metric. */
  constructor(clock: Clock, log: Logger, count: (usd: number) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#count = count;
  }

  /** The cost of a call counts once in the metric, and against each of its sums in the log. */
  add({ costNanoUsd, sums }: End): void {
    const costs = typeof costNanoUsd === "number" ? sums.map(() => costNanoUsd) : costNanoUsd;
    const most = typeof costNanoUsd === "number" ? costNanoUsd : Math.max(0, ...costNanoUsd);
    this.#calls += 1;
    this.#nanoUsd += most;
    this.#count(most / 1e9);
    for (const [index, sum] of sums.entries()) {
      const known = this.#bySum.get(sum);
      if (known === undefined && this.#bySum.size >= SUMS_MAX) continue;
      this.#bySum.set(sum, (known ?? 0) + (costs[index] ?? 0));
    }
    if (this.#waiting) return;
    this.#waiting = true;
    this.flush();
    this.#clock.after(LOG_EVERY_MS, () => {
      this.#waiting = false;
      this.flush();
    });
  }

  /** Logs what was lost since the last line. */
  flush(): void {
    if (this.#calls === 0) return;
    const most = [...this.#bySum].sort(([, a], [, b]) => b - a).slice(0, NAMED_MAX);
    this.#log.error(
      {
        ends: this.#calls,
        usd: this.#nanoUsd / 1e9,
        usd_by_sum: Object.fromEntries(most.map(([sum, nanoUsd]) => [sum, nanoUsd / 1e9])),
      },
      "costs of calls were lost: redis does not answer and there is no room to keep them",
    );
    this.#calls = 0;
    this.#nanoUsd = 0;
    this.#bySum.clear();
  }
}
