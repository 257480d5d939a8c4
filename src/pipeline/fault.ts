/**
 * What becomes of a call when code that works for it throws where no guard of a plugin was: in the pipeline itself, in a
 * surface, in a callback of the network or the store. It costs that call: 500, its reservation ended, its end recorded.
 */

import { isPromise, reject, STAGES } from "../plugin/index.ts";
import { PluginFault } from "../plugin-guard/guard.ts";
import type { Call } from "./call.ts";
import { closeMoney, endCall } from "./end.ts";

/** Logs what was thrown and ends the call. Never throws; harmless for a call that has ended. */
export function failCall(x: Call, thrown: unknown): void {
  logFault(x, thrown);
  if (x.ended) return;
  try {
    if (x.cancelled === undefined) return x.cancel("fault");
  } catch (again) {
    logFault(x, again);
  }
  abandonCall(x);
}

/**
 * Goes on with `next` when the promise settles. What either of them fails with fails the call, so that no promise of a
 * call is ever left without somebody who hears of its rejection.
 */
export function follow<T>(x: Call, promise: Promise<T>, next: (value: T) => void): void {
  promise.then(
    (value) => {
      try {
        next(value);
      } catch (thrown) {
        failCall(x, thrown);
      }
    },
    (thrown: unknown) => failCall(x, thrown),
  );
}

/** Ends a call that could not be answered, not even with a refusal: its connection is closed. */
export function abandonCall(x: Call): void {
  if (x.ended) return;
  const nothing = { result: undefined, usage: undefined, costNanoUsd: 0 };
  try {
    const closed = closeMoney(x, undefined);
    // Neither rejects nor throws; the call does not wait for it, since a store may be what never answers.
    if (isPromise(closed)) void closed;
    x.connection?.destroy();
  } catch (thrown) {
    logFault(x, thrown);
  }
  const ending = { outcome: "failed", status: 500, error: reject("internal", {}), ...nothing } as const;
  endCall(x, x.finishSteps, ending);
}

/** A fault of a plugin has been logged with the plugin's name already. */
function logFault(x: Call, thrown: unknown): void {
  if (thrown instanceof PluginFault) return;
  const stage = STAGES[x.stage] ?? "";
  x.rt.log.error({ request_id: x.requestId, stage, err: thrown }, "a call failed with an internal error");
}
