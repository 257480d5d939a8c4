/**
 * The stage trace of one call: what each stage decided, in a form that `sluice explain`, failed tests and the recent calls
 * show alike. A call has one only where somebody set `Call.trace`; every other call pays one check for undefined at each
 * of its few events. Holds references to what the call holds anyway, and texts of the call only where they are asked for.
 */
import type { Attempt, Claim, GuardrailRun, JudgedVerdict, TraceSink } from "../plugin/exchange.ts";
import type { CallEnd, GatewayError } from "../plugin/index.ts";
import { STAGES } from "../plugin/index.ts";
import type { Admission } from "../plugin/store.ts";

export interface TraceOptions {
  /** Keep the judged texts beside the spans. Default: no text of the call is kept. */
  readonly texts?: boolean;
}

/** Verdicts of one guardrail on one call. More of them are counted, not kept. */
export const VERDICTS_MAX = 100;

/** One guardrail on one side of a call, in the order in which they ran. Without verdicts it passed. */
export interface GuardrailTrace extends GuardrailRun {
  readonly verdicts: JudgedVerdict[];
  /** Verdicts that were not kept. */
  more: number;
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

/** What is read of a call when it ends. */
interface EndedCall {
  readonly attempts: readonly Attempt[];
  readonly settledNanoUsd: number | undefined;
}

export class CallTrace implements TraceSink {
  readonly guardrails: GuardrailTrace[] = [];
  readonly claims: ClaimTrace[] = [];
  readonly #contexts: object[] = [];
  readonly #keepsTexts: boolean;
  stop: StopTrace | undefined = undefined;
  /** undefined while the call runs. */
  end: CallEnd | undefined = undefined;
  attempts: readonly Attempt[] = [];
  settledNanoUsd: number | undefined = undefined;
  #lastStage = -1;
  #where: string | undefined = undefined;

  constructor(options: TraceOptions = {}) {
    this.#keepsTexts = options.texts === true;
  }

  guardrailBegan(context: object, guardrail: string, side: GuardrailRun["side"]): void {
    this.guardrails.push({ guardrail, side, verdicts: [], more: 0 });
    this.#contexts.push(context);
  }

  judging(where: string): void {
    this.#where = where;
  }

  guardrailJudged(context: object, { text, ...judged }: JudgedVerdict): void {
    const verdict = { ...judged, where: this.#where ?? (judged.side === "output" ? "answer" : "") };
    this.#where = undefined;
    const run = this.guardrails.findLast(
      ({ side }, n) => side === verdict.side && this.#contexts[n] === context,
    );
    if (run === undefined) return;
    if (run.verdicts.length >= VERDICTS_MAX) run.more++;
    else run.verdicts.push(this.#keepsTexts ? { ...verdict, text } : verdict);
  }

  /** The claims of a call were decided together. */
  decided(claims: readonly Claim[], admission: Admission): void {
    let rates = 0;
    for (const [index, claim] of claims.entries()) {
      const { admitted } = admission;
      const isRefused = !admitted && admission.refused === index;
      const outcome = admitted ? "admitted" : isRefused ? "refused" : "not decided";
      const { kind, key } = claim;
      if (claim.kind === "rate") {
        const { policy, windowMs, limit } = claim;
        const remaining = admitted ? admission.windows?.[2 * rates] : undefined;
        rates++;
        const retryAfterSeconds = isRefused ? admission.retryAfterSeconds : 0;
        this.claims.push({ kind, key, outcome, policy, windowMs, limit, remaining, retryAfterSeconds });
      } else {
        const { estimateNanoUsd: reservedNanoUsd, inputNanoUsd, capNanoUsd } = claim;
        const spent = isRefused ? { spentNanoUsd: admission.spentNanoUsd } : {};
        this.claims.push({ kind, key, outcome, reservedNanoUsd, inputNanoUsd, capNanoUsd, ...spent });
      }
    }
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
