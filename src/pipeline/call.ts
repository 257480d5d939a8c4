/**
 * One call: the Exchange that hooks see, and beside it what the pipeline alone keeps of it (claims, reservation, stage
 * times, cancellation). One plain object a call, no closures, so that making it is cheap.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { ByteBudget } from "../base/byte-budget.ts";
import { traceIdOf, traceParentOf } from "../base/trace-context.ts";
import type { FinishStep } from "../compile/model.ts";
import type {
  Attempt,
  Claim,
  ConfigRef,
  Delivery,
  EndpointRef,
  GuardrailRun,
  ProjectRef,
  Scope,
  Surface,
  TokenRef,
  VerdictRecord,
} from "../plugin/exchange.ts";
import type { CallOptions, Clock, Exchange, Logger, Message, StateStore, Target } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { Reservation } from "../plugin/store.ts";
import { type PluginSite, runningPlugin } from "../plugin-guard/guard.ts";
import { type CallbackGuard, guardedCallback, guardListeners } from "../plugin-guard/signal.ts";

/** Before authenticate has accepted a token. */
export const NO_TOKEN: TokenRef = Object.freeze({
  id: "",
  name: "",
  projectUuid: "",
  scopes: Object.freeze([]),
  monthlyCapNanoUsd: undefined,
  monthlyCapText: "",
});

/** Before the endpoint is known. */
export const NO_ENDPOINT: EndpointRef = Object.freeze({ uuid: "", slug: "", name: "" });

const NO_CONFIG: ConfigRef = Object.freeze({ hash: "", generation: 0, revision: "" });
const NO_MESSAGES: readonly Message[] = Object.freeze([]);
const NO_STEPS: readonly FinishStep[] = Object.freeze([]);
const NO_CLAIMS: readonly Claim[] = Object.freeze([]);
const NO_TARGETS: readonly Target[] = Object.freeze([]);
const NO_BODY: Readonly<Record<string, unknown>> = Object.freeze({});

/** What every call needs of the gateway. */
export interface Runtime {
  /** Bytes that all calls hold in memory. */
  readonly buffered: ByteBudget;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: StateStore;
}

/** What is known of a call when its head has been read. */
export interface Arrival {
  readonly rt: Runtime;
  readonly requestId: string;
  readonly surface: Surface;
  readonly scope: Scope;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
  readonly project: ProjectRef;
  /** Unix milliseconds, and the monotonic time of the same moment. */
  readonly nowMs: number;
  readonly monotonicMs: number;
}

/** Whoever breaks a silence that has lasted too long. */
export interface KeepAlive {
  look(nowMs: number): void;
}

/** A call that was given up has so long to end, with whatever its end waits for; then it is abandoned. */
const END_MS = 10_000;

/** A hook that has answered with a promise. */
export interface WaitedFor {
  readonly stage: number;
  readonly plugin: string;
}

export class Call implements Exchange {
  readonly rt: Runtime;
  readonly requestId: string;
  readonly surface: Surface;
  readonly scope: Scope;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly clientAddress: string;
  readonly project: ProjectRef;
  readonly startedAtMs: number;
  readonly startedMonotonicMs: number;

  token: TokenRef = NO_TOKEN;
  endpoint: EndpointRef = NO_ENDPOINT;
  body: Readonly<Record<string, unknown>> = NO_BODY;
  stream = false;
  received: readonly Message[] = NO_MESSAGES;
  receivedCharacters = 0;
  messages: readonly Message[] = NO_MESSAGES;
  options: CallOptions | undefined = undefined;
  /** A streamed answer that must not be silent for too long. Looked at by OpenCalls. */
  silence: KeepAlive | undefined = undefined;
  sessionId: string | undefined = undefined;
  config: ConfigRef = NO_CONFIG;
  readonly guardrails: GuardrailRun[] = [];
  readonly attempts: Attempt[] = [];
  readonly verdicts: VerdictRecord[] = [];
  delivery: Delivery | undefined = undefined;

  /** What may be asked, once its endpoint is known. Set by the pipeline. */
  targets: readonly Target[] = NO_TARGETS;
  /** Claims made and not yet decided. */
  claims: Claim[] = [];
  /** The claims that `windows` is about. */
  decidedClaims: readonly Claim[] = NO_CLAIMS;
  /** `Admission.windows` of an admitted call, and the monotonic time they are of. */
  windows: readonly number[] | undefined = undefined;
  windowsAtMs = 0;
  /** Money held for this call until it is settled or released. */
  reservation: Reservation | undefined = undefined;
  /** The claim whose prices the cost of this call is reckoned by. */
  priced: Extract<Claim, { kind: "spend" }> | undefined = undefined;
  /** Bytes of its body and of its provider's answer that are in memory until it ends. */
  heldBytes = 0;
  /** Why the call was given up, once it was. `fault`: code that worked for it has thrown. */
  cancelled: "client_gone" | "timeout" | "shutdown" | "buffers_full" | "fault" | undefined = undefined;
  /** The plugin whose promise the call waits for, for the log when that takes too long. */
  waitsFor: WaitedFor | undefined = undefined;
  /** Monotonic time of the first byte of the answer; 0 before it. */
  firstByteMs = 0;
  /** Its place among the open calls; see OpenCalls. */
  openIndex = -1;
  /** True from the moment a provider is asked: from then on giving up is not free. */
  asked = false;
  /** Set by the one place that ends calls; nothing may happen to the call after it. */
  ended = false;
  /** Monotonic time at which it is given up; looked at by OpenCalls. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** The same for a stream whose first content has gone out. */
  streamDeadlineMs = Number.POSITIVE_INFINITY;
  /** What it has cost, once that is decided; nano-dollars. */
  settledNanoUsd: number | undefined = undefined;
  /** How long a hook may hold a stream up, and a client may leave it unread. */
  requestTimeoutMs = Number.POSITIVE_INFINITY;
  streamIdleTimeoutMs = Number.POSITIVE_INFINITY;
  /** The generation the call runs on, let go at its end. */
  lease: { release(): void } | undefined = undefined;
  /** The client's connection, for a call that not even a refusal can end. */
  connection: { destroy(): unknown } | undefined = undefined;
  /** The finish hooks that hear of its end. Set by whoever has taken the call on. */
  finishSteps: readonly FinishStep[] = NO_STEPS;
  /** Told when the call is given up, after whoever waits on its behalf. Set by the pipeline. */
  owner: { givenUp(): void } | undefined = undefined;

  #slots: Map<symbol, unknown> | undefined = undefined;
  #abort: AbortController | undefined = undefined;
  #onCancel: (() => void) | undefined = undefined;
  #onCancelSite: PluginSite | undefined = undefined;
  #stage = -1;
  #stageSinceMs = 0;
  /** Milliseconds by stage, in the order of STAGES; -1: it did not run. */
  readonly stageMs: number[] = [-1, -1, -1, -1, -1, -1, -1, -1, -1];

  constructor(arrival: Arrival) {
    this.rt = arrival.rt;
    this.requestId = arrival.requestId;
    this.surface = arrival.surface;
    this.scope = arrival.scope;
    this.method = arrival.method;
    this.path = arrival.path;
    this.headers = arrival.headers;
    this.clientAddress = arrival.clientAddress;
    this.project = arrival.project;
    this.startedAtMs = arrival.nowMs;
    this.startedMonotonicMs = arrival.monotonicMs;
  }

  get traceId(): string {
    return traceParentOf(this.headers["traceparent"])?.traceId ?? traceIdOf(this.requestId);
  }

  get slots(): Map<symbol, unknown> {
    return (this.#slots ??= new Map());
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      guardListeners(this.#abort.signal, this.#callbackGuard());
      if (this.cancelled !== undefined) this.#abort.abort(this.cancelled);
    }
    return this.#abort.signal;
  }

  onCancel(run: (() => void) | undefined): void {
    this.#onCancel = run;
    this.#onCancelSite = run === undefined ? undefined : runningPlugin();
    if (run !== undefined && this.cancelled !== undefined) this.#runCancel();
  }

  /** Gives the call up: whoever is waiting for something on its behalf is told, once. */
  cancel(reason: NonNullable<Call["cancelled"]>): void {
    if (this.cancelled !== undefined || this.ended) return;
    this.cancelled = reason;
    this.deadlineMs = Math.min(this.deadlineMs, this.rt.clock.monotonicMs()) + END_MS;
    this.#abort?.abort(reason);
    this.#runCancel();
    this.owner?.givenUp();
  }

  claim(claim: Claim): void {
    this.claims.push(claim);
    if (claim.kind === "spend") this.priced ??= claim;
  }

  verdict(record: VerdictRecord): void {
    this.verdicts.push(record);
  }

  /** Marks the beginning of a stage (an index into STAGES), or with -1 the end of the last one. */
  enter(stage: number, monotonicMs: number): void {
    const left = this.#stage;
    if (left >= 0) {
      this.stageMs[left] = Math.max(0, this.stageMs[left] ?? 0) + monotonicMs - this.#stageSinceMs;
    }
    this.#stage = stage;
    this.#stageSinceMs = monotonicMs;
  }

  /** Books the time since the last stage began under another one, which has decided the call. */
  bookAs(stage: number): void {
    this.#stage = stage;
  }

  get stage(): number {
    return this.#stage;
  }

  #runCancel(): void {
    const run = this.#onCancel;
    const site = this.#onCancelSite;
    this.onCancel(undefined);
    if (run !== undefined) guardedCallback({ ...this.#callbackGuard(), site: () => site }, "onCancel", run)();
  }

  #callbackGuard(): CallbackGuard {
    return { log: this.rt.log, call: this, site: () => runningPlugin() ?? this.#waitedSite() };
  }

  /** Code behind an `await` of a hook: probably that of the plugin which the call waits for. */
  #waitedSite(): PluginSite | undefined {
    if (this.waitsFor === undefined) return undefined;
    const { stage, plugin } = this.waitsFor;
    return { kind: "stage", plugin, hook: STAGES[stage] ?? "" };
  }
}
