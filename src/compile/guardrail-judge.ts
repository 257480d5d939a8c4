/**
 * Asks a guardrail about one text and says what that comes to. Adds what every guardrail has and none must write:
 * shadow, deadline, fail-closed, verdict records.
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
import { restorable } from "./guardrail-masks.ts";

/** What a guardrail's use is run with. */
export interface GuardContext {
  readonly name: string;
  readonly guardrail: Guardrail;
  readonly use: Pick<GuardrailUse, "on" | "on_error" | "timeout_ms" | "shadow" | "isolate">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What acting on a verdict comes to: spans to replace (none: the text stays) or a refusal. */
export type Judgement = readonly Edit[] | GatewayError;

const NO_EDITS: readonly Edit[] = Object.freeze([]);

/** Asks the guardrail and says what to do. Never throws: a guardrail that fails is dealt with by its `on_error`. */
export function judge(context: GuardContext, text: string, about: TextAbout): MaybePromise<Judgement> {
  let verdict: MaybePromise<Verdict>;
  try {
    verdict = context.guardrail.judge(text, about);
  } catch (thrown) {
    return failed(context, about, thrown);
  }
  if (verdict === undefined) return NO_EDITS;
  if (!isPromise(verdict)) return act(context, text, about, verdict);
  return withDeadline(context, verdict).then(
    (settled) => act(context, text, about, settled),
    (thrown: unknown) => failed(context, about, thrown),
  );
}

function act(context: GuardContext, text: string, about: TextAbout, verdict: Verdict): Judgement {
  if (verdict === undefined) return NO_EDITS;
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
    reason: thrown instanceof DeadlineError ? "timeout" : "exception",
  });
  if (use.on_error === "allow" || use.shadow) return NO_EDITS;
  return reject(about.side === "input" ? "guardrail_failed" : "answer_guardrail_failed", { name });
}

/** No verdict came within `timeout_ms`. */
export class DeadlineError extends Error {}

/**
 * Only promises can be given a deadline; a guardrail that blocks the thread is what `isolate` is for, where the deadline
 * is isolate.ts's: a judgement that waited behind such a one has not had its time.
 */
function withDeadline(context: GuardContext, verdict: Promise<Verdict>): Promise<Verdict> {
  if (context.use.isolate) return verdict;
  return new Promise((resolve, fail) => {
    const timer = context.clock.after(context.use.timeout_ms, () => {
      fail(new DeadlineError(`no verdict within ${context.use.timeout_ms} ms`));
    });
    verdict.then(resolve, fail).finally(() => timer.cancel());
  });
}
