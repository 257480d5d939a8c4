/**
 * The calls of one POST to the MCP bridge. Mostly one, the request's own; a batch may ask for several tools, and each has
 * its whole chain, so each is a call of its own. Knows no tool.
 */
import type { CompiledProject, FinishStep, RequestStep } from "../../compile/model.ts";
import type { FlatHeaders } from "../../http/respond.ts";
import { Call } from "../../pipeline/call.ts";
import { closeMoney, type Ending, endCall } from "../../pipeline/end.ts";
import { runRequest } from "../../pipeline/run.ts";
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
  /** Calls that have not ended, and the POST itself: the configuration is theirs until the last is done. */
  #holds = 1;
  #isFirst = true;
  /** The one that `next` gave last. */
  #current: Call;
  /** The client has withdrawn a request, and still waits for the others of its batch. */
  #isWithdrawn = false;
  /** Told when the client is gone or the time is up. */
  #onCancelled: (() => void) | undefined;

  constructor(context: RequestContext, project: CompiledProject) {
    this.context = context;
    this.#current = context.call;
    this.project = project;
    context.call.lease = this.#hold(() => {});
    context.call.owner = this;
    context.res.once("close", () => this.stop());
  }

  /** The next call, authenticated like the first. Whoever takes it ends it. */
  next(): MaybePromise<Call | GatewayError> {
    const { context } = this;
    const isLate = context.call.cancelled !== undefined && !this.#isWithdrawn;
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
      // An answer makes no sense before there is a question.
      return this.refuse(call, isGatewayError(settled) ? settled : reject("internal", {}));
    });
  }

  /** Rate limit fields of the tool call that was admitted last, if that has limits. */
  rateHeaders(): FlatHeaders {
    const { windows } = this.#current;
    return windows === undefined ? [] : rateHeaders(this.#current, windows);
  }

  /** Lets a call that is to be passed on through its chain; what refuses it. Nothing is spent on it. */
  allow(call: Call, steps: readonly RequestStep[]): MaybePromise<GatewayError | undefined> {
    return andThen(runRequest(call, steps), (outcome) =>
      // What was held to see whether the token may go on is given back.
      andThen(closeMoney(call, undefined), () => {
        if (call.cancelled !== undefined) return this.context.cancellation(call);
        // An answer of a stage is a chat's; nothing here can give it.
        return outcome === undefined || isGatewayError(outcome) ? outcome : reject("internal", {});
      }),
    );
  }

  /** Ends a call that no endpoint's chain will end, with a refusal. `steps`: default those of every call. */
  refuse(call: Call, error: GatewayError, steps?: readonly FinishStep[]): GatewayError {
    const isGone = call.cancelled === "client_gone";
    const outcome = isGone ? "client_gone" : error.status < 500 ? "refused" : "failed";
    const status = isGone ? 499 : error.status;
    this.#close(call, steps, { outcome, status, error: isGone ? undefined : error });
    return error;
  }

  /** Ends a call that no endpoint's chain will end, well. */
  finish(call: Call, steps: readonly FinishStep[]): void {
    this.#close(call, steps, { outcome: "done", status: 200, error: undefined });
  }

  /** `work`, or what `late` makes of the refusal when the client leaves or the call's time is up before. */
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

  /** The client withdraws the request that the current call belongs to. */
  cancel(): void {
    this.#isWithdrawn = true;
    this.#current.cancel("client_gone");
    this.stop();
  }

  /** Nobody waits for the answer any more, or it has taken too long: whoever is at work on it is let go. */
  stop(): void {
    const onCancelled = this.#onCancelled;
    this.#onCancelled = undefined;
    onCancelled?.();
  }

  /** The answer is out. */
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
