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

/** UTF-16 code units of all text of all messages: what limits, budgets and estimates count. */
export function charactersOf(messages: readonly Message[]): number {
  let sum = 0;
  for (const message of messages) sum += contentLength(message.content);
  return sum;
}
