/** Reads the content of messages, whichever of its two shapes it has: a text, or parts. */
import type { Content, Message } from "./chat.ts";

/** All text of it, parts one after the other; images have none. @since 0.1.0 */
export function contentText(content: Content): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}

/** UTF-16 code units of all its text. @since 0.1.0 */
export function contentLength(content: Content): number {
  if (typeof content === "string") return content.length;
  let length = 0;
  for (const part of content) if (part.type === "text") length += part.text.length;
  return length;
}

/**
 * UTF-16 code units of all text of all messages, calls of tools too: what limits, budgets and estimates count.
 * @since 0.2.0
 */
export function countCharacters(messages: readonly Message[]): number {
  let sum = 0;
  for (const { content, toolCalls } of messages) {
    sum += contentLength(content);
    if (toolCalls !== undefined)
      for (const call of toolCalls) sum += call.name.length + call.arguments.length;
  }
  return sum;
}

const DATA_SCHEME = "data:";
/** A media type with parameters; anything longer is not one. */
const DATA_HEAD_CHARACTERS_MAX = 1000;

/** A `data:` URL with content in base64. @since 0.2.0 */
export interface Base64Url {
  /** In the sender's spelling, without parameters; "" when the URL names none. */
  readonly mediaType: string;
  readonly base64: string;
}

/** The parts of a `data:` URL in base64; undefined for any other URL. Looks at nothing behind the first comma. @since 0.2.0 */
export function readBase64Url(url: string): Base64Url | undefined {
  if (url.slice(0, DATA_SCHEME.length).toLowerCase() !== DATA_SCHEME) return undefined;
  const comma = url.indexOf(",");
  if (comma === -1 || comma > DATA_HEAD_CHARACTERS_MAX) return undefined;
  const [mediaType = "", ...parameters] = url.slice(DATA_SCHEME.length, comma).split(";");
  if (parameters.at(-1)?.toLowerCase() !== "base64") return undefined;
  return { mediaType, base64: url.slice(comma + 1) };
}
