/**
 * Makes hooks out of a guardrail: one `judge` guards what comes in, whole answers, and streams. Adds what every
 * guardrail has and none must write: sides, shadow, deadline, fail-closed, verdict records.
 */
import type { GuardrailUse } from "../config/model.ts";
import type {
  ChatResult,
  Clock,
  Content,
  Edit,
  Exchange,
  GatewayError,
  Guardrail,
  Hooks,
  Logger,
  MaybePromise,
  Message,
  TextAbout,
  Verdict,
} from "../plugin/index.ts";
import { andThen, charactersOf, isGatewayError, isPromise, reject } from "../plugin/index.ts";
import { windowHook } from "./guardrail-window.ts";

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

export function guardrailHooks(context: GuardContext): Hooks {
  const { on } = context.use;
  return {
    request: on.includes("input") ? (x) => guardInput(context, x) : undefined,
    response: on.includes("output") ? (x, result) => guardAnswer(context, x, result) : undefined,
    stream: on.includes("output") ? (x) => windowHook(context, x) : undefined,
    close: context.guardrail.close === undefined ? undefined : () => context.guardrail.close?.(),
  };
}

/** Where a text of a call stands: the whole content of a message, or one part of it. */
interface Place {
  readonly message: number;
  readonly part: number;
}

/** Every text of every message in turn; a later guardrail sees what this one masked (CONTRACT section 4). */
function guardInput(
  context: GuardContext,
  x: Exchange,
  from: Place = { message: 0, part: 0 },
): MaybePromise<undefined | GatewayError> {
  let part = from.part;
  for (let i = from.message; i < x.messages.length; i++, part = 0) {
    const message = x.messages[i];
    if (message === undefined) break;
    const parts = typeof message.content === "string" ? 1 : message.content.length;
    for (; part < parts; part++) {
      const text = textAt(message, part);
      if (text === undefined) continue;
      const place = { message: i, part };
      const judgement = judge(context, text, aboutInput(x, message.role));
      if (isPromise(judgement)) {
        return judgement.then(
          (settled) =>
            apply(x, place, text, settled) ?? guardInput(context, x, { message: i, part: place.part + 1 }),
        );
      }
      const refusal = apply(x, place, text, judgement);
      if (refusal !== undefined) return refusal;
    }
  }
  return undefined;
}

function aboutInput(x: Exchange, role: Message["role"]): TextAbout {
  const totalCharacters = x.messages === x.received ? x.receivedCharacters : charactersOf(x.messages);
  return { side: "input", role, totalCharacters, partial: false, exchange: x };
}

/** undefined: a part that is no text. */
function textAt({ content }: Message, part: number): string | undefined {
  if (typeof content === "string") return content;
  const found = content[part];
  return found?.type === "text" ? found.text : undefined;
}

function apply(x: Exchange, at: Place, text: string, judgement: Judgement): GatewayError | undefined {
  if (isGatewayError(judgement)) return judgement;
  const message = x.messages[at.message];
  if (judgement.length === 0 || message === undefined) return undefined;
  const masked = edited(text, judgement);
  const content: Content =
    typeof message.content === "string"
      ? masked
      : message.content.toSpliced(at.part, 1, { type: "text", text: masked });
  x.messages = x.messages.toSpliced(at.message, 1, { ...message, content });
  return undefined;
}

function guardAnswer(
  context: GuardContext,
  x: Exchange,
  result: ChatResult,
): MaybePromise<ChatResult | GatewayError> {
  const about: TextAbout = {
    side: "output",
    role: "assistant",
    totalCharacters: result.content.length,
    partial: false,
    exchange: x,
  };
  return andThen(judge(context, result.content, about), (judgement) => {
    if (isGatewayError(judgement)) return judgement;
    return judgement.length === 0 ? result : { ...result, content: edited(result.content, judgement) };
  });
}

/** Asks the guardrail and says what to do. Never throws: a guardrail that fails is dealt with by its `on_error`. */
export function judge(context: GuardContext, text: string, about: TextAbout): MaybePromise<Judgement> {
  let verdict: MaybePromise<Verdict>;
  try {
    verdict = context.guardrail.judge(text, about);
  } catch (thrown) {
    return failed(context, about, thrown);
  }
  if (verdict === undefined) return NO_EDITS;
  if (!isPromise(verdict)) return act(context, verdict, about);
  return withDeadline(context, verdict).then(
    (settled) => act(context, settled, about),
    (thrown: unknown) => failed(context, about, thrown),
  );
}

function act(context: GuardContext, verdict: Verdict, about: TextAbout): Judgement {
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
  return verdict.verdict === "block" ? verdict.error : verdict.edits;
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

/** The text with its spans replaced. */
export function edited(text: string, edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return out + text.slice(at);
}
