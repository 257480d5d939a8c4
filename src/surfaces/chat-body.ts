/** Parses the body of a chat request; a refusal names the invalid field. */
import { isUuid } from "../base/ids.ts";
import { isJsonObject } from "../base/json.ts";
import { type JsonBody, refusedByShape } from "../http/body.ts";
import type { Role } from "../plugin/chat.ts";
import type { GatewayError, Message } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";

export interface ChatInput {
  readonly messages: readonly Message[];
  /** UTF-16 code units in all messages. */
  readonly characters: number;
  readonly stream: boolean;
}

const ROLES: ReadonlySet<unknown> = new Set<Role>(["system", "user", "assistant"]);
const KNOWN = new Set(["message", "messages", "stream", "session_id", "endpoint"]);

export function readChatBody(body: JsonBody): ChatInput | GatewayError {
  const { message, messages, stream, session_id: sessionId } = body;
  if ((message === undefined) === (messages === undefined)) return reject("message_or_messages", {});
  if (stream !== undefined && typeof stream !== "boolean") return wrong("stream", "a boolean");
  if (sessionId !== undefined && !(typeof sessionId === "string" && isUuid(sessionId))) {
    return wrong("session_id", "a UUID");
  }
  const refusal = refusedByUnknownKeys(body);
  if (refusal !== undefined) return refusal;
  if (messages !== undefined) return readMessages(messages, stream === true);
  if (typeof message !== "string" || message === "") return wrong("message", "a non-empty string");
  return {
    messages: [{ role: "user", content: message }],
    characters: message.length,
    stream: stream === true,
  };
}

function readMessages(messages: unknown, stream: boolean): ChatInput | GatewayError {
  if (!Array.isArray(messages) || messages.length === 0) return wrong("messages", "a non-empty array");
  const list: Message[] = [];
  let characters = 0;
  for (let i = 0; i < messages.length; i++) {
    const item: unknown = messages[i];
    if (!isJsonObject(item)) return wrong(`messages[${i}]`, "an object with role and content");
    const refusal = refusedByShape(item);
    if (refusal !== undefined) return refusal;
    const { role, content } = item;
    if (!isRole(role)) return wrong(`messages[${i}].role`, "one of system, user, assistant");
    if (typeof content !== "string") return wrong(`messages[${i}].content`, "a string");
    list.push({ role, content });
    characters += content.length;
  }
  return { messages: list, characters, stream };
}

/** The slug in a dispatcher call's body. */
export function readEndpointSlug(body: JsonBody): string | GatewayError {
  const { endpoint } = body;
  return typeof endpoint === "string" && endpoint !== "" ? endpoint : wrong("endpoint", "a non-empty string");
}

/** Other keys are allowed (`input_schema` sees them), within limits of nesting. */
function refusedByUnknownKeys(body: JsonBody): GatewayError | undefined {
  for (const key in body) {
    if (KNOWN.has(key)) continue;
    if (key === "__proto__") return reject("forbidden_field", { field: key });
    const refusal = refusedByShape(body[key]);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function isRole(role: unknown): role is Role {
  return ROLES.has(role);
}

function wrong(field: string, expected: string): GatewayError {
  return reject("invalid_field", { field, expected });
}
