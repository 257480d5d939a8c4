/**
 * The one place where a call ends, exactly once, whatever happened: money settled or given back, every finish hook
 * told, the generation let go. Nothing else may settle, release or finish.
 */
import { finishInTurn } from "../base/turn.ts";
import type { FinishStep } from "../compile/model.ts";
import type { CallEnd, ChatResult, GatewayError, MaybePromise, Usage } from "../plugin/index.ts";
import { charactersOf, estimateTokens, isPromise } from "../plugin/index.ts";
import type { Call } from "./call.ts";
import { crashed, releaseReservation, runFinish, settleReservation } from "./run.ts";

/** Usage by the 4-characters rule, for answers whose provider reported none (CONTRACT section 6). */
export function estimateUsage(x: Call, completionCharacters: number): Usage {
  const promptTokens = estimateTokens(charactersOf(x.messages));
  const completionTokens = estimateTokens(completionCharacters);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, estimated: true };
}

/**
 * Ends the money side. With `usage` the actual cost is settled; without it the call had no answer: it costs its input
 * estimate when a provider had taken it on (or may have, when it was given up), and nothing otherwise. Never throws: a
 * store that fails is a GatewayError.
 */
export function closeMoney(x: Call, usage: Usage | undefined): MaybePromise<number | GatewayError> {
  if (x.priced === undefined) return 0;
  try {
    let cost = 0;
    if (usage !== undefined) cost = x.priced.costNanoUsd(usage);
    else if (mayBeBilled(x)) cost = x.priced.inputNanoUsd;
    const closed = cost > 0 || usage !== undefined ? settleReservation(x, cost) : releaseReservation(x);
    if (!isPromise(closed)) return cost;
    return closed.then(
      () => cost,
      (thrown: unknown) => crashed(x, { stage: x.stage, plugin: "gateway" }, thrown),
    );
  } catch (thrown) {
    return crashed(x, { stage: x.stage, plugin: "gateway" }, thrown);
  }
}

function mayBeBilled(x: Call): boolean {
  if (!x.asked) return false;
  if (x.cancelled !== undefined) return true;
  return x.attempts.some(({ status }) => status !== undefined && status >= 200 && status < 300);
}

/** How a call ended, as far as its surface knows. */
export interface Ending {
  readonly outcome: CallEnd["outcome"];
  readonly status: number;
  readonly error: GatewayError | undefined;
  readonly result: ChatResult | undefined;
  readonly usage: Usage | undefined;
  readonly costNanoUsd: number;
}

/**
 * Ends a call: the second time for one call does nothing. The finish hooks run when the answers of this turn of the loop
 * are out, all calls' together: no client waits for another's log line, and code that runs in a row runs faster.
 */
export function endCall(x: Call, steps: readonly FinishStep[], ending: Ending): void {
  if (x.ended) return;
  x.ended = true;
  x.owner = undefined;
  x.onCancel(undefined);
  const nowMs = x.rt.clock.monotonicMs();
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
    provider: last?.provider ?? "",
    model: ending.result?.model ?? last?.model ?? "",
    finishReason: ending.result?.finishReason,
    durationMs: nowMs - x.startedMonotonicMs,
    firstByteMs: x.firstByteMs === 0 ? undefined : x.firstByteMs - x.startedMonotonicMs,
    stageMs: x.stageMs,
  };
  finishInTurn(() => finish(x, steps, end));
}

function finish(x: Call, steps: readonly FinishStep[], end: CallEnd): void {
  const finished = runFinish(x, steps, end);
  const lease = x.lease;
  x.lease = undefined;
  if (isPromise(finished)) finished.finally(() => lease?.release());
  else lease?.release();
}
