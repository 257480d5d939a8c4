/**
 * A conversation as vendors want it that know two sides only: what the system says apart, and neighbouring messages of
 * one side as one turn. Leaves what a message says to those who write it.
 */
import { type Base64Url, contentText, type Message, readBase64Url } from "sluice/provider";

export interface Turn {
  readonly side: "user" | "assistant";
  /** Results of tools first, since they answer the turn before; else in their order. */
  readonly messages: readonly Message[];
}

export interface Dialogue {
  /** All system messages, a blank line between two; "" when there is none. */
  readonly system: string;
  readonly turns: readonly Turn[];
}

export function dialogueOf(messages: readonly Message[]): Dialogue {
  let system = "";
  const turns: { readonly side: Turn["side"]; readonly messages: Message[] }[] = [];
  for (const message of messages) {
    if (message.role === "system") {
      const text = contentText(message.content);
      system += system === "" || text === "" ? text : `\n\n${text}`;
      continue;
    }
    const side = message.role === "assistant" ? "assistant" : "user";
    const last = turns.at(-1);
    if (last?.side === side) put(last.messages, message);
    else turns.push({ side, messages: [message] });
  }
  // Neither vendor answers where nobody has spoken.
  if (turns.length === 0) return { system: "", turns: [userTurn(system)] };
  return { system, turns };
}

function put(messages: Message[], message: Message): void {
  const place = message.role === "tool" ? messages.findIndex(({ role }) => role !== "tool") : -1;
  messages.splice(place === -1 ? messages.length : place, 0, message);
}

function userTurn(content: string): Turn {
  return { side: "user", messages: [{ role: "user", content }] };
}

/** False for what holds nothing but white space, which vendors refuse. */
export function isSaid(text: string): boolean {
  return /\S/.test(text);
}

/** The first file whose bytes are not in the message but with another vendor, by its name in OpenAI's words. */
export function fileElsewhere(messages: readonly Message[]): string | undefined {
  for (const [n, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    const at = content.findIndex((part) => part.type === "file" && imageWithin(part.url ?? "") === undefined);
    if (at >= 0) return `messages[${n}].content[${at}].file`;
  }
  return undefined;
}

/** An image or a document that its URL holds, in base64; undefined for one that is elsewhere. */
export function imageWithin(url: string): Base64Url | undefined {
  const found = readBase64Url(url);
  return found === undefined || found.mediaType === "" ? undefined : found;
}

/** The first message of a dialogue in which neither side says anything: the vendors refuse an empty one. */
export function silentMessage(messages: readonly Message[]): string | undefined {
  const first = messages.findIndex(({ role }) => role !== "system");
  return first < 0 || messages.some(says) ? undefined : `messages[${first}].content`;
}

function says({ role, content, toolCalls = [] }: Message): boolean {
  if (role === "system") return false;
  if (role === "tool" || toolCalls.length > 0) return true;
  if (typeof content === "string") return isSaid(content);
  return content.some((part) => part.type !== "text" || isSaid(part.text));
}
