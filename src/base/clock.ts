/** Time. Everything that asks for it gets a Clock handed in, so that tests can turn it. */
import type { Clock, Timer } from "../plugin/index.ts";

/**
 * The machine's time. `nowMs` never goes back: a clock set back stands still until it is caught up, so that no
 * rate window reopens and no month comes twice.
 */
export function systemClock(): Clock {
  let latestMs = 0;
  return {
    nowMs() {
      const now = Date.now();
      if (now > latestMs) latestMs = now;
      return latestMs;
    },
    monotonicMs: () => performance.now(),
    after(delayMs, run): Timer {
      const timer = setTimeout(run, delayMs).unref();
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
