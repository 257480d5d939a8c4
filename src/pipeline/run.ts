/**
 * Runs the hooks of a chain, one runner a hook kind. A runner goes on synchronously until a hook returns a promise,
 * and only then waits; a hook that throws becomes a 500 that names the plugin in the log and nothing to the client.
 */
import type { CommitStep, FinishStep, RequestStep, ResponseStep } from "../compile/model.ts";
import type {
  CallEnd,
  ChatResult,
  GatewayError,
  MaybePromise,
  Outcome,
  StateStore,
} from "../plugin/index.ts";
import { isGatewayError, isPromise, reject, STAGES } from "../plugin/index.ts";
import type { Call } from "./call.ts";

/** Down the chain until a hook refuses or answers; undefined when all let the call pass. */
export function runRequest(x: Call, steps: readonly RequestStep[], from = 0): MaybePromise<Outcome> {
  for (let i = from; i < steps.length; i++) {
    const step = steps[i];
    if (step === undefined) break;
    if (step.stage !== x.stage) x.enter(step.stage, x.rt.clock.monotonicMs());
    let outcome: MaybePromise<Outcome>;
    try {
      outcome = step.run === "decide" ? decideClaims(x) : step.run(x);
    } catch (thrown) {
      return crashed(x, step, thrown);
    }
    if (outcome === undefined) continue;
    if (isPromise(outcome)) {
      return outcome.then(
        (settled) => {
          if (settled !== undefined) return stopped(x, settled);
          return x.ended ? undefined : runRequest(x, steps, i + 1);
        },
        (thrown: unknown) => crashed(x, step, thrown),
      );
    }
    return stopped(x, outcome);
  }
  return undefined;
}

/**
 * A hook that made claims and then refused is asked after its claims: they are decided first, so that a call over the
 * per-request token cap keeps its place in the rate windows, and 429 comes before 422 (CONTRACT section 6).
 */
function stopped(x: Call, outcome: Outcome): MaybePromise<Outcome> {
  if (x.claims.length === 0) return outcome;
  const decided = decideClaims(x);
  return isPromise(decided) ? decided.then((refusal) => refusal ?? outcome) : (decided ?? outcome);
}

/** Puts the claims made so far to the store, all or nothing. */
function decideClaims(x: Call): MaybePromise<GatewayError | undefined> {
  const claims = x.claims;
  if (claims.length === 0) return undefined;
  x.claims = [];
  const settle = (admission: Awaited<ReturnType<StateStore["admit"]>>): GatewayError | undefined => {
    if (admission.admitted) {
      x.reservation = admission.reservation;
      // Admitted after the call was given up: nobody is left to spend it.
      if (x.ended) return void releaseReservation(x);
      return undefined;
    }
    if (admission.refused === "unavailable") return reject("state_unavailable", {});
    const refused = claims[admission.refused];
    if (refused === undefined) return reject("internal", {});
    return refused.kind === "rate"
      ? refused.refuse(admission.retryAfterSeconds)
      : refused.refuse(admission.spentNanoUsd);
  };
  const admission = x.rt.store.admit(x.requestId, claims);
  return isPromise(admission) ? admission.then(settle) : settle(admission);
}

/** Gives back what was reserved, if anything is still held. */
export function releaseReservation(x: Call): MaybePromise<void> {
  const held = x.reservation;
  if (held === undefined) return;
  x.reservation = undefined;
  return x.rt.store.release(held);
}

/** Puts the cost in the place of what was reserved, if anything is still held. */
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
    try {
      const next = step.run(x, current);
      if (isPromise(next)) {
        return next.then(
          (settled) => (isGatewayError(settled) ? settled : runResponse(x, steps, settled, i + 1)),
          (thrown: unknown) => crashed(x, step, thrown),
        );
      }
      if (isGatewayError(next)) return next;
      current = next;
    } catch (thrown) {
      return crashed(x, step, thrown);
    }
  }
  return current;
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
    try {
      const done = step.run(x, result);
      if (isPromise(done)) {
        return done.then(
          () => runCommit(x, steps, result, i + 1),
          (thrown: unknown) => crashed(x, step, thrown),
        );
      }
    } catch (thrown) {
      return crashed(x, step, thrown);
    }
  }
  return undefined;
}

/** Tells every hook how the call ended. One that fails is logged and keeps none of the others from hearing. */
export function runFinish(x: Call, steps: readonly FinishStep[], end: CallEnd): MaybePromise<void> {
  let pending: Promise<void>[] | undefined;
  for (const step of steps) {
    try {
      const done = step.run(x, end);
      if (isPromise(done)) {
        (pending ??= []).push(done.catch((thrown: unknown) => void crashed(x, step, thrown)));
      }
    } catch (thrown) {
      crashed(x, step, thrown);
    }
  }
  return pending === undefined ? undefined : Promise.all(pending).then(() => undefined);
}

/** A thrown error is a bug of the plugin: told to the log whole, to the client not at all. */
export function crashed(
  x: Call,
  step: { readonly stage: number; readonly plugin: string },
  thrown: unknown,
): GatewayError {
  x.rt.log.error(
    { request_id: x.requestId, plugin: step.plugin, stage: STAGES[step.stage] ?? "", err: thrown },
    "a plugin threw",
  );
  return reject("internal", {}, { cause: thrown });
}
