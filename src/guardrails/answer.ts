/** Guards a whole answer: its text, the arguments of its tool calls, and the alternative answers of the same call. */
import type { ToolCall } from "../plugin/chat.ts";
import type { ChatResult, Exchange, GatewayError, MaybePromise, TextContext } from "../plugin/index.ts";
import { andThen, isGatewayError, reject } from "../plugin/index.ts";
import { edited } from "./edits.ts";
import { readJsonText } from "./json-text.ts";
import { JUDGED_CHARACTERS_MAX, judge } from "./judge.ts";
import type { GuardContext } from "./verdict.ts";

/** Guards the answer, then the alternatives where the call asked for several. */
export function guardAnswer(
  context: GuardContext,
  x: Exchange,
  result: ChatResult,
): MaybePromise<ChatResult | GatewayError> {
  const tooLong = answerTooLong(context, charactersIn(result));
  if (tooLong !== undefined) return context.use.shadow ? result : tooLong;
  return andThen(guardOne(context, x, result), (guarded) => {
    return isGatewayError(guarded) || guarded.alternatives === undefined
      ? guarded
      : guardAlternatives(context, x, guarded);
  });
}

/** Refuses an answer longer than `server.max_judged_characters`. */
export function answerTooLong(
  { judgedCharactersMax: max = JUDGED_CHARACTERS_MAX }: GuardContext,
  n: number,
): GatewayError | undefined {
  return n > max ? reject("answer_length_blocked", { n, max }) : undefined;
}

function charactersIn({ content, toolCalls = [], alternatives = [] }: ChatResult): number {
  let sum = content.length;
  for (const call of toolCalls) sum += call.arguments.length;
  for (const { content: text, toolCalls: calls = [] } of alternatives) {
    sum += text.length;
    for (const call of calls) sum += call.arguments.length;
  }
  return sum;
}

function guardAlternatives(
  context: GuardContext,
  x: Exchange,
  result: ChatResult,
  from = 0,
): MaybePromise<ChatResult | GatewayError> {
  const alternatives = result.alternatives ?? [];
  const one = alternatives[from];
  if (one === undefined) return result;
  return andThen(guardOne(context, x, one), (guarded) => {
    if (isGatewayError(guarded)) return guarded;
    const next =
      guarded === one ? result : { ...result, alternatives: alternatives.toSpliced(from, 1, guarded) };
    return guardAlternatives(context, x, next, from + 1);
  });
}

/** Guards the text of one answer, then the arguments of its tool calls. Returns the same object when nothing changes. */
function guardOne<T extends Pick<ChatResult, "content" | "toolCalls">>(
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

/** Tool calls of an answer, and the number of its characters before them. */
interface AnswerCalls {
  readonly calls: readonly ToolCall[];
  readonly characters: number;
}

/** Judges the arguments of each tool call whole. Returns the same list when nothing changes. */
export function guardCalls(
  context: GuardContext,
  x: Exchange,
  { calls, characters }: AnswerCalls,
  from = 0,
): MaybePromise<readonly ToolCall[] | GatewayError> {
  const call = calls[from];
  if (call === undefined) return calls;
  const json = readJsonText(call.arguments);
  const total = characters + call.arguments.length;
  if (json.text === "") return guardCalls(context, x, { calls, characters: total }, from + 1);
  return andThen(judge(context, json.text, aboutAnswer(x, total)), (judgement) => {
    if (isGatewayError(judgement)) return judgement;
    const guarded =
      judgement.length === 0
        ? calls
        : calls.toSpliced(from, 1, { ...call, arguments: json.withEdits(judgement) });
    return guardCalls(context, x, { calls: guarded, characters: total }, from + 1);
  });
}

function aboutAnswer(x: Exchange, totalCharacters: number): TextContext {
  return { side: "output", role: "assistant", totalCharacters, partial: false, exchange: x };
}
