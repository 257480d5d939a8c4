/**
 * A call of an endpoint from its parsed body to its answer: chain down, provider, chain up, money, reply. Shared by the
 * chat, OpenAI and MCP surfaces; knows no HTTP and no surface's wire format.
 */
import type { CompiledEndpoint } from "../compile/model.ts";
import type { Usage } from "../plugin/chat.ts";
import type { Answer, AnswerStream } from "../plugin/contract.ts";
import type { ChatResult, GatewayError } from "../plugin/index.ts";
import { isGatewayError, isPromise, reject, STAGES } from "../plugin/index.ts";
import type { Call, CallOwner } from "./call.ts";
import { deliveredResult } from "./delivery.ts";
import { type Cost, closeMoney, type Ending, endCall, failCall, follow, NO_COST } from "./end.ts";
import type { Reply } from "./reply.ts";
import { openChunkHooks, runCommit, runRequest, runResponse } from "./run.ts";
import { type PumpOwner, StreamPump } from "./stream.ts";
import { answerCharacters, checkedUsage } from "./usage.ts";

const CALL_STAGE = STAGES.indexOf("call");

/** Runs the call to its end. Whatever happens, exactly one reply is made and exactly one end is recorded. */
export function runChat(x: Call, endpoint: CompiledEndpoint, reply: Reply): void {
  try {
    new ChatRun(x, endpoint, reply).start();
  } catch (thrown) {
    failCall(x, thrown);
  }
}

/** A finished answer in the shape of a stream: one event with all its text, then the end. */
function wholeAsStream(result: ChatResult): AnswerStream {
  const { content: text, finishReason, providerFinishReason, usage } = result;
  return {
    kind: "stream",
    id: result.id,
    model: result.model,
    provider: "",
    attach(sink) {
      const toolCalls = result.toolCalls?.map((asked, index) => ({ index, ...asked }));
      sink.batch([{ text, toolCalls, finishReason, providerFinishReason, usage, native: undefined }]);
      sink.end();
    },
    pause() {},
    resume() {},
    cancel() {},
  };
}

/** The answer does not fit into memory next to those of other calls. */
function buffersFull(): GatewayError {
  return reject("buffers_full", {}, { retryAfterSeconds: 1 });
}

/** An answer that nothing can refuse anymore. `close` ends its stream; without it the answer is sent whole. */
interface Final {
  readonly result: ChatResult;
  readonly usage: Usage;
  readonly close: (() => void) | undefined;
}

function costsOf({ nanoUsd, listNanoUsd }: Cost): Pick<Ending, "costNanoUsd" | "listCostNanoUsd"> {
  return { costNanoUsd: nanoUsd, listCostNanoUsd: listNanoUsd };
}

class ChatRun implements CallOwner, PumpOwner {
  readonly #x: Call;
  readonly #endpoint: CompiledEndpoint;
  readonly #reply: Reply;
  #pump: StreamPump | undefined;
  /** The provider's answer, once there is one: it is paid for even when it is refused later. */
  #answered: ChatResult | undefined;

  constructor(x: Call, endpoint: CompiledEndpoint, reply: Reply) {
    this.#x = x;
    this.#endpoint = endpoint;
    this.#reply = reply;
    x.owner = this;
    x.finishSteps = endpoint.finish;
    x.targets = endpoint.targets;
  }

  start(): void {
    const outcome = runRequest(this.#x, this.#endpoint.request);
    if (isPromise(outcome)) follow(this.#x, outcome, (settled) => this.#afterRequest(settled));
    else this.#afterRequest(outcome);
  }

  #afterRequest(outcome: Awaited<ReturnType<typeof runRequest>>): void {
    if (this.#x.ended) return;
    if (outcome === undefined) this.#ask();
    else if (isGatewayError(outcome)) this.#refuse(outcome, "refused");
    else this.#answer(outcome);
  }

  #ask(): void {
    const x = this.#x;
    x.enter(CALL_STAGE, this.#x.rt.clock.monotonicMs());
    x.asked = true;
    const answer = this.#endpoint.call(x, this.#endpoint.targets);
    if (!isPromise(answer)) return this.#afterCall(answer);
    x.waitsFor = { stage: CALL_STAGE, plugin: this.#endpoint.callPlugin };
    follow(x, answer, (settled) => {
      x.waitsFor = undefined;
      this.#afterCall(settled);
    });
  }

  #afterCall(answer: Answer): void {
    const streamed = "kind" in answer;
    if (this.#x.ended) {
      if (streamed) answer.cancel();
      return;
    }
    if (isGatewayError(answer)) this.#refuse(answer, "failed");
    else if (streamed) this.#stream(answer);
    else this.#answer(answer);
  }

  /** A whole answer for a client that requested events, of a hook for example, goes through the same pump. */
  #answer(result: ChatResult): void {
    if (this.#x.stream) this.#stream(wholeAsStream(result));
    else this.#whole(result);
  }

  #whole(provided: ChatResult): void {
    const x = this.#x;
    const usage = checkedUsage(x, provided.usage, answerCharacters(provided));
    const answered = usage === provided.usage ? provided : { ...provided, usage };
    this.#answered = answered;
    const result = runResponse(x, this.#endpoint.response, answered);
    if (isPromise(result)) follow(x, result, (settled) => this.#afterResponse(settled));
    else this.#afterResponse(result);
  }

  #afterResponse(result: ChatResult | GatewayError): void {
    const x = this.#x;
    if (x.ended) return;
    if (isGatewayError(result)) return this.#refuse(result, result.status === 502 ? "failed" : "refused");
    // A hook that replaces the answer need not report usage: the provider's answer is paid for.
    const usage = result.usage ?? this.#answered?.usage ?? checkedUsage(x, undefined, 0);
    this.#keep({ result, usage, close: undefined });
  }

  /** Stores what must be stored before the client has its last byte, then settles, then sends. */
  #keep(final: Final): void {
    const kept = runCommit(this.#x, this.#endpoint.commit, final.result);
    if (isPromise(kept)) follow(this.#x, kept, (error) => this.#settle(final, error));
    else this.#settle(final, kept);
  }

  #settle(final: Final, error: GatewayError | undefined): void {
    const x = this.#x;
    if (x.ended) return;
    if (error !== undefined) return this.#refuse(error, "failed");
    // An answer that no provider gave costs nothing.
    const cost = closeMoney(x, x.asked ? final.usage : undefined);
    if (isPromise(cost)) follow(x, cost, (settled) => this.#send(final, settled));
    else this.#send(final, cost);
  }

  #send({ result, usage, close }: Final, cost: Cost | GatewayError): void {
    const x = this.#x;
    if (x.ended) return;
    if (isGatewayError(cost)) return this.#refuse(cost, "failed");
    x.settledNanoUsd = cost.nanoUsd;
    if (close !== undefined) close();
    else {
      x.firstByteMs = x.rt.clock.monotonicMs();
      this.#reply.whole(x, deliveredResult(x.delivery, result), usage);
    }
    this.#end({ outcome: "done", status: 200, error: undefined, result, usage, ...costsOf(cost) });
  }

  #stream(answer: AnswerStream): void {
    const x = this.#x;
    const hooks = openChunkHooks(x, this.#endpoint.stream);
    if (isGatewayError(hooks)) {
      answer.cancel();
      return this.#refuse(hooks, "failed");
    }
    const writer = this.#reply.events(x);
    const { keepsAnswer } = this.#endpoint;
    const pump = new StreamPump(x, hooks, { answer, writer, owner: this, keepsAnswer });
    this.#pump = pump;
    answer.attach(pump);
  }

  complete(result: ChatResult, usage: Usage, close: () => void): void {
    this.#answered = { ...result, usage };
    this.#keep({ result, usage, close });
  }

  broken(error: GatewayError, result: ChatResult, usage: Usage): void {
    this.#answered = { ...result, usage };
    this.#refuse(error, error.status >= 500 ? "failed" : "refused");
  }

  tick(nowMs: number): void {
    this.#pump?.tick(nowMs);
  }

  /** Ends the call now, whatever still works on it. */
  stop(): void {
    const x = this.#x;
    const part = this.#pump?.cancel();
    if (part !== undefined) this.#answered = { ...part.result, usage: part.usage };
    if (x.cancelled === "client_gone") return this.#close(undefined, "client_gone");
    this.#close(this.#cancellation(), "failed");
  }

  #cancellation(): GatewayError {
    const { cancelled } = this.#x;
    if (cancelled === "timeout") return this.#timedOut();
    if (cancelled === "buffers_full") return buffersFull();
    return cancelled === "fault" ? reject("internal", {}) : reject("draining", {});
  }

  /** Worded as a provider's own timeout when one was being called. */
  #timedOut(): GatewayError {
    const x = this.#x;
    const ms = Math.round(x.rt.clock.monotonicMs() - x.startedMonotonicMs);
    const last = x.attempts.at(-1);
    const asked = this.#endpoint.targets.find((target) => target.provider === last?.provider);
    if (asked === undefined) return reject("request_timeout", { ms });
    return reject("provider_failed", { reason: `${asked.label} timed out after ${ms} ms` });
  }

  #refuse(error: GatewayError, outcome: "refused" | "failed"): void {
    if (!this.#x.ended) this.#close(error, outcome);
  }

  /** Settles or releases, then answers the client. A store that fails here must not keep the client waiting. */
  #close(error: GatewayError | undefined, outcome: Ending["outcome"]): void {
    const x = this.#x;
    const answered = this.#answered;
    const usage = answered?.usage;
    const finish = (closed: Cost | GatewayError): void => {
      if (x.ended) return;
      if (!isGatewayError(closed)) x.settledNanoUsd = closed.nanoUsd;
      if (error !== undefined) this.#reply.refuse(x, error);
      const costs = costsOf(isGatewayError(closed) ? NO_COST : closed);
      this.#end({ outcome, status: error?.status ?? 499, error, result: answered, usage, ...costs });
    };
    const cost = closeMoney(x, usage);
    if (isPromise(cost)) follow(x, cost, finish);
    else finish(cost);
  }

  #end(ending: Ending): void {
    endCall(this.#x, this.#endpoint.finish, ending);
  }
}
