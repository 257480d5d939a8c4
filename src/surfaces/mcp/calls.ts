/**
 * The calls of one POST to the MCP bridge. Usually there is one; a batch may call several tools, and each of them runs its
 * whole chain, so each is a call. Knows no tool.
 */
import type { CompiledProject, FinishStep, RequestStep } from "../../compile/model.ts";
import type { FlatHeaders } from "../../http/respond.ts";
import { Call } from "../../pipeline/call.ts";
import { closeMoney, type Ending, endCall } from "../../pipeline/end.ts";
import { runRequest } from "../../pipeline/run.ts";
import { CallTrace } from "../../pipeline/trace.ts";
import {
  andThen,
  type GatewayError,
  isGatewayError,
  isPromise,
  type MaybePromise,
  reject,
} from "../../plugin/index.ts";
import { rateHeaders } from "../rate-headers.ts";
import type { RequestContext } from "../request-context.ts";

export class McpCalls {
  readonly context: RequestContext;
  readonly project: CompiledProject;
  /** Calls that have not ended, plus the POST: they hold the generation until the last one ends. */
  #holds = 1;
  #isFirst = true;
  /** The latest one of `next`. */
  #current: Call;
  /** The client has cancelled one request of its batch and waits for the others. */
  #isCancelled = false;
  /** Called when the client is disconnected or the time is up. */
  #onCancelled: (() => void) | undefined;

  constructor(context: RequestContext, project: CompiledProject) {
    this.context = context;
    this.#current = context.call;
    this.project = project;
    context.call.lease = this.#hold(() => {});
    context.call.owner = this;
    context.res.once("close", () => this.stop());
  }

  /** The next call, authenticated like the first. The caller ends it. */
  next(): MaybePromise<Call | GatewayError> {
    const { context } = this;
    const isLate = context.call.cancelled !== undefined && !this.#isCancelled;
    if (context.res.destroyed || isLate) return context.cancellation();
    if (this.#isFirst && !context.call.ended) {
      this.#isFirst = false;
      return context.call;
    }
    const call = this.#another();
    this.#current = call;
    const { authenticate } = context.generation.config;
    const outcome = runRequest(call, [...authenticate, ...this.project.authenticate]);
    return andThen(outcome, (settled) => {
      if (settled === undefined) return call;
      // A stage cannot answer a request that has not been read.
      return this.refuse(call, isGatewayError(settled) ? settled : reject("internal", {}));
    });
  }

  /** Rate limit fields of the tool call that was admitted last, if that has limits. */
  rateHeaders(): FlatHeaders {
    const { windows } = this.#current;
    return windows === undefined ? [] : rateHeaders(this.#current, windows);
  }

  /** Runs the chain of a call that is passed on to a server; returns the refusal. Such calls cost nothing. */
  allow(call: Call, steps: readonly RequestStep[]): MaybePromise<GatewayError | undefined> {
    return andThen(runRequest(call, steps), (outcome) =>
      // The reservation that checked the token's cap is released.
      andThen(closeMoney(call, undefined), () => {
        if (call.cancelled !== undefined) return this.context.cancellation(call);
        // A result of a stage is a chat result, which a tool of a server cannot have.
        return outcome === undefined || isGatewayError(outcome) ? outcome : reject("internal", {});
      }),
    );
  }

  /** Ends a call without an endpoint's chain, with a refusal. `steps`: by default those of every call. */
  refuse(call: Call, error: GatewayError, steps?: readonly FinishStep[]): GatewayError {
    const isGone = call.cancelled === "client_gone";
    const outcome = isGone ? "client_gone" : error.status < 500 ? "refused" : "failed";
    const status = isGone ? 499 : error.status;
    this.#close(call, steps, { outcome, status, error: isGone ? undefined : error });
    return error;
  }

  /** Ends a call without an endpoint's chain, successfully. */
  finish(call: Call, steps: readonly FinishStep[]): void {
    this.#close(call, steps, { outcome: "done", status: 200, error: undefined });
  }

  /** `work`, or the result of `late` when the call is cancelled first. */
  orCancelled<T>(call: Call, work: MaybePromise<T>, late: (error: GatewayError) => T): MaybePromise<T> {
    if (!isPromise(work)) return work;
    return new Promise((resolve, fail) => {
      this.#onCancelled = () => resolve(late(this.context.cancellation(call)));
      const settled = work.finally(() => {
        this.#onCancelled = undefined;
      });
      settled.then(resolve, fail);
    });
  }

  /** The client cancels the request that the current call belongs to. */
  cancel(): void {
    this.#isCancelled = true;
    this.#current.cancel("client_gone");
    this.stop();
  }

  /** Told when a call is cancelled: stops waiting for its result. */
  stop(): void {
    const onCancelled = this.#onCancelled;
    this.#onCancelled = undefined;
    onCancelled?.();
  }

  /** The response has been sent. */
  end(status: number): void {
    this.context.end(this.context.call.cancelled === "client_gone" ? 499 : status, undefined);
    this.#drop();
  }

  #close(
    call: Call,
    steps: readonly FinishStep[] | undefined,
    ending: Pick<Ending, "outcome" | "status" | "error">,
  ): void {
    const nothing = { result: undefined, usage: undefined, costNanoUsd: 0 };
    endCall(call, steps ?? this.context.generation.config.record, { ...ending, ...nothing });
  }

  #another(): Call {
    const { gateway, call: first, res } = this.context;
    const { clock } = gateway.rt;
    const { surface, scope, method, path, headers, clientAddress, project } = first;
    const call = new Call({
      ...{
        rt: gateway.rt,
        requestId: gateway.random.uuid(),
        nowMs: clock.nowMs(),
        monotonicMs: clock.monotonicMs(),
      },
      ...{ surface, scope, method, path, headers, clientAddress, project },
    });
    call.config = first.config;
    if (first.trace !== undefined) call.trace = new CallTrace();
    call.deadlineMs = first.deadlineMs;
    call.finishSteps = this.context.generation.config.record;
    call.owner = this;
    gateway.open.add(call);
    call.lease = this.#hold(() => gateway.open.delete(call));
    res.once("close", () => call.cancel("client_gone"));
    return call;
  }

  #hold(ended: () => void): { release(): void } {
    this.#holds++;
    return {
      release: () => {
        ended();
        this.#drop();
      },
    };
  }

  #drop(): void {
    if (--this.#holds === 0) this.context.release();
  }
}
