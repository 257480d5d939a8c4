/** Reads and changes the content of messages, whichever of its two shapes it has: a text, or parts. */
import type { Content, Message } from "./chat.ts";

/** All text of it, parts one after the other; images have none. */
export function contentText(content: Content): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}

/** UTF-16 code units of all its text. */
export function contentLength(content: Content): number {
  if (typeof content === "string") return content.length;
  let length = 0;
  for (const part of content) if (part.type === "text") length += part.text.length;
  return length;
}

/** UTF-16 code units of all text of all messages, calls of tools too: what limits, budgets and estimates count. */
export function charactersOf(messages: readonly Message[]): number {
  let sum = 0;
  for (const { content, toolCalls } of messages) {
    sum += contentLength(content);
    if (toolCalls !== undefined)
      for (const call of toolCalls) sum += call.name.length + call.arguments.length;
  }
  return sum;
}
