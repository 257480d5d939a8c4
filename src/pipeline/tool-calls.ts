/** Tool calls in OpenAI's shapes. */
import type { ToolCall, ToolCallDelta } from "../plugin/chat.ts";

/** `tool_calls` of a whole message. */
export function toolCallsJson(calls: readonly ToolCall[]): string {
  const list = calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  return JSON.stringify(list);
}

/** `tool_calls` of one event: the first part of a call says its id, type and name. */
export function toolCallDeltaJson({ index, id, name, arguments: text }: ToolCallDelta): string {
  const type = id === undefined ? undefined : "function";
  return JSON.stringify([{ index, id, type, function: { name, arguments: text } }]);
}
