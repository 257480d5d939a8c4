/**
 * Asks a guardrail about one text and carries out its verdict. Adds what every guardrail has and none must write:
 * shadow, deadline, fail-closed, verdict records, and turns for other calls while a long text is judged.
 */
import type { GuardrailUse } from "../config/model.ts";
import type {
  Clock,
  Edit,
  GatewayError,
  Guardrail,
  Logger,
  MaybePromise,
  TextAbout,
  Verdict,
} from "../plugin/index.ts";
import { isPromise, reject } from "../plugin/index.ts";
import { restorable } from "./masks.ts";
import type { Pace } from "./pace.ts";
import { judgeInPieces } from "./pieces.ts";
import { readVerdict, VerdictError } from "./verdict.ts";

/** What a guardrail's use is run with. */
export interface GuardContext {
  readonly name: string;
  readonly guardrail: Guardrail;
  readonly use: Pick<GuardrailUse, "on" | "on_error" | "timeout_ms" | "shadow" | "isolate"> &
    Partial<Pick<GuardrailUse, "roles">>;
  readonly clock: Clock;
  readonly log: Logger;
  /** `server.max_judged_characters`. Default 4,000,000. */
  readonly judgedCharactersMax?: number;
}

/** Default of `server.max_judged_characters`. */
export const JUDGED_CHARACTERS_MAX = 4_000_000;

/** What acting on a verdict comes to: spans to replace (none: the text stays) or a refusal. */
export type Judgement = readonly Edit[] | GatewayError;

/** The guardrail gave no verdict: it threw, took too long, or returned something else. */
export class Failure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** No verdict came within `timeout_ms`. */
export class DeadlineError extends Error {
  constructor(timeoutMs: number) {
    super(`no verdict within ${timeoutMs} ms`);
  }
}

const NO_EDITS: readonly Edit[] = Object.freeze([]);

/** Asks the guardrail and says what to do. Never throws: a guardrail that fails is dealt with by its `on_error`. */
export function judge(
  context: GuardContext,
  text: string,
  about: TextAbout,
  pace?: Pace,
): MaybePromise<Judgement> {
  const verdict = verdictOn(context, text, about, pace);
  if (verdict === undefined) return NO_EDITS;
  if (!isPromise(verdict)) return carryOut(context, text, about, verdict);
  return verdict.then((settled) => carryOut(context, text, about, settled));
}

/** The guardrail's verdict, of a long text put together from those on its pieces. Never throws. */
export function verdictOn(
  context: GuardContext,
  text: string,
  about: TextAbout,
  pace?: Pace,
): MaybePromise<Verdict | Failure> {
  const { window } = context.guardrail;
  const slice = sliceFor(context, text);
  return slice !== undefined && typeof window === "number" && text.length > slice + window
    ? judgeInPieces(context, text, about, { slice, window, pace })
    : ask(context, text, about);
}

/** Shorter texts are judged whole, without asking. */
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

/** One question to the guardrail. Never throws. */
export function ask(
  { guardrail, use, clock }: GuardContext,
  text: string,
  about: TextAbout,
): MaybePromise<Verdict | Failure> {
  try {
    const returned: unknown = guardrail.judge(text, about);
    if (returned === undefined) return undefined;
    if (!isPromise(returned)) return readVerdict(returned, text);
    // An isolated guardrail has its own deadline (isolated-guardrail.ts): it starts when its process begins to judge.
    const settled = use.isolate ? Promise.resolve(returned) : withDeadline(clock, use.timeout_ms, returned);
    return settled.then((value) => readVerdict(value, text)).catch((thrown: unknown) => new Failure(thrown));
  } catch (thrown) {
    return new Failure(thrown);
  }
}

/** Records a verdict and turns it into edits or a refusal; of a failure, what `on_error` says. */
export function carryOut(
  context: GuardContext,
  text: string,
  about: TextAbout,
  verdict: Verdict | Failure,
): Judgement {
  if (verdict === undefined) return NO_EDITS;
  if (verdict instanceof Failure) return failed(context, about, verdict.cause);
  const { shadow } = context.use;
  const { name } = context;
  const { side, exchange } = about;
  // Once a call: the window of a stream is judged again and again.
  const known = exchange.verdicts.some(
    (v) =>
      v.guardrail === name && v.side === side && v.verdict === verdict.verdict && v.reason === verdict.reason,
  );
  if (!known) {
    exchange.verdict({ guardrail: name, side, verdict: verdict.verdict, shadow, reason: verdict.reason });
  }
  if (shadow) return NO_EDITS;
  if (verdict.verdict === "block") return verdict.error;
  return verdict.restore === true && side === "input"
    ? restorable(exchange, text, verdict.edits)
    : verdict.edits;
}

function failed(context: GuardContext, about: TextAbout, thrown: unknown): Judgement {
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
  if (use.on_error === "allow" || use.shadow) return NO_EDITS;
  return reject(about.side === "input" ? "guardrail_failed" : "answer_guardrail_failed", { name });
}

function failureReason(thrown: unknown): string {
  if (thrown instanceof DeadlineError) return "timeout";
  return thrown instanceof VerdictError ? "invalid verdict" : "exception";
}

/** Rejects with a DeadlineError when the promise has not settled in time. Any thenable will do. */
function withDeadline(clock: Clock, timeoutMs: number, returned: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, fail) => {
    const timer = clock.after(timeoutMs, () => fail(new DeadlineError(timeoutMs)));
    const settle =
      <T>(pass: (value: T) => void) =>
      (value: T): void => {
        timer.cancel();
        pass(value);
      };
    Promise.resolve(returned).then(settle(resolve), settle(fail));
  });
}
