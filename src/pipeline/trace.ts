/**
 * The stage trace of one call: what each stage decided, in a form that `sluice explain`, failed tests and the recent calls
 * show alike. A call has one only where somebody set `Call.trace`; every other call pays one check for undefined at each
 * of its few events. Holds references to what the call holds anyway, and texts of the call only where they are asked for.
 */
import type {
  Attempt,
  Claim,
  GuardrailRun,
  JudgedVerdict,
  RateClaim,
  SpendClaim,
  TraceSink,
} from "../plugin/exchange.ts";
import type { CallEnd, GatewayError } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { Admission } from "../plugin/store.ts";

export interface TraceOptions {
  /** Keep where in the judged texts something was found. Default: how many places there were. */
  readonly spans?: boolean;
  /** Keep the judged texts beside them. Default: no text of the call is kept. */
  readonly texts?: boolean;
}

/** Verdicts of one guardrail on one side of a call. More of them are counted, not kept. */
export const VERDICTS_MAX = 20;
/** Spans of one verdict likewise. */
export const SPANS_MAX = 20;

/** One guardrail on one side of a call, in the order in which they ran. Without verdicts it passed. */
export interface GuardrailTrace extends GuardrailRun {
  verdicts: readonly TracedVerdict[];
  /** Verdicts that were not kept. */
  more: number;
}

/** What a guardrail decided about one text. */
export interface TracedVerdict {
  readonly verdict: JudgedVerdict["verdict"];
  readonly shadow: boolean;
  /** The rule that applied; nothing of the text. */
  readonly reason: string;
  readonly role: JudgedVerdict["role"];
  /** Which text: `messages[0]`, `request` for anything outside the messages, `answer`. */
  readonly where: string;
  /** Places in the text where something was found; 0: the guardrail does not say where. */
  readonly places: number;
  /** The first of them, [start, end) in UTF-16 code units, where they are kept. */
  readonly spans: readonly (readonly [start: number, end: number])[];
  /** The judged text, where it is kept. */
  readonly text?: string;
}

/** One claim and its decision. */
export interface ClaimTrace {
  readonly kind: Claim["kind"];
  readonly key: string;
  readonly outcome: "admitted" | "refused" | "not decided";
  /** Of a rate window: its name, length and limit, and the calls that it would still admit. */
  readonly policy?: string | undefined;
  readonly windowMs?: number;
  readonly limit?: number;
  readonly remaining?: number | undefined;
  readonly retryAfterSeconds?: number;
  /** Of a sum, in nano-dollars: what was reserved, its cap, and where it refused, what was spent before. */
  readonly reservedNanoUsd?: number;
  readonly inputNanoUsd?: number;
  readonly capNanoUsd?: number | undefined;
  readonly spentNanoUsd?: number;
}

/** Where a call was stopped, by a refusal or by an answer of a hook. */
export interface StopTrace {
  /** Index into STAGES. */
  readonly stage: number;
  /** The plugin whose hook it was; `gateway`: a claim was refused. */
  readonly plugin: string;
}

interface RateDecision {
  readonly outcome: ClaimTrace["outcome"];
  readonly admission: Admission;
  /** Index of the window in `Admission.windows`. */
  readonly at: number;
}

const COUNTS_ONLY: TraceOptions = Object.freeze({});
const NO_ATTEMPTS: readonly Attempt[] = Object.freeze([]);

/** What is read of a call when it ends. */
interface EndedCall {
  readonly attempts: readonly Attempt[];
  readonly settledNanoUsd: number | undefined;
}

const NO_VERDICTS: readonly TracedVerdict[] = Object.freeze([]);
const NO_SPANS: TracedVerdict["spans"] = Object.freeze([]);

export class CallTrace implements TraceSink {
  readonly guardrails: GuardrailTrace[] = [];
  readonly claims: ClaimTrace[] = [];
  readonly #options: TraceOptions;
  /** Of each guardrail. They hold instances of plugins, so nothing that outlives the call may keep them. */
  #contexts: object[] | undefined = undefined;
  stop: StopTrace | undefined = undefined;
  /** undefined while the call runs. */
  end: CallEnd | undefined = undefined;
  attempts: readonly Attempt[] = NO_ATTEMPTS;
  settledNanoUsd: number | undefined = undefined;
  #lastStage = -1;
  #where: string | undefined = undefined;

  constructor(options: TraceOptions = COUNTS_ONLY) {
    this.#options = options;
  }

  guardrailBegan(context: object, guardrail: string, side: GuardrailRun["side"]): GuardrailRun {
    const run: GuardrailTrace = { guardrail, side, verdicts: NO_VERDICTS, more: 0 };
    this.guardrails.push(run);
    (this.#contexts ??= []).push(context);
    return run;
  }

  judging(where: string): void {
    this.#where = where;
  }

  guardrailJudged(context: object, judged: JudgedVerdict): void {
    const { side } = judged;
    const where = this.#where ?? (side === "output" ? "answer" : "");
    this.#where = undefined;
    const run = this.guardrails.findLast((one, n) => one.side === side && this.#contexts?.[n] === context);
    if (run === undefined) return;
    if (run.verdicts.length >= VERDICTS_MAX) run.more++;
    else run.verdicts = [...run.verdicts, this.#traced(judged, where)];
  }

  #traced({ verdict, shadow, reason, role, found, text }: JudgedVerdict, where: string): TracedVerdict {
    const { spans: keepsSpans = false, texts = false } = this.#options;
    const kept = keepsSpans ? found.slice(0, SPANS_MAX) : [];
    const spans = kept.length === 0 ? NO_SPANS : kept.map(({ start, end }) => [start, end] as const);
    const traced = { verdict, shadow, reason, role, where, places: found.length, spans };
    return texts ? { ...traced, text } : traced;
  }

  /** The claims of a call were decided together. */
  decided(claims: readonly Claim[], admission: Admission): void {
    let rates = 0;
    // Counted, not iterated, and without spreads: this runs on every call.
    for (let index = 0; index < claims.length; index++) {
      const claim = claims[index];
      if (claim === undefined) continue;
      const isRefused = !admission.admitted && admission.refused === index;
      const outcome = admission.admitted ? "admitted" : isRefused ? "refused" : "not decided";
      if (claim.kind === "spend") this.#decidedSum(claim, outcome, admission);
      else this.#decidedRate(claim, { outcome, admission, at: 2 * rates++ });
    }
  }

  #decidedRate({ key, policy, windowMs, limit }: RateClaim, { outcome, admission, at }: RateDecision): void {
    const remaining = admission.admitted ? admission.windows?.[at] : undefined;
    const retryAfterSeconds = !admission.admitted && outcome === "refused" ? admission.retryAfterSeconds : 0;
    this.claims.push({ kind: "rate", key, outcome, policy, windowMs, limit, remaining, retryAfterSeconds });
  }

  #decidedSum(claim: SpendClaim, outcome: ClaimTrace["outcome"], admission: Admission): void {
    const { key, estimateNanoUsd: reservedNanoUsd, inputNanoUsd, capNanoUsd } = claim;
    const sum = { kind: "spend", key, outcome, reservedNanoUsd, inputNanoUsd, capNanoUsd } as const;
    const isRefused = !admission.admitted && outcome === "refused";
    this.claims.push(isRefused ? { ...sum, spentNanoUsd: admission.spentNanoUsd } : sum);
  }

  /** A hook has stopped the call. The first stop holds: a refused claim comes before the refusal of its hook. */
  stoppedAt(stage: number, plugin: string): void {
    this.stop ??= { stage, plugin };
  }

  /** The call has ended. `stage`: the last one that it entered. */
  ended(stage: number, { attempts, settledNanoUsd }: EndedCall, end: CallEnd): void {
    this.end = end;
    this.attempts = attempts;
    this.settledNanoUsd = settledNanoUsd;
    this.#lastStage = stage;
  }

  get refusal(): GatewayError | undefined {
    return this.end?.error;
  }

  /**
   * The stage that refused the call; `request`: before the chain, for its body or because its path names nothing.
   * undefined: nothing refused it.
   */
  get refusedAt(): (typeof STAGES)[number] | "request" | undefined {
    if (this.refusal === undefined) return undefined;
    return STAGES[this.stop?.stage ?? this.#lastStage] ?? "request";
  }
}
