/**
 * Puts the hooks of one plugin instance into their place in a chain: bound, and behind the plugin guard, so that
 * whatever runs them meets neither a throw nor a rejection.
 */

import type { AnswerStream, ChunkSink } from "../plugin/contract.ts";
import type { Logger } from "../plugin/host.ts";
import type { ChunkHook, Exchange, GatewayError, Hooks, MaybePromise } from "../plugin/index.ts";
import { andThen, isGatewayError, reject } from "../plugin/index.ts";
import {
  isAnswer,
  isChatChunk,
  isChunkAnswer,
  isChunkHook,
  isOutcome,
  isResponse,
} from "../plugin-guard/answers.ts";
import {
  guarded,
  guardedSync,
  ignoreRejection,
  type PluginFault,
  type PluginGuard,
  type PluginSite,
  pluginFault,
} from "../plugin-guard/guard.ts";
import type { CommitStep, FinishStep, RequestStep, ResponseStep, StreamStep } from "./model.ts";

/** One plugin instance in its place: its hooks as steps, made once and shared by all endpoints that use it. */
export interface Placed {
  readonly stage: number;
  readonly plugin: string;
  readonly call: Hooks["call"];
  readonly request: RequestStep | undefined;
  readonly response: ResponseStep | undefined;
  readonly stream: StreamStep | undefined;
  readonly commit: CommitStep | undefined;
  readonly finish: FinishStep | undefined;
  /** Its hooks read the texts of an answer that is over. */
  readonly readsAnswer: boolean;
  readonly close: () => MaybePromise<void>;
}

/** Whose hooks they are, and where faults are logged. */
export interface Placing {
  readonly stage: number;
  readonly kind: "stage" | "guardrail";
  readonly plugin: string;
  readonly log: Logger;
  /** A third party's: the streams that its `call` answers with are guarded too. */
  readonly foreign: boolean;
}

/** A bug is logged in full and not shown to the client. */
function internal(fault: PluginFault): GatewayError {
  return reject("internal", {}, { cause: fault });
}

export function place({ stage, kind, plugin, log, foreign }: Placing, hooks: Hooks): Placed {
  const guard = (hook: string) => ({ site: { kind, plugin, hook } satisfies PluginSite, log });
  const { call, request, response, stream, commit, finish } = hooks;
  // Bound, so that `this` is what its author expects.
  return {
    ...{ stage, plugin },
    call: call && callStep(guard, call.bind(hooks), foreign),
    request: request && {
      ...{ stage, plugin },
      run: guarded({ ...guard("request"), accepts: isOutcome, recover: internal }, request.bind(hooks)),
    },
    response: response && {
      ...{ stage, plugin },
      run: guarded({ ...guard("response"), accepts: isResponse, recover: internal }, response.bind(hooks)),
    },
    stream: stream && { stage, plugin, run: streamStep(guard, stream.bind(hooks)) },
    commit: commit && {
      ...{ stage, plugin },
      run: guarded({ ...guard("commit"), recover: internal }, (x, result) =>
        andThen<unknown, GatewayError | undefined>(commit.call(hooks, x, result), (error) =>
          isGatewayError(error) ? error : undefined,
        ),
      ),
    },
    finish: finish && {
      ...{ stage, plugin },
      run: guarded({ ...guard("finish"), recover: () => undefined }, finish.bind(hooks)),
    },
    readsAnswer: (commit !== undefined || finish !== undefined) && (hooks.readsAnswer ?? true),
    close: () => hooks.close?.(),
  };
}

type GuardOf = (hook: string) => Pick<PluginGuard<unknown>, "site" | "log" | "call">;

/** The factory is guarded once, and what it makes for each stream. */
function streamStep(guard: GuardOf, stream: NonNullable<Hooks["stream"]>): StreamStep["run"] {
  const made = guardedSync<[Exchange], ChunkHook | GatewayError | undefined>(
    { ...guard("stream"), accepts: isChunkHook, recover: internal },
    stream,
  );
  const chunks = { ...guard("chunk"), accepts: isChunkAnswer, recover: internal };
  const ends = { ...guard("end"), accepts: isChunkAnswer, recover: internal };
  return (x) => {
    const hook = made(x);
    if (hook === undefined || !("chunk" in hook)) return hook;
    return {
      chunk: guarded({ ...chunks, call: x }, hook.chunk.bind(hook)),
      ...(hook.end !== undefined && { end: guarded({ ...ends, call: x }, hook.end.bind(hook)) }),
    };
  };
}

function callStep(
  guard: GuardOf,
  call: NonNullable<Hooks["call"]>,
  foreign: boolean,
): NonNullable<Hooks["call"]> {
  const asked = guarded({ ...guard("call"), accepts: isAnswer, recover: internal }, call);
  if (!foreign) return asked;
  return (x, targets) =>
    andThen(asked(x, targets), (answer) =>
      "kind" in answer ? new GuardedAnswer(answer, (hook) => ({ ...guard(hook), call: x })) : answer,
    );
}

/** The stream of a third party's stage `call`. */
class GuardedAnswer implements AnswerStream {
  readonly kind = "stream";
  readonly #answer: AnswerStream;
  readonly #guard: GuardOf;

  constructor(answer: AnswerStream, guard: GuardOf) {
    this.#answer = answer;
    this.#guard = guard;
  }

  get id(): string {
    return String(this.#answer.id);
  }

  get model(): string {
    return String(this.#answer.model);
  }

  get provider(): string {
    return String(this.#answer.provider);
  }

  attach(sink: ChunkSink): void {
    const fail = (thrown: unknown): void =>
      sink.fail(internal(pluginFault(this.#guard("call.attach"), thrown)));
    const checked: ChunkSink = {
      batch: (chunks) => {
        if (Array.isArray(chunks) && chunks.every(isChatChunk)) sink.batch(chunks);
        else fail(new TypeError("what the sink was given is not a list of chunks"));
      },
      end: () => sink.end(),
      fail: (error) => (isGatewayError(error) ? sink.fail(error) : fail(new TypeError("not a refusal"))),
    };
    try {
      ignoreRejection(this.#answer.attach(checked));
    } catch (thrown) {
      fail(thrown);
    }
  }

  pause(): void {
    this.#tell("pause");
  }

  resume(): void {
    this.#tell("resume");
  }

  cancel(): void {
    this.#tell("cancel");
  }

  #tell(what: "pause" | "resume" | "cancel"): void {
    try {
      ignoreRejection(this.#answer[what]());
    } catch (thrown) {
      pluginFault(this.#guard(`call.${what}`), thrown);
    }
  }
}
