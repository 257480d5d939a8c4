/**
 * Runs the hooks of a chain, one runner per hook kind. A runner is synchronous until a hook returns a promise. Steps are
 * guarded where they are compiled: one that throws answers 500.
 */

import type { CommitStep, FinishStep, RequestStep, ResponseStep, StreamStep } from "../compile/model.ts";
import type {
  CallEnd,
  ChatChunk,
  ChatResult,
  ChunkHook,
  GatewayError,
  MaybePromise,
  Outcome,
  StateStore,
} from "../plugin/index.ts";
import { isGatewayError, isPromise, reject, STAGES } from "../plugin/index.ts";
import { pluginFault } from "../plugin-guard/guard.ts";
import type { Call } from "./call.ts";

const LIMIT_STAGE = STAGES.indexOf("limit");

/** Maximum duration of finish hooks. Only the generation waits for them, and must be released some time. */
const FINISH_MS = 10_000;

/** Down the chain until a hook refuses or answers; undefined when all let the call pass. */
export function runRequest(x: Call, steps: readonly RequestStep[], from = 0): MaybePromise<Outcome> {
  for (let i = from; i < steps.length; i++) {
    const step = steps[i];
    if (step === undefined) break;
    if (step.stage !== x.stage) x.enter(step.stage, x.rt.clock.monotonicMs());
    const outcome = step.run === "decide" ? decideClaims(x) : step.run(x);
    if (outcome === undefined) continue;
    if (isPromise(outcome)) {
      x.waitsFor = step;
      return outcome.then((settled) => {
        x.waitsFor = undefined;
        if (settled !== undefined) return stopped(x, step, settled);
        return x.ended ? undefined : runRequest(x, steps, i + 1);
      });
    }
    return stopped(x, step, outcome);
  }
  return undefined;
}

/**
 * Claims that a hook made before it refused are decided first, so that a call over the per-request token cap counts
 * against the rate windows, and 429 comes before 422 (`order.rate-before-budget`).
 */
function stopped(x: Call, step: RequestStep, outcome: Outcome): MaybePromise<Outcome> {
  if (x.claims.length === 0) return stoppedAt(x, step, outcome);
  const decided = decideClaims(x);
  if (isPromise(decided)) return decided.then((refusal) => stoppedAt(x, step, refusal ?? outcome));
  return stoppedAt(x, step, decided ?? outcome);
}

/** Notes where the call was stopped. */
function stoppedAt<T>(
  x: Call,
  { stage, plugin }: { readonly stage: number; readonly plugin: string },
  by: T,
): T {
  x.trace?.stoppedAt(stage, plugin);
  return by;
}

/** Submits the claims made so far to the store, all or nothing. */
function decideClaims(x: Call): MaybePromise<GatewayError | undefined> {
  const claims = x.claims;
  if (claims.length === 0) return undefined;
  x.claims = [];
  const settle = (
    admission: Awaited<ReturnType<StateStore["admit"]>>,
  ): MaybePromise<GatewayError | undefined> => {
    x.trace?.decided(claims, admission);
    if (admission.admitted) {
      x.reservation = admission.reservation;
      if (admission.windows !== undefined) {
        x.decidedClaims = claims;
        x.windows = admission.windows;
        x.windowsAtMs = x.rt.clock.monotonicMs();
      }
      // Admitted after the call has ended: it is not spent.
      return x.ended ? releaseLate(x) : undefined;
    }
    if (admission.refused === "unavailable") return reject("state_unavailable", {});
    const refused = claims[admission.refused];
    if (refused === undefined) return reject("internal", {});
    if (refused.kind !== "rate") return refused.refuse(admission.spentNanoUsd);
    // Windows and budgets are decided in one step, at the end of stage budget: a window's refusal is stage limit's.
    x.bookAs(LIMIT_STAGE);
    x.trace?.stoppedAt(LIMIT_STAGE, "gateway");
    return refused.refuse(admission.retryAfterSeconds);
  };
  const admission = x.rt.store.admit(x.requestId, claims);
  return isPromise(admission) ? admission.then(settle) : settle(admission);
}

function releaseLate(x: Call): MaybePromise<undefined> {
  const released = releaseReservation(x);
  return isPromise(released) ? released.then(() => undefined) : undefined;
}

/** Releases the reservation, if there still is one. */
export function releaseReservation(x: Call): MaybePromise<void> {
  const held = x.reservation;
  if (held === undefined) return;
  x.reservation = undefined;
  return x.rt.store.release(held);
}

/** Replaces the reservation with the cost, if there still is one. */
export function settleReservation(x: Call, costNanoUsd: number): MaybePromise<void> {
  const held = x.reservation;
  if (held === undefined) return;
  x.reservation = undefined;
  return x.rt.store.settle(held, costNanoUsd);
}

/** Up the chain: each hook may change or refuse the answer. */
export function runResponse(
  x: Call,
  steps: readonly ResponseStep[],
  result: ChatResult,
  from = 0,
): MaybePromise<ChatResult | GatewayError> {
  let current = result;
  for (let i = from; i < steps.length; i++) {
    const step = steps[i];
    if (step === undefined) break;
    if (step.stage !== x.stage) x.enter(step.stage, x.rt.clock.monotonicMs());
    const next = step.run(x, current);
    if (isPromise(next)) {
      x.waitsFor = step;
      return next.then((settled) => {
        x.waitsFor = undefined;
        if (isGatewayError(settled)) return stoppedAt(x, step, settled);
        return runResponse(x, steps, settled, i + 1);
      });
    }
    if (isGatewayError(next)) return stoppedAt(x, step, next);
    current = next;
  }
  return current;
}

/** One stream's hook of one step. */
export interface OpenHook {
  readonly stage: number;
  readonly plugin: string;
  readonly hook: ChunkHook;
}

/** Opens the hooks of one stream; an error where one of them failed. */
export function openChunkHooks(x: Call, steps: readonly StreamStep[]): readonly OpenHook[] | GatewayError {
  const hooks: OpenHook[] = [];
  for (const { stage, plugin, run } of steps) {
    const hook = run(x);
    if (isGatewayError(hook)) return stoppedAt(x, { stage, plugin }, hook);
    if (hook !== undefined) hooks.push({ stage, plugin, hook });
  }
  return hooks;
}

/** A chunk to send, null for nothing, or an error that ends the stream. */
export type HookAnswer = ChatChunk | GatewayError | null;

/** Up the chain: each hook may change, hold back or refuse the chunk. */
export function runChunk(
  x: Call,
  hooks: readonly OpenHook[],
  chunk: ChatChunk,
  from = 0,
): MaybePromise<HookAnswer> {
  let current = chunk;
  for (let i = from; i < hooks.length; i++) {
    const step = hooks[i];
    if (step === undefined) break;
    const next = step.hook.chunk(current);
    if (isPromise(next)) {
      x.waitsFor = step;
      return next.then((settled) => aboveHook(x, hooks, settled, i));
    }
    if (next === null) return next;
    if (isGatewayError(next)) return stoppedAt(x, step, next);
    current = next;
  }
  return current;
}

/** What a hook held back until the end of the answer, passed through the hooks above it. */
export function heldByHook(x: Call, hooks: readonly OpenHook[], index: number): MaybePromise<HookAnswer> {
  const step = hooks[index];
  if (step?.hook.end === undefined) return null;
  const held = step.hook.end();
  if (!isPromise(held)) return aboveHook(x, hooks, held, index);
  x.waitsFor = step;
  return held.then((settled) => aboveHook(x, hooks, settled, index));
}

function aboveHook(
  x: Call,
  hooks: readonly OpenHook[],
  answer: HookAnswer,
  index: number,
): MaybePromise<HookAnswer> {
  if (answer === null) return answer;
  const step = hooks[index];
  if (isGatewayError(answer)) return step === undefined ? answer : stoppedAt(x, step, answer);
  return runChunk(x, hooks, answer, index + 1);
}

/** Stores what must be stored before the client has its last byte. undefined when all went well. */
export function runCommit(
  x: Call,
  steps: readonly CommitStep[],
  result: ChatResult,
  from = 0,
): MaybePromise<GatewayError | undefined> {
  for (let i = from; i < steps.length; i++) {
    const step = steps[i];
    if (step === undefined) break;
    const failed = step.run(x, result);
    if (isPromise(failed)) {
      x.waitsFor = step;
      return failed.then((settled) => {
        x.waitsFor = undefined;
        if (settled !== undefined) return stoppedAt(x, step, settled);
        return runCommit(x, steps, result, i + 1);
      });
    }
    if (failed !== undefined) return stoppedAt(x, step, failed);
  }
  return undefined;
}

/** Runs every finish hook, and waits for async ones up to FINISH_MS. Never rejects. */
export function runFinish(
  x: Call,
  steps: readonly FinishStep[],
  end: CallEnd,
  when: "with the answer" | "after it" = "after it",
): MaybePromise<void> {
  let pending: Promise<void>[] | undefined;
  for (const step of steps) {
    if ((step.withAnswer === true) !== (when === "with the answer")) continue;
    const done = step.run(x, end);
    if (isPromise(done)) (pending ??= []).push(inTime(x, step, done));
  }
  return pending === undefined ? undefined : Promise.all(pending).then(() => undefined);
}

function inTime(x: Call, { plugin }: FinishStep, done: Promise<void>): Promise<void> {
  const { clock, log } = x.rt;
  return new Promise((resolve) => {
    const timer = clock.after(FINISH_MS, () => {
      const site = { kind: "stage", plugin, hook: "finish" } as const;
      pluginFault({ site, log }, new Error(`finish has not ended within ${FINISH_MS} ms`), x);
      resolve();
    });
    const ended = (): void => {
      timer.cancel();
      resolve();
    };
    done.then(ended, ended);
  });
}
