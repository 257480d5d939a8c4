/**
 * The object a hook receives: one call, from its arrival to its end. Fields marked "from stage X" hold their empty
 * value before it. Hooks read it and return outcomes; what they may change is said at the field.
 */
import type { CallOptions, ChatResult, FinishReason, Message, Role, Usage } from "./chat.ts";
import type { GatewayError } from "./errors.ts";

/** A family of routes. */
export type Surface = "chat" | "wrapper" | "mcp" | "proxy" | "listing";

/** A permission of a token. `control` belongs to control-plane tokens only. */
export type Scope = "chat" | "models" | "admin" | "mcp" | "proxy" | "control";

/** The project a call is for. `uuid` is what the path says, also when no such project exists (`name` is "" then). */
export interface ProjectRef {
  readonly uuid: string;
  readonly id: number;
  readonly name: string;
}

/** The endpoint a call is for; `slug` is "" before it is known (stage authenticate). */
export interface EndpointRef {
  readonly uuid: string;
  readonly slug: string;
  readonly name: string;
}

/** The token a call came with; `id` is "" before it is accepted (stage authenticate). */
export interface TokenRef {
  /** As the config gives it, in text: unique within its project. */
  readonly id: string;
  readonly name: string;
  readonly projectUuid: string;
  readonly scopes: readonly Scope[];
  /** Monthly spend cap over all surfaces, in nano-dollars; undefined: none. */
  readonly monthlyCapNanoUsd: number | undefined;
  /** The cap as the config writes it, for messages. */
  readonly monthlyCapText: string;
}

/** Anything that must be admitted before a call may go on. See `Exchange.claim`. */
export type Claim = RateClaim | SpendClaim;

/** At most `limit` admissions in any span of `windowMs`, wherever it starts. @since 0.1.0 */
export interface RateClaim {
  readonly kind: "rate";
  /** What is counted, e.g. `rate:<project uuid>/<slug>:minute`. Survives reloads. At most 512 characters. */
  readonly key: string;
  /** At least 1. */
  readonly limit: number;
  readonly windowMs: number;
  /**
   * The window's name in the fields `RateLimit-Policy` and `RateLimit` of admitted calls: 1 to 64 letters, digits and
   * `_.:/-`. Default: the fields do not show it. @since 0.2.0
   */
  readonly policy?: string;
  /** Words the refusal. `retryAfterSeconds`: whole seconds, at least 1, after which one call would be admitted. */
  refuse(retryAfterSeconds: number): GatewayError;
}

/**
 * Reserves an estimate against a monthly sum (UTC months). Replaced by the actual cost when the call ends.
 * @since 0.1.0
 */
export interface SpendClaim {
  readonly kind: "spend";
  /** Whose money, e.g. `spend:<project uuid>/<slug>`. Survives reloads. At most 512 characters. */
  readonly key: string;
  /** Nano-dollars a month; undefined: no cap, the sum is still kept. */
  readonly capNanoUsd: number | undefined;
  /** What the call may cost, in nano-dollars. */
  readonly estimateNanoUsd: number;
  /** The part of the estimate that is the input alone: what is settled when nobody can say more. */
  readonly inputNanoUsd: number;
  /** What the call did cost, in whole nano-dollars. Claims of one call agree on it; the first one's is logged. */
  costNanoUsd(usage: Usage): number;
  /** What the call would have cost by list prices; undefined: none is known. For the log. @since 0.2.0 */
  listCostNanoUsd?(usage: Usage): number | undefined;
  /** Words the refusal. `spentNanoUsd`: settled plus reserved in this month. */
  refuse(spentNanoUsd: number): GatewayError;
}

/** The configuration that a call runs on. @since 0.2.0 */
export interface ConfigRef {
  /** As `config_hash` of `/readyz`. */
  readonly hash: string;
  readonly generation: number;
  /** Git revision of its folder when it was loaded, with `-dirty` where files differed; "": not known. */
  readonly revision: string;
}

/** A guardrail that judged a call, on one side of it. @since 0.2.0 */
export interface GuardrailRun {
  readonly guardrail: string;
  readonly side: "input" | "output";
}

/** What a guardrail said of one text, for log, metrics and audit. */
export interface VerdictRecord {
  readonly guardrail: string;
  readonly side: "input" | "output";
  readonly verdict: "pass" | "block" | "replace" | "error";
  /** Judged and recorded, not acted on. */
  readonly shadow: boolean;
  /** Short, without any of the judged text. */
  readonly reason: string;
}

/** One try of one target. */
export interface Attempt {
  readonly provider: string;
  readonly model: string;
  readonly credential: string;
  /** `ok`, or the failure in short, credentials scrubbed. */
  readonly outcome: string;
  /** Hints of the caller that this provider has no field for, and that were left out. @since 0.2.0 */
  readonly dropped?: readonly string[];
  /** The provider's HTTP status, where it answered. */
  readonly status: number | undefined;
  /** Unix milliseconds. */
  readonly startedAtMs: number;
  readonly durationMs: number;
}

/** Changes an answer on its way to the client, and for nobody else. */
export interface Delivery {
  /** The next piece of the answer's text, or all of it: what of it may go out now. `call`: of that tool call's arguments. */
  push(piece: string, call?: number): string;
  /** No more comes of it: what was held back. */
  flush(call?: number): string;
}

/** One call. @since 0.1.0 */
export interface Exchange {
  /** UUID; also `X-Request-Id` and `meta.request_id`. */
  readonly requestId: string;
  readonly surface: Surface;
  /** Unix milliseconds on arrival. */
  readonly startedAtMs: number;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** Request headers, names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The client's address; behind `server.trusted_proxies`, the one they report. */
  readonly clientAddress: string;
  /** The scope that the route asks for. */
  readonly scope: Scope;
  readonly project: ProjectRef;
  /** From stage limit on. */
  readonly endpoint: EndpointRef;
  /** Set by stage authenticate. */
  readonly token: TokenRef;
  /** The JSON body as received. From stage limit on. */
  readonly body: Readonly<Record<string, unknown>>;
  /** True when the answer goes out as events. */
  readonly stream: boolean;
  /** The messages as the client sent them. From stage limit on. */
  readonly received: readonly Message[];
  /** UTF-16 code units in `received`, summed. */
  readonly receivedCharacters: number;
  /** The messages for the model: `received` at first; see `replaceMessages`. */
  readonly messages: readonly Message[];
  /** Replaces `messages`, before stage call. Messages are immutable: a changed one is a new object. @since 0.2.0 */
  replaceMessages(messages: readonly Message[]): void;
  /**
   * What the client asks for beside the endpoint's settings: tools, stops. From stage limit on; undefined on chat. The
   * gateway puts new options in their place when a guardrail masks something in them.
   */
  readonly options: CallOptions | undefined;
  /** Id of the conversation when there is one. Set by stage prepare; shown as `meta.session_id`. */
  readonly sessionId: string | undefined;
  /**
   * Aborted when the client leaves, the call times out or the gateway stops. Made at first use.
   * What a listener throws is logged with the plugin's name and harms nobody else; that holds for listeners of this
   * signal alone, not for those of signals derived from it (`AbortSignal.any`).
   */
  readonly signal: AbortSignal;
  /** True once the call has ended, the client gone or the time up: what a hook acquires after that must be released. */
  readonly ended: boolean;
  /** Tries so far. Added to by stage call. */
  readonly attempts: readonly Attempt[];
  /** The configuration that the call runs on. @since 0.2.0 */
  readonly config: ConfigRef;
  /** The trace that the call is part of, 32 hex digits: the client's, else one of its own. @since 0.2.0 */
  readonly traceId: string;
  /** Guardrails that have judged it so far, passes included. Added to by the gateway. @since 0.2.0 */
  readonly guardrails: readonly GuardrailRun[];
  /** Verdicts so far, in order. Added to by the gateway. */
  readonly verdicts: readonly VerdictRecord[];
  /** Private per-call storage of plugins; use `slot()` rather than this. */
  readonly slots: Map<symbol, unknown>;
  /**
   * Asks for admission, in stages limit and budget. Claims are decided together, all or nothing, in the order made,
   * in one step of the store, after the last hook of stage budget. A hook that makes claims and then refuses is asked
   * after its claims: if they are refused that refusal wins; if not, they are kept and the hook's own refusal stands.
   */
  claim(claim: Claim): void;
  /** Records a verdict of a guardrail that is not run by the gateway itself. */
  verdict(record: VerdictRecord): void;
}

/**
 * The call with write access, for the stages that the gateway consists of (authenticate, prepare, call) and for the
 * pipeline. Not part of the public API: hooks of other plugins get the same object and may not rely on it.
 */
export interface CoreExchange extends Exchange {
  token: TokenRef;
  messages: readonly Message[];
  options: CallOptions | undefined;
  sessionId: string | undefined;
  readonly attempts: Attempt[];
  readonly verdicts: VerdictRecord[];
  /**
   * What the client sees in place of the answer; undefined: the answer. Set by the gateway for guardrails that restore
   * what they masked. Log, store and conversations keep the answer.
   */
  delivery: Delivery | undefined;
  /**
   * Runs `run` at most once, when the client disconnects or the call times out: the cheap form of `signal`. There is
   * one listener at a time: a later call replaces the earlier one, undefined removes it.
   */
  onCancel(run: (() => void) | undefined): void;
  /** What records the call's stages; undefined: nobody asked. Set by the gateway. */
  readonly trace?: TraceSink | undefined;
}

/** What a guardrail decided about one text of a call. */
export interface JudgedVerdict {
  readonly side: GuardrailRun["side"];
  readonly verdict: VerdictRecord["verdict"];
  readonly shadow: boolean;
  /** As in `VerdictRecord`: the rule that applied. */
  readonly reason: string;
  readonly role: Role;
  /** What was found, in UTF-16 code units of the judged text. Empty: the guardrail does not say where. */
  readonly found: readonly { readonly start: number; readonly end: number }[];
  readonly text: string;
}

/** Records what guardrails decide. `context`: which use of the guardrail it is. */
export interface TraceSink {
  /** Returns what the call lists as the run. */
  guardrailBegan(context: object, guardrail: string, side: GuardrailRun["side"]): GuardrailRun;
  guardrailJudged(context: object, verdict: JudgedVerdict): void;
  /** Which text the next verdict is about: `messages[0]`, `request` for anything outside the messages. */
  judging(where: string): void;
}

/** How a call ended. Handed to `finish`, once. @since 0.1.0 */
export interface CallEnd {
  /** `done`: answered in full. `refused`: by a hook. `failed`: by the provider or a bug. `client_gone`: nobody listened. */
  readonly outcome: "done" | "refused" | "failed" | "client_gone";
  /** HTTP status of the answer; of a stream that failed after its first byte, the one it would have had. */
  readonly status: number;
  readonly error: GatewayError | undefined;
  /** The answer as the client saw it, as far as it came. */
  readonly result: ChatResult | undefined;
  /** Which provider and model answered. */
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage | undefined;
  readonly finishReason: FinishReason | undefined;
  /** Settled cost; 0 where no price is known. */
  readonly costNanoUsd: number;
  /** What it would have cost by list prices; undefined: none is known, or no usage. @since 0.2.0 */
  readonly listCostNanoUsd?: number | undefined;
  readonly durationMs: number;
  /** Milliseconds from arrival to the first byte of the answer; undefined when there was none. */
  readonly firstByteMs: number | undefined;
  /** Milliseconds spent in each stage, in the order of STAGES; -1: it did not run. */
  readonly stageMs: readonly number[];
}

/** The gateway makes every Exchange, with write access. */
export function coreExchange(x: Exchange): CoreExchange {
  return x as CoreExchange;
}

/** Private per-call storage for one plugin. */
export interface Slot<T> {
  get(x: Exchange): T | undefined;
  set(x: Exchange, value: T): void;
}

/** Makes a slot; `name` shows up in debuggers only, so two slots of one name do not meet. @since 0.1.0 */
export function slot<T>(name: string): Slot<T> {
  const key = Symbol(name);
  return {
    // The key is private to this closure, so what stands under it was put there by `set`.
    get: (x) => x.slots.get(key) as T | undefined,
    set: (x, value) => {
      x.slots.set(key, value);
    },
  };
}

/**
 * Owner of the conversations of this call: its endpoint (and with it the project) and its token.
 * @experimental
 * @since 0.1.0
 */
export function conversationOwner(x: Exchange): string {
  return `${x.project.uuid}/${x.endpoint.slug}/${x.token.id}`;
}
