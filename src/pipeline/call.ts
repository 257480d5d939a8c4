/**
 * One call: the Exchange that hooks see, and the state that only the pipeline uses (claims, reservation, stage times,
 * cancellation). One plain object per call without closures, so that creating it is cheap.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { ByteBudget } from "../base/byte-budget.ts";
import { traceIdOf, traceParentOf } from "../base/trace-context.ts";
import type { FinishStep } from "../compile/model.ts";
import type { CallOptions } from "../plugin/chat.ts";
import type {
  Attempt,
  Claim,
  ConfigRef,
  CoreExchange,
  Delivery,
  EndpointRef,
  GuardrailRun,
  ProjectRef,
  Scope,
  Surface,
  TokenRef,
  VerdictRecord,
} from "../plugin/exchange.ts";
import type { Logger } from "../plugin/host.ts";
import type { Clock, Message, StateStore, Target } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { Reservation } from "../plugin/store.ts";
import { type PluginSite, runningPlugin } from "../plugin-guard/guard.ts";
import { type CallbackGuard, guardedCallback, guardListeners } from "../plugin-guard/signal.ts";
import type { CallTrace } from "./trace.ts";

/** Before authenticate has accepted a token. */
const NO_TOKEN: TokenRef = Object.freeze({
  id: "",
  name: "",
  projectUuid: "",
  scopes: Object.freeze([]),
  monthlyCapNanoUsd: undefined,
  monthlyCapText: "",
});

/** Before the endpoint is known. */
const NO_ENDPOINT: EndpointRef = Object.freeze({ uuid: "", slug: "", name: "" });

const NO_CONFIG: ConfigRef = Object.freeze({ hash: "", generation: 0, revision: "" });
const NO_MESSAGES: readonly Message[] = Object.freeze([]);
const NO_STEPS: readonly FinishStep[] = Object.freeze([]);
const NO_CLAIMS: readonly Claim[] = Object.freeze([]);
const NO_TARGETS: readonly Target[] = Object.freeze([]);
const NO_BODY: Readonly<Record<string, unknown>> = Object.freeze({});

/** Shared by all calls of a gateway. */
export interface Runtime {
  /** Bytes that all calls hold in memory. */
  readonly buffered: ByteBudget;
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: StateStore;
}

/** What is known of a call when its headers have been read. */
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

/** What runs a call: the request context until its endpoint is known, then the run of that endpoint. */
export interface CallOwner {
  /** The call has been cancelled; `Call.cancelled` is the reason. Ends the call. */
  stop(): void;
  /** Called about once per second by OpenCalls. */
  tick?(nowMs: number): void;
}

/** `fault`: code that worked for the call has thrown. */
export type CancelReason = "client_gone" | "timeout" | "shutdown" | "buffers_full" | "fault";

/** A call runs, may be cancelled, and ends. There is no way back. */
interface CallState {
  readonly is: "running" | "cancelled" | "ended";
  readonly reason: CancelReason | undefined;
}

const RUNNING: CallState = Object.freeze({ is: "running", reason: undefined });
const ENDED: CallState = Object.freeze({ is: "ended", reason: undefined });

/** A cancelled call may take this long to end; then it is abandoned. */
const END_MS = 10_000;

/** A hook that has returned a promise. */
export interface WaitedFor {
  readonly stage: number;
  readonly plugin: string;
}

export class Call implements CoreExchange {
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
  sessionId: string | undefined = undefined;
  config: ConfigRef = NO_CONFIG;
  readonly guardrails: GuardrailRun[] = [];
  readonly attempts: Attempt[] = [];
  readonly verdicts: VerdictRecord[] = [];
  delivery: Delivery | undefined = undefined;
  /** Set where the call's stages are to be recorded, before the first of them. */
  trace: CallTrace | undefined = undefined;

  /** Of its endpoint, in order. Set by the pipeline. */
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
  /** The spend claim that prices this call. */
  priced: Extract<Claim, { kind: "spend" }> | undefined = undefined;
  /** Bytes of its body and of its provider's answer that are in memory until it ends. */
  heldBytes = 0;
  /** The plugin whose promise the call waits for, logged at a timeout. */
  waitsFor: WaitedFor | undefined = undefined;
  /** Monotonic time of the first byte of the answer; 0 before it. */
  firstByteMs = 0;
  /** Its place among the open calls; see OpenCalls. */
  openIndex = -1;
  /** A provider has been called: from then on cancelling costs money. */
  asked = false;
  /** Monotonic time of its timeout; checked by OpenCalls. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** The same for a stream whose first content has been sent. */
  streamDeadlineMs = Number.POSITIVE_INFINITY;
  /** Its final cost in nano-dollars. */
  settledNanoUsd: number | undefined = undefined;
  /** How long a hook may delay a stream, and a client may leave it unread. */
  requestTimeoutMs = Number.POSITIVE_INFINITY;
  streamIdleTimeoutMs = Number.POSITIVE_INFINITY;
  /** The generation that the call runs on, released at its end. */
  lease: { release(): void } | undefined = undefined;
  /** The client's connection, closed when the call cannot be answered at all. */
  connection: { destroy(): unknown } | undefined = undefined;
  /** The finish hooks to run at its end. Set by its owner. */
  finishSteps: readonly FinishStep[] = NO_STEPS;
  /** Stopped on cancellation, after the callback that a plugin or provider has registered. undefined once it has ended. */
  owner: CallOwner | undefined = undefined;

  #slots: Map<symbol, unknown> | undefined = undefined;
  #abort: AbortController | undefined = undefined;
  #state: CallState = RUNNING;
  #onCancel: { readonly run: () => void; readonly site: PluginSite | undefined } | undefined = undefined;
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

  /** Nothing may happen to the call any more. */
  get ended(): boolean {
    return this.#state.is === "ended";
  }

  /** Why the call was cancelled; undefined: it was not. Kept after its end. */
  get cancelled(): CancelReason | undefined {
    return this.#state.reason;
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
    this.#onCancel = run && { run, site: runningPlugin() };
    if (this.cancelled !== undefined) this.#runCancel();
  }

  /** Cancels the call: aborts its signal, runs the registered callback and stops its owner, once. */
  cancel(reason: CancelReason): void {
    if (this.#state.is !== "running") return;
    this.#state = { is: "cancelled", reason };
    this.deadlineMs = Math.min(this.deadlineMs, this.rt.clock.monotonicMs()) + END_MS;
    this.#abort?.abort(reason);
    this.#runCancel();
    this.owner?.stop();
  }

  /** The last step of a call, cancelled or not. False: it has ended already. */
  end(): boolean {
    const { is, reason } = this.#state;
    if (is === "ended") return false;
    this.#state = reason === undefined ? ENDED : { is: "ended", reason };
    this.#onCancel = undefined;
    return true;
  }

  claim(claim: Claim): void {
    this.claims.push(claim);
    if (claim.kind === "spend") this.priced ??= claim;
  }

  replaceMessages(messages: readonly Message[]): void {
    this.messages = messages;
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

  /** Attributes the time since the last stage began to another one, which has decided the call. */
  bookAs(stage: number): void {
    this.#stage = stage;
  }

  get stage(): number {
    return this.#stage;
  }

  #runCancel(): void {
    if (this.#onCancel === undefined) return;
    const { run, site } = this.#onCancel;
    this.#onCancel = undefined;
    guardedCallback({ ...this.#callbackGuard(), site: () => site }, "onCancel", run)();
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
