/**
 * What the client receives instead of an answer, where a guardrail requires it (`Exchange.delivery`). What is logged,
 * stored and kept as a conversation is the answer itself.
 */

import { textChunk } from "../plugin/chat.ts";
import type { Delivery } from "../plugin/exchange.ts";
import type { ChatChunk, ChatResult } from "../plugin/index.ts";

export function deliveredResult(delivery: Delivery | undefined, result: ChatResult): ChatResult {
  if (delivery === undefined) return result;
  const alternatives = result.alternatives?.map((one) => deliveredPart(delivery, one));
  return { ...deliveredPart(delivery, result), ...(alternatives && { alternatives }) };
}

function deliveredPart<T extends Pick<ChatResult, "content" | "toolCalls">>(delivery: Delivery, said: T): T {
  const { content, toolCalls } = said;
  return {
    ...said,
    content: delivery.push(content) + delivery.flush(),
    ...(toolCalls && {
      toolCalls: toolCalls.map((call, n) => {
        return { ...call, arguments: delivery.push(call.arguments, n) + delivery.flush(n) };
      }),
    }),
  };
}

/** The chunk itself when it goes out as it is. */
export function deliveredChunk(delivery: Delivery, chunk: ChatChunk): ChatChunk {
  const text = chunk.text === "" ? "" : delivery.push(chunk.text);
  const toolCalls = chunk.toolCalls?.map((delta) => {
    return { ...delta, arguments: delivery.push(delta.arguments, delta.index) };
  });
  const same = toolCalls?.every((delta, n) => delta.arguments === chunk.toolCalls?.[n]?.arguments) ?? true;
  return same && text === chunk.text ? chunk : { ...chunk, native: undefined, text, toolCalls };
}

/** What was held back of a stream whose answer is complete; undefined: nothing. */
export function undelivered(
  delivery: Delivery | undefined,
  { toolCalls = [] }: ChatResult,
): ChatChunk | undefined {
  if (delivery === undefined) return undefined;
  const text = delivery.flush();
  const rests = toolCalls.flatMap((_, index) => {
    const rest = delivery.flush(index);
    return rest === "" ? [] : [{ index, id: undefined, name: undefined, arguments: rest }];
  });
  if (text === "" && rests.length === 0) return undefined;
  return { ...textChunk(text), toolCalls: rests.length === 0 ? undefined : rests };
}
