/**
 * One question to a guardrail and its answer, validated. A guardrail that throws, is late or returns something other
 * than a verdict yields a Failure, and `on_error` decides.
 */
import { isJsonObject } from "../base/json.ts";
import type { GuardrailUse } from "../config/model.ts";
import type { Span } from "../plugin/contract.ts";
import type { Logger } from "../plugin/host.ts";
import type { Clock, Edit, Guardrail, MaybePromise, TextContext, Verdict } from "../plugin/index.ts";
import { isGatewayError, isPromise } from "../plugin/index.ts";

/** A guardrail and the settings it runs with on one endpoint. */
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

/** The guardrail returned something that is not a verdict. */
export class VerdictError extends Error {}

/** Calls `judge` once. Never throws. */
export function ask(
  { guardrail, use, clock }: GuardContext,
  text: string,
  about: TextContext,
): MaybePromise<Verdict | Failure> {
  try {
    const returned: unknown = guardrail.judge(text, about);
    if (returned === undefined) return undefined;
    if (!isPromise(returned)) return readVerdict(returned, text);
    // An isolated guardrail enforces its own deadline, which starts when its process begins to judge.
    const settled = use.isolate ? Promise.resolve(returned) : withDeadline(clock, use.timeout_ms, returned);
    return settled.then((value) => readVerdict(value, text)).catch((thrown: unknown) => new Failure(thrown));
  } catch (thrown) {
    return new Failure(thrown);
  }
}

/** Rejects with a DeadlineError when the thenable has not settled in time. */
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

/** Returns a copy, so that the verdict cannot change after validation. `text`: what was judged; edits lie inside it. */
function readVerdict(returned: unknown, text: string): Verdict {
  if (returned === undefined) return undefined;
  if (!isJsonObject(returned)) throw new VerdictError(`the verdict is ${typeText(returned)}, not an object`);
  const { verdict, reason, error, edits, restore, spans } = returned;
  if (typeof reason !== "string" || reason === "") throw new VerdictError("the verdict has no `reason`");
  if (verdict === "block") {
    if (!isGatewayError(error)) throw new VerdictError("a block needs an `error` made with reject or refuse");
    return spans === undefined
      ? { verdict, error, reason }
      : { verdict, error, reason, spans: readSpans(spans, text.length) };
  }
  if (verdict !== "replace") {
    throw new VerdictError(`\`verdict\` is ${typeText(verdict)}, not block or replace`);
  }
  if (restore !== undefined && typeof restore !== "boolean") {
    throw new VerdictError(`\`restore\` is ${typeText(restore)}, not true or false`);
  }
  return { verdict, edits: readEdits(edits, text.length), reason, restore: restore === true };
}

/** Spans of a block change nothing: those that are not spans of the text are left out. */
function readSpans(spans: unknown, length: number): readonly Span[] {
  if (!Array.isArray(spans)) return [];
  return spans.flatMap((span: unknown) => {
    if (!isJsonObject(span)) return [];
    const { start, end } = span;
    const isInside = isOffset(start) && isOffset(end) && start <= end && end <= length;
    return isInside ? [{ start, end }] : [];
  });
}

function readEdits(edits: unknown, length: number): readonly Edit[] {
  if (!Array.isArray(edits)) throw new VerdictError("`edits` is not a list");
  const read: Edit[] = [];
  let after = 0;
  for (let n = 0; n < edits.length; n++) {
    const edit: unknown = edits[n];
    if (!isJsonObject(edit)) throw new VerdictError(`edit ${n + 1} is not an object`);
    const { start, end, text } = edit;
    if (!isOffset(start) || !isOffset(end) || typeof text !== "string") {
      throw new VerdictError(`edit ${n + 1} needs a whole \`start\` and \`end\` and a \`text\``);
    }
    const span = `edit ${n + 1}, ${start} to ${end},`;
    if (end < start) throw new VerdictError(`${span} ends before it starts`);
    if (start < after) throw new VerdictError(`${span} overlaps the one before it or is out of order`);
    if (end > length) throw new VerdictError(`${span} ends outside the text, which has ${length} characters`);
    after = end;
    read.push({ start, end, text });
  }
  return read;
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** The type only: the value may hold text of the call. */
function typeText(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
