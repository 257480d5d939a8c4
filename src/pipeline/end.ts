/**
 * The one place where a call ends, exactly once, whatever happened: its reservation settled or released, every finish hook
 * run, its generation released. Also ends calls whose own code throws where no guard of a plugin is: in the pipeline, in a
 * surface, in a callback of the network or the store. Such a fault costs that call: 500.
 */

import { finishInBatch } from "../base/batching.ts";
import type { FinishStep } from "../compile/model.ts";
import type { Usage } from "../plugin/chat.ts";
import type { CallEnd, ChatResult, GatewayError, MaybePromise } from "../plugin/index.ts";
import { isPromise, reject, STAGES } from "../plugin/index.ts";
import { PluginFault } from "../plugin-guard/guard.ts";
import type { Call } from "./call.ts";
import { releaseReservation, runFinish, settleReservation } from "./run.ts";

/** What a call has cost. */
export interface Cost {
  readonly nanoUsd: number;
  /** By list prices; undefined: none is known, or nothing was used. */
  readonly listNanoUsd: number | undefined;
}

export const NO_COST: Cost = Object.freeze({ nanoUsd: 0, listNanoUsd: undefined });

/**
 * Ends the money side. With `usage` the actual cost is settled. Each attempt that its provider accepted and that gave no
 * answer costs the input estimate, whether another target took over or not: the provider has worked. So does a call that was
 * cancelled while a provider was working on it. Otherwise the reservation is released. Never throws: a store that
 * fails is a GatewayError.
 */
export function closeMoney(x: Call, usage: Usage | undefined): MaybePromise<Cost | GatewayError> {
  if (x.priced === undefined) return NO_COST;
  let nanoUsd = failedAttempts(x, usage !== undefined) * x.priced.inputNanoUsd;
  let listNanoUsd: number | undefined;
  if (usage !== undefined) {
    nanoUsd += costOf(x, x.priced, usage);
    listNanoUsd = listCostOf(x, x.priced, usage);
  }
  try {
    const closed = nanoUsd > 0 || usage !== undefined ? settleReservation(x, nanoUsd) : releaseReservation(x);
    const cost = { nanoUsd, listNanoUsd };
    if (!isPromise(closed)) return cost;
    return closed.then(
      () => cost,
      (thrown: unknown) => storeFailed(x, thrown),
    );
  } catch (thrown) {
    return storeFailed(x, thrown);
  }
}

/** Attempts that may be billed although they gave no answer. `answered`: the last one did, and is not among them. */
function failedAttempts({ asked, attempts, cancelled }: Call, answered: boolean): number {
  if (!asked) return 0;
  let accepted = 0;
  for (let n = 0; n < attempts.length; n++) {
    const { status = 0, outcome } = attempts[n] ?? {};
    const isLast = n === attempts.length - 1;
    if (status >= 200 && status < 300 && (isLast ? !answered : outcome !== "ok")) accepted++;
  }
  // Whether the one that was being asked had accepted the call is not known.
  return accepted === 0 && !answered && cancelled !== undefined ? 1 : accepted;
}

/**
 * The cost by the claim. A claim may be a plugin's: where it throws or returns something other than an amount, the call
 * costs what was reserved for it, since a reservation must end in any case.
 */
function costOf(x: Call, claim: NonNullable<Call["priced"]>, usage: Usage): number {
  let fault: unknown;
  try {
    const cost = claim.costNanoUsd(usage);
    if (Number.isSafeInteger(cost) && cost >= 0) return cost;
    fault = new RangeError(`a cost of ${String(cost)} nano-dollars`);
  } catch (thrown) {
    fault = thrown;
  }
  const settled_nano_usd = claim.estimateNanoUsd;
  x.rt.log.error(
    { request_id: x.requestId, key: claim.key, settled_nano_usd, err: fault },
    "the cost of a call could not be computed: its estimate is settled",
  );
  return settled_nano_usd;
}

/** For the log only: its failure does not affect the settlement. */
function listCostOf(x: Call, claim: NonNullable<Call["priced"]>, usage: Usage): number | undefined {
  try {
    const cost = claim.listCostNanoUsd?.(usage);
    return Number.isSafeInteger(cost) ? cost : undefined;
  } catch (thrown) {
    const { requestId: request_id } = x;
    x.rt.log.warn(
      { request_id, key: claim.key, err: thrown },
      "the list price of a call could not be computed",
    );
    return undefined;
  }
}

function storeFailed(x: Call, thrown: unknown): GatewayError {
  if (!(thrown instanceof PluginFault)) {
    const store = x.rt.store.driver;
    x.rt.log.error(
      { request_id: x.requestId, store, err: thrown },
      "the state store failed to end a reservation",
    );
  }
  return reject("internal", {}, { cause: thrown });
}

/** How a call ended, as its surface reports it. */
export interface Ending {
  readonly outcome: CallEnd["outcome"];
  readonly status: number;
  readonly error: GatewayError | undefined;
  readonly result: ChatResult | undefined;
  readonly usage: Usage | undefined;
  readonly costNanoUsd: number;
  readonly listCostNanoUsd?: number | undefined;
}

/**
 * Ends a call; does nothing the second time. Verdicts are recorded before the answer is sent. The other finish hooks run
 * when all answers of this event-loop iteration are written: no client waits for another's log line, and running similar
 * work back to back keeps it in CPU caches.
 */
export function endCall(x: Call, steps: readonly FinishStep[], ending: Ending): void {
  if (!x.end()) return;
  x.owner = undefined;
  const nowMs = x.rt.clock.monotonicMs();
  const { stage } = x;
  x.enter(-1, nowMs);
  x.rt.buffered.release(x.heldBytes);
  x.heldBytes = 0;
  const last = x.attempts.at(-1);
  // Field by field: spreading costs microseconds, and this runs on every call.
  const end: CallEnd = {
    outcome: ending.outcome,
    status: ending.status,
    error: ending.error,
    result: ending.result,
    usage: ending.usage,
    costNanoUsd: ending.costNanoUsd,
    listCostNanoUsd: ending.listCostNanoUsd,
    provider: last?.provider ?? "",
    model: ending.result?.model ?? last?.model ?? "",
    finishReason: finishReasonOf(ending),
    durationMs: nowMs - x.startedMonotonicMs,
    firstByteMs: x.firstByteMs === 0 ? undefined : x.firstByteMs - x.startedMonotonicMs,
    stageMs: x.stageMs,
  };
  x.trace?.ended(stage, x, end);
  const recorded = x.verdicts.length === 0 ? undefined : runFinish(x, steps, end, "with the answer");
  finishInBatch(() => finish(x, steps, end, recorded), x, finishFailed);
}

/** An incomplete answer has not stopped: a failure ends with `error`, an answer whose client disconnected has no reason. */
function finishReasonOf({ outcome, result }: Ending): CallEnd["finishReason"] {
  if (result === undefined || outcome === "client_gone") return undefined;
  return outcome === "failed" ? "error" : result.finishReason;
}

/** `recorded`: the finish hooks that were run with the answer. */
function finish(x: Call, steps: readonly FinishStep[], end: CallEnd, recorded: MaybePromise<void>): void {
  const finished = runFinish(x, steps, end);
  if (isPromise(finished) || isPromise(recorded))
    void Promise.all([finished, recorded]).then(() => releaseCall(x));
  else releaseCall(x);
}

/** A finish step of the gateway itself has thrown; the call is over nevertheless. */
function finishFailed(x: Call, thrown: unknown): void {
  x.rt.log.error({ request_id: x.requestId, err: thrown }, "the end of a call was not recorded");
  releaseCall(x);
}

function releaseCall(x: Call): void {
  const { lease } = x;
  x.lease = undefined;
  lease?.release();
}

/** Logs what was thrown and ends the call. Never throws; does nothing else for a call that has ended. */
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

/** Runs `next` when the promise settles. A failure of either fails the call, so that no rejection is left unhandled. */
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
    // Neither rejects nor throws; not awaited, since the store may be what never answers.
    if (isPromise(closed)) void closed;
    x.connection?.destroy();
  } catch (thrown) {
    logFault(x, thrown);
  }
  const ending = { outcome: "failed", status: 500, error: reject("internal", {}), ...nothing } as const;
  endCall(x, x.finishSteps, ending);
}

/** A plugin's fault has already been logged, with its name. */
function logFault(x: Call, thrown: unknown): void {
  if (thrown instanceof PluginFault) return;
  const stage = STAGES[x.stage] ?? "";
  x.rt.log.error({ request_id: x.requestId, stage, err: thrown }, "a call failed with an internal error");
}
