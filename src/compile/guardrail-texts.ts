/**
 * Takes a guardrail through all that a call says: every text of every message, what comes back from tools, and what
 * tools are asked, on both sides.
 */
import type {
  ChatResult,
  Content,
  Edit,
  Exchange,
  GatewayError,
  MaybePromise,
  Message,
  Role,
  TextAbout,
  ToolCall,
} from "../plugin/index.ts";
import { andThen, charactersOf, isGatewayError, isPromise } from "../plugin/index.ts";
import { spokenArguments } from "./guardrail-arguments.ts";
import { edited } from "./guardrail-edits.ts";
import { type GuardContext, type Judgement, judge } from "./guardrail-judge.ts";

/** Every text of every message in turn; a later guardrail sees what this one masked (CONTRACT section 4). */
export function guardInput(
  context: GuardContext,
  x: Exchange,
  from: Place = { message: 0, part: 0 },
): MaybePromise<undefined | GatewayError> {
  let part = from.part;
  for (let i = from.message; i < x.messages.length; i++, part = 0) {
    const message = x.messages[i];
    if (message === undefined) break;
    for (const parts = partCount(message); part < parts; part++) {
      // Read anew: an edit of the part before has put another message there.
      const found = textAt(x.messages[i] ?? message, part);
      if (found === undefined) continue;
      const place = { message: i, part };
      const judgement = judge(context, found.text, aboutInput(x, message.role));
      if (isPromise(judgement)) {
        const next = { message: i, part: part + 1 };
        return judgement.then((settled) => put(x, place, found, settled) ?? guardInput(context, x, next));
      }
      const refusal = put(x, place, found, judgement);
      if (refusal !== undefined) return refusal;
    }
  }
  return undefined;
}

/** Where a text of a call stands: `part` counts the parts of a message's content, then the tool calls. */
interface Place {
  readonly message: number;
  readonly part: number;
}

/** A text of a message, and the message with that text edited. */
interface Found {
  readonly text: string;
  edited(edits: readonly Edit[]): Message;
}

function partCount({ content, toolCalls }: Message): number {
  return (typeof content === "string" ? 1 : content.length) + (toolCalls?.length ?? 0);
}

/** undefined: a part that is no text. */
function textAt(message: Message, part: number): Found | undefined {
  const { content, toolCalls } = message;
  if (typeof content === "string") {
    if (part === 0) {
      return { text: content, edited: (edits) => ({ ...message, content: edited(content, edits) }) };
    }
    return callAt(message, toolCalls ?? [], part - 1);
  }
  if (part >= content.length) return callAt(message, toolCalls ?? [], part - content.length);
  const found = content[part];
  if (found?.type !== "text") return undefined;
  const withText = (text: string): Content => content.toSpliced(part, 1, { type: "text", text });
  return {
    text: found.text,
    edited: (edits) => ({ ...message, content: withText(edited(found.text, edits)) }),
  };
}

function callAt(message: Message, calls: readonly ToolCall[], at: number): Found | undefined {
  const call = calls[at];
  if (call === undefined) return undefined;
  const spoken = spokenArguments(call.arguments);
  return {
    text: spoken.text,
    edited: (edits) => ({
      ...message,
      toolCalls: calls.toSpliced(at, 1, { ...call, arguments: spoken.edited(edits) }),
    }),
  };
}

function aboutInput(x: Exchange, role: Role): TextAbout {
  const totalCharacters = x.messages === x.received ? x.receivedCharacters : charactersOf(x.messages);
  return { side: "input", role, totalCharacters, partial: false, exchange: x };
}

function put(x: Exchange, { message }: Place, found: Found, judgement: Judgement): GatewayError | undefined {
  if (isGatewayError(judgement)) return judgement;
  if (judgement.length > 0) x.messages = x.messages.toSpliced(message, 1, found.edited(judgement));
  return undefined;
}

/** A whole answer, and after it the others where several were asked for. */
export function guardAnswer(
  context: GuardContext,
  x: Exchange,
  result: ChatResult,
): MaybePromise<ChatResult | GatewayError> {
  return andThen(guardSaid(context, x, result), (guarded) => {
    return isGatewayError(guarded) || guarded.more === undefined ? guarded : guardMore(context, x, guarded);
  });
}

function guardMore(
  context: GuardContext,
  x: Exchange,
  result: ChatResult,
  from = 0,
): MaybePromise<ChatResult | GatewayError> {
  const more = result.more ?? [];
  const one = more[from];
  if (one === undefined) return result;
  return andThen(guardSaid(context, x, one), (guarded) => {
    if (isGatewayError(guarded)) return guarded;
    const next = guarded === one ? result : { ...result, more: more.toSpliced(from, 1, guarded) };
    return guardMore(context, x, next, from + 1);
  });
}

/** The text of one answer, then the arguments of its tool calls. The same object when nothing is to be changed. */
function guardSaid<T extends Pick<ChatResult, "content" | "toolCalls">>(
  context: GuardContext,
  x: Exchange,
  result: T,
): MaybePromise<T | GatewayError> {
  const { content, toolCalls = [] } = result;
  const judgement = judge(context, content, aboutAnswer(x, content.length));
  return andThen(judgement, (settled) => {
    if (isGatewayError(settled)) return settled;
    const guarded = settled.length === 0 ? result : { ...result, content: edited(content, settled) };
    if (toolCalls.length === 0) return guarded;
    return andThen(guardCalls(context, x, { calls: toolCalls, characters: content.length }), (calls) => {
      if (isGatewayError(calls)) return calls;
      return calls === toolCalls ? guarded : { ...guarded, toolCalls: calls };
    });
  });
}

/** Tool calls of an answer, and the characters of the answer before them. */
interface AnswerCalls {
  readonly calls: readonly ToolCall[];
  readonly characters: number;
}

/** Judges the arguments of each tool call whole. The list itself when nothing is to be changed. */
export function guardCalls(
  context: GuardContext,
  x: Exchange,
  { calls, characters }: AnswerCalls,
  from = 0,
): MaybePromise<readonly ToolCall[] | GatewayError> {
  const call = calls[from];
  if (call === undefined) return calls;
  const spoken = spokenArguments(call.arguments);
  const total = characters + call.arguments.length;
  return andThen(judge(context, spoken.text, aboutAnswer(x, total)), (judgement) => {
    if (isGatewayError(judgement)) return judgement;
    const guarded =
      judgement.length === 0
        ? calls
        : calls.toSpliced(from, 1, { ...call, arguments: spoken.edited(judgement) });
    return guardCalls(context, x, { calls: guarded, characters: total }, from + 1);
  });
}

function aboutAnswer(x: Exchange, totalCharacters: number): TextAbout {
  return { side: "output", role: "assistant", totalCharacters, partial: false, exchange: x };
}
