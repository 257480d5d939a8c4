/**
 * JSON by a forced tool: models that cannot be held to a schema, or only to a narrower one, are made to call a tool whose
 * arguments are the answer. The caller never sees the tool: what the model gives it is the text of the answer.
 */
import { asObject, type JsonObject, type JsonSchema, type ProviderRequest } from "sluice/provider";

/** No caller's tool may have this name by accident. */
export const JSON_TOOL = "gateway_json_answer";

/** The members that force the tool. */
export function jsonToolMembers(schema: JsonSchema | undefined): JsonObject {
  const described = typeof schema === "object" ? schema : {};
  const description = "Gives the answer. Its arguments are the whole answer, as JSON.";
  return {
    tools: [{ name: JSON_TOOL, description, input_schema: { type: "object", ...described } }],
    tool_choice: { type: "tool", name: JSON_TOOL },
  };
}

/** True where JSON is asked for that a forced tool can give: an object, and no tools of the caller's beside it. */
export function mayForceJson({ responseSchema, options }: ProviderRequest): boolean {
  if ((options?.tools?.length ?? 0) > 0) return false;
  if (responseSchema === undefined) return options?.json === true;
  return typeof responseSchema === "object" && responseSchema["type"] === "object";
}

/** The text of an answer that was given to the tool; undefined: another tool is called. */
export function jsonToolText(block: JsonObject | undefined): string | undefined {
  return block?.["name"] === JSON_TOOL ? JSON.stringify(asObject(block["input"]) ?? {}) : undefined;
}

/** Of an answer that was given to the tool, the call of the tool is its plain end. */
export function endWithJson(stopReason: string, gaveJson: boolean): string {
  return gaveJson && stopReason === "tool_use" ? "end_turn" : stopReason;
}
