/** Tools and their calls, as far as the vendors' wire formats agree on them. */
import type { Tool } from "../../plugin/chat.ts";
import type { Host } from "../../plugin/host.ts";
import type { ProviderFailure } from "../../plugin/provider.ts";
import { unusableAnswer } from "./failures.ts";

/** Calls of one answer; a server that sends more is not believed. @since 0.1.0 */
export const TOOL_CALLS_MAX = 256;

/** An answer with more calls than TOOL_CALLS_MAX. @since 0.2.0 */
export function tooManyToolCalls(): ProviderFailure {
  return unusableAnswer("the answer asks for too many tools");
}

/** Makes ids for calls that their vendor gave none: `call_` and 32 hexadecimal digits. @since 0.2.0 */
export function toolCallIds({ random }: Pick<Host, "random">): () => string {
  return () => `call_${random.uuid().replaceAll("-", "")}`;
}

/**
 * A tool as OpenAI's format has it, and other vendors' too. Some want parameters even of one that has none.
 * @since 0.1.0
 */
export function toolJson({ name, description, parameters }: Tool, strict?: boolean): object {
  const schema = typeof parameters === "object" ? parameters : { type: "object", properties: {} };
  return { type: "function", function: { name, description, parameters: schema, strict } };
}
