/**
 * Judges one text and applies the verdict. Implements what every guardrail has: shadow mode, fail-closed errors,
 * verdict records, and long texts in pieces.
 */
import { coreExchange } from "../plugin/exchange.ts";
import type { Edit, GatewayError, MaybePromise, TextContext, Verdict } from "../plugin/index.ts";
import { isPromise, reject } from "../plugin/index.ts";
import { restorable } from "./masks.ts";
import { judgeInPieces, type Pace } from "./pieces.ts";
import { ask, DeadlineError, Failure, type GuardContext, VerdictError } from "./verdict.ts";

/** Default of `server.max_judged_characters`. */
export const JUDGED_CHARACTERS_MAX = 4_000_000;

/** The outcome of a verdict: spans to replace (none: the text stays), or a refusal. */
export type Judgement = readonly Edit[] | GatewayError;

const NO_EDITS: readonly Edit[] = Object.freeze([]);

/** Judges a text and applies the verdict. Never throws: `on_error` decides about a guardrail that fails. */
export function judge(
  context: GuardContext,
  text: string,
  about: TextContext,
  pace?: Pace,
): MaybePromise<Judgement> {
  const verdict = verdictOn(context, text, about, pace);
  if (verdict === undefined) return NO_EDITS;
  if (!isPromise(verdict)) return applyVerdict(context, text, about, verdict);
  return verdict.then((settled) => applyVerdict(context, text, about, settled));
}

/** The guardrail's verdict; for a long text, combined from the verdicts on its pieces. Never throws. */
export function verdictOn(
  context: GuardContext,
  text: string,
  about: TextContext,
  pace?: Pace,
): MaybePromise<Verdict | Failure> {
  const { window } = context.guardrail;
  const slice = sliceFor(context, text);
  return slice !== undefined && typeof window === "number" && text.length > slice + window
    ? judgeInPieces(context, text, about, { slice, window, pace })
    : ask(context, text, about);
}

/** Shorter texts are judged whole; a slice function is not called for them. */
const PIECES_CHARACTERS_MIN = 1024;

/** undefined: the text is judged whole. */
function sliceFor({ guardrail, use }: GuardContext, text: string): number | undefined {
  const { slice, subject } = guardrail;
  if (slice === undefined || subject === "call" || use.isolate) return undefined;
  if (typeof slice === "number") return slice;
  if (text.length <= PIECES_CHARACTERS_MIN) return undefined;
  try {
    return Math.max(1, slice(text));
  } catch {
    return PIECES_CHARACTERS_MIN;
  }
}

/** Records a verdict and turns it into edits or a refusal. */
export function applyVerdict(
  context: GuardContext,
  text: string,
  about: TextContext,
  verdict: Verdict | Failure,
): Judgement {
  if (verdict === undefined) return NO_EDITS;
  if (verdict instanceof Failure) return applyFailure(context, about, verdict.cause);
  const { shadow } = context.use;
  const { name } = context;
  const { side, exchange } = about;
  // Once per call: the window of a stream is judged repeatedly.
  const isRecorded = exchange.verdicts.some(
    (v) =>
      v.guardrail === name && v.side === side && v.verdict === verdict.verdict && v.reason === verdict.reason,
  );
  if (!isRecorded) {
    exchange.verdict({ guardrail: name, side, verdict: verdict.verdict, shadow, reason: verdict.reason });
  }
  coreExchange(exchange).trace?.guardrailJudged(context, {
    ...{ side, verdict: verdict.verdict, shadow, reason: verdict.reason, role: about.role, text },
    found: verdict.verdict === "replace" ? verdict.edits : (verdict.spans ?? NO_EDITS),
  });
  if (shadow) return NO_EDITS;
  if (verdict.verdict === "block") return verdict.error;
  return verdict.restore === true && side === "input"
    ? restorable(exchange, text, verdict.edits)
    : verdict.edits;
}

function applyFailure(context: GuardContext, about: TextContext, thrown: unknown): Judgement {
  const { name, use } = context;
  context.log.error(
    { request_id: about.exchange.requestId, guardrail: name, on_error: use.on_error, err: thrown },
    "a guardrail failed",
  );
  about.exchange.verdict({
    guardrail: name,
    side: about.side,
    verdict: "error",
    shadow: use.shadow,
    reason: failureReason(thrown),
  });
  coreExchange(about.exchange).trace?.guardrailJudged(context, {
    ...{ side: about.side, verdict: "error", shadow: use.shadow, reason: failureReason(thrown) },
    ...{ role: about.role, found: NO_EDITS, text: "" },
  });
  if (use.on_error === "allow" || use.shadow) return NO_EDITS;
  return reject(about.side === "input" ? "guardrail_failed" : "answer_guardrail_failed", { name });
}

function failureReason(thrown: unknown): string {
  if (thrown instanceof DeadlineError) return "timeout";
  return thrown instanceof VerdictError ? "invalid verdict" : "exception";
}
