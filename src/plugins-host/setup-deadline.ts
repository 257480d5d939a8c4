/**
 * Bounds how long a plugin's `setup` may take. A `setup` that never settles must not hold up the reload that asked for
 * it: the reload is rejected, and what the plugin still delivers later is closed.
 */
import type { Clock, MaybePromise } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";

/** Longest `setup` of a plugin, its HTTP requests included. */
export const SETUP_TIMEOUT_MS = 10_000;

/** `made`, or a rejection once the deadline has passed. A synchronous result is returned as it is. */
export function withSetupDeadline<T>(
  clock: Clock,
  made: MaybePromise<T>,
  close: (late: T) => MaybePromise<void>,
): MaybePromise<T> {
  if (!isPromise(made)) return made;
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = clock.after(SETUP_TIMEOUT_MS, () => {
      isLate = true;
      reject(new Error(`setup did not finish within ${SETUP_TIMEOUT_MS / 1000} s`));
    });
    made.then(
      (value) => {
        timer.cancel();
        if (!isLate) resolve(value);
        else closeLate(value, close);
      },
      (thrown: unknown) => {
        timer.cancel();
        reject(thrown);
      },
    );
  });
}

/** Nobody uses the instance, and nobody waits for its end: a failing `close` has no one to tell. */
function closeLate<T>(value: T, close: (late: T) => MaybePromise<void>): void {
  try {
    const closing = close(value);
    if (isPromise(closing)) closing.catch(() => undefined);
  } catch {
    // As above.
  }
}
